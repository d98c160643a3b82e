"""What Converse leaves to the model's maker: the fields that go into `additionalModelRequestFields`.

A family names the style of these fields in `body_style`; a style says how its models are told how
hard to think, how they take top_k, and whether they take a tool choice in their own words.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct

from ...effort import OFF
from ...exchange import Note, Options, Request
from ...target import Family, Target
from ..thinking import effort_word, thinking_budget

__all__ = ["model_fields", "tool_choice"]

Fields = dict[str, Any]


def _no_thinking(family: Family, level: int, most: int | None) -> Fields:
    return {}


def _claude_thinking(family: Family, level: int, most: int | None) -> Fields:
    if level == OFF:
        return {"thinking": {"type": family.thinking_off}}
    if family.thinking == "budget":
        budget = thinking_budget(family, level, most)
        fits = most is None or budget < most
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if fits else {}
    fields: Fields = {"thinking": {"type": "adaptive", "display": "summarized"}}
    word = effort_word(family, level)
    return fields | ({"output_config": {"effort": word}} if word else {})


def _nova_thinking(family: Family, level: int, most: int | None) -> Fields:
    if level == OFF:
        return {"reasoningConfig": {"type": "disabled"}}
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort_word(family, level)}}


def _reasoning_effort(family: Family, level: int, most: int | None) -> Fields:
    word = effort_word(family, level)
    return {"reasoning_effort": word} if word else {}


def _reasoning_object(family: Family, level: int, most: int | None) -> Fields:
    word = effort_word(family, level)
    return {"reasoning": {"effort": word}} if word else {}


def _reasoning_config(family: Family, level: int, most: int | None) -> Fields:
    word = effort_word(family, level)
    return {"reasoning_config": word} if word else {}


def _no_top_k(top_k: int) -> Fields:
    return {}


def _top_k(top_k: int) -> Fields:
    return {"top_k": top_k}


def _nested_top_k(top_k: int) -> Fields:
    return {"inferenceConfig": {"topK": top_k}}


class _Style(Struct, frozen=True):
    thinking: Callable[[Family, int, int | None], Fields] = _no_thinking
    top_k: Callable[[int], Fields] = _no_top_k
    own_tool_choice: bool = False


_PLAIN = _Style()

_STYLES: dict[str, _Style] = {
    "claude": _Style(_claude_thinking, _top_k, own_tool_choice=True),
    "nova": _Style(_nova_thinking, _nested_top_k),
    "effort": _Style(_reasoning_effort),
    "reasoning_object": _Style(_reasoning_object),
    "reasoning_config": _Style(_reasoning_config),
}


def _style(target: Target) -> _Style:
    return _STYLES.get(target.family.body_style, _PLAIN)


def model_fields(options: Options, target: Target, notes: list[Note]) -> Fields:
    """Thinking and top_k as this family wants to hear them."""
    style, fields = _style(target), Fields()
    if options.effort_level:
        most = None if options.max_tokens is UNSET else options.max_tokens
        fields |= style.thinking(target.family, options.effort_level, most)
        if not fields:
            notes.append(Note("dropped", "effort", _why_dropped(style, target.family, most)))
    if options.top_k is not UNSET:
        fields |= style.top_k(options.top_k)
    return fields


def _why_dropped(style: _Style, family: Family, most: int | None) -> str:
    if style.thinking is _claude_thinking and most is not None:
        return f"max_tokens={most} leaves no room for thinking"
    if style.thinking is _no_thinking:
        return "Converse has no field for it, nor has this model family on Converse"
    return f"the {family.name} family has no word for it"


def tool_choice(request: Request, target: Target, notes: list[Note]) -> tuple[Fields, Fields]:
    """The tool choice, as Converse's own word or as a field of the model's maker; never as both.

    Converse can neither forbid tools nor ask for one call at a time; families with a tool choice
    of their own can. The server refuses a request that says both.
    """
    choice, one_at_a_time = request.tool_choice, request.options.parallel_tool_calls is False
    if _style(target).own_tool_choice and (choice == "none" or one_at_a_time):
        return {}, {"tool_choice": _own_tool_choice(choice, one_at_a_time)}
    if choice == "none":
        notes.append(Note("ignored", "tool_choice 'none'", "Converse cannot forbid tools that the history has used"))
        return {}, {}
    words: dict[str, Fields] = {"auto": {}, "required": {"any": {}}}
    return words.get(choice, {"tool": {"name": choice}}), {}


def _own_tool_choice(choice: str, one_at_a_time: bool) -> Fields:
    words: dict[str, Fields] = {"auto": {"type": "auto"}, "required": {"type": "any"}, "none": {"type": "none"}}
    word = words.get(choice, {"type": "tool", "name": choice})
    return word | ({"disable_parallel_tool_use": True} if one_at_a_time and choice != "none" else {})
