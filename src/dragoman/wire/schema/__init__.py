"""A JSON Schema as one provider's dialect can carry it, and values mapped back afterwards.

One walk over the schema, asking the tables of `rules.py`. What a dialect cannot say is
said another way, in this order of preference:

* exactly, and undone in the values by `restore`: a root that is no object is wrapped as
  `{"value": …}`, an optional property becomes required and nullable, a free-form map becomes a
  list of `{key, value}` entries;
* exactly, in other keywords: `$ref` is inlined, `allOf` merged, `oneOf` becomes `anyOf`, `const`
  becomes `enum`, several types become `anyOf`;
* in words: a keyword that is not in the dialect goes into the description, with a note.

What none of these can carry (a recursive schema where there are no references, a value of any
kind where every object is closed) is Misuse, with the place and a remedy; so is a schema that
would grow out of bounds, or of which nothing would be left.
"""

import re
from typing import Any

from msgspec import Struct

from ...errors import Misuse
from ...exchange import Note
from .algebra import (
    closed_object,
    lonely_reference,
    nullable,
    one_type_each,
    size,
    types_of,
    with_prefix_items,
    without_tuple,
)
from .reading import Place, SchemaReader
from .restore import Choice, Entries, Fields, Items, Named, Undo, Wrapped, undo_value
from .rules import (
    ANNOTATIONS,
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    INLINED,
    OLLAMA,
    OLLAMA_TOOLS,
    OPENAI_STRICT,
    SILENT,
    WORDS,
    SchemaRules,
)

__all__ = [
    "ANTHROPIC",
    "BEDROCK",
    "GEMINI",
    "INLINED",
    "OLLAMA",
    "OLLAMA_TOOLS",
    "OPENAI_STRICT",
    "CompiledSchema",
    "SchemaRules",
    "compile_schema",
    "restore",
]

Json = dict[str, Any]

# What the walk itself takes care of; every other keyword is kept as it is or put in words.
_WALKED = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf"}
    | {"enum", "const", "description"}
)


class CompiledSchema(Struct, frozen=True):
    """A schema fit to send, what was changed in its meaning, and how to map values back."""

    schema: Json
    notes: tuple[Note, ...] = ()
    undo: Undo | None = None
    definitions: dict[str, Undo | None] = {}


def compile_schema(schema: Json, rules: SchemaRules, where: str) -> CompiledSchema:
    """The schema in the words of a dialect. `where` names it in errors and notes; the input is not touched.

    What it gives, given again, stays as it is.
    """
    return _Compiler(schema, rules, where).compile()


def restore(value: Any, compiled: CompiledSchema) -> Any:
    """The value in the shape of the schema that was compiled, from the shape of the one that was sent."""
    return undo_value(value, compiled.undo, compiled.definitions, compiled.schema.get("$defs", {}))


Compiled = tuple[Json, Undo | None]


