import copy
from collections.abc import Callable
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import Misuse
from dragoman.wire.schema import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    OLLAMA,
    OLLAMA_TOOLS,
    OPENAI_STRICT,
    CompiledSchema,
    SchemaRules,
    compile_schema,
    restore,
)
from dragoman.wire.schema.restore import fits
from dragoman.wire.schema.rules import SHAPES, WORDS

DIALECTS = (OPENAI_STRICT, ANTHROPIC, BEDROCK, GEMINI, OLLAMA, OLLAMA_TOOLS)
CLOSED = (OPENAI_STRICT, ANTHROPIC, BEDROCK)
OPEN = (GEMINI, OLLAMA)

every = pytest.mark.parametrize("rules", DIALECTS, ids=lambda rules: rules.name)
closed = pytest.mark.parametrize("rules", CLOSED, ids=lambda rules: rules.name)
open_ = pytest.mark.parametrize("rules", OPEN, ids=lambda rules: rules.name)


def compiled(schema: Any, rules: SchemaRules = OPENAI_STRICT) -> CompiledSchema:
    return compile_schema(schema, rules, "response_schema")


def an_object(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required}


def inside(schema: Any, rules: SchemaRules = OPENAI_STRICT, **more: Any) -> Any:
    """What a property's schema becomes."""
    return compiled(an_object(p=schema) | more, rules).schema["properties"]["p"]


def refusal(schema: Any, rules: SchemaRules = OPENAI_STRICT) -> str:
    with pytest.raises(Misuse) as caught:
        compiled(schema, rules)
    return str(caught.value)


STRING = {"type": "string"}
NULL = {"type": "null"}
TREE = {
    "$defs": {
        "Node": an_object(["label"], label=STRING, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    },
    "$ref": "#/$defs/Node",
}


# ── references ──────────────────────────────────────────────────────────────────────────────────


@every
@pytest.mark.parametrize("home", ["$defs", "definitions"])
def test_a_reference_is_replaced_by_what_it_names(rules, home):
    schema = an_object(p={"$ref": f"#/{home}/Name"}) | {home: {"Name": {"type": "string", "enum": ["a"]}}}

    wire = compiled(schema, rules).schema

    assert wire["properties"]["p"] == {"type": "string", "enum": ["a"]}
    assert home not in wire


def test_a_description_beside_a_reference_wins_over_that_of_the_target():
    schema = {"$ref": "#/$defs/Name", "description": "whose"}

    assert inside(schema, **{"$defs": {"Name": STRING | {"description": "a name"}}})["description"] == "whose"


def test_a_name_with_a_slash_in_it_is_found():
    assert inside({"$ref": "#/$defs/a~1b~0c"}, **{"$defs": {"a/b~c": STRING}}) == STRING


@pytest.mark.parametrize("rules", [OPENAI_STRICT, GEMINI, OLLAMA], ids=lambda rules: rules.name)
def test_a_recursive_definition_is_kept_where_the_dialect_has_references(rules):
    wire = compiled(TREE, rules).schema
    node = wire["$defs"]["Node"]

    children = node["properties"]["children"]
    items = children["items"] if "items" in children else children["anyOf"][0]["items"]
    assert items == {"$ref": "#/$defs/Node"}
    assert wire["type"] == "object"


@pytest.mark.parametrize("rules", [ANTHROPIC, BEDROCK], ids=lambda rules: rules.name)
def test_a_recursive_definition_is_refused_where_the_dialect_has_none(rules):
    message = refusal(TREE, rules)

    assert "#/properties/children/items" in message
    assert "#/$defs/Node contains itself" in message
    assert "unroll" in message


def test_a_schema_may_refer_to_its_root():
    schema = an_object([], next={"$ref": "#"})

    wire = compiled(schema)

    assert list(wire.schema["$defs"]) == ["root"]
    jsonschema.validate({"next": {"next": None}}, wire.schema)
    assert restore({"next": {"next": None}}, wire) == {"next": {}}


def test_values_of_a_recursive_schema_are_restored_at_every_depth():
    wire = compiled(TREE)
    sent = {"label": "a", "children": [{"label": "b", "children": None}]}

    jsonschema.validate(sent, wire.schema)
    assert restore(sent, wire) == {"label": "a", "children": [{"label": "b"}]}


def test_nothing_stands_beside_a_kept_reference():
    node = an_object([], next={"$ref": "#/$defs/Node", "description": "the one after"})
    wire = compiled({"$defs": {"Node": node}, "$ref": "#/$defs/Node"}, OLLAMA)

    assert wire.schema["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/Node"}], "description": "the one after"}


