"""How deep a JSON text is nested, found before anything recursive reads it."""

import re

__all__ = ["too_deep"]

_NOT_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[^][{}"]+', re.DOTALL)


def too_deep(data: bytes, limit: int) -> bool:
    """Whether brackets stand in each other more than `limit` deep. Linear, and almost free for small texts."""
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    brackets = _NOT_BRACKETS.sub(b"", data).replace(b"{", b"[").replace(b"}", b"]")
    for _ in range(limit):
        # Each pass takes away the innermost level of everything that is closed.
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    # What remains is unclosed or deeper than the passes; a broken text may hide its depth, so count openings.
    return brackets.count(b"[") > limit or (b"[]" in brackets)
