"""Answers, streams and errors as a server of the Responses API writes them.

In a stream every part is an item of its own: what a text belongs to is known only when it ends.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ...events import (
    Event,
    Failed,
    Finished,
    PartAdded,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallEnd,
    ToolCallStart,
    ToolInputDelta,
    UsageReported,
)
from ...exchange import FinishReason, Response
from ...messages import Audio, Image, Opaque, OpaquePart, Part, Text, Thinking, ToolCall
from ...usage import Usage
from ..openai_responses.answer import FACTS, FINISH_REASONS
from ..openai_responses.items import complete, items_of, made_up
from ..reading import write_json
from .openai_errors import complaint, encode_error

__all__ = ["StreamEncoder", "encode_error", "encode_reply"]

Item = dict[str, Any]

# ── whole answers ───────────────────────────────────────────────────────────────────────────────

_STATUSES = ("completed", "cancelled", "queued", "in_progress", "failed")

# The word of this wire for each end, where the answer does not bring one; those that are no status say
# why the answer is incomplete.
_WORDS: dict[FinishReason, str] = {
    "stop": "completed",
    "tool_calls": "completed",
    "length": "max_output_tokens",
    "content_filter": "content_filter",
    "pause": "pause",
    "error": "failed",
}


_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def encode_reply(response: Response, *, created: int = 0) -> bytes:
    """The body that says this response."""
    items = [complete(item, place) for place, item in enumerate(items_of(_sayable(response.message.parts)))]
    end = Finished(
        reason=response.finish_reason,
        raw_reason=response.raw_finish_reason,
        id=response.id,
        model=response.model,
        metadata=response.metadata,
    )
    return write_json(_response(end, items, response.usage, created))


def _sayable(parts: Sequence[Part]) -> list[Part]:
    """The parts as this wire can say them: pictures have an item of their own, sound is its words."""
    return [_in_words_of_this_wire(part) for part in parts]


def _in_words_of_this_wire(part: Part) -> Part:
    match part:
        case Image():
            drawn = {"status": "completed", "result": b64encode(part.data).decode() or part.url}
            return OpaquePart("image_generation_call", Opaque("", drawn))
        case Audio():
            return Text(part.transcript)
        case _:
            return part


def _response(end: Finished, items: Sequence[Item], usage: Usage, created: int) -> Item:
    told = {name: end.metadata[name] for name in ("service_tier", *FACTS) if name in end.metadata}
    return {
        "id": end.id or made_up("resp", 0),
        "object": "response",
        "created_at": created,
        **_ending(end),
        "model": end.model,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": _usage(usage, end.metadata),
        **{name: _fact(text) for name, text in told.items()},
    }


def _fact(text: str) -> Any:
    """What `metadata` holds as JSON text, as JSON again."""
    try:
        return msgspec.json.decode(text) if text.startswith("{") else text
    except (msgspec.DecodeError, RecursionError):
        return text


def _ending(end: Finished) -> Item:
    own = FINISH_REASONS.get(end.raw_reason) == end.reason or (
        end.raw_reason == "completed" and end.reason in ("tool_calls", "content_filter")
    )
    word = end.raw_reason if own else _WORDS[end.reason]
    if word not in _STATUSES:
        return {"status": "incomplete", "error": None, "incomplete_details": {"reason": word}}
    message = f"the answer ended with {end.raw_reason or end.reason!r}"
    error = {"code": "server_error", "message": message} if word == "failed" else None
    return {"status": word, "error": error, "incomplete_details": None}


def _usage(usage: Usage, metadata: dict[str, str]) -> Item | None:
    """The counts that are known, and what the provider said they cost."""
    if not usage:
        return None
    read = _known(cached_tokens=usage.cache_read_tokens, cache_write_tokens=usage.cache_creation_tokens)
    counts = _known(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, total_tokens=usage.total)
    details = {"input_tokens_details": read, "output_tokens_details": _known(reasoning_tokens=usage.reasoning_tokens)}
    costs = {name: metadata.get(f"provider_{name}", "") for name in ("cost", "cost_in_usd_ticks")}
    said = {name: msgspec.json.decode(cost) for name, cost in costs.items() if _NUMBER.fullmatch(cost)}
    return counts | details | said


def _known(**counts: int | None) -> Item:
    return {name: count for name, count in counts.items() if count is not None}


# ── streams ─────────────────────────────────────────────────────────────────────────────────────

_END_EVENTS = {
    "completed": "response.completed",
    "cancelled": "response.cancelled",
    "failed": "response.failed",
}

# An item of which no more is known than that it will come.
_PENDING = {"type": "pending", "status": "in_progress"}


class StreamEncoder:
    """Writes events as they come.

    Clients expect `id` and `model` in the first event, so give them where they are known;
    otherwise they follow in the last.
    """

    def __init__(self, *, created: int = 0, id: str = "", model: str = "") -> None:
        self._created = created
        self._begin = Finished(reason="pause", raw_reason="in_progress", id=id, model=model)
        self._begun = False
        self._sequence = 0
        self._said: dict[int, list[str]] = {}
        self._announced = 0  # how many parts have their place
        self._calls: dict[int, ToolCallStart] = {}
        self._items: dict[int, Item] = {}
        self._usage = Usage()

    def feed(self, event: Event) -> bytes:
        """The bytes that say this event."""
        frames = b"" if self._begun else self._start()
        self._begun = True
        return frames + _WRITERS[type(event)](self, event)

    def _frame(self, kind: str, **fields: Any) -> bytes:
        data = write_json({"type": kind, "sequence_number": self._sequence, **fields})
        self._sequence += 1
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"

    def _start(self) -> bytes:
        response = _response(self._begin, [], Usage(), self._created)
        kinds = ("response.created", "response.in_progress")
        return b"".join(self._frame(kind, response=response) for kind in kinds)

    # ── items ──

    def _added(self, index: int, item: Item) -> bytes:
        """Announce an item, and before it those whose parts are late: a reader may go by the order of announcements."""
        late = range(self._announced, index)
        self._announced = max(self._announced, index + 1)
        self._said[index] = []
        frames = [self._frame("response.output_item.added", output_index=place, item=_PENDING) for place in late]
        return b"".join((*frames, self._frame("response.output_item.added", output_index=index, item=item)))

    def _heard(self, index: int, delta: str) -> None:
        self._said[index].append(delta)

    def _ended(self, index: int, part: Part) -> Item:
        item = self._items[index] = complete(items_of(_sayable([part]))[0], index)
        return item

    def _done(self, index: int) -> bytes:
        return self._frame("response.output_item.done", output_index=index, item=self._items[index])

    def _whole(self, index: int) -> str:
        return "".join(self._said.pop(index))

    def _part(self, event: PartAdded) -> bytes:
        known = event.index < self._announced
        item = self._ended(event.index, event.part)
        return (b"" if known else self._added(event.index, item)) + self._done(event.index)

    # ── text ──

    def _text_start(self, event: TextStart) -> bytes:
        item = {
            "type": "message",
            "id": made_up("msg", event.index),
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        part = {"type": "output_text", "text": "", "annotations": []}
        return self._added(event.index, item) + self._frame("response.content_part.added", **_text_of(event), part=part)

    def _text_delta(self, event: TextDelta) -> bytes:
        self._heard(event.index, event.text)
        return self._frame("response.output_text.delta", **_text_of(event), delta=event.text, logprobs=[])

    def _text_end(self, event: TextEnd) -> bytes:
        part = self._ended(event.index, Text(self._whole(event.index), event.opaque))["content"][0]
        said = b""
        if part["type"] == "output_text":
            said = self._frame("response.output_text.done", **_text_of(event), text=part["text"], logprobs=[])
        return said + self._frame("response.content_part.done", **_text_of(event), part=part) + self._done(event.index)

    # ── thinking ──

    def _thinking_start(self, event: ThinkingStart) -> bytes:
        return self._added(event.index, {"type": "reasoning", "id": made_up("rs", event.index), "summary": []})

    def _thinking_delta(self, event: ThinkingDelta) -> bytes:
        part = {"type": "summary_text", "text": ""}
        first = not self._said[event.index]
        self._heard(event.index, event.text)
        begun = self._frame("response.reasoning_summary_part.added", **_summary_of(event), part=part) if first else b""
        return begun + self._frame("response.reasoning_summary_text.delta", **_summary_of(event), delta=event.text)

    def _thinking_end(self, event: ThinkingEnd) -> bytes:
        text = self._whole(event.index)
        self._ended(event.index, Thinking(text, event.opaque))
        if not text:
            return self._done(event.index)
        part = {"type": "summary_text", "text": text}
        said = self._frame("response.reasoning_summary_text.done", **_summary_of(event), text=text)
        said += self._frame("response.reasoning_summary_part.done", **_summary_of(event), part=part)
        return said + self._done(event.index)

    # ── calls ──

    def _call_start(self, event: ToolCallStart) -> bytes:
        self._calls[event.index] = event
        item = {"type": "function_call", "id": made_up("fc", event.index), "call_id": event.id, "name": event.name}
        return self._added(event.index, item | {"arguments": "", "status": "in_progress"})

    def _call_delta(self, event: ToolInputDelta) -> bytes:
        self._heard(event.index, event.delta)
        return self._frame("response.function_call_arguments.delta", **_call_of(event), delta=event.delta)

    def _call_end(self, event: ToolCallEnd) -> bytes:
        start = self._calls.pop(event.index)
        arguments = self._whole(event.index) or "{}"
        self._ended(event.index, ToolCall(start.id, start.name, arguments, event.opaque))
        said = self._frame("response.function_call_arguments.done", **_call_of(event), arguments=arguments)
        return said + self._done(event.index)

    # ── end ──

    def _usage_reported(self, event: UsageReported) -> bytes:
        self._usage = event.usage
        return b""

    def _finished(self, event: Finished) -> bytes:
        response = _response(event, self._output(), self._usage, self._created)
        return self._frame(_END_EVENTS.get(response["status"], "response.incomplete"), response=response)

    def _failed(self, event: Failed) -> bytes:
        response = _response(self._begin, self._output(), self._usage, self._created)
        error = {name: value for name, value in complaint(event.error).items() if name in ("code", "message")}
        response |= {"status": "failed", "error": error | {"code": error["code"] or "server_error"}}
        return self._frame("response.failed", response=response)

    def _output(self) -> list[Item]:
        return [self._items[index] for index in sorted(self._items)]


def _text_of(event: TextStart | TextDelta | TextEnd) -> Item:
    return {"item_id": made_up("msg", event.index), "output_index": event.index, "content_index": 0}


def _summary_of(event: ThinkingDelta | ThinkingEnd) -> Item:
    return {"item_id": made_up("rs", event.index), "output_index": event.index, "summary_index": 0}


def _call_of(event: ToolInputDelta | ToolCallEnd) -> Item:
    return {"item_id": made_up("fc", event.index), "output_index": event.index}


_WRITERS: dict[type[Any], Callable[[StreamEncoder, Any], bytes]] = {
    TextStart: StreamEncoder._text_start,
    TextDelta: StreamEncoder._text_delta,
    TextEnd: StreamEncoder._text_end,
    ThinkingStart: StreamEncoder._thinking_start,
    ThinkingDelta: StreamEncoder._thinking_delta,
    ThinkingEnd: StreamEncoder._thinking_end,
    ToolCallStart: StreamEncoder._call_start,
    ToolInputDelta: StreamEncoder._call_delta,
    ToolCallEnd: StreamEncoder._call_end,
    PartAdded: StreamEncoder._part,
    UsageReported: StreamEncoder._usage_reported,
    Finished: StreamEncoder._finished,
    Failed: StreamEncoder._failed,
}