def test_two_recursive_definitions_of_one_name_do_not_meet():
    def node(home: str) -> Any:
        return an_object([], next={"$ref": f"#/{home}/Node"})

    schema = an_object(a={"$ref": "#/$defs/Node"}, b={"$ref": "#/definitions/Node"})
    wire = compiled(schema | {"$defs": {"Node": node("$defs")}, "definitions": {"Node": node("definitions")}}, OLLAMA)

    assert sorted(wire.schema["$defs"]) == ["Node", "Node_2"]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#/$defs/Gone"}, "at #/properties/p: $ref '#/$defs/Gone' leads nowhere"),
        ({"$ref": "https://example.org/schema.json"}, "leads nowhere"),
        ({"$ref": "#/$defs/Loop"}, "at #/$defs/Loop: #/$defs/Loop is defined as itself"),
        ({"$ref": "#/$defs/Echo"}, "at #/$defs/Echo/anyOf/0: #/$defs/Echo is defined as itself"),
    ],
)
def test_a_reference_that_leads_to_nothing_is_refused(schema, problem):
    defs = {"Loop": {"$ref": "#/$defs/Loop"}, "Echo": {"anyOf": [{"$ref": "#/$defs/Echo"}, STRING]}}

    assert problem in refusal(an_object(p=schema) | {"$defs": defs})


def test_keywords_beside_a_recursive_reference_are_refused():
    node = an_object(next={"$ref": "#/$defs/Node", "minProperties": 1})

    assert "beside #/$defs/Node" in refusal({"$defs": {"Node": node}, "$ref": "#/$defs/Node"})


def test_a_definition_may_come_in_by_two_ways():
    defs = {"Base": an_object(a=STRING), "B": {"allOf": [{"$ref": "#/$defs/Base"}]}, "C": {"$ref": "#/$defs/Base"}}

    assert inside({"allOf": [{"$ref": "#/$defs/B"}, {"$ref": "#/$defs/C"}]}, **{"$defs": defs})["required"] == ["a"]


def test_definitions_that_all_contain_each_other_are_written_once_each():
    defs = {f"D{n}": an_object([], **{f"d{m}": {"$ref": f"#/$defs/D{m}"} for m in range(20)}) for n in range(20)}

    wire = compiled({"$ref": "#/$defs/D0", "$defs": defs}).schema

    assert len(wire["$defs"]) == 20
    assert wire["$defs"]["D3"]["properties"]["d7"] == {"anyOf": [{"$ref": "#/$defs/D7"}, NULL]}


def test_both_kinds_of_choice_at_once_must_both_be_met():
    schema = {"anyOf": [{"minimum": 1}, {"maximum": 9}], "oneOf": [{"type": "integer"}, {"type": "number"}]}

    first, second = inside(schema)["anyOf"]

    assert first["anyOf"] == [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 9}]
    assert second["anyOf"] == [{"type": "number", "minimum": 1}, {"type": "number", "maximum": 9}]


@pytest.mark.parametrize("schema", [TREE, an_object([], next={"$ref": "#"})])
def test_a_recursive_schema_compiles_to_itself_too(schema):
    once = compiled(schema).schema

    assert compiled(once).schema == once


@every
def test_definitions_that_multiply_end_in_an_error_and_not_in_memory(rules):
    layers = {f"L{n}": an_object(a={"$ref": f"#/$defs/L{n + 1}"}, b={"$ref": f"#/$defs/L{n + 1}"}) for n in range(40)}
    bomb = {"$ref": "#/$defs/L0", "$defs": layers | {"L40": STRING}}

    assert "larger than" in refusal(bomb, rules)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([{}] * 60_000, id="many"),
        pytest.param([{"properties": {f"p{n}": STRING}} for n in range(3000)], id="growing"),
    ],
)
def test_pieces_without_end_are_refused(pieces):
    assert "larger than" in refusal(an_object(p={"type": "object", "properties": {}, "allOf": pieces}))


