"""Arguments of a call that come in pieces, each with the path of the value it belongs to.

A piece is a JSON path and a scalar (`{"jsonPath": "$.stops[0].city", "stringValue": "Par"}`);
pieces of one string are joined, and the paths say where in the object each value stands.
"""

import re
from itertools import pairwise
from typing import Any

from ...errors import InvalidResponse
from ...limits import Limits
from ..reading import mapping, string

__all__ = ["PartialArguments"]

Step = str | int

_SCALARS = ("numberValue", "boolValue", "nullValue")

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,9})\]|\[(['"])(?P<quoted>(?:[^\\]|\\.)*?)\3\]""", re.DOTALL
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class PartialArguments:
    """Gathers the pieces of one call's arguments."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._found: dict[str, Any] = {}  # by path: a scalar, or the list of a string's fragments

    def add(self, piece: Any) -> None:
        """One more piece. A piece without a value says only that its path will come."""
        piece = mapping(piece)
        path = string(piece.get("jsonPath"))
        if "stringValue" in piece:
            fragments = self._found.setdefault(path, [])
            if isinstance(fragments, list):
                fragments.append(string(piece["stringValue"]))
            return
        for name in _SCALARS:
            if name in piece:
                # The word for null is a string; a number that JSON has no sign for is one too.
                self._found[path] = piece[name] if isinstance(piece[name], (int, float)) else None

    def whole(self) -> dict[str, Any]:
        """The object that the pieces make; InvalidResponse where they do not fit together."""
        root: dict[str, Any] = {}
        for path, value in self._found.items():
            self._place(root, self._steps(path), "".join(value) if isinstance(value, list) else value)
        return root

    def _steps(self, path: str) -> list[Step]:
        steps: list[Step] = []
        at = 1
        while path[:1] == "$" and (found := _STEP.match(path, at)) and len(steps) < self._limits.nesting:
            name, index, _, quoted = found.groups()
            steps.append(int(index) if index else name or _ESCAPED.sub(r"\1", quoted))
            at = found.end()
        if not steps or at < len(path):
            raise InvalidResponse(f"arguments with the unreadable path {path[:100]!r}")
        return steps

    def _place(self, root: dict[str, Any], steps: list[Step], value: Any) -> None:
        holder: Any = root
        for step, following in pairwise(steps):
            holder = self._entry(holder, step, [] if isinstance(following, int) else {})
        self._entry(holder, steps[-1], value)

    def _entry(self, holder: Any, step: Step, new: Any) -> Any:
        """What stands at that step, put there if nothing does."""
        match holder, step:
            case dict(), str():
                return holder.setdefault(step, new)
            case list(), int() if step < len(holder):
                return holder[step]
            case list(), int() if step == len(holder):
                holder.append(new)
                return new
            case _:
                raise InvalidResponse(f"arguments whose paths contradict each other at {step!r}")