class _Compiler:
    """One walk over one schema."""

    def __init__(self, schema: Json, rules: SchemaRules, where: str) -> None:
        self._reader = SchemaReader(schema, where)
        self._rules = rules
        self._notes: list[Note] = []
        self._names: dict[str, str] = {}  # a reference that is kept to the name of its definition
        self._wanted: list[str] = []  # the same references, in order

    def compile(self) -> CompiledSchema:
        schema, undo = self._node(self._reader.root, Place("#", {"#": 0}))
        if schema.get("type") != "object":
            schema, undo = closed_object({"value": schema}, ["value"]), Wrapped(undo)
        schemas, undos = self._definitions()
        if schemas:
            schema = schema | {"$defs": schemas}
        self._check_size(schema)
        return CompiledSchema(schema, tuple(self._notes), undo, undos)

    def _definitions(self) -> tuple[Json, dict[str, Undo | None]]:
        schemas: Json = {}
        undos: dict[str, Undo | None] = {}
        for pointer in self._wanted:  # which grows on the way: a definition may want further ones
            place = Place(pointer, {pointer: 0})
            target = self._reader.target(pointer, place)
            schemas[self._names[pointer]], undos[self._names[pointer]] = self._node(target, place)
        return schemas, undos

    # ── one schema ────────────────────────────────────────────────────────────────────────────

    def _node(self, schema: Any, place: Place) -> Compiled:
        schema = self._reader.checked(schema, place)
        pointer = lonely_reference(schema)
        if pointer is not None and self._reader.recurs(pointer, place):
            return self._recursion(pointer, schema, place)
        plain, place = self._reader.plain(schema, place)
        return self._union(plain, place) if "anyOf" in plain else self._typed(plain, place)

    def _union(self, schema: Json, place: Place) -> Compiled:
        """A choice. What stands beside it holds for every variant, so each gets its share."""
        beside = {word: value for word, value in schema.items() if word not in ANNOTATIONS | SILENT | {"anyOf"}}
        variants = [{"allOf": [variant, beside]} if beside else variant for variant in schema["anyOf"]]
        compiled = [self._node(variant, place.at("anyOf", at)) for at, variant in enumerate(variants)]
        wire: Json = {"anyOf": [variant for variant, _ in compiled]}
        undo = Choice(tuple(compiled)) if any(how for _, how in compiled) else None
        if schema.get("nullable") is True:
            wire = nullable(wire)
        return self._described(wire, {word: schema[word] for word in schema if word in ANNOTATIONS}, place), undo

    def _typed(self, schema: Json, place: Place) -> Compiled:
        types = types_of(schema)
        solid = [name for name in types if name != "null"]
        if "enum" in schema or "const" in schema or {"object", "array"}.isdisjoint(solid):
            return self._scalar(schema, types, place), None
        if len(solid) > 1:
            return self._union(one_type_each(schema, types), place)
        wire, undo = self._object(schema, place) if solid == ["object"] else self._array(schema, place)
        return (nullable(wire) if "null" in types else wire), undo

    def _scalar(self, schema: Json, types: list[str], place: Place) -> Json:
        wire: Json = {"type": types[0] if len(types) == 1 else types} if types else {}
        if "enum" in schema:
            wire["enum"] = list(schema["enum"])
        if "const" in schema:
            wire |= {"const": schema["const"]} if "const" in self._rules.keeps else {"enum": [schema["const"]]}
        wire = self._described(wire, schema, place)
        meant = schema.keys() - ANNOTATIONS - SILENT
        if not (wire.keys() - ANNOTATIONS) and (meant or self._rules.closed):
            raise self._emptied(meant, place)
        return wire

    def _emptied(self, gone: set[str], place: Place) -> Misuse:
        if not gone:
            what = f"a value of any kind cannot be said in {self._rules.name} schemas"
        else:
            what = f"nothing is left of it: {self._rules.name} schemas do not know {', '.join(sorted(gone))}"
        return self._reader.misuse(place, what, "give it a type")

    # ── objects and arrays ──────────────────────────────────────────────────────────────────────

    def _object(self, schema: Json, place: Place) -> Compiled:
        given = schema.get("properties", {})
        rest = schema.get("additionalProperties", "properties" not in schema)
        if self._rules.closed and not given and rest is not False:
            return self._entries(schema, rest, place)
        required = self._required(schema, given, place)
        compiled = {name: self._node(inner, place.below("properties", name)) for name, inner in given.items()}
        properties = {name: wire for name, (wire, _) in compiled.items()}
        undos: dict[str, Undo | None] = {name: undo for name, (_, undo) in compiled.items() if undo}
        absent: list[str] = []
        if self._rules.all_required:
            optional = given.keys() - set(required)
            absent = [name for name in optional if not self._reader.may_be_null(given[name], place)]
            properties |= {name: nullable(properties[name]) for name in absent}
            required = list(given)
        wire = closed_object(properties, required)
        if self._rules.closed:
            self._check_closed(schema, place)
        else:
            wire = self._open(wire, schema, place)
        return self._described(wire, schema, place), Fields(undos, frozenset(absent)) if undos or absent else None

    def _check_closed(self, schema: Json, place: Place) -> None:
        rest = schema.get("additionalProperties", False)
        if rest is True or rest == {}:
            self._note(place, f"{self._rules.name} schemas allow no properties beyond those listed")
        elif rest is not False:
            what = f"{self._rules.name} schemas cannot have free properties beside known ones"
            raise self._reader.misuse(place, what, "put the free ones in a map of their own")

    def _open(self, wire: Json, schema: Json, place: Place) -> Json:
        """The object as open as it was."""
        del wire["additionalProperties"]
        if "properties" not in schema:
            del wire["properties"]
        if not wire["required"]:
            del wire["required"]
        rest = schema.get("additionalProperties")
        if isinstance(rest, dict):
            # Its undo is never needed: a dialect that carries maps has their values unchanged.
            rest, _ = self._node(rest, place.below("additionalProperties"))
        return wire if rest is None else wire | {"additionalProperties": rest}

    def _required(self, schema: Json, given: Json, place: Place) -> list[str]:
        asked = schema.get("required", [])
        for name in asked:
            if name not in given:
                self._note(place, f"required property {name!r} is not described, so it cannot be asked for")
        return [name for name in asked if name in given]

    def _entries(self, schema: Json, rest: Any, place: Place) -> Compiled:
        """A map as the list of its entries, for dialects whose objects are closed."""
        if rest is True:
            remedy = "list its `properties` (`{}` for none), or give `additionalProperties` a schema"
            raise self._reader.misuse(place, f"{self._rules.name} schemas cannot have a free-form object", remedy)
        value, undo = self._node(rest, place.below("additionalProperties"))
        entry = closed_object({"key": {"type": "string"}, "value": value}, ["key", "value"])
        return self._described({"type": "array", "items": entry}, schema, place), Entries(undo)

    def _array(self, schema: Json, place: Place) -> Compiled:
        schema = with_prefix_items(schema)
        if schema.get("prefixItems") and "prefixItems" not in self._rules.keeps:
            self._note(place, f"{self._rules.name} schemas have no tuples; each item may take any of the shapes")
            schema = without_tuple(schema)
        wire: Json = {"type": "array"}
        first = [
            self._node(item, place.below("prefixItems", at)) for at, item in enumerate(schema.get("prefixItems", ()))
        ]
        if first:
            wire["prefixItems"] = [item for item, _ in first]
        undo = None
        if schema.get("items") is False:
            wire["items"] = False
        elif "items" in schema or self._rules.closed:
            wire["items"], undo = self._node(schema.get("items", True), place.below("items"))
        undos = tuple(how for _, how in first)
        return self._described(wire, schema, place), Items(undo, undos) if undo or any(undos) else None

    # ── references ──────────────────────────────────────────────────────────────────────────────

    def _recursion(self, pointer: str, schema: Json, place: Place) -> Compiled:
        """A definition that contains itself: the one reference that cannot be inlined."""
        if not self._rules.recursion:
            remedy = "unroll it to the depth you need, or let the inner value be a string of JSON"
            raise self._reader.misuse(
                place, f"{pointer} contains itself, and {self._rules.name} schemas cannot", remedy
            )
        name = self._names.get(pointer) or self._name(pointer)
        wire: Json = {"$ref": f"#/$defs/{name}"}
        told = self._described({}, {word: schema[word] for word in schema if word in ANNOTATIONS}, place)
        return ({"anyOf": [wire]} | told if told else wire), Named(name)  # nothing may stand beside a reference

    def _name(self, pointer: str) -> str:
        wanted = re.sub(r"[^A-Za-z0-9_-]", "_", pointer.rpartition("/")[2]).strip("_") or "root"
        name, again = wanted, 1
        while name in self._names.values():
            again += 1
            name = f"{wanted}_{again}"
        self._names[pointer] = name
        self._wanted.append(pointer)
        return name

    # ── words, notes, limits ────────────────────────────────────────────────────────────────────

    def _described(self, wire: Json, schema: Json, place: Place) -> Json:
        """The wire form with the rest of a schema: kept where the dialect has the word, told where it has not."""
        rest = {word: value for word, value in schema.items() if word not in _WALKED}
        kept = {word: value for word, value in rest.items() if self._keeps(word, value)}
        told = "; ".join(self._in_words(word, rest[word], place) for word in WORDS if word in rest and word not in kept)
        for word in rest.keys() - kept.keys() - WORDS.keys() - SILENT:
            self._note(place, f"{word!r} is no word of JSON Schema and was left out")
        description = schema.get("description", "")
        if told:
            self._note(place, f"told in the description, not enforced: {told}")
            description = f"{description} ({told})" if description else told
        if description:
            kept["description"] = description
        own = {word: value for word, value in wire.items() if word in ("enum", "const")} | kept
        self._reader.charge(len(self._reader.json(own, place)), place)
        return wire | kept

    def _keeps(self, word: str, value: Any) -> bool:
        rules = self._rules
        if word not in rules.keeps:
            return False
        match word:
            case "format":
                return rules.formats is None or (isinstance(value, str) and value in rules.formats)
            case "pattern":
                return isinstance(value, str) and re.match(rules.patterns, value, re.DOTALL) is not None
            case "minItems":
                return rules.most_min_items is None or value in range(rules.most_min_items + 1)
            case _:
                return True

    def _in_words(self, word: str, value: Any, place: Place) -> str:
        return f"{WORDS[word]} {value if isinstance(value, str) else self._reader.json(value, place).decode()}"

    def _check_size(self, schema: Json) -> None:
        rules, root = self._rules, Place("#", {})
        properties, nesting = size(schema)
        if rules.properties is not None and properties > rules.properties:
            raise self._reader.misuse(
                root, f"{properties} properties, more than {rules.properties}", "ask for less at a time"
            )
        if rules.nesting is not None and nesting > rules.nesting:
            raise self._reader.misuse(
                root, f"objects nested {nesting} deep, more than {rules.nesting}", "make it flatter"
            )

    def _note(self, place: Place, why: str) -> None:
        self._notes.append(Note("changed", f"{self._reader.where} at {place.path}", why))