def test_a_chain_of_references_without_end_is_refused():
    defs = {f"D{n}": {"$ref": f"#/$defs/D{n + 1}"} for n in range(300)} | {"D300": STRING}

    assert "deeper than" in refusal(an_object(p={"$ref": "#/$defs/D0"}) | {"$defs": defs})


def test_a_definition_that_comes_in_by_many_ways_is_merged_once():
    layers = {f"L{n}": {"allOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(40)}

    assert inside({"$ref": "#/$defs/L0"}, **{"$defs": layers | {"L40": STRING}}) == STRING


def test_a_long_text_named_many_times_counts_each_time():
    schema = an_object(**{f"p{n}": {"$ref": "#/$defs/Long"} for n in range(100)})

    assert "larger than" in refusal(schema | {"$defs": {"Long": STRING | {"description": "x" * 100_000}}})


# ── optional, nullable, choices ─────────────────────────────────────────────────────────────────


def test_an_optional_property_becomes_required_and_nullable():
    wire = compiled(an_object(["a"], a=STRING, b=STRING))

    assert wire.schema["required"] == ["a", "b"]
    assert wire.schema["properties"] == {"a": STRING, "b": {"type": ["string", "null"]}}
    assert restore({"a": "x", "b": None}, wire) == {"a": "x"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"anyOf": [STRING, NULL]},
        {"oneOf": [STRING, NULL]},
        {"enum": ["a", None]},
        {"const": None},
        {"$ref": "#/$defs/Maybe"},
        {"allOf": [{"$ref": "#/$defs/Maybe"}]},
        {"type": "string", "nullable": True},
        {"anyOf": [STRING, {"type": "integer"}], "nullable": True},
        {"$ref": "#/$defs/Surely", "nullable": True},
    ],
)
def test_the_null_of_a_nullable_property_is_a_value_and_stays(schema):
    defs = {"Maybe": {"type": ["string", "null"]}, "Surely": STRING}
    wire = compiled(an_object([], p=schema, q=STRING) | {"$defs": defs})

    jsonschema.validate({"p": None, "q": None}, wire.schema)
    assert restore({"p": None, "q": None}, wire) == {"p": None}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "enum": ["a"]},
        {"type": ["string", "null"], "const": "a"},
        {"type": "string", "enum": ["a", None]},
        {"type": ["string", "null"], "allOf": [STRING]},
    ],
)
def test_a_null_that_no_value_can_be_stands_for_a_property_that_is_not_there(schema):
    wire = compiled(an_object([], p=schema))

    jsonschema.validate({"p": None}, wire.schema)
    assert restore({"p": None}, wire) == {}
    assert wire.schema["properties"]["p"].get("enum", []).count(None) <= 1


@pytest.mark.parametrize("rules", [ANTHROPIC, BEDROCK, GEMINI, OLLAMA], ids=lambda rules: rules.name)
def test_an_optional_property_stays_optional_where_that_is_allowed(rules):
    wire = compiled(an_object(["a"], a=STRING, b=STRING), rules)

    assert wire.schema["required"] == ["a"]
    assert wire.undo is None


def test_an_optional_enum_gets_null_among_its_values():
    assert compiled(an_object([], p={"enum": ["a"]})).schema["properties"]["p"] == {
        "type": ["string", "null"],
        "enum": ["a", None],
    }


def test_an_optional_choice_gets_null_among_its_variants():
    schema = an_object([], p={"anyOf": [STRING, {"type": "integer"}]})

    assert compiled(schema).schema["properties"]["p"] == {"anyOf": [STRING, {"type": "integer"}, NULL]}


def test_an_optional_constant_becomes_a_choice_with_null_where_constants_are_known():
    rules = msgspec.structs.replace(OPENAI_STRICT, keeps=OPENAI_STRICT.keeps | {"const"})

    wire = compiled(an_object([], p={"const": "a"}), rules).schema

    assert wire["properties"]["p"] == {"anyOf": [{"type": "string", "const": "a"}, NULL]}


