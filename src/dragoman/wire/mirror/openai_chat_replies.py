"""Answers, streams and errors in the form of Chat Completions.

Reasoning goes to `reasoning_content`, the field most clients know. A chunk is written before the
answer's id is known; the last one carries it, and readers take the first they find.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

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
from ...messages import Audio, Message, Opaque, Part, Text, Thinking, ToolCall
from ...usage import Usage
from ..reading import write_json
from .openai_errors import encode_error

__all__ = ["StreamEncoder", "encode_error", "encode_reply"]

Json = dict[str, Any]

# A turn that paused is over as far as this wire can say; an error has no word of the owner's.
FINISH_WORDS: dict[FinishReason, str] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "pause": "stop",
    "error": "error",
}
_HEAD_FACTS = ("service_tier", "system_fingerprint")
# State of a part that has a field of its own on this wire.
_TEXT_STATE = ("annotations", "extra_content")


def encode_reply(response: Response, *, created: int = 0) -> bytes:
    """The body of an answer."""
    message = _message(response.message)
    # A refusal ends as any answer does; its own field tells it apart.
    reason = "stop" if "refusal" in message else FINISH_WORDS[response.finish_reason]
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    body = _head("chat.completion", response.id, response.model, created) | {"choices": [choice]}
    if response.usage:
        body["usage"] = _usage(response.usage)
    return write_json(body | _facts(response.metadata))


def _head(object: str, id: str, model: str, created: int) -> Json:
    return {"id": id, "object": object, "created": created, "model": model}


def _facts(metadata: dict[str, str]) -> Json:
    return {name: metadata[name] for name in _HEAD_FACTS if name in metadata}


def _message(message: Message) -> Json:
    texts = [part for part in message.parts if isinstance(part, Text)]
    said = [part.text for part in texts if not _state(part.opaque).get("refusal")]
    refusals = [part.text for part in texts if _state(part.opaque).get("refusal")]
    wire: Json = {"role": "assistant", "content": "".join(said) if said else None}
    if refusals:
        wire["refusal"] = "".join(refusals)
    if message.thinking:
        wire["reasoning_content"] = message.thinking
    for part in message.parts:
        wire |= _extras(part)
    if calls := [_call(call) for call in message.tool_calls]:
        wire["tool_calls"] = calls
    return wire


def _extras(part: Part) -> Json:
    """What a part says in a field of its own."""
    match part:
        case Text(opaque=opaque):
            return {name: value for name, value in _state(opaque).items() if name in _TEXT_STATE}
        case Thinking(opaque=opaque) if "reasoning_details" in _state(opaque):
            return {"reasoning_details": _state(opaque)["reasoning_details"]}
        case Audio(data=data) if data:
            id = _state(part.opaque).get("id")
            return {"audio": {"id": id, "data": b64encode(data).decode(), "transcript": part.transcript}}
    return {}


def _state(opaque: Opaque | None) -> Json:
    return opaque.data if opaque else {}


def _call(call: ToolCall) -> Json:
    state = _state(call.opaque)
    wire: Json = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    if state.get("custom"):
        wire = {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return wire | ({"extra_content": state["extra_content"]} if "extra_content" in state else {})


def _usage(usage: Usage) -> Json:
    read = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_creation_tokens}
    written = {"reasoning_tokens": usage.reasoning_tokens}
    counts = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": _known(read),
        "completion_tokens_details": _known(written),
    }
    return _known(counts)


def _known(counts: Json) -> Json:
    return {name: value for name, value in counts.items() if value not in (None, {})}


# ── stream ──────────────────────────────────────────────────────────────────────────────────────


class StreamEncoder:
    """Events in, chunks out; `id` and `model` are those of the answer, where they are known before its end."""

    def __init__(self, *, created: int = 0, id: str = "", model: str = "") -> None:
        self._created = created
        self._id = id
        self._model = model
        self._begun = False
        self._calls: dict[int, int] = {}  # a part's index to the place among the calls
        self._usage = Usage()

    def feed(self, event: Event) -> bytes:
        """The bytes that say this; nothing where this wire has no form for it."""
        opening = b"" if self._begun else self._chunk({"role": "assistant", "content": ""})
        wire = _WRITERS[type(event)](self, event)
        if not wire or isinstance(event, Failed):
            return wire
        self._begun = True
        return opening + wire

    def _chunk(self, delta: Json, reason: str | None = None, facts: Json | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return self._data({"choices": [choice]} | (facts or {}))

    def _data(self, fields: Json) -> bytes:
        head = _head("chat.completion.chunk", self._id, self._model, self._created)
        return b"data: " + write_json(head | fields) + b"\n\n"

    def _nothing(self, event: Event) -> bytes:
        return b""

    def _text(self, event: TextDelta) -> bytes:
        return self._chunk({"content": event.text})

    def _thinking(self, event: ThinkingDelta) -> bytes:
        return self._chunk({"reasoning_content": event.text})

    def _call_start(self, event: ToolCallStart) -> bytes:
        place = self._calls[event.index] = len(self._calls)
        function = {"name": event.name, "arguments": ""}
        return self._chunk({"tool_calls": [{"index": place, "id": event.id, "type": "function", "function": function}]})

    def _call_input(self, event: ToolInputDelta) -> bytes:
        call = {"index": self._calls[event.index], "function": {"arguments": event.delta}}
        return self._chunk({"tool_calls": [call]})

    def _call_end(self, event: ToolCallEnd) -> bytes:
        extra = _state(event.opaque).get("extra_content")
        if extra is None:
            return b""
        return self._chunk({"tool_calls": [{"index": self._calls[event.index], "extra_content": extra}]})

    def _text_end(self, event: TextEnd) -> bytes:
        return self._extras(Text("", event.opaque))

    def _thinking_end(self, event: ThinkingEnd) -> bytes:
        return self._extras(Thinking("", event.opaque))

    def _part(self, event: PartAdded) -> bytes:
        return self._extras(event.part)

    def _extras(self, part: Part) -> bytes:
        extras = _extras(part)
        return self._chunk(extras) if extras else b""

    def _usage_reported(self, event: UsageReported) -> bytes:
        self._usage = event.usage
        return b""

    def _finished(self, event: Finished) -> bytes:
        self._id, self._model = event.id or self._id, event.model or self._model
        end = self._chunk({}, FINISH_WORDS[event.reason], _facts(event.metadata))
        if self._usage:
            end += self._data({"choices": [], "usage": _usage(self._usage)})
        return end + b"data: [DONE]\n\n"

    def _failed(self, event: Failed) -> bytes:
        _, body = encode_error(event.error)
        return b"data: " + body + b"\n\n"


_WRITERS: dict[type[Any], Callable[[StreamEncoder, Any], bytes]] = {
    TextStart: StreamEncoder._nothing,
    TextDelta: StreamEncoder._text,
    TextEnd: StreamEncoder._text_end,
    ThinkingStart: StreamEncoder._nothing,
    ThinkingDelta: StreamEncoder._thinking,
    ThinkingEnd: StreamEncoder._thinking_end,
    ToolCallStart: StreamEncoder._call_start,
    ToolInputDelta: StreamEncoder._call_input,
    ToolCallEnd: StreamEncoder._call_end,
    PartAdded: StreamEncoder._part,
    UsageReported: StreamEncoder._usage_reported,
    Finished: StreamEncoder._finished,
    Failed: StreamEncoder._failed,
}
