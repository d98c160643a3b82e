"""The table a person reads: for each wire, how many requests came back equal, and what it took."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from ..report import describe, remarks_of, unexplained
from .judge import TABLES, WAYS, Outcome, RequestVerdict
from .noted import kind_of

__all__ = ["Tally"]

CLASSES = {
    "as it is": "equal as they are",
    "meaning": "equal in meaning, after the rules below",
    "noted": "changed, and each change noted",
    "explained": "different, and explained below",
    "differs": "different",
}


class Tally:
    """Gathers the verdicts on requests."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._differing: list[str] = []
        self._remarks: dict[str, list[str]] = defaultdict(list)

    @property
    def clean(self) -> bool:
        """Whether every difference is explained."""
        return not self._differing

    def add(self, result: RequestVerdict) -> None:
        """Take one more verdict."""
        verdict = result.verdict
        wire = verdict.exchange.wire
        self._seen[wire, "accepted" if verdict.exchange.ok else "refused"] += 1
        bad = unexplained(verdict)
        for way, outcome in result.outcomes.items():
            self._counts[wire, "class", _class_of(outcome, any(each.check == way for each in bad)), way] += 1
            self._counts.update((wire, "rule", rule.name, way) for rule in outcome.rules)
            self._counts.update((wire, "note", kind, way) for kind in {kind_of(note) for note in outcome.notes})
        self._differing += [describe(verdict, difference) for difference in bad]
        for remark in remarks_of(verdict):
            self._remarks[remark].append(verdict.exchange.id)

    def text(self) -> str:
        """The whole report, in Markdown."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for wire in (wire for wire in TABLES if self._seen[wire, "accepted"] or self._seen[wire, "refused"]):
            yield from self._table(wire)
        for remark, ids in sorted(self._remarks.items()):
            yield f"\n{remark}: {len(ids)}\n    {', '.join(ids[:6])}{' …' if len(ids) > 6 else ''}"
        yield f"\n{len(self._differing)} differences not explained"
        yield from self._differing

    def _table(self, wire: str) -> Iterator[str]:
        accepted, refused = self._seen[wire, "accepted"], self._seen[wire, "refused"]
        yield f"\n### {wire}: {accepted} requests that were accepted, {refused} that were refused\n"
        yield f"| {' | '.join(WAYS)} | what | why |"
        yield "|" + " ---: |" * len(WAYS) + " --- | --- |"
        for name, meaning in CLASSES.items():
            yield from self._row(wire, "class", name, f"**{meaning}**", "")
        for rule in TABLES[wire]:
            yield from self._row(wire, "rule", rule.name, rule.name, rule.reason)
        for kind in sorted({kind for owner, sort, kind, _ in self._counts if (owner, sort) == (wire, "note")}):
            what, _, why = kind.partition(": ")
            yield from self._row(wire, "note", kind, f"*note:* {what}", why)
        needed = {name for owner, sort, name, _ in self._counts if (owner, sort) == (wire, "rule")}
        if idle := [rule.name for rule in TABLES[wire] if rule.name not in needed]:
            yield f"\nRules that none of these needed: {', '.join(idle)}"

    def _row(self, wire: str, sort: str, name: str, what: str, why: str) -> Iterator[str]:
        counts = [self._counts[wire, sort, name, way] for way in WAYS]
        if any(counts):
            yield f"| {' | '.join(map(str, counts))} | {what} | {why} |"


def _class_of(outcome: Outcome, is_bad: bool) -> str:
    if outcome.gaps:
        return "differs" if is_bad else "explained"
    return "noted" if outcome.notes else "meaning" if outcome.rules else "as it is"
