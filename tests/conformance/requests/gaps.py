"""Where two JSON values differ: the places, with both values."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

__all__ = ["ABSENT", "Gap", "gaps"]


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Gap:
    """One place that differs, as `messages[2].content[0].text`."""

    path: str
    recorded: Any
    ours: Any


def gaps(recorded: Any, ours: Any, path: str = "") -> Iterator[Gap]:
    """Each place where the two differ, as deep inside as can be said."""
    match recorded, ours:
        case dict(), dict():
            for name in (*recorded, *(name for name in ours if name not in recorded)):
                inner = f"{path}.{name}" if path else name
                yield from gaps(recorded.get(name, ABSENT), ours.get(name, ABSENT), inner)
        case list(), list():
            for place, (before, after) in enumerate(_aligned(recorded, ours)):
                yield from gaps(before, after, f"{path}[{place}]")
        case _ if recorded != ours or isinstance(recorded, bool) is not isinstance(ours, bool):
            yield Gap(path, recorded, ours)


def _aligned(recorded: list[Any], ours: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Items side by side: in lists of unequal length those that are equal meet, and one may face nothing."""
    if len(recorded) == len(ours):
        yield from zip(recorded, ours, strict=True)
        return
    before, after = ([json.dumps(item, sort_keys=True) for item in items] for items in (recorded, ours))
    for _, begin, end, start, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield from zip_longest(recorded[begin:end], ours[start:stop], fillvalue=ABSENT)
