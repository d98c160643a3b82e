"""Vectors as they come, made sure of: numbers, as many of them in each, and never none.

Also what every shape of answer shares: an object of JSON, or an error in its place.
"""

import sys
from array import array
from base64 import b64decode
from math import isfinite
from typing import Any, TypeVar

import msgspec

from ...errors import ApiError, InvalidResponse
from ...http import HttpResponse
from ...target import Target
from ..failure import Complaint, api_error, complaint_in
from ..reading import OBJECT, read_json

__all__ = ["checked_vectors", "read_answer", "read_vector", "read_vectors"]

T = TypeVar("T")

Vector = tuple[float, ...]

# How `array` names the packings, which are little-endian.
_PACKINGS = {"float32": "f", "int8": "b"}


def read_answer(answer: HttpResponse, target: Target) -> dict[str, Any]:
    """The object in the answer; ApiError where it is a refusal, whatever its status."""
    try:
        body = read_json(OBJECT, answer.body, target.limits)
    except InvalidResponse:
        if answer.ok:
            raise
        raise _refusal(answer, target, Complaint(message=answer.body.decode("utf-8", "replace")[:500])) from None
    if not answer.ok or body.get("error"):
        raise _refusal(answer, target, complaint_in(body))
    return body


def _refusal(answer: HttpResponse, target: Target, complaint: Complaint) -> ApiError:
    return api_error(target, complaint, answer)


def read_vector(value: Any, packing: str = "float32") -> Vector:
    """One vector: a list of numbers, or base64 of numbers packed one after the other."""
    return _unpacked(value, packing) if isinstance(value, str) else _converted(value, Vector)


def read_vectors(value: Any) -> tuple[Vector, ...]:
    """A list of vectors that are lists of numbers."""
    return _converted(value, tuple[Vector, ...])


def checked_vectors(vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """The same vectors, if there are any and all are of one length."""
    lengths = {len(vector) for vector in vectors}
    if not lengths or 0 in lengths:
        raise InvalidResponse("the answer has no vectors, or an empty one")
    if len(lengths) > 1:
        raise InvalidResponse(f"the answer mixes vectors of {', '.join(map(str, sorted(lengths)))} dimensions")
    return vectors


def _converted(value: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidResponse(f"the answer has something else where vectors should be: {error}") from error


def _unpacked(text: str, packing: str) -> Vector:
    numbers = array(_PACKINGS[packing])
    try:
        numbers.frombytes(b64decode(text, validate=True))
    except ValueError as error:
        raise InvalidResponse(f"a vector is not base64 of {packing} numbers: {error}") from error
    if sys.byteorder == "big":
        numbers.byteswap()
    vector = tuple(map(float, numbers))
    if not all(map(isfinite, vector)):
        raise InvalidResponse(f"a vector holds what is no number: its base64 is not of {packing}")
    return vector
