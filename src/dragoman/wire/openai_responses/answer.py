"""Answers: what came back, whole or streamed, and errors."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import ApiError, InvalidResponse
from ...exchange import FinishReason, Note, Response
from ...http import HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..arguments import arguments_text
from ..decoder import StreamDecoder, decode_whole
from ..failure import Complaint, api_error, complaint_in, read_count, refusal, stray_text
from ..framing import Frame, SseFramer
from ..reading import ANYTHING, mapping, read_json, sequence, string, write_json
from ..scribe import Scribe
from .growing import Growing, growing, is_growing
from .items import real_id

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error"]

Item = dict[str, Any]


FINISH_REASONS: dict[str, FinishReason] = {
    "completed": "stop",
    "cancelled": "error",
    "queued": "pause",
    "in_progress": "pause",
    # why an answer is incomplete
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "content_filter",
    "steered": "pause",
    "pause": "pause",
}

# The events that end a stream, with the status each implies where its snapshot names none.
_ENDS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    "response.failed": "failed",
}

# The events that carry a piece of an item: which kind of item, which of its fields, and the field of the
# event that holds the piece when it is whole.
_PIECES = {
    "response.output_text": ("message", "text", "text"),
    "response.refusal": ("message", "refusal", "refusal"),
    "response.reasoning_text": ("reasoning", "content", "text"),
    "response.reasoning_summary_text": ("reasoning", "summary", "text"),
    "response.function_call_arguments": ("function_call", "arguments", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input", "input"),
}
_DELTAS = {f"{name}.delta": (kind, field) for name, (kind, field, _) in _PIECES.items()}
_WHOLES = {f"{name}.done": piece for name, piece in _PIECES.items()}

# What a response says of itself that is asked for and has no place of its own.
FACTS = ("prompt_cache_diagnostics", "moderation")

# Items that wait for an answer of ours though they are no function calls, and where each has its id.
_AWAITED = {
    "mcp_approval_request": "id",
    "computer_call": "call_id",
    "local_shell_call": "call_id",
    "shell_call": "call_id",
    "apply_patch_call": "call_id",
}


class _Event(Struct, gc=False):
    type: str | None = None
    delta: Any = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    item: Any = None
    response: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    input: Any = None
    error: Any = None
    code: Any = None
    message: Any = None


_events = msgspec.json.Decoder(_Event)


class _Reader:
    """Understands answers, streamed or whole. Items are known by their place: some servers change ids on the way."""

    def __init__(self, target: Target) -> None:
        self.scribe = Scribe(target, inline=True, keyed=True)
        self._limits = target.limits
        self._growing: dict[int, Growing] = {}
        self._closed: set[int] = set()
        self._told: set[str] = set()  # ids of the items that had an event of their own at their end
        self._latest = -1
        self._last: Growing | None = None
        self._awaited: set[str] = set()
        self._refused = False

    def read(self, frame: Frame) -> None:
        data = frame.data
        if data[:1] != b"{":
            self._read_marker(data.strip(), frame.event)
            return
        event = read_json(_events, data, self._limits)
        kind = event.type or frame.event
        if kind in _DELTAS:
            of, field = _DELTAS[kind]
            item = self._growing.get(event.output_index)  # type: ignore[arg-type]  # None finds nothing
            if item is None or of not in item.kinds:
                item = self._item_for(event, of)
            if item is not None and event.delta.__class__ is str:
                item.add(field, event.content_index or event.summary_index or 0, event.delta)
        elif kind in _HANDLERS:
            _HANDLERS[kind](self, event)
        elif kind in _WHOLES:
            self._read_piece(event, *_WHOLES[kind])
        elif kind in _ENDS:
            self._read_response(mapping(event.response), _ENDS[kind])
        elif event.error and not kind.startswith("response."):
            self._read_error(event)  # gateways leave the type out

    def read_body(self, body: bytes) -> None:
        response = mapping(read_json(ANYTHING, body, self._limits))
        if not isinstance(response.get("output"), list) and not response.get("error"):
            raise InvalidResponse("the answer has no output", body=body)
        self._read_response(response, "failed" if response.get("error") else "completed")

    def end(self) -> None:
        """Only an event of its own ends a stream on this wire."""

    def _read_marker(self, data: bytes, event: str) -> None:
        if data and data != b"[DONE]":
            raise stray_text(data, event, self.scribe.target)

    def _fail(self, complaint: Complaint) -> None:
        self.scribe.fail(api_error(self.scribe.target, complaint))

    # ── items ──

    def _item_for(self, event: _Event, kind: str) -> Growing | None:
        """The item that a piece belongs to; None where that one is closed or of another kind."""
        place = max(self._latest, 0) if event.output_index is None else event.output_index
        item = self._growing.get(place)
        if item is None:
            return None if place in self._closed else self._opened(place, {"type": kind})
        return item if kind in item.kinds else None

    def _opened(self, place: int, item: Item) -> Growing:
        self._latest = place
        self._last = self._growing[place] = growing(self.scribe, item, self._last)
        return self._last

    def _read_piece(self, event: _Event, kind: str, field: str, whole: str) -> None:
        item = self._item_for(event, kind)
        if item is not None:
            text = arguments_text(getattr(event, whole))
            item.add_rest(field, event.content_index or event.summary_index or 0, text)

    def _read_added(self, event: _Event) -> None:
        place = self._latest + 1 if event.output_index is None else event.output_index
        if place not in self._growing and place not in self._closed:
            self._opened(place, mapping(event.item))

    def _read_done(self, event: _Event) -> None:
        place = event.output_index
        if place is None:
            place = self._latest if self._latest in self._growing else self._latest + 1
        if place not in self._closed:
            item = mapping(event.item)
            self._close(place, item)
            self._told.add(string(item.get("id")))

    def _close(self, place: int, item: Item) -> None:
        opened = self._growing.get(place)
        if opened is None or not is_growing(opened, item):
            opened = self._opened(place, item)
        opened.close(item)
        del self._growing[place]
        self._closed.add(place)
        self._heed(item)

    def _heed(self, item: Item) -> None:
        """What an item means for how the answer ends."""
        kind = string(item.get("type"))
        if kind == "message":
            self._refused |= any(mapping(part).get("type") == "refusal" for part in sequence(item.get("content")))
        elif kind in _AWAITED:
            self._awaited.add(string(item.get(_AWAITED[kind])))
        elif kind == "tool_search_call" and item.get("execution") == "client":
            self._awaited.add(string(item.get("call_id")))
        elif kind.endswith("_output"):
            self._awaited.discard(string(item.get("call_id")))

    # ── the response itself ──

    def _read_created(self, event: _Event) -> None:
        self._read_head(mapping(event.response))

    def _read_head(self, response: Item) -> None:
        self.scribe.id = real_id(response) or self.scribe.id
        self.scribe.model = string(response.get("model")) or self.scribe.model

    def _read_error(self, event: _Event) -> None:
        # Documented flat; sent nested as well.
        self._fail(complaint_in({"error": event.error or {"message": event.message, "code": event.code}}))

    def _read_response(self, response: Item, status: str) -> None:
        """The response as it ended; `status` is what it is taken for where it does not say."""
        self._read_head(response)
        if tier := string(response.get("service_tier")):
            self.scribe.metadata["service_tier"] = tier
        for name in FACTS:
            if fact := mapping(response.get(name)):
                self.scribe.metadata[name] = write_json(fact).decode()
        if counts := mapping(response.get("usage")):
            self._read_usage(counts)
        status = string(response.get("status")) or status
        if status == "failed":
            self._fail(complaint_in(response))
            return
        self._read_output(sequence(response.get("output")))
        self._finish(status, string(mapping(response.get("incomplete_details")).get("reason")))

    def _read_output(self, output: list[Any]) -> None:
        """Items that no event has closed. Some servers leave the list empty, some the events out."""
        for place, item in enumerate(map(mapping, output)):
            if place not in self._closed and (string(item.get("id")) or place) not in self._told:
                self._close(place, item)
        for place, left in list(self._growing.items()):
            # The seal of an item that was never ended is not whole.
            self._close(place, {name: value for name, value in left.first.items() if name != "encrypted_content"})

    def _read_usage(self, counts: Item) -> None:
        self.scribe.usage(read_usage(counts))
        for name in ("cost", "cost_in_usd_ticks"):
            if type(counts.get(name)) in (int, float):
                self.scribe.metadata[f"provider_{name}"] = str(counts[name])

    def _finish(self, status: str, why: str) -> None:
        raw = why or status if status == "incomplete" else status
        reason = FINISH_REASONS.get(raw)
        if reason is None:
            reason = "length" if status == "incomplete" else "stop"
            self.scribe.note(Note("ignored", f"status {raw!r}", f"not known; taken as {reason!r}"))
        if self._refused:
            reason = "content_filter"
        elif reason == "stop" and self._awaited:
            reason = "tool_calls"
        self.scribe.finish(reason, raw)


_HANDLERS: dict[str, Callable[[_Reader, _Event], None]] = {
    "response.created": _Reader._read_created,
    "response.output_item.added": _Reader._read_added,
    "response.output_item.done": _Reader._read_done,
    "error": _Reader._read_error,
}


def read_usage(counts: Item) -> Usage:
    """Usage as this wire counts it: cache inside input, reasoning inside output."""
    read, written = mapping(counts.get("input_tokens_details")), mapping(counts.get("output_tokens_details"))
    return Usage(
        input_tokens=token_count(counts.get("input_tokens")),
        output_tokens=token_count(counts.get("output_tokens")),
        cache_read_tokens=token_count(read.get("cached_tokens")),
        cache_creation_tokens=token_count(read.get("cache_write_tokens")),
        reasoning_tokens=token_count(written.get("reasoning_tokens")),
    )


def decode_chat(body: bytes, target: Target) -> Response:
    """The Response in a whole body."""
    return decode_whole(_Reader(target), body)


def chat_decoder(target: Target) -> StreamDecoder:
    """A decoder for one streamed answer."""
    return StreamDecoder(_Reader(target), SseFramer(target.limits))


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    return refusal(answer, target)


def decode_count(body: bytes, target: Target) -> int:
    """The number of tokens in the answer to `encode_count`."""
    return read_count(body, "input_tokens", target)
