"""Bytes to typed values, with every kind of damage turned into one kind of error."""

import json
from typing import Any, TypeVar

import msgspec

from ..errors import InvalidResponse
from ..limits import Limits
from ..nesting import too_deep
from ..surrogates import clean, has_surrogates, join_halves

__all__ = ["ANYTHING", "OBJECT", "mapping", "read_json", "sequence", "string", "write_json"]

T = TypeVar("T")

# A text this short cannot be nested deep enough to hurt; longer ones are looked at first.
SHORT_BYTES = 1024

ANYTHING: "msgspec.json.Decoder[Any]" = msgspec.json.Decoder(Any)
OBJECT = msgspec.json.Decoder(dict[str, Any])

_encoder = msgspec.json.Encoder()


def read_json(decoder: "msgspec.json.Decoder[T]", data: bytes, limits: Limits) -> T:
    """The value in `data`, or InvalidResponse saying what is wrong with it."""
    if len(data) > SHORT_BYTES and too_deep(data, limits.nesting):
        raise InvalidResponse(f"JSON nested deeper than {limits.nesting}", body=data)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise InvalidResponse(f"unexpected JSON: {error}", body=data) from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _mended(decoder, data)
    except RecursionError as error:
        raise InvalidResponse("JSON nested too deep", body=data) from error


def _mended(decoder: "msgspec.json.Decoder[T]", data: bytes) -> T:
    """Read text with broken characters in it: half a surrogate pair, or bytes that are no UTF-8."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        return msgspec.convert(_whole(value), decoder.type)
    except (ValueError, RecursionError) as error:
        raise InvalidResponse(f"not JSON: {error}", body=data) from error


def _whole(value: Any) -> Any:
    match value:
        case str():
            return _whole_text(value) if has_surrogates(value) else value
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {key: _whole(item) for key, item in value.items()}
        case _:
            return value


def _whole_text(text: str) -> str:
    """Replace lone halves, except at the two ends, where the other half may be in the neighbouring chunk."""
    first = text[0] if "\udc00" <= text[0] <= "\udfff" else ""
    last = text[-1] if len(text) > len(first) and "\ud800" <= text[-1] <= "\udbff" else ""
    return first + join_halves(text[len(first) : len(text) - len(last)]) + last


def write_json(value: Any) -> bytes:
    """The value as JSON, with half characters replaced (no server accepts them)."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(clean(value))


# What an upstream sends where an object, a list or a string should be is a claim until looked at.


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The list, or an empty one where something else stands."""
    return value if isinstance(value, list) else []


def string(value: Any) -> str:
    """The string, or an empty one where something else stands."""
    return value if isinstance(value, str) else ""