def test_an_optional_object_becomes_a_choice_with_null():
    wire = compiled(an_object([], p=an_object(q=STRING))).schema

    assert wire["properties"]["p"]["anyOf"][1] == NULL


@every
def test_one_of_becomes_any_of(rules):
    assert inside({"oneOf": [STRING, {"type": "integer"}]}, rules) == {"anyOf": [STRING, {"type": "integer"}]}


@every
def test_a_choice_of_one_is_no_choice(rules):
    assert inside({"anyOf": [STRING], "description": "d"}, rules) == STRING | {"description": "d"}


def test_what_stands_beside_a_choice_holds_for_each_variant():
    schema = an_object([], a=STRING, b=STRING) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}

    first, second = inside(schema, ANTHROPIC)["anyOf"]

    assert (first["required"], second["required"]) == (["a"], ["b"])
    assert first["properties"] == second["properties"] == {"a": STRING, "b": STRING}


def test_the_variant_a_value_fits_decides_how_it_is_restored():
    dog = an_object(["kind"], kind={"const": "dog"}, name=STRING)
    cat = an_object(["kind"], kind={"const": "cat"}, name={"type": ["string", "null"]})
    wire = compiled(an_object(pet={"oneOf": [dog, cat]}))

    assert restore({"pet": {"kind": "dog", "name": None}}, wire) == {"pet": {"kind": "dog"}}
    assert restore({"pet": {"kind": "cat", "name": None}}, wire) == {"pet": {"kind": "cat", "name": None}}


@pytest.mark.parametrize("rules", [OPENAI_STRICT, GEMINI], ids=lambda rules: rules.name)
def test_const_becomes_an_enum_with_its_type(rules):
    assert inside({"const": 3}, rules) == {"type": "integer", "enum": [3]}


def test_const_stays_where_it_is_known():
    assert inside({"const": 3}, ANTHROPIC) == {"type": "integer", "const": 3}


@every
def test_all_of_is_merged(rules):
    parts = [an_object(["a"], a={"type": "number"}), an_object(["b"], a={"type": "integer"}, b=STRING)]

    wire = inside({"allOf": parts, "description": "both"}, rules)

    assert wire["properties"]["a"]["type"] in ("integer", ["integer"])
    assert wire["required"] == ["a", "b"]
    assert wire["description"] == "both"


def test_merged_bounds_are_the_narrower_ones():
    schema = {"type": "integer", "minimum": 1, "maximum": 9, "allOf": [{"minimum": 3, "maximum": 12}]}

    assert inside(schema) == {"type": "integer", "minimum": 3, "maximum": 9}


@pytest.mark.parametrize(("rest", "merged"), [(False, False), (True, STRING)])
def test_merged_objects_are_as_open_as_the_stricter_one(rest, merged):
    parts = [{"additionalProperties": rest}, {"additionalProperties": STRING}]

    for both in (parts, parts[::-1]):
        assert inside({"type": "object", "allOf": both}, OLLAMA)["additionalProperties"] == merged


@every
def test_an_enum_of_objects_stays_one(rules):
    assert inside({"type": "object", "enum": [{"a": 1}]}, rules) == {"type": "object", "enum": [{"a": 1}]}


@pytest.mark.parametrize(
    "parts",
    [
        [STRING, {"type": "integer"}],
        [{"enum": [1, 2]}, {"enum": [True]}],
        [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}],
        [{"type": "integer", "minimum": "1"}, {"minimum": 2}],
    ],
)
def test_all_of_that_no_single_schema_can_say_is_refused(parts):
    assert "cannot be made one" in refusal(an_object(p={"allOf": parts}))


@every
def test_several_types_with_a_structure_among_them_become_a_choice(rules):
    schema = {"type": ["string", "array"], "items": STRING, "description": "one or more"}

    wire = inside(schema, rules)

    assert wire == {"anyOf": [STRING, {"type": "array", "items": STRING}], "description": "one or more"}


def test_a_tuple_becomes_a_list_of_its_shapes_where_there_are_none():
    schema = {"type": "array", "prefixItems": [STRING, {"type": "integer"}, STRING], "items": False}
    wire = compiled(an_object(p=schema))

    assert wire.schema["properties"]["p"]["items"] == {"anyOf": [STRING, {"type": "integer"}]}
    assert wire.schema["properties"]["p"]["maxItems"] == 3
    assert "tuples" in str(wire.notes[0])


