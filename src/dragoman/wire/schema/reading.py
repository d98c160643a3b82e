"""A schema as its author wrote it: checked, its references followed, its pieces merged.

Knows the language and no dialect. Everything it is asked costs something, and there is an end to
what one schema may cost: definitions that name each other can grow without bounds when inlined.
"""

from typing import Any

from msgspec import Struct

from ...errors import Misuse
from ..reading import write_json
from .algebra import Contradiction, merge, type_list, types_of
from .references import NOWHERE, follow, recursive_references
from .rules import SHAPES, TYPES

__all__ = ["Place", "SchemaReader"]

Json = dict[str, Any]

MOST_BYTES = 2_000_000
NODE_BYTES = 40
MOST_DEPTH = 64
MOST_REFERENCES = 256


class Place(Struct, frozen=True):
    """Where a walk stands: the path, the references it is inside of, and how many values deep each of them began."""

    path: str
    inside: dict[str, int]
    level: int = 0
    depth: int = 0

    def at(self, *steps: object) -> "Place":
        """Another schema of the same value."""
        return Place("/".join((self.path, *map(str, steps))), self.inside, self.level, self.depth + 1)

    def below(self, *steps: object) -> "Place":
        """The schema of a value inside this one."""
        return Place("/".join((self.path, *map(str, steps))), self.inside, self.level + 1, self.depth + 1)

    def following(self, pointer: str) -> "Place":
        """The same place, inside one more reference."""
        return Place(self.path, {**self.inside, pointer: self.level}, self.level, self.depth)


class SchemaReader:
    """Reads the schemas inside one schema; `where` names it in errors."""

    def __init__(self, root: Any, where: str) -> None:
        self.root, self.where = root, where
        self._bytes = 0
        self._nulls: dict[str, bool] = {}  # whether null is a value of a reference's target
        self._recursive = recursive_references(root, lambda: self.charge(1, Place("#", {})))

    def misuse(self, place: Place, what: str, remedy: str) -> Misuse:
        """The error for a schema that cannot be carried."""
        return Misuse(f"{self.where} at {place.path}: {what}; {remedy}")

    def charge(self, size_bytes: int, place: Place) -> None:
        """Count what the walk has written so far, and stop it when that is too much."""
        self._bytes += size_bytes
        if self._bytes > MOST_BYTES:
            remedy = "let fewer definitions name each other"
            raise self.misuse(place, f"written out the schema is larger than {MOST_BYTES} bytes", remedy)

    def json(self, value: Any, place: Place) -> bytes:
        """A piece of the schema as JSON."""
        try:
            return write_json(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise self.misuse(place, f"it is not JSON: {error}", "use only what JSON has") from error

    def checked(self, schema: Any, place: Place) -> Json:
        """The schema, if it is one; `true` is the schema of any value."""
        if schema is True:
            schema = {}
        if not isinstance(schema, dict):
            raise self.misuse(place, f"a schema must be an object, not {schema!r:.50}", "write it as `{…}`")
        if place.depth > MOST_DEPTH or len(place.inside) > MOST_REFERENCES:
            raise self.misuse(place, f"it is nested deeper than {MOST_DEPTH}", "make it flatter")
        self.charge(NODE_BYTES, place)
        for keyword, shape in SHAPES.items():
            if keyword in schema and not isinstance(schema[keyword], shape):
                raise self.misuse(place, f"{keyword!r} must be a {shape.__name__}", "see json-schema.org")
        for keyword in ("type", "enum", "anyOf", "oneOf", "allOf"):
            if schema.get(keyword) == []:
                raise self.misuse(place, f"{keyword!r} is empty, so no value fits", "list something, or leave it out")
        for name in type_list(schema.get("type", [])):
            if name not in TYPES:
                raise self.misuse(place, f"unknown type {name!r:.50}", f"use one of {', '.join(TYPES)}")
        for name in (*schema.get("properties", ()), *schema.get("required", ())):
            if not isinstance(name, str):
                raise self.misuse(place, f"{name!r:.50} is no name of a property", "use a string")
        return schema

    def recurs(self, pointer: str, place: Place) -> bool:
        """Whether a reference must be kept: it leads back to itself, and stands inside a value of its own."""
        return pointer in self._recursive and place.level > 0

    def plain(self, schema: Json, place: Place) -> tuple[Json, Place]:
        """The schema with all that `$ref` and `allOf` bring merged into it, and `oneOf` as `anyOf`."""
        plain: Json = {}
        pending: list[tuple[Any, Place]] = [(schema, place)]
        for piece, here in pending:  # which grows on the way
            own = dict(self.checked(piece, here))
            pointer = own.pop("$ref", None)
            if pointer is not None:
                here = self._following(pointer, here)
                if pointer not in place.inside:  # else another piece has brought it already
                    place = place.following(pointer)
                    pending.append((self.target(pointer, here), here))
            pending += ((part, here) for part in (*own.pop("allOf", ()), *_lone_choices(own)))
            plain = self._merged(plain, _only_any_of(own), place)
        return plain, place

    def _merged(self, outer: Json, inner: Json, place: Place) -> Json:
        self.charge(len(outer.get("properties", ())), place)
        try:
            return merge(outer, inner)
        except Contradiction as keyword:
            raise self.misuse(place, f"two values of {keyword} that cannot be made one", "merge them by hand") from None

    def _following(self, pointer: str, place: Place) -> Place:
        if self.recurs(pointer, place):
            remedy = "give them a definition of their own"
            raise self.misuse(place, f"other keywords stand beside {pointer}, which contains itself", remedy)
        if place.inside.get(pointer) == place.level:
            raise self.misuse(place, f"{pointer} is defined as itself", "say what it holds")
        return place.following(pointer)

    def target(self, pointer: str, place: Place) -> Any:
        """What a reference within the schema points to."""
        found = follow(self.root, pointer)
        if found is NOWHERE:
            raise self.misuse(place, f"$ref {pointer!r} leads nowhere in this schema", "define it under `$defs`")
        return found

    def may_be_null(self, schema: Any, place: Place) -> bool:
        """Whether null is a value of its own in a schema that was walked before. Each reference is followed once."""
        if not isinstance(schema, dict) or schema.get("nullable") is True:
            return True
        pointer = schema.get("$ref", "")
        if pointer and pointer not in self._nulls:
            self._nulls[pointer] = self.may_be_null(self.target(pointer, place), place)
        types = types_of(schema)
        return (
            self._nulls.get(pointer, True)
            and (not types or "null" in types)
            and None in schema.get("enum", [None])
            and schema.get("const") is None
            and all(self.may_be_null(piece, place) for piece in schema.get("allOf", ()))
            and all(
                any(self.may_be_null(variant, place) for variant in schema[choice])
                for choice in ("anyOf", "oneOf")
                if choice in schema
            )
        )


def _lone_choices(piece: Json) -> list[Any]:
    """A choice of one is no choice: take those out of the piece."""
    lone = [word for word in ("anyOf", "oneOf") if len(piece.get(word, ())) == 1]
    return [piece.pop(word)[0] for word in lone]


def _only_any_of(piece: Json) -> Json:
    """The piece with `oneOf` as `anyOf`."""
    if "oneOf" not in piece:
        return piece
    rest = {word: value for word, value in piece.items() if word not in ("oneOf", "anyOf")}
    both = [{"allOf": [{"anyOf": piece["anyOf"]}, variant]} for variant in piece["oneOf"]] if "anyOf" in piece else None
    return rest | {"anyOf": both or piece["oneOf"]}
