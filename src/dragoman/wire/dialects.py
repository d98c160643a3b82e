"""Named adjustments that a provider's row may ask for, where no quirk field can say it.

A dialect is a pure function; the row names it. `EFFORT_DIALECTS` say how hard to think in the words
of one API.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ..effort import OFF
from ..target import Family
from .thinking import effort_word

__all__ = ["EFFORT_DIALECTS"]

Body = dict[str, Any]


# What providers who take a word understand for a model whose own control is none of words: they translate.
_COMMON_WORDS = ("none", "low", "medium", "high")


def _word(family: Family, level: int) -> str:
    return effort_word(family, level) or effort_word(replace(family, efforts=_COMMON_WORDS), level)


def _reasoning_effort(family: Family, level: int) -> Body:
    return {"reasoning_effort": _word(family, level)}


def _common_word(family: Family, level: int) -> str:
    """The family's word among those that every model is asked in."""
    return effort_word(replace(family, efforts=tuple(word for word in family.efforts if word in _COMMON_WORDS)), level)


def _common_effort(family: Family, level: int) -> Body:
    """Providers with the same few words for every model."""
    everyone = replace(family, efforts=_COMMON_WORDS)
    return {"reasoning_effort": _common_word(family, level) or effort_word(everyone, level)}


def _effort_or_default(family: Family, level: int) -> Body:
    """Families that can only be switched take the word `default` for on."""
    if family.thinking != "toggle":
        return _reasoning_effort(family, level)
    return {"reasoning_effort": "none" if level == OFF else "default"}


def _reasoning_object(family: Family, level: int) -> Body:
    return {"reasoning": {"effort": _word(family, level)}}


def _thinking_switch(family: Family, level: int) -> Body:
    """`thinking: {type}` with a word beside it for the families that take one."""
    if level == OFF:
        return {"thinking": {"type": "disabled"}}
    word = effort_word(family, level)
    return {"thinking": {"type": "enabled"}} | ({"reasoning_effort": word} if word else {})


def _reasoning_switch(family: Family, level: int) -> Body:
    """`reasoning: {enabled}` with a word beside it for the families that take one."""
    if level == OFF:
        return {"reasoning": {"enabled": False}}
    word = _common_word(family, level)
    return {"reasoning": {"enabled": True}} | ({"reasoning_effort": word} if word else {})


def _template_switch(family: Family, level: int) -> Body:
    """Servers that hand the switch to the model's chat template, with a word beside it for those told in words."""
    word = _common_word(family, level) if family.thinking == "effort" and level != OFF else ""
    switch = {"chat_template_kwargs": {"enable_thinking": level != OFF}}
    return switch | ({"reasoning_effort": word} if word else {})


EFFORT_DIALECTS: dict[str, Callable[[Family, int], Body]] = {
    "reasoning_effort": _reasoning_effort,
    "common_effort": _common_effort,
    "effort_or_default": _effort_or_default,
    "reasoning_object": _reasoning_object,
    "thinking_switch": _thinking_switch,
    "reasoning_switch": _reasoning_switch,
    "template_switch": _template_switch,
}