@open_
def test_a_tuple_stays_where_it_is_known_also_in_the_older_spelling(rules):
    schema = {"type": "array", "items": [STRING, {"type": "integer"}], "additionalItems": False}

    wire = inside(schema, rules)

    assert wire == {"type": "array", "prefixItems": [STRING, {"type": "integer"}], "items": False}


# ── objects ─────────────────────────────────────────────────────────────────────────────────────


@closed
def test_every_object_is_closed(rules):
    wire = compiled(an_object(a=an_object(b=STRING)), rules).schema

    assert wire["additionalProperties"] is False
    assert wire["properties"]["a"]["additionalProperties"] is False


@open_
def test_an_object_stays_as_open_as_it_was(rules):
    assert "additionalProperties" not in compiled(an_object(a=STRING), rules).schema
    assert inside({"type": "object", "additionalProperties": STRING}, rules) == {
        "type": "object",
        "additionalProperties": STRING,
    }


def test_closing_an_object_that_was_said_to_be_open_is_noted():
    notes = compiled(an_object(a=STRING) | {"additionalProperties": True}).notes

    assert "no properties beyond those listed" in str(notes[0])


@closed
def test_a_free_form_map_travels_as_a_list_of_entries(rules):
    wire = compiled(an_object(scores={"type": "object", "additionalProperties": {"type": "integer"}}), rules)
    sent = {"scores": [{"key": "ada", "value": 3}, {"key": "bob", "value": 5}]}

    jsonschema.validate(sent, wire.schema)
    assert restore(sent, wire) == {"scores": {"ada": 3, "bob": 5}}


@closed
def test_a_tool_without_arguments_can_be_strict(rules):
    wire = compiled({"type": "object", "properties": {}}, rules).schema

    assert wire == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@closed
@pytest.mark.parametrize("schema", [{"type": "object"}, an_object() | {"additionalProperties": True}])
def test_an_object_of_anything_is_refused_where_objects_are_closed(rules, schema):
    message = refusal(an_object(p=schema), rules)

    assert "free-form object" in message
    assert "#/properties/p" in message


@closed
def test_free_properties_beside_known_ones_are_refused(rules):
    assert "map of their own" in refusal(an_object(a=STRING) | {"additionalProperties": STRING}, rules)


@closed
@pytest.mark.parametrize("schema", [True, {}, {"description": "whatever"}])
def test_a_value_of_any_kind_is_refused_where_objects_are_closed(rules, schema):
    assert "give it a type" in refusal(an_object(p=schema), rules)


@closed
def test_a_list_of_anything_is_refused_where_objects_are_closed(rules):
    assert "#/properties/p/items" in refusal(an_object(p={"type": "array"}), rules)


@open_
def test_a_value_of_any_kind_stays_where_it_can_be_said(rules):
    assert inside({"description": "whatever"}, rules) == {"description": "whatever"}
    assert inside({"type": "array"}, rules) == {"type": "array"}


@every
def test_a_required_property_that_is_not_described_is_noted_and_left_out(rules):
    wire = compiled(an_object(["a", "ghost"], a=STRING), rules)

    assert wire.schema["required"] == ["a"]
    assert "'ghost'" in str(wire.notes[0])


@every
@pytest.mark.parametrize(
    ("schema", "value"),
    [(STRING, "x"), ({"type": "array", "items": STRING}, ["x"]), ({"anyOf": [an_object(a=STRING), NULL]}, {"a": "x"})],
)
def test_a_root_that_is_no_object_is_wrapped_and_unwrapped(rules, schema, value):
    wire = compiled(schema, rules)

    assert wire.schema["type"] == "object"
    jsonschema.validate({"value": value}, wire.schema)
    assert restore({"value": value}, wire) == value


def test_a_root_of_type_object_is_not_wrapped():
    assert restore({"value": "x"}, compiled(an_object(value=STRING))) == {"value": "x"}


