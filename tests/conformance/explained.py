"""The differences that are meant, from `explained.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .verdict import Difference, Verdict

__all__ = ["Explanation", "find_explanation", "idle_explanations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why some exchanges differ in one field from what that check expects."""

    check: str
    field: str
    ids: list[str]
    reason: str


@cache
def _explanations() -> tuple[Explanation, ...]:
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(Explanation(**entry) for entry in entries.get("explained", ()))


def find_explanation(verdict: Verdict, difference: Difference) -> Explanation | None:
    """The reason why this exchange may differ here, if there is one."""
    # `vector 3` is one of many `vector`s
    key = (difference.check, difference.field.rstrip(" 0123456789"))
    found = (each for each in _explanations() if verdict.exchange.id in each.ids and key == (each.check, each.field))
    return next(found, None)


def idle_explanations(verdict: Verdict) -> list[Explanation]:
    """Explanations of differences that this exchange does not have any more."""
    needed = [find_explanation(verdict, difference) for difference in verdict.differences]
    here = (each for each in _explanations() if verdict.exchange.id in each.ids and each.check in verdict.passed)
    return [each for each in here if each not in needed]
