"""Schemas as values: merged, split, made nullable, measured; the same for every dialect.

Every function returns a new schema and leaves its arguments alone.
"""

from collections.abc import Callable
from typing import Any

from ..reading import write_json
from .rules import ANNOTATIONS, SILENT, TYPE_OF_KEYWORD, type_name

__all__ = [
    "Contradiction",
    "closed_object",
    "lonely_reference",
    "merge",
    "nullable",
    "one_type_each",
    "size",
    "type_list",
    "types_of",
    "with_prefix_items",
    "without_tuple",
]

Json = dict[str, Any]

_SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})


# ── types ───────────────────────────────────────────────────────────────────────────────────────


def type_list(types: Any) -> list[Any]:
    """The types of a schema as a list, however they were written."""
    return types if isinstance(types, list) else [types]


def types_of(schema: Json) -> list[str]:
    """The types a schema allows: as it says, else as its values or its keywords tell. Empty: any."""
    if "type" in schema:
        types = type_list(schema["type"])
    elif "enum" in schema:
        types = list(dict.fromkeys(type_name(value) for value in schema["enum"]))
    elif "const" in schema:
        types = [type_name(schema["const"])]
    else:
        told = {TYPE_OF_KEYWORD[word] for word in schema if word in TYPE_OF_KEYWORD}
        types = list(told) if len(told) == 1 else []
    return [*types, "null"] if types and schema.get("nullable") is True and "null" not in types else types


def one_type_each(schema: Json, types: list[str]) -> Json:
    """A schema of several types as a choice between schemas of one, each with the keywords it can use."""
    about = {word: value for word, value in schema.items() if word in ANNOTATIONS}
    rest = {word: value for word, value in schema.items() if word not in ANNOTATIONS | {"type", "nullable"}}
    variants = [
        {"type": name} | {word: value for word, value in rest.items() if TYPE_OF_KEYWORD.get(word, name) == name}
        for name in types
    ]
    return about | {"anyOf": variants}


def nullable(schema: Json) -> Json:
    """A compiled schema that allows null as well."""
    if "anyOf" in schema:
        return (
            schema if {"type": "null"} in schema["anyOf"] else schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
        )
    types = type_list(schema.get("type", "?"))
    if not _SCALARS.issuperset(types) or "const" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    wider = schema if "null" in types else schema | {"type": [*types, "null"]}
    return wider | {"enum": [*schema["enum"], None]} if "enum" in schema and None not in schema["enum"] else wider


# ── shapes ──────────────────────────────────────────────────────────────────────────────────────


def closed_object(properties: Json, required: list[str]) -> Json:
    """An object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def with_prefix_items(schema: Json) -> Json:
    """An array schema whose tuple, if it has one, is written as `prefixItems` and not in the older way."""
    if not isinstance(schema.get("items"), list):
        return schema
    plain = {word: value for word, value in schema.items() if word != "additionalItems"}
    rest = {"items": schema["additionalItems"]} if "additionalItems" in schema else {}
    return {**plain, "prefixItems": plain.pop("items")} | rest


def without_tuple(schema: Json) -> Json:
    """An array whose items may each take any shape of the tuple it was."""
    plain = {word: value for word, value in schema.items() if word != "prefixItems"}
    first, rest = schema["prefixItems"], schema.get("items", True)
    shapes = {_identity(shape): shape for shape in (*first, rest) if isinstance(shape, dict)}
    length = {"maxItems": len(first)} if rest is False else {}
    return length | plain | {"items": {"anyOf": list(shapes.values())}}


def lonely_reference(schema: Any) -> str | None:
    """The reference that a schema is, if it is nothing else but described."""
    if not isinstance(schema, dict):
        return None
    words = schema.keys() - ANNOTATIONS - SILENT
    if words == {"$ref"}:
        return str(schema["$ref"])
    for choice in ("allOf", "anyOf", "oneOf"):
        if words == {choice} and len(schema[choice]) == 1:
            return lonely_reference(schema[choice][0])
    return None


def size(schema: Json) -> tuple[int, int]:
    """How many properties a compiled schema has, and how deep its objects are nested (in its deepest definition)."""
    own = schema.get("properties", {})
    same = [*schema.get("anyOf", ()), *(schema[word] for word in ("items",) if isinstance(schema.get(word), dict))]
    sizes = [size(part) for part in (*own.values(), *same)]
    count = len(own) + sum(properties for properties, _ in sizes)
    depth = max((nesting for _, nesting in sizes), default=0) + (schema.get("type") == "object")
    for definition in schema.get("$defs", {}).values():
        properties, nesting = size(definition)
        count, depth = count + properties, max(depth, nesting)
    return count, depth


# ── two schemas that must both hold ─────────────────────────────────────────────────────────────


class Contradiction(ValueError):
    """Two schemas that no single one can stand for; the argument is the keyword they differ in."""


def merge(outer: Json, inner: Json) -> Json:
    """A schema that says what both say. Where both describe, the outer one has the word."""
    merged = dict(outer)
    for keyword, value in inner.items():
        if keyword not in merged or merged[keyword] == value:
            merged[keyword] = value
        else:
            merged[keyword] = _merged(keyword, merged[keyword], value)
    return merged


def _merged(keyword: str, a: Any, b: Any) -> Any:
    if keyword in ANNOTATIONS | SILENT:
        return a
    try:
        value = _MERGERS[keyword](a, b)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Contradiction(keyword) from error
    if value == []:
        raise Contradiction(keyword)
    return value


def _both(a: Any, b: Any) -> Json:
    return {"allOf": [a, b]}


def _properties(a: Json, b: Json) -> Json:
    return a | {name: _both(a[name], schema) if name in a else schema for name, schema in b.items()}


def _all(a: list[Any], b: list[Any]) -> list[Any]:
    return list(dict.fromkeys([*a, *b]))


def _shared(a: list[Any], b: list[Any]) -> list[Any]:
    others = {_identity(item) for item in b}
    return [item for item in a if _identity(item) in others]


def _identity(value: Any) -> bytes:
    """What tells one JSON value from another, in constant time once made (True is not 1 in JSON)."""
    return write_json(value)


def _types(a: Any, b: Any) -> list[Any]:
    one, other = type_list(a), type_list(b)
    whole = ["integer"] if {"integer", "number"} <= {*one, *other} and not {"integer"} <= {*one} & {*other} else []
    return _shared(one, other) + whole


def _rest(a: Any, b: Any) -> Any:
    return False if a is False or b is False else _both(a, b)


_MERGERS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "properties": _properties,
    "required": _all,
    "enum": _shared,
    "items": _both,
    "additionalProperties": _rest,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
}
