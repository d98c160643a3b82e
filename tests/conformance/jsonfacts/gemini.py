"""Facts of a Gemini answer, straight from its JSON."""

from typing import Any

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of
from .frames import server_sent

__all__ = ["read"]


def read(exchange: Exchange) -> Facts:
    """The first candidate, whole, as server-sent events, or as a JSON array."""
    answers = _answers(exchange)
    candidates = [candidate for answer in answers for candidate in (answer.get("candidates") or [])[:1]]
    parts = [part for candidate in candidates for part in candidate.get("content", {}).get("parts", [])]
    found = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = tuple(call(each.get("id"), each["name"], each.get("args")) for each in found)
    found_words = [candidate["finishReason"] for candidate in candidates if candidate.get("finishReason")]
    words = [_NUMBERED.get(word, word) for word in found_words]
    blocked = [
        answer["promptFeedback"]["blockReason"]
        for answer in answers
        if answer.get("promptFeedback", {}).get("blockReason")
    ]
    errors = [answer["error"] for answer in answers if answer.get("error")]
    return Facts(
        text="".join(part["text"] for part in parts if "text" in part and not part.get("thought")),
        thinking="".join(part["text"] for part in parts if "text" in part and part.get("thought")),
        calls=calls,
        finish=finish_of(words[-1] if words else None, called=bool(calls), refused=bool(blocked)),
        usage=_counts([answer["usageMetadata"] for answer in answers if answer.get("usageMetadata")]),
        error=str(errors[0]) if errors else None,
        complete=not exchange.streamed or bool(words or blocked),
    )


# Some clients record the enumeration by number.
_NUMBERED = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}


def _answers(exchange: Exchange) -> list[dict[str, Any]]:
    if exchange.streamed and not exchange.text.lstrip().startswith("["):
        return list(server_sent(exchange.text))
    found = exchange.json
    return found if isinstance(found, list) else [found]


def _counts(snapshots: list[dict[str, Any]]) -> Counts:
    """The last word on each count; a count may be said once and then no more."""
    usage: dict[str, Any] = {}
    for snapshot in snapshots:
        usage |= {name: value for name, value in snapshot.items() if value}
    prompt, tools = usage.get("promptTokenCount"), usage.get("toolUsePromptTokenCount")
    answer, thoughts = usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
    return Counts(
        input=_sum(prompt, tools),
        output=_sum(answer, thoughts),
        cache_read=usage.get("cachedContentTokenCount"),
        reasoning=thoughts,
    )


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
