import pytest

from dragoman.errors import InvalidResponse
from dragoman.limits import Limits
from dragoman.wire.gemini.partial_arguments import PartialArguments


def gathered(*pieces):
    arguments = PartialArguments(Limits(nesting=4))
    for piece in pieces:
        arguments.add(piece)
    return arguments.whole()


def words(path, text):
    return {"jsonPath": path, "stringValue": text}


def test_fragments_of_one_string_are_joined():
    assert gathered(words("$.to", "ne"), words("$.to", ""), words("$.to", "st")) == {"to": "nest"}


def test_every_kind_of_scalar_has_its_field():
    pieces = (
        {"jsonPath": "$.height", "numberValue": 0},
        {"jsonPath": "$.fast", "boolValue": False},
        {"jsonPath": "$.why", "nullValue": "NULL_VALUE"},
        words("$.to", ""),
    )
    assert gathered(*pieces) == {"height": 0, "fast": False, "why": None, "to": ""}


@pytest.mark.parametrize("value", [[1], {}, "NaN", None])
def test_a_number_that_is_none_is_null(value):
    assert gathered({"jsonPath": "$.height", "numberValue": value}) == {"height": None}


def test_paths_lead_into_objects_and_lists():
    pieces = (words("$.stops[0].tree", "oak"), words("$.stops[0].side", "left"), words("$.stops[1].tree", "elm"))
    assert gathered(*pieces) == {"stops": [{"tree": "oak", "side": "left"}, {"tree": "elm"}]}


@pytest.mark.parametrize(
    ("path", "name"), [("$['a.b']", "a.b"), ('$["c[0]"]', "c[0]"), (r"$['it\'s']", "it's"), ("$.größe", "größe")]
)
def test_names_may_be_quoted(path, name):
    assert gathered(words(path, "x")) == {name: "x"}


def test_a_piece_without_a_value_says_nothing_yet():
    assert gathered({"jsonPath": "$.to", "willContinue": True}, "nonsense", None) == {}


@pytest.mark.parametrize(
    "path", ["", "$", "to", "$to", "$.a..b", "$.a[x]", "$.a[", "$['a'", "$.a.b.c.d.e", "$.a[99999999999]"]
)
def test_a_path_that_leads_nowhere_is_an_invalid_response(path):
    with pytest.raises(InvalidResponse, match="path"):
        gathered(words(path, "x"))


@pytest.mark.parametrize("paths", [("$.a", "$.a.b"), ("$.a[0]", "$.a.b"), ("$.a.b", "$.a[0]"), ("$.a[1]",), ("$[0]",)])
def test_paths_that_contradict_each_other_are_an_invalid_response(paths):
    with pytest.raises(InvalidResponse, match="contradict"):
        gathered(*(words(path, "x") for path in paths))
