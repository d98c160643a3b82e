"""What a table of harmless differences is made of.

A rule takes a recorded body and ours and answers with both, less one kind of difference that
changes nothing for whoever reads them. It never mutates; places are named as in
`messages[].content[]`, where `[]` is every item of a list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "MODEL_IN_URL",
    "NOTHING_SAID",
    "Change",
    "Rule",
    "added",
    "at",
    "beside",
    "both",
    "less",
    "recorded_only",
    "renamed",
]

Json = Any
Change = Callable[[Json], Json]
Pair = tuple[Json, Json]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of difference, and why it is none in meaning."""

    name: str
    reason: str
    apply: Callable[[Json, Json], Pair]


def both(*changes: Change) -> Callable[[Json, Json], Pair]:
    """The same changes to either body: two ways to say one thing become one."""

    def apply(recorded: Json, ours: Json) -> Pair:
        return _changed(recorded, changes), _changed(ours, changes)

    return apply


def recorded_only(*changes: Change) -> Callable[[Json, Json], Pair]:
    """Changes to the recorded body: it is brought to what we write instead."""

    def apply(recorded: Json, ours: Json) -> Pair:
        return _changed(recorded, changes), ours

    return apply


def added(name: str, value: Json) -> Callable[[Json, Json], Pair]:
    """A field with this value that we write where the recorded body says nothing."""

    def apply(recorded: Json, ours: Json) -> Pair:
        if name not in recorded and ours.get(name) == value:
            ours = {key: kept for key, kept in ours.items() if key != name}
        return recorded, ours

    return apply


def beside(path: str, change: Callable[[Json, Json], Json]) -> Callable[[Json, Json], Pair]:
    """What stands at such a place of the recorded body, changed in the light of what we put there."""
    steps = path.replace("[]", ".[]").split(".")
    return lambda recorded, ours: (_beside(recorded, ours, steps, change), ours)


def _beside(recorded: Json, ours: Json, steps: list[str], change: Callable[[Json, Json], Json]) -> Json:
    if not steps:
        return change(recorded, ours)
    step, *rest = steps
    match recorded, ours:
        case list(), list() if step == "[]" and len(recorded) == len(ours):
            return [_beside(*pair, rest, change) for pair in zip(recorded, ours, strict=True)]
        case dict(), dict() if step in recorded and step in ours:
            return recorded | {step: _beside(recorded[step], ours[step], rest, change)}
        case _:
            return recorded


def _changed(body: Json, changes: tuple[Change, ...]) -> Json:
    for change in changes:
        body = change(body)
    return body


# ── changes ─────────────────────────────────────────────────────────────────────────────────────


def at(path: str, *changes: Change) -> Change:
    """The changes made at every such place of a body; nothing where there is no such place."""
    steps = path.replace("[]", ".[]").split(".")
    return lambda body: _at(body, steps, changes)


def _at(value: Json, steps: list[str], changes: tuple[Change, ...]) -> Json:
    if not steps:
        return _changed(value, changes)
    step, *rest = steps
    if step == "[]" and isinstance(value, list):
        return [_at(item, rest, changes) for item in value]
    if isinstance(value, dict) and step in value:
        return value | {step: _at(value[step], rest, changes)}
    return value


def less(name: str, *values: Json) -> Change:
    """An object without this field where it holds one of the values: what not saying it means too."""

    def change(value: Json) -> Json:
        if not isinstance(value, dict) or name not in value or not any(_same(value[name], each) for each in values):
            return value
        return {key: kept for key, kept in value.items() if key != name}

    return change


def renamed(old: str, new: str) -> Change:
    """An object with a field under its other name."""

    def change(value: Json) -> Json:
        if not isinstance(value, dict) or old not in value or new in value:
            return value
        return {new if key == old else key: kept for key, kept in value.items()}

    return change


def _same(value: Json, other: Json) -> bool:
    return value == other and isinstance(value, bool) is isinstance(other, bool)


# ── what holds for every wire ───────────────────────────────────────────────────────────────────


# What a tool is given and what a schema says is not ours to tidy: there null is a value like any other.
_VERBATIM = ("input_schema", "parameters", "schema", "arguments")


def _less_nulls(value: Json) -> Json:
    if isinstance(value, list):
        return [_less_nulls(item) for item in value]
    if isinstance(value, dict):
        return {name: _less_nulls_in(name, kept) for name, kept in value.items() if kept is not None}
    return value


def _less_nulls_in(name: str, value: Json) -> Json:
    verbatim = name in _VERBATIM or (name == "input" and isinstance(value, dict))
    return value if verbatim else _less_nulls(value)


def _model_in_url(recorded: Json, ours: Json) -> Pair:
    return (recorded, ours) if "model" in recorded else (recorded, less("model", ours["model"])(ours))


MODEL_IN_URL = Rule("model in the URL", "hosts that name the model in the URL need no field for it", _model_in_url)
NOTHING_SAID = (
    Rule("null", "a field that is null says what an absent one says", both(_less_nulls)),
    Rule("stream: false", "whole answers are what is given unasked", both(less("stream", False))),
    Rule("no tools", "an empty list of tools offers what none offers", both(less("tools", []))),
)
