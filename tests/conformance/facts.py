"""What an answer says, in the plainest terms, whoever read it.

Every reader of an exchange answers with `Facts`. A field is None where that reader cannot tell (an
SDK that has no word for thinking, say), and is then not compared.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

__all__ = [
    "Call",
    "Counts",
    "Facts",
    "Fault",
    "Vectors",
    "call",
    "differences",
    "finish_of",
    "split_thinking",
    "vector_differences",
]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; `arguments` parsed, or the text itself where it is not JSON. `id` is None where none was sent."""

    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Usage with cache inside input and reasoning inside output; None is "not reported"."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_creation: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One answer. `error` is the complaint of an answer that is one; `complete` is whether its end was seen."""

    text: str | None = None
    thinking: str | None = None
    calls: tuple[Call, ...] | None = None
    finish: str | None = None
    usage: Counts | None = None
    error: str | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of an embedding, in the order of the texts, and the tokens that were read."""

    vectors: list[list[float]]
    input_tokens: int | None


def call(id: Any, name: Any, arguments: Any) -> Call:
    """A call from whatever stood in the three places: arguments may be text, an object, or nothing."""
    return Call(id if isinstance(id, str) and id else None, name or "", _parsed(arguments))


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return arguments
    return {} if value is None else value


_INLINE = re.compile(r"\s*<(think|thinking)>(.*?)(?:</\1>\s*|\Z)", re.S)


def split_thinking(text: str) -> tuple[str, str]:
    """Text and the reasoning written before it between tags; unterminated, all of it is reasoning."""
    found = _INLINE.match(text)
    return (text[found.end() :], found[2]) if found else (text, "")


_FINISHES = {
    "stop": "stop end_turn eos stop_sequence completed STOP compaction load unload",
    "length": "length max_tokens model_length MAX_TOKENS max_output_tokens model_context_window_exceeded",
    "tool_calls": "tool_calls tool_use function_call",
    "content_filter": "content_filter refusal SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY"
    " IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR JAILBREAK guardrail_intervened content_filtered",
    "pause": "pause_turn CONTINUATION queued in_progress",
    "error": "error failed cancelled MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS"
    " MALFORMED_RESPONSE NO_IMAGE LANGUAGE IMAGE_OTHER malformed_model_output malformed_tool_use"
    " insufficient_system_resource",
}
_FINISH_BY_WORD = {word: finish for finish, words in _FINISHES.items() for word in words.split()}


def finish_of(word: Any, *, called: bool, refused: bool = False) -> str:
    """The class of a finish reason. A call counts for more than the word `stop`, a refusal for more than any."""
    if refused:
        return "content_filter"
    finish = _FINISH_BY_WORD.get(getattr(word, "value", word) or "stop", "stop")
    return "tool_calls" if called and finish == "stop" else finish


Fault = tuple[str, Any, Any]  # what differs, as we have it, as it should be


def differences(ours: Facts, theirs: Facts) -> Iterator[Fault]:
    """Each field that the two readings disagree on, with both values."""
    for name in ("text", "thinking", "finish"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if other is not None and mine != other:
            yield name, mine, other
    if theirs.calls is not None and not _same_calls(ours.calls or (), theirs.calls):
        yield "calls", ours.calls, theirs.calls
    if theirs.usage is not None:
        for part in fields(Counts):
            mine, other = getattr(ours.usage, part.name, None), getattr(theirs.usage, part.name)
            if mine != other:
                yield f"usage.{part.name}", mine, other


def vector_differences(ours: Vectors, theirs: Vectors) -> Iterator[Fault]:
    """What differs in number, order or value of the vectors, and in usage."""
    if len(ours.vectors) != len(theirs.vectors):
        yield "vectors", len(ours.vectors), len(theirs.vectors)
    for place, (mine, other) in enumerate(zip(ours.vectors, theirs.vectors, strict=False)):
        if mine != other:
            yield f"vector {place}", mine, other
    if ours.input_tokens != theirs.input_tokens:
        yield "usage.input", ours.input_tokens, theirs.input_tokens


def _same_calls(mine: tuple[Call, ...], theirs: tuple[Call, ...]) -> bool:
    if len(mine) != len(theirs):
        return False
    ids = list(_ids(theirs))
    return all(
        ours.name == other.name and ours.arguments == other.arguments and (id is None or ours.id == id)
        for ours, other, id in zip(mine, theirs, ids, strict=True)
    )


def _ids(calls: Iterable[Call]) -> Iterator[str | None]:
    """The ids that bind us: an id that was sent before is replaced by one of our own."""
    seen: set[str | None] = set()
    for each in calls:
        yield None if each.id in seen else each.id
        seen.add(each.id)