# ── words ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rules", "schema", "kept", "told"),
    [
        (OPENAI_STRICT, {"minLength": 2, "pattern": "^a+$"}, {"pattern": "^a+$"}, "minimum length 2"),
        (OPENAI_STRICT, {"pattern": "^(?!x)a"}, {}, "pattern ^(?!x)a"),
        (OPENAI_STRICT, {"format": "uri"}, {}, "format uri"),
        (OPENAI_STRICT, {"format": "uuid", "default": "x"}, {"format": "uuid"}, "default x"),
        (ANTHROPIC, {"pattern": "^a+$", "maxLength": 3}, {}, "maximum length 3; pattern ^a+$"),
        (ANTHROPIC, {"format": "uri"}, {"format": "uri"}, ""),
        (BEDROCK, {"minLength": 2, "pattern": r"(a)\1"}, {"minLength": 2}, r"pattern (a)\1"),
        (GEMINI, {"format": "date", "title": "T"}, {}, "format date"),
        (OLLAMA, {"pattern": "^a+$"}, {"pattern": "^a+$"}, ""),
        (OLLAMA, {"pattern": "a+"}, {}, "pattern a+"),
    ],
)
def test_a_keyword_is_kept_where_it_is_known_and_told_where_it_is_not(rules, schema, kept, told):
    wire = inside(STRING | schema, rules)

    assert wire == STRING | kept | ({"description": told} if told else {})


def test_what_is_told_follows_the_description_and_is_noted():
    wire = compiled(an_object(n={"type": "integer", "minimum": 3, "description": "how many"}), ANTHROPIC)

    assert wire.schema["properties"]["n"] == {"type": "integer", "description": "how many (minimum 3)"}
    assert str(wire.notes[0]) == (
        "changed response_schema at #/properties/n: told in the description, not enforced: minimum 3"
    )


@pytest.mark.parametrize(("count", "kept"), [(1, True), (2, False)])
def test_a_least_number_of_items_is_kept_up_to_one_where_no_more_is_known(count, kept):
    assert ("minItems" in inside({"type": "array", "items": STRING, "minItems": count}, ANTHROPIC)) is kept


def test_a_word_nobody_knows_is_left_out_and_noted():
    wire = compiled(an_object(p=STRING | {"x-order": 3}))

    assert wire.schema["properties"]["p"] == STRING
    assert "'x-order'" in str(wire.notes[0])


def test_words_that_mean_nothing_to_a_model_go_without_a_note():
    assert compiled(an_object() | {"$schema": "https://json-schema.org/draft/2020-12/schema"}).notes == ()


@every
def test_a_schema_of_which_nothing_would_be_left_is_refused(rules):
    message = refusal(an_object(p={"not": STRING}), rules)

    assert "nothing is left" in message
    assert "not" in message


# ── limits and malformed schemas ────────────────────────────────────────────────────────────────


def nested(depth: int) -> Any:
    schema: Any = STRING
    for _ in range(depth):
        schema = an_object(a=schema)
    return schema


def test_objects_may_be_nested_ten_deep_and_no_deeper():
    compiled(nested(10))

    assert "nested 11 deep" in refusal(nested(11))


def test_nesting_counts_in_every_definition():
    node = nested(11)
    node["properties"]["next"] = {"$ref": "#/$defs/Node"}

    assert "nested 11 deep" in refusal(an_object(p={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}})


def test_five_thousand_properties_and_no_more():
    compiled(an_object(**{f"p{n}": STRING for n in range(5000)}))

    assert "5001 properties" in refusal(an_object(**{f"p{n}": STRING for n in range(5001)}))


@every
def test_a_bottomless_schema_is_refused(rules):
    assert "deeper than" in refusal(nested(500), rules)


