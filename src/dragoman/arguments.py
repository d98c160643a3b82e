"""A tool call's arguments: JSON text from a model, read strictly.

What decides an action must mean one thing only: twice the same key, NaN, Infinity and numbers
that do not survive a float are errors that the model can be told, not something to guess at.
"""

import json
from typing import Any

from .errors import InvalidResponse
from .limits import DEFAULT_LIMITS
from .nesting import too_deep

__all__ = ["read_arguments"]


def read_arguments(text: str, *, tool: str) -> dict[str, Any]:
    """The one JSON object in the text; nothing or `null` is the empty one."""
    stripped = text.strip()
    if stripped in ("", "null"):
        return {}
    try:
        if too_deep(stripped.encode("utf-8", "replace"), DEFAULT_LIMITS.nesting):
            raise ValueError(f"nested deeper than {DEFAULT_LIMITS.nesting}")
        value = json.loads(
            stripped, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite_float
        )
    except (ValueError, RecursionError) as error:
        raise InvalidResponse(f"arguments of {tool!r} are not valid JSON: {error}", body=_kept(text)) from error
    if not isinstance(value, dict):
        raise InvalidResponse(f"arguments of {tool!r} are {_kind(value)}, not an object", body=_kept(text))
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} is given twice")
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"number {text[:32]} is out of range")
    return value


def _kept(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _kind(value: Any) -> str:
    return {list: "a list", str: "a string", bool: "a boolean"}.get(type(value), "a number")
