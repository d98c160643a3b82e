"""Values back in the shape their author asked for, after a schema was rewritten for a dialect.

The compiler leaves an `Undo` beside each part of a schema it had to rewrite, and None where the
values are the same in both. A value that does not have the shape its undo expects is returned as
it is: whether it is valid is for a validator to say, not for us.
"""

from typing import Any

from msgspec import Struct

from .rules import type_name

__all__ = ["Choice", "Entries", "Fields", "Items", "Named", "Undo", "Wrapped", "fits", "undo_value"]

Json = dict[str, Any]


class Fields(Struct, frozen=True):
    """An object; a null in one of `absent` stands for a property that is not there."""

    properties: "dict[str, Undo | None]"
    absent: frozenset[str] = frozenset()


class Items(Struct, frozen=True):
    """A list; `first` are the undos of the items that have a place of their own."""

    rest: "Undo | None"
    first: "tuple[Undo | None, ...]" = ()


class Entries(Struct, frozen=True):
    """A map that travels as a list of its entries."""

    value: "Undo | None"


class Wrapped(Struct, frozen=True):
    """A value that travels as the only property of an object."""

    value: "Undo | None"


class Choice(Struct, frozen=True):
    """One of several shapes: the first whose schema the value fits."""

    variants: "tuple[tuple[Json, Undo | None], ...]"


class Named(Struct, frozen=True):
    """Whatever the definition of that name needs."""

    name: str


Undo = Fields | Items | Entries | Wrapped | Choice | Named


def undo_value(value: Any, undo: Undo | None, definitions: dict[str, Undo | None], schemas: Json) -> Any:
    """The value as its author described it. `schemas` are the compiled definitions, by name."""

    def back(item: Any, how: Undo | None) -> Any:
        return item if how is None else undo_value(item, how, definitions, schemas)

    match undo, value:
        case Fields(properties, absent), dict():
            kept = {name: item for name, item in value.items() if item is not None or name not in absent}
            return {name: back(item, properties.get(name)) for name, item in kept.items()}
        case Items(rest, first), list():
            return [back(item, first[at] if at < len(first) else rest) for at, item in enumerate(value)]
        case Entries(inner), list() if all(_is_entry(item) for item in value):
            return {item["key"]: back(item["value"], inner) for item in value}
        case Wrapped(inner), {"value": item}:
            return back(item, inner)
        case Choice(variants), _:
            how = next((inner for schema, inner in variants if fits(value, schema, schemas)), None)
            return back(value, how)
        case Named(name), _:
            return back(value, definitions.get(name))
    return value


def _is_entry(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("key"), str) and "value" in item


def fits(value: Any, schema: Json, definitions: Json) -> bool:
    """Whether a value has the shape of a compiled schema: enough to tell the variants of a union apart."""
    if "$ref" in schema:
        return fits(value, definitions.get(schema["$ref"].rpartition("/")[2], {}), definitions)
    if "anyOf" in schema:
        return any(fits(value, variant, definitions) for variant in schema["anyOf"])
    if "enum" in schema and not _among(value, schema["enum"]):
        return False
    if "const" in schema and not _among(value, [schema["const"]]):
        return False
    if not _is_of_type(value, schema.get("type")):
        return False
    match value:
        case dict():
            return _fits_object(value, schema, definitions)
        case list():
            return all(fits(item, schema.get("items", {}), definitions) for item in value)
        case _:
            return True


def _fits_object(value: Json, schema: Json, definitions: Json) -> bool:
    properties = schema.get("properties", {})
    if any(name not in value for name in schema.get("required", ())):
        return False
    if schema.get("additionalProperties") is False and any(name not in properties for name in value):
        return False
    return all(fits(item, properties.get(name, {}), definitions) for name, item in value.items())


def _among(value: Any, options: list[Any]) -> bool:
    # True == 1 in Python but not in JSON.
    return any(value == option and isinstance(value, bool) == isinstance(option, bool) for option in options)


def _is_of_type(value: Any, types: str | list[str] | None) -> bool:
    if types is None:
        return True
    listed = [types] if isinstance(types, str) else types
    name = type_name(value)
    return name in listed or (name == "integer" and "number" in listed)
