"""Answers: what came back, whole or streamed, and errors."""

from typing import Any

import msgspec
from msgspec import Struct

from ...errors import ApiError, InvalidResponse
from ...exchange import FinishReason, Note, Response
from ...http import HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..decoder import StreamDecoder, decode_whole
from ..failure import api_error, complaint_in, read_count, refusal, stray_text
from ..framing import Frame, SseFramer
from ..reading import ANYTHING, mapping, read_json, string, write_json
from ..scribe import Scribe
from .growing import Delta, GrowingBlock, begin_block

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error"]


STOP_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "compaction": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "pause_turn": "pause",
}

# What an answer says beside its content, kept in `metadata`: words as they are, the rest as JSON text.
STOP_FACTS = ("stop_sequence", "stop_details", "container")
REQUEST_FACTS = ("context_management", "diagnostics", "input_transformations")
USAGE_FACTS = (
    "service_tier",
    "inference_geo",
    "speed",
    "cache_creation",
    "server_tool_use",
    "iterations",
    "fallback_credit",
)


class _Event(Struct, gc=False):
    """What the events that come by the thousand say; the others are read a second time, whole."""

    type: Any = None
    index: int = 0
    delta: Delta | None = None
    content_block: Any = None


_events = msgspec.json.Decoder(_Event)


class _Reader:
    """Understands messages, whole or event by event: a body is a stream whose blocks come whole."""

    def __init__(self, target: Target) -> None:
        self.scribe = Scribe(target)
        self._limits = target.limits
        self._begun = False
        self._blocks: dict[int, GrowingBlock] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason = ""

    def read(self, frame: Frame) -> None:
        data = frame.data
        if data[:1] != b"{":
            self._read_marker(data.strip(), frame.event)
            return
        event = read_json(_events, data, self._limits)
        kind = event.type or frame.event
        if kind == "content_block_delta":
            block, delta = self._blocks.get(event.index), event.delta
            if block is None or delta is None or not block.grow(delta, data):
                self._ignore(delta)
            return
        match kind:
            case "content_block_start":
                self._start(event.index, event.content_block)
            case "content_block_stop":
                self._close(event.index, mapping(event.content_block))
            case "ping":
                pass
            case _:
                self._read_rarity(kind, mapping(read_json(ANYTHING, data, self._limits)))

    def read_body(self, body: bytes) -> None:
        message = mapping(read_json(ANYTHING, body, self._limits))
        content = message.get("content")
        if message.get("error") and content is None:
            self._fail(message)
            return
        if not isinstance(content, list):
            raise InvalidResponse("the answer has no content", body=body)
        for index, block in enumerate(content):
            self._start(index, block)
            self._close(index, {})
        self._read_head(message)
        self._read_end(message)
        self._complete()

    def end(self) -> None:
        """Nothing to do: only `message_stop` ends a stream.

        A stop reason alone does not: counts of usage may still follow it, and no server that
        speaks this wire has been seen to leave the last event out.
        """

    def _read_marker(self, data: bytes, event: str) -> None:
        if data and data != b"[DONE]":
            raise stray_text(data, event, self.scribe.target)

    # ── blocks ──

    def _start(self, index: int, block: Any) -> None:
        self._begun = True
        if index in self._blocks:
            self._close(index, {})
        if not isinstance(block, dict):
            self.scribe.note(Note("ignored", "a block of the answer", "it is no object"))
            return
        self._blocks[index] = begin_block(self.scribe, block)

    def _ignore(self, delta: Delta | None) -> None:
        kind = string(delta.type) if delta else ""
        self.scribe.note(Note("ignored", f"delta of type {kind!r}", "not known for this block"))

    def _close(self, index: int, late: dict[str, Any]) -> None:
        block = self._blocks.pop(index, None)
        if block is not None:
            block.close(late)

    # ── everything else ──

    def _read_rarity(self, kind: Any, event: dict[str, Any]) -> None:
        match kind:
            case "message_start":
                self._begun = True
                message = mapping(event.get("message"))
                self._read_head(message)
                self._read_usage(_counted(mapping(message.get("usage"))))
            case "message_delta":
                self._read_facts(event)
                self._read_end(mapping(event.get("delta")) | {"usage": event.get("usage")})
            case "message_stop":
                self._read_head(mapping(event.get("message")))
                self._complete()
            case _ if kind == "error" or event.get("error"):
                self._fail(event)
            case _:
                self.scribe.note(Note("ignored", f"event of type {string(kind)!r}", "not known on this wire"))

    def _read_head(self, message: dict[str, Any]) -> None:
        self.scribe.id = string(message.get("id")) or self.scribe.id
        self.scribe.model = string(message.get("model")) or self.scribe.model
        self._read_facts(message)

    def _read_end(self, message: dict[str, Any]) -> None:
        self._stop_reason = string(message.get("stop_reason")) or self._stop_reason
        self._read_facts(message)
        self._read_usage(mapping(message.get("usage")))

    def _read_facts(self, holder: dict[str, Any], names: tuple[str, ...] = STOP_FACTS + REQUEST_FACTS) -> None:
        for name in names:
            value = holder.get(name)
            if _tells(value):
                self.scribe.metadata[name] = value if isinstance(value, str) else write_json(value).decode()

    def _read_usage(self, counts: dict[str, Any]) -> None:
        # Counts are cumulative; one that is left out or null has not changed.
        self._usage |= {name: value for name, value in counts.items() if value is not None}
        if self._usage:
            self.scribe.usage(read_usage(self._usage))

    def _fail(self, holder: dict[str, Any]) -> None:
        error = api_error(self.scribe.target, complaint_in(holder))
        error.request_id = string(holder.get("request_id"))
        self.scribe.fail(error)

    def _complete(self) -> None:
        if not self._begun and not self._stop_reason:
            raise InvalidResponse("the stream ended before the answer began")
        for index in list(self._blocks):
            self._close(index, {})
        self._read_facts(self._usage, USAGE_FACTS)
        raw = self._stop_reason
        if raw and raw not in STOP_REASONS:
            self.scribe.note(Note("ignored", f"stop reason {raw!r}", "not known; taken as a normal end"))
        self.scribe.finish(STOP_REASONS.get(raw, "stop"), raw)


