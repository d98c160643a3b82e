"""What each dialect of JSON Schema can say, as data.

`schema.py` walks a schema once and asks these tables at every step; a new dialect is a new row.
"""

from typing import Any

from msgspec import Struct

__all__ = ["ANTHROPIC", "BEDROCK", "GEMINI", "INLINED", "OLLAMA", "OLLAMA_TOOLS", "OPENAI_STRICT", "SchemaRules"]


class SchemaRules(Struct, frozen=True, kw_only=True):
    """A dialect: what it keeps, and what has to be said another way.

    `keeps` are the keywords sent as they are; the rest is told in the description. `formats` and
    `patterns` (a regular expression that a pattern must match) and `most_min_items` narrow three of
    them. A `closed` dialect allows no property that is not listed, so it has neither free-form maps
    nor "any value"; `all_required` wants every listed property present. `recursion` is whether a
    definition may refer to itself.
    """

    name: str
    keeps: frozenset[str]
    formats: frozenset[str] | None = None
    patterns: str = ""
    most_min_items: int | None = None
    closed: bool = False
    all_required: bool = False
    recursion: bool = True
    nesting: int | None = None
    properties: int | None = None


_EVERYWHERE = frozenset({"type", "properties", "required", "items", "enum", "anyOf", "description"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_LENGTHS = frozenset({"minLength", "maxLength"})
_COUNTS = frozenset({"minItems", "maxItems"})

_COMMON_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
)
_NO_LOOKAROUND = r"(?!.*\(\?<?[=!])"
_NO_BACKREFERENCE = r"(?!.*\\[1-9])"

# `minLength` and `maxLength` are accepted by the owner of this format but by few who imitate it.
OPENAI_STRICT = SchemaRules(
    name="OpenAI strict",
    keeps=_EVERYWHERE | _BOUNDS | _COUNTS | {"title", "pattern", "format"},
    formats=_COMMON_FORMATS,
    patterns=_NO_LOOKAROUND,
    closed=True,
    all_required=True,
    nesting=10,
    properties=5000,
)
ANTHROPIC = SchemaRules(
    name="Anthropic",
    keeps=_EVERYWHERE | {"title", "const", "format", "minItems"},
    formats=_COMMON_FORMATS | {"uri"},
    most_min_items=1,
    closed=True,
    recursion=False,
)
BEDROCK = SchemaRules(
    name="Bedrock",
    keeps=_EVERYWHERE | _LENGTHS | {"title", "const", "format", "pattern", "minItems"},
    formats=_COMMON_FORMATS | {"uri"},
    patterns=_NO_LOOKAROUND + _NO_BACKREFERENCE,
    most_min_items=1,
    closed=True,
    recursion=False,
)
GEMINI = SchemaRules(
    name="Gemini",
    keeps=_EVERYWHERE | _COUNTS | {"prefixItems", "additionalProperties", "minimum", "maximum"},
)
# The grammar that enforces it reads only patterns that are anchored at both ends.
OLLAMA = SchemaRules(
    name="Ollama",
    keeps=_EVERYWHERE
    | _BOUNDS
    | _LENGTHS
    | _COUNTS
    | {"title", "const", "format", "pattern", "prefixItems", "additionalProperties", "default"},
    patterns=r"\^.*\$$",
)
# Of a tool's schema the server passes only these on to the model.
OLLAMA_TOOLS = SchemaRules(name="Ollama tool", keeps=_EVERYWHERE)
# No dialect but the language itself, without references: for those who take it all and misread `$ref`.
INLINED = SchemaRules(
    name="inlined",
    keeps=OLLAMA.keeps | {"uniqueItems", "examples", "minProperties", "maxProperties"},
)

# ── the language itself, the same for every dialect ─────────────────────────────────────────────

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")

# What must stand behind a keyword, where a wrong value would mislead the walk.
SHAPES: dict[str, type] = {
    "$ref": str,
    "$defs": dict,
    "definitions": dict,
    "properties": dict,
    "required": list,
    "enum": list,
    "anyOf": list,
    "oneOf": list,
    "allOf": list,
    "prefixItems": list,
    "description": str,
}

# Keywords that say something about a schema and nothing about its values.
ANNOTATIONS = frozenset({"title", "description", "default", "examples", "example", "deprecated"})

# Keywords that mean nothing to a model and may go without a word.
SILENT = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "$vocabulary", "$defs", "definitions", "title", "nullable"}
    | {"discriminator", "readOnly", "writeOnly", "xml", "externalDocs", "contentMediaType", "contentEncoding"}
)

# Keywords that belong to one type, for a schema that names none or several.
TYPE_OF_KEYWORD = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "patternProperties": "object",
    "propertyNames": "object",
    "minProperties": "object",
    "maxProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "minItems": "array",
    "maxItems": "array",
    "uniqueItems": "array",
    "contains": "array",
    "minLength": "string",
    "maxLength": "string",
    "pattern": "string",
    "format": "string",
}

# How a keyword that cannot be sent is told to the model.
WORDS: dict[str, str] = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "multiple of",
    "minLength": "minimum length",
    "maxLength": "maximum length",
    "pattern": "pattern",
    "format": "format",
    "minItems": "minimum number of items",
    "maxItems": "maximum number of items",
    "uniqueItems": "items are unique:",
    "contains": "contains an item like",
    "minContains": "minimum number of such items",
    "maxContains": "maximum number of such items",
    "minProperties": "minimum number of properties",
    "maxProperties": "maximum number of properties",
    "propertyNames": "property names like",
    "patternProperties": "properties by pattern:",
    "unevaluatedProperties": "other properties:",
    "unevaluatedItems": "other items:",
    "dependentRequired": "properties that need others:",
    "dependentSchemas": "properties that demand more:",
    "dependencies": "properties that need others:",
    "not": "not",
    "if": "if",
    "then": "then",
    "else": "else",
    "default": "default",
    "examples": "examples",
    "example": "example",
    "deprecated": "deprecated:",
}


def type_name(value: Any) -> str:
    """The JSON type of a value, in the words of a schema."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}
    return names.get(type(value), "")
