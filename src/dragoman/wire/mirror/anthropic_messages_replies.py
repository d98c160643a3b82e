"""Answers, streams and errors in Anthropic's form.

A block of a stream must begin before everything about it is known, and so must the message. What
is learned later (a caller, the answer's id) rides on the event that closes the block or the
message, where our own decoder finds it and other clients pass over it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ...errors import (
    ApiError,
    DragomanError,
    Filtered,
    InvalidResponse,
    Misuse,
    Overloaded,
    RateLimited,
    Timeout,
    TooLong,
    Unauthorized,
    Unreachable,
)
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
from ...messages import (
    Audio,
    Document,
    Image,
    Opaque,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    render_blocks_as_text,
)
from ...usage import Usage
from ..anthropic_messages.answer import REQUEST_FACTS, STOP_FACTS, STOP_REASONS, USAGE_FACTS
from ..arguments import arguments_object
from ..reading import write_json

__all__ = ["StreamEncoder", "encode_error", "encode_reply"]

Block = dict[str, Any]


def encode_reply(response: Response, *, created: int = 0) -> bytes:
    """The body of an answer. This wire has no place for the time it was `created`."""
    return write_json(
        {
            "id": response.id,
            "type": "message",
            "role": "assistant",
            "model": response.model,
            "content": [_block(part) for part in response.message.parts],
            "stop_reason": _stop_reason(response.finish_reason, response.raw_finish_reason),
            "stop_sequence": None,
            **_facts(response.metadata, STOP_FACTS + REQUEST_FACTS),
            "usage": _usage(response.usage) | _facts(response.metadata, USAGE_FACTS),
        }
    )


_STOPS: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "pause": "pause_turn",
    "error": "max_tokens",  # no word says "broken off"; this one at least says "not whole"
}


def _stop_reason(reason: FinishReason, raw: str) -> str:
    """The wire's own word where the answer came with it, else the nearest."""
    meant = STOP_REASONS.get(raw)
    return raw if meant == reason or (meant == "stop" and reason == "tool_calls") else _STOPS[reason]


def _facts(metadata: dict[str, str], names: tuple[str, ...]) -> Block:
    return {name: _fact(metadata[name]) for name in names if name in metadata}