def _tells(value: Any) -> bool:
    """Whether a fact says anything: counts that are all zero do not."""
    return any(value.values()) if isinstance(value, dict) else isinstance(value, (str, list)) and bool(value)


def _counted(usage: dict[str, Any]) -> dict[str, Any]:
    """The usage of a stream's first event, less its counts where all are zero: then nothing was counted yet."""
    if any(map(token_count, usage.values())):
        return usage
    return {name: value for name, value in usage.items() if token_count(value) is None}


def read_usage(counts: dict[str, Any]) -> Usage:
    """Usage with the cache's share, which this wire counts apart, inside the input."""
    fresh = token_count(counts.get("input_tokens"))
    read = token_count(counts.get("cache_read_input_tokens"))
    written = token_count(counts.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=token_count(counts.get("output_tokens")),
        cache_read_tokens=read,
        cache_creation_tokens=written,
        reasoning_tokens=token_count(mapping(counts.get("output_tokens_details")).get("thinking_tokens")),
    )


def decode_chat(body: bytes, target: Target) -> Response:
    """The Response in a whole body."""
    return decode_whole(_Reader(target), body)


def chat_decoder(target: Target) -> StreamDecoder:
    """A decoder for one streamed answer."""
    return StreamDecoder(_Reader(target), SseFramer(target.limits))


def decode_count(body: bytes, target: Target) -> int:
    """The number of tokens in the answer to a count."""
    return read_count(body, "input_tokens", target)


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    return refusal(answer, target)