@every
@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("string", "must be an object"),
        (None, "must be an object"),
        (False, "must be an object"),
        ({"type": "text"}, "unknown type 'text'"),
        ({"type": ["string", "text"]}, "unknown type 'text'"),
        ({"type": 3}, "unknown type 3"),
        ({"type": []}, "empty"),
        ({"type": {"string": 1}}, "unknown type"),
        ({"type": "object", "properties": []}, "'properties' must be"),
        ({"type": "object", "properties": {"a": {}}, "required": "a"}, "'required' must be"),
        ({"type": "object", "properties": {1: {}}}, "no name of a property"),
        ({"type": "object", "properties": {}, "required": [{}]}, "no name of a property"),
        ({"anyOf": STRING}, "'anyOf' must be"),
        ({"enum": []}, "empty"),
        ({"anyOf": []}, "empty"),
        ({"$ref": 5}, "'$ref' must be"),
        ({"type": "string", "enum": [object()]}, "not JSON"),
        ({"type": "string", "description": 7}, "'description' must be"),
    ],
)
def test_a_malformed_schema_is_refused_with_its_place(rules, schema, problem):
    message = refusal(an_object(p=schema), rules)

    assert problem in message
    assert message.startswith("response_schema at #/properties/p: ")


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, {"a": 1}, {"value": {"m": "no list", "o": []}}, [{"key": 1}]])
def test_a_value_of_another_shape_is_restored_as_it_is(value):
    schema = an_object([], m={"type": "object", "additionalProperties": STRING}, o=an_object([], a=STRING))

    assert restore({"value": value}, compiled({"type": "array", "items": schema})) == value


@pytest.mark.parametrize("sent", [[3], [{"key": 1, "value": "x"}], [{"key": "a"}]])
def test_entries_that_are_none_are_left_as_they_are(sent):
    wire = compiled(an_object(m={"type": "object", "additionalProperties": STRING}))

    assert restore({"m": sent}, wire) == {"m": sent}


@pytest.mark.parametrize(
    ("value", "schema", "fitting"),
    [
        (1, {"type": "integer"}, True),
        (1, {"type": "number"}, True),
        (1.5, {"type": "integer"}, False),
        (True, {"type": "integer"}, False),
        (True, {"enum": [1]}, False),
        (1, {"enum": [1, 2]}, True),
        ("a", {"const": "b"}, False),
        ("a", {"const": "a"}, True),
        (None, {"type": ["string", "null"]}, True),
        ({"a": 1}, {"type": "object", "required": ["b"]}, False),
        ({"a": 1}, {"type": "object", "properties": {}, "additionalProperties": False}, False),
        ({"a": 1}, {"type": "object", "properties": {"a": STRING}}, False),
        ([1, "x"], {"type": "array", "items": STRING}, False),
        ("x", {"$ref": "#/$defs/Word"}, True),
        (3, {"$ref": "#/$defs/Word"}, False),
        (3, {"anyOf": [STRING, NULL]}, False),
    ],
)
def test_a_value_fits_a_schema_or_does_not(value, schema, fitting):
    assert fits(value, schema, {"Word": STRING}) is fitting


# ── the law: a value goes out in the shape of the compiled schema and comes back as it was ──────

Value = tuple[Any, Any]  # as its author wrote it, and as it travels
Kind = tuple[dict[str, Any], Callable[[st.DataObject], Value]]  # a schema and how to draw a value of it

NAMES = st.sampled_from(["a", "b", "key", "value", "$ref", "ö"])


@st.composite
def scalars(draw: st.DrawFn, rules: SchemaRules) -> Kind:
    schema, values = draw(
        st.sampled_from(
            [
                ({"type": "string", "maxLength": 5}, st.text(max_size=5)),
                ({"type": "integer", "minimum": 3}, st.integers(3, 9)),
                ({"type": "number"}, st.floats(allow_nan=False, allow_infinity=False)),
                ({"type": "boolean", "default": True}, st.booleans()),
                ({"enum": ["x", "y", 1]}, st.sampled_from(["x", "y", 1])),
                ({"const": "only"}, st.just("only")),
                ({"type": ["string", "null"]}, st.none() | st.text(max_size=3)),
                ({"$ref": "#/$defs/Word"}, st.sampled_from(["ja", "nein"])),
            ]
        )
    )
    return schema, lambda data: (value := data.draw(values), value)


@st.composite
def lists(draw: st.DrawFn, rules: SchemaRules, inner: st.SearchStrategy[Kind]) -> Kind:
    schema, make = draw(inner)

    def value(data: st.DataObject) -> Value:
        drawn = [make(data) for _ in range(data.draw(st.integers(0, 2)))]
        return [mine for mine, _ in drawn], [sent for _, sent in drawn]

    return {"type": "array", "items": schema}, value