def _fact(text: str) -> Any:
    """What `metadata` holds as JSON text, as JSON again."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _usage(usage: Usage) -> Block:
    """Counts as this wire wants them: what the cache gave or took is not in `input_tokens`."""
    cached = {
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_creation_tokens,
    }
    known = {name: count for name, count in cached.items() if count is not None}
    fresh = None if usage.input_tokens is None else max(0, usage.input_tokens - sum(known.values()))
    wire: Block = {"input_tokens": fresh, "output_tokens": usage.output_tokens, **known}
    if usage.reasoning_tokens is not None:
        wire["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return wire


def _block(part: Part) -> Block:
    match part:
        case Text():
            return _state(part.opaque) | {"type": "text", "text": part.text}
        case Thinking(opaque=Opaque(data={"redacted": data})):
            return {"type": "redacted_thinking", "data": data}
        case Thinking():
            return {"signature": ""} | _state(part.opaque) | {"type": "thinking", "thinking": part.text}
        case ToolCall():
            call = {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part, [])}
            return _state(part.opaque) | call
        case OpaquePart():
            return {"type": part.kind} | part.opaque.data
        case Audio() if part.transcript:
            return {"type": "text", "text": part.transcript}
        case _:
            return {"type": "text", "text": _shown(part)}


def _shown(part: Part) -> str:
    """An assistant says no pictures here; their description stands for them."""
    return render_blocks_as_text([part]) if isinstance(part, (Image, Document)) else f"[{type(part).__name__}]"


def _state(opaque: Opaque | None) -> Block:
    return opaque.data if opaque is not None else {}


# ── streams ─────────────────────────────────────────────────────────────────────────────────────


class StreamEncoder:
    """Writes events as they come.

    Clients expect `id` and `model` in the first event, so give them where they are known;
    otherwise they follow in the last.
    """

    def __init__(self, *, created: int = 0, id: str = "", model: str = "") -> None:
        self._head = {"id": id, "model": model}
        self._begun = False
        self._places: dict[int, int] = {}  # our index of a part to the wire's of its block
        self._usage = Usage()

    def feed(self, event: Event) -> bytes:
        """The bytes that say this event."""
        if isinstance(event, Failed):
            return _frame("error", **_envelope(event.error))
        if isinstance(event, UsageReported):
            self._usage = event.usage
        frames = b"" if self._begun else self._message_start()
        self._begun = True
        write = _WRITERS.get(type(event))
        return frames + write(self, event) if write is not None else frames

    def _message_start(self) -> bytes:
        message = {"type": "message", "role": "assistant", **self._head, "content": []}
        # Nothing counted yet is written as zeros, as clients want numbers here.
        counts = _usage(self._usage) if self._usage else {"input_tokens": 0, "output_tokens": 0}
        return _frame("message_start", message=message | {"stop_reason": None, "stop_sequence": None, "usage": counts})

    def _start(self, index: int, block: Block) -> bytes:
        place = self._places[index] = len(self._places)
        return _frame("content_block_start", index=place, content_block=block)

    def _delta(self, index: int, kind: str, **fields: Any) -> bytes:
        return _frame("content_block_delta", index=self._places[index], delta={"type": kind, **fields})

    def _stop(self, index: int, late: Block) -> bytes:
        return _frame("content_block_stop", index=self._places[index], **({"content_block": late} if late else {}))

    def _text_start(self, event: TextStart) -> bytes:
        return self._start(event.index, {"type": "text", "text": ""})

    def _text_delta(self, event: TextDelta) -> bytes:
        return self._delta(event.index, "text_delta", text=event.text)

    def _text_end(self, event: TextEnd) -> bytes:
        late = dict(_state(event.opaque))
        citations = late.pop("citations", None) if isinstance(late.get("citations"), list) else None
        cited = [self._delta(event.index, "citations_delta", citation=citation) for citation in citations or ()]
        return b"".join((*cited, self._stop(event.index, late)))

    def _thinking_start(self, event: ThinkingStart) -> bytes:
        return self._start(event.index, {"type": "thinking", "thinking": "", "signature": ""})

    def _thinking_delta(self, event: ThinkingDelta) -> bytes:
        return self._delta(event.index, "thinking_delta", thinking=event.text)

    def _thinking_end(self, event: ThinkingEnd) -> bytes:
        late = dict(_state(event.opaque))
        signature = late.pop("signature", "")
        signed = self._delta(event.index, "signature_delta", signature=signature) if signature else b""
        return signed + self._stop(event.index, late)

    def _call_start(self, event: ToolCallStart) -> bytes:
        return self._start(event.index, {"type": "tool_use", "id": event.id, "name": event.name, "input": {}})

    def _input_delta(self, event: ToolInputDelta) -> bytes:
        return self._delta(event.index, "input_json_delta", partial_json=event.delta)

    def _call_end(self, event: ToolCallEnd) -> bytes:
        return self._stop(event.index, _state(event.opaque))

    def _part_added(self, event: PartAdded) -> bytes:
        return self._start(event.index, _block(event.part)) + self._stop(event.index, {})

    def _finished(self, event: Finished) -> bytes:
        stop = {"stop_reason": _stop_reason(event.reason, event.raw_reason), "stop_sequence": None}
        usage = _usage(self._usage) | _facts(event.metadata, USAGE_FACTS)
        head = {"id": event.id, "model": event.model}
        late = {} if head == self._head else {"message": head}
        delta = stop | _facts(event.metadata, STOP_FACTS)
        end = _frame("message_delta", delta=delta, usage=usage, **_facts(event.metadata, REQUEST_FACTS))
        return end + _frame("message_stop", **late)


_WRITERS: dict[type[Any], Callable[[StreamEncoder, Any], bytes]] = {
    TextStart: StreamEncoder._text_start,
    TextDelta: StreamEncoder._text_delta,
    TextEnd: StreamEncoder._text_end,
    ThinkingStart: StreamEncoder._thinking_start,
    ThinkingDelta: StreamEncoder._thinking_delta,
    ThinkingEnd: StreamEncoder._thinking_end,
    ToolCallStart: StreamEncoder._call_start,
    ToolInputDelta: StreamEncoder._input_delta,
    ToolCallEnd: StreamEncoder._call_end,
    PartAdded: StreamEncoder._part_added,
    Finished: StreamEncoder._finished,
}


def _frame(kind: str, **fields: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), write_json({"type": kind, **fields}))


# ── errors ──────────────────────────────────────────────────────────────────────────────────────

# The first class that an error is decides; errors of the provider that are none of these keep their status.
_ERRORS: tuple[tuple[type[DragomanError], int, str], ...] = (
    (Misuse, 400, "invalid_request_error"),
    (Unauthorized, 401, "authentication_error"),
    (RateLimited, 429, "rate_limit_error"),
    (Overloaded, 529, "overloaded_error"),
    (TooLong, 413, "request_too_large"),
    (Filtered, 400, "invalid_request_error"),
    (Timeout, 504, "timeout_error"),
    (Unreachable, 502, "api_error"),
    (InvalidResponse, 502, "api_error"),
)
_ERROR_TYPES = {
    400: "invalid_request_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    504: "timeout_error",
}


def encode_error(error: DragomanError) -> tuple[int, bytes]:
    """Status and body of an error in this wire's envelope."""
    return _status(error)[0], write_json({"type": "error", **_envelope(error)})


def _status(error: DragomanError) -> tuple[int, str]:
    for kind, status, word in _ERRORS:
        if isinstance(error, kind):
            return (403, "permission_error") if error.status == 403 else (status, word)
    said = error.status if isinstance(error, ApiError) and error.status else 500
    if said == 429:
        said = 402  # no RateLimited, so waiting does not help: an allowance is used up
    return said, _ERROR_TYPES.get(said, "invalid_request_error" if said < 500 else "api_error")


def _envelope(error: DragomanError) -> Block:
    id = {"request_id": error.request_id} if error.request_id else {}
    return {"error": {"type": _status(error)[1], "message": error.message}, **id}
