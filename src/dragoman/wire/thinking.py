"""A level of effort as each family of models wants to hear it, and back."""

from ..effort import HIGH, LOW, MEDIUM, OFF, ULTRA, UNSAID
from ..target import Family

__all__ = ["budget_level", "effort_level", "effort_word", "thinking_budget"]

# Every word any provider uses, weakest first.
_RANKS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_WORDS = {OFF: "none", LOW: "low", MEDIUM: "medium", HIGH: "high", ULTRA: "max"}
_LEVELS = {"none": OFF, "minimal": LOW, "low": LOW, "medium": MEDIUM, "high": HIGH, "xhigh": ULTRA, "max": ULTRA}

_BUDGETS = {LOW: 2_048, MEDIUM: 8_192, HIGH: 16_384, ULTRA: 32_768}


def effort_word(family: Family, level: int) -> str:
    """The family's word for a level: the strongest it has up to that, else its weakest."""
    wanted = _RANKS.index(_WORDS[level])
    words = [word for word in family.efforts if (word == "none") == (level == OFF)]
    fitting = [word for word in words if _RANKS.index(word) <= wanted]
    return fitting[-1] if fitting else words[0] if words else ""


def effort_level(word: str | None) -> int:
    """The level that a provider's word stands for; 0 for a word nobody uses."""
    return _LEVELS.get(word or "", UNSAID)


def thinking_budget(family: Family, level: int, most: int | None = None) -> int:
    """Tokens of thought for a level, within the family's bounds; a quarter of `most` is left for the answer."""
    low, high = family.budgets or (1_024, 32_768)
    if most is not None:
        high = min(high, most - most // 4 - 1)
    return max(low, min(high, _BUDGETS[level]))


def budget_level(tokens: int) -> int:
    """The level whose budget comes nearest."""
    if tokens == 0:
        return OFF
    return min(_BUDGETS, key=lambda level: abs(_BUDGETS[level] - tokens))
