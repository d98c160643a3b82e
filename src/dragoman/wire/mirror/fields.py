"""The fields of a request: read from a body, checked as they are taken; what is left over at the end is `extra`."""

from typing import Any

from msgspec import UNSET

from ...errors import InvalidResponse, Misuse
from ...target import Target
from ..reading import ANYTHING, read_json

__all__ = ["of_kind", "read_fields", "take"]

_KINDS: dict[type, str] = {
    str: "a string",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}

Kind = type | tuple[type, ...]


def read_fields(body: bytes, target: Target) -> dict[str, Any]:
    """The fields of a request that say something; Misuse where the body is none."""
    try:
        fields = read_json(ANYTHING, body, target.limits)
    except InvalidResponse as error:
        raise Misuse(f"the request cannot be read: {error}") from error
    if not isinstance(fields, dict):
        raise Misuse("the request is not a JSON object")
    return {name: value for name, value in fields.items() if value is not None}


def take(fields: dict[str, Any], name: str, kind: Kind, default: Any = UNSET) -> Any:
    """A field's value, which is then no longer among the fields; the default where there is none."""
    return of_kind(kind, fields.pop(name), name) if name in fields else default


def of_kind(kind: Kind, value: Any, where: str) -> Any:
    """The value, if it is of that kind; Misuse that says where it stands if not."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    # A whole number is a number; true and false are none.
    fits = isinstance(value, (*kinds, int) if float in kinds else kinds)
    if not fits or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(_KINDS[each] for each in kinds)
        raise Misuse(f"{where} must be {wanted}, not {type(value).__name__}")
    return value