@st.composite
def maps(draw: st.DrawFn, rules: SchemaRules, inner: st.SearchStrategy[Kind]) -> Kind:
    schema, make = draw(inner)

    def value(data: st.DataObject) -> Value:
        drawn = {name: make(data) for name in data.draw(st.lists(NAMES, max_size=2, unique=True))}
        mine = {name: pair[0] for name, pair in drawn.items()}
        entries = [{"key": name, "value": pair[1]} for name, pair in drawn.items()]
        return mine, entries if rules.closed else {name: pair[1] for name, pair in drawn.items()}

    return {"type": "object", "additionalProperties": schema}, value


@st.composite
def objects(draw: st.DrawFn, rules: SchemaRules, inner: st.SearchStrategy[Kind]) -> Kind:
    kinds = draw(st.dictionaries(NAMES, inner, max_size=3))
    required = [name for name in kinds if draw(st.booleans())]

    def value(data: st.DataObject) -> Value:
        mine, sent = {}, {}
        for name, (schema, make) in kinds.items():
            # A null that may be left out cannot be told from one that was: such a property is always given.
            if name in required or "null" in schema.get("type", ()) or "anyOf" in schema or data.draw(st.booleans()):
                mine[name], sent[name] = make(data)
            elif rules.all_required:
                sent[name] = None
        return mine, sent

    schema = {"type": "object", "properties": {name: kind for name, (kind, _) in kinds.items()}, "required": required}
    return ({"allOf": [schema, {"description": "merged"}]} if draw(st.booleans()) else schema), value


@st.composite
def unions(draw: st.DrawFn, rules: SchemaRules, inner: st.SearchStrategy[Kind]) -> Kind:
    """Objects that a tag tells apart, or a value that may be null."""
    if draw(st.booleans()):
        schema, make = draw(inner)
        return {"anyOf": [schema, NULL]}, lambda data: (None, None) if data.draw(st.booleans()) else make(data)
    kinds = {tag: draw(objects(rules, inner)) for tag in ("left", "right")}
    variants = [
        {"allOf": [kind, {"type": "object", "properties": {"tag": {"const": tag}}, "required": ["tag"]}]}
        for tag, (kind, _) in kinds.items()
    ]

    def value(data: st.DataObject) -> Value:
        tag = data.draw(st.sampled_from(sorted(kinds)))
        mine, sent = kinds[tag][1](data)
        return mine | {"tag": tag}, sent | {"tag": tag}

    return {"oneOf": variants}, value


def kinds(rules: SchemaRules, depth: int = 3) -> st.SearchStrategy[Kind]:
    if depth == 0:
        return scalars(rules)
    inner = kinds(rules, depth - 1)
    return scalars(rules) | lists(rules, inner) | maps(rules, inner) | objects(rules, inner) | unions(rules, inner)


@every
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_value_that_travels_comes_back_as_it_was(rules, data):
    schema, make = data.draw(kinds(rules))
    schema = schema | {"$defs": {"Word": {"enum": ["ja", "nein"]}}}
    before = copy.deepcopy(schema)

    wire = compiled(schema, rules)
    value, sent = make(data)
    sent = sent if wire.schema.get("type") == "object" and not is_wrapped(wire) else {"value": sent}

    jsonschema.validate(value, schema)
    jsonschema.validate(sent, wire.schema)
    assert restore(sent, wire) == value
    assert schema == before


@every
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_compiled_schema_compiles_to_itself(rules, data):
    schema, _ = data.draw(kinds(rules))
    once = compiled(schema | {"$defs": {"Word": {"enum": ["ja", "nein"]}}}, rules).schema

    assert compiled(once, rules).schema == once


def is_wrapped(wire: CompiledSchema) -> bool:
    return type(wire.undo).__name__ == "Wrapped"


KEYWORDS = {*SHAPES, *WORDS, "type", "items", "additionalProperties", "const", "a"}
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["string", "object", "#", "#/a", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(sorted(KEYWORDS)),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@every
@settings(max_examples=100, deadline=None)
@given(schema=JUNK, value=JUNK)
def test_whatever_is_given_as_a_schema_compiles_or_is_misuse(rules, schema, value):
    try:
        wire = compiled(schema, rules)
    except Misuse:
        return
    restore(value, wire)
