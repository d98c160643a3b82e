"""The table a person reads: a line for each protocol, then what differs and what is out of scope."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from . import oracles
from .explained import find_explanation, idle_explanations
from .verdict import CHECKS, Difference, Verdict

__all__ = ["Report", "describe", "remarks_of", "unexplained"]

SHOWN_CHARACTERS = 160
HEADINGS = ("decoded", "any cut", "= SDK", "= JSON", "errors typed")


def unexplained(verdict: Verdict) -> list[Difference]:
    """The differences of an exchange that no entry of the table explains."""
    return [difference for difference in verdict.differences if find_explanation(verdict, difference) is None]


def describe(verdict: Verdict, difference: Difference) -> str:
    """One difference in three lines, the values shortened to where they part."""
    return (
        f"{verdict.exchange.id}  {difference.check} {difference.field}\n"
        f"    ours   {_short(difference.ours, difference.theirs)}\n"
        f"    theirs {_short(difference.theirs, difference.ours)}"
    )


class Report:
    """Gathers verdicts into the table."""

    def __init__(self) -> None:
        self.exchanges = 0
        self._totals: dict[str, Counter[str]] = defaultdict(Counter)
        self._with_sdk: set[str] = set()
        self._differing: list[str] = []
        self._remarks: dict[str, list[str]] = defaultdict(list)

    @property
    def clean(self) -> bool:
        """Whether every difference is explained."""
        return not self._differing

    def add(self, verdict: Verdict) -> None:
        """Take one more verdict."""
        exchange = verdict.exchange
        self.exchanges += 1
        row = self._totals[exchange.protocol]
        row["exchanges"] += 1
        if (exchange.task, exchange.wire) in oracles.READERS:
            self._with_sdk.add(exchange.protocol)
        for check, passed in verdict.passed.items():
            row[f"{check} asked"] += 1
            row[f"{check} passed"] += passed
        self._differing += [describe(verdict, difference) for difference in unexplained(verdict)]
        for remark in remarks_of(verdict):
            self._remarks[remark].append(exchange.id)

    def text(self) -> str:
        """The whole report."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{'protocol':32}{'exchanges':>10}" + "".join(f"{heading:>14}" for heading in HEADINGS)
        for protocol in sorted(self._totals):
            yield f"{protocol:32}{self._totals[protocol]['exchanges']:>10}" + self._cells(protocol)
        total = sum(self._totals.values(), Counter())
        yield f"{'all':32}{self.exchanges:>10}" + "".join(f"{_share(total, check):>14}" for check in CHECKS)
        for remark, ids in sorted(self._remarks.items()):
            yield f"\n{remark}: {len(ids)}\n    {', '.join(ids[:6])}{' …' if len(ids) > 6 else ''}"
        yield f"\n{len(self._differing)} differences not explained"
        yield from self._differing

    def _cells(self, protocol: str) -> str:
        row = self._totals[protocol]
        cells = {check: _share(row, check) for check in CHECKS}
        if row["json asked"] and not row["sdk asked"]:
            cells["sdk"] = "absent" if protocol in self._with_sdk else "no SDK"
        return "".join(f"{cells[check]:>14}" for check in CHECKS)


def remarks_of(verdict: Verdict) -> Iterator[str]:
    """What is remarkable of this exchange, what is explained of it, and what is explained for nothing."""
    yield from verdict.remarks
    found = [find_explanation(verdict, difference) for difference in verdict.differences]
    yield from {f"explained: {each.reason}" for each in found if each is not None}
    yield from {f"explained, but no longer different: {each.reason}" for each in idle_explanations(verdict)}


def _share(row: Counter[str], check: str) -> str:
    asked = row[f"{check} asked"]
    return f"{row[f'{check} passed']}/{asked}" if asked else "-"


def _short(value: Any, other: Any) -> str:
    """The value from a little before the first character that differs."""
    mine, theirs = repr(value), repr(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False)))
    begin = max(0, same - SHOWN_CHARACTERS // 2)
    shown = mine[begin : begin + SHOWN_CHARACTERS]
    return ("…" if begin else "") + shown + ("…" if begin + len(shown) < len(mine) else "")
