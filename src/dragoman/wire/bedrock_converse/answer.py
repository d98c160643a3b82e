"""Answers: what came back, whole or streamed, and errors."""

from base64 import b64decode
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import ApiError, InvalidResponse
from ...events import TextStart, ThinkingStart
from ...exchange import FinishReason, Note, Response
from ...http import HttpResponse
from ...messages import Audio, Document, Image, OpaquePart
from ...target import Target
from ...usage import Usage, token_count
from ..arguments import arguments_text
from ..decoder import StreamDecoder, decode_whole
from ..failure import Complaint, api_error, read_count
from ..framing import EventStreamFramer, Frame
from ..reading import OBJECT, mapping, read_json, sequence, string, write_json
from ..scribe import Scribe
from .blocks import media_type_for
from .held import HELD_KINDS, HeldBlock, joined_base64

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error"]

Body = dict[str, Any]


STOP_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}

# What an answer says besides its message: the name we give it, and the one word in it that matters.
_FACTS = {
    "metrics": ("provider_latency_ms", "latencyMs"),
    "serviceTier": ("service_tier", "type"),
    "performanceConfig": ("performance", "latency"),
    "additionalModelResponseFields": ("additional_fields", ""),
    "trace": ("trace", ""),
}
_USAGE_FACTS = {"cacheDetails": ("cache_details", ""), "serverToolUsage": ("server_tool_usage", "")}


class _Delta(Struct, gc=False, rename="camel"):
    text: Any = None
    reasoning_content: Any = None
    tool_use: Any = None
    tool_result: Any = None
    citation: Any = None
    image: Any = None


class _BlockDelta(Struct, gc=False, rename="camel"):
    delta: _Delta | None = None
    content_block_index: int = 0


_deltas = msgspec.json.Decoder(_BlockDelta)


class _Reader:
    """Understands an answer, whole or in events."""

    def __init__(self, target: Target) -> None:
        self.scribe = Scribe(target, inline=True, seal=_sealed)
        self._limits = target.limits
        self._block: int | None = None  # the block that prose belongs to
        self._held: dict[int, HeldBlock] = {}
        self._stop: str | None = None

    def read(self, frame: Frame) -> None:
        if frame.is_exception:
            self.scribe.fail(_stream_error(frame, self.scribe.target))
        elif frame.event == "contentBlockDelta":
            said = read_json(_deltas, frame.data, self._limits)
            delta = said.delta
            if delta is not None and delta.text.__class__ is str and said.content_block_index == self._block:
                self.scribe.text(delta.text)
            else:
                self._read_delta(said)
        elif frame.event in _EVENTS:
            _EVENTS[frame.event](self, read_json(OBJECT, frame.data, self._limits))
        else:
            self.scribe.note(Note("ignored", f"event {frame.event!r}", "not known on this wire"))

    def read_body(self, body: bytes) -> None:
        answer = read_json(OBJECT, body, self._limits)
        message = mapping(mapping(answer.get("output")).get("message"))
        if not message:
            raise _refusal(answer, body, self.scribe.target)
        for block in sequence(message.get("content")):
            self._read_block(mapping(block))
            self.scribe.end_prose()
        self._stop = string(answer.get("stopReason"))
        self._read_facts(answer)
        self._complete()

    def end(self) -> None:
        # The usage may be missing; the stop is end enough.
        if self._stop is not None:
            self._complete()

    # ── a stream's events ──

    def _read_delta(self, said: _BlockDelta) -> None:
        delta, index = said.delta, said.content_block_index
        if delta is None:
            return
        if index != self._block:
            self._turn_to(index)
        if delta.text.__class__ is str:
            self.scribe.text(delta.text)
        elif delta.reasoning_content is not None:
            self._read_reasoning(mapping(delta.reasoning_content))
        elif delta.citation is not None:
            self.scribe.gather(TextStart, "citations", [delta.citation])
        elif index in self._held:
            self._held[index].pieces.append(delta.tool_use or delta.tool_result or delta.image)
        elif delta.tool_use is not None:
            self._read_input(index, mapping(delta.tool_use))
        else:
            self.scribe.note(Note("ignored", "a piece of the answer", "of no kind known on this wire"))

    def _turn_to(self, index: int) -> None:
        # Nothing marks the start of prose, and its end may be missing: another index is another block.
        if self._block is not None:
            self.scribe.end_prose()
        self._block = index

    def _read_input(self, index: int, use: Body) -> None:
        if self.scribe.call_id(index) is None:
            raise InvalidResponse("the stream has arguments for a call that never began")
        self.scribe.call_input(index, arguments_text(use.get("input")))

    def _read_block_start(self, event: Body) -> None:
        index, start = _index(event), mapping(event.get("start"))
        use = mapping(start.get("toolUse"))
        if use and _is_ours(use):
            self.scribe.call(index, string(use.get("toolUseId")), string(use.get("name")))
            return
        kind = next((kind for kind in start if kind in HELD_KINDS), None)
        if kind is not None:
            self._held[index] = HeldBlock(kind, mapping(start[kind]))
        elif start:
            self.scribe.note(
                Note("ignored", f"block of kind {next(iter(start))!r}", "not known in a stream of this wire")
            )

    def _read_block_stop(self, event: Body) -> None:
        index = _index(event)
        if self.scribe.call_id(index) is not None:
            self.scribe.end_call(index)
        elif index in self._held:
            self._read_block(self._held.pop(index).block())
        else:
            self.scribe.end_prose()

    def _read_stop(self, event: Body) -> None:
        self._stop = string(event.get("stopReason"))
        self._read_facts(event)

    def _read_facts(self, event: Body) -> None:
        self._remember(event, _FACTS)
        counts = mapping(event.get("usage"))
        if counts:
            self._remember(counts, _USAGE_FACTS)
            self.scribe.usage(read_usage(counts))

    def _read_metadata(self, event: Body) -> None:
        self._read_facts(event)
        if self._stop is not None:
            self._complete()

    def _remember(self, facts: Body, names: dict[str, tuple[str, str]]) -> None:
        for name, (ours, word) in names.items():
            value = mapping(facts.get(name)).get(word) if word else facts.get(name)
            if value or value == 0:
                self.scribe.metadata[ours] = value if isinstance(value, str) else write_json(value).decode()

    def _complete(self) -> None:
        for index in list(self._held):
            self._read_block(self._held.pop(index).block())
        raw = self._stop or ""
        if raw and raw not in STOP_REASONS:
            self.scribe.note(Note("ignored", f"stop reason {raw!r}", "not known; taken as a normal end"))
        self.scribe.finish(STOP_REASONS.get(raw, "stop"), raw)

    # ── whole blocks ──

    def _read_block(self, block: Body) -> None:
        kind = next((kind for kind in block if kind in _BLOCKS), None)
        if kind is not None:
            _BLOCKS[kind](self, block[kind])
        elif block:
            self._keep(next(iter(block)), block)

    def _keep(self, kind: str, block: Body) -> None:
        """A block that only its issuer understands, kept for the way back."""
        self.scribe.part(OpaquePart(kind, self.scribe.opaque(block)))

    def _read_text(self, text: Any) -> None:
        self.scribe.text(string(text))

    def _read_reasoning(self, content: Any) -> None:
        """Reasoning with its signature, or sealed: whole, or the one piece that a delta has."""
        content = mapping(content)
        content = content | mapping(content.get("reasoningText"))
        self.scribe.thinking(string(content.get("text")))
        for name, ours in (("signature", "signature"), ("redactedContent", "redacted")):
            if value := string(content.get(name)):
                self.scribe.gather(ThinkingStart, ours, [value])

    def _read_cited(self, content: Any) -> None:
        content = mapping(content)
        for piece in sequence(content.get("content")):
            self.scribe.text(string(mapping(piece).get("text")))
        if citations := sequence(content.get("citations")):
            self.scribe.gather(TextStart, "citations", citations)

    def _read_call(self, use: Any) -> None:
        use = mapping(use)
        if _is_ours(use):
            id, name = string(use.get("toolUseId")), string(use.get("name"))
            self.scribe.whole_call(id, name, arguments_text(use.get("input")))
        else:
            self._keep("toolUse", {"toolUse": use})

    def _read_image(self, image: Any) -> None:
        self._read_file("image", mapping(image), Image)

    def _read_audio(self, audio: Any) -> None:
        self._read_file("audio", mapping(audio), Audio)

    def _read_video(self, video: Any) -> None:
        self._read_file("video", mapping(video), Document)

    def _read_file(self, kind: str, block: Body, part: type[Image] | type[Audio] | type[Document]) -> None:
        """A file by its bytes or by where it lies; what came out as neither is kept as it is."""
        source = mapping(block.get("source"))
        media_type = media_type_for(kind, string(block.get("format")))
        place = mapping(source.get("s3Location"))
        try:
            data = b64decode(string(source.get("bytes")))
        except ValueError:
            data = b""
        if data:
            self.scribe.part(part(data, media_type))
        elif place.keys() == {"uri"} and string(place["uri"]):
            self.scribe.part(part(url=place["uri"], media_type=media_type))
        else:
            self._keep(kind, {kind: block})


_EVENTS: dict[str, Callable[[_Reader, Body], None]] = {
    "messageStart": lambda reader, event: None,
    "contentBlockStart": _Reader._read_block_start,
    "contentBlockStop": _Reader._read_block_stop,
    "messageStop": _Reader._read_stop,
    "metadata": _Reader._read_metadata,
}

_BLOCKS: dict[str, Callable[[_Reader, Any], None]] = {
    "text": _Reader._read_text,
    "reasoningContent": _Reader._read_reasoning,
    "citationsContent": _Reader._read_cited,
    "toolUse": _Reader._read_call,
    "image": _Reader._read_image,
    "audio": _Reader._read_audio,
    "video": _Reader._read_video,
}


def _index(event: Body) -> int:
    index = event.get("contentBlockIndex", 0)
    if type(index) is not int:
        raise InvalidResponse("a block of the stream has no number for its place")
    return index


def _is_ours(use: Body) -> bool:
    """Whether a call is for us to make; the provider's own tools run on its side."""
    return use.get("type") in (None, "tool_use")


def _sealed(state: Body) -> Body:
    """Signatures and sealed reasoning made whole again: that is how their issuer wants them back."""
    if "signature" in state:
        state = state | {"signature": "".join(state["signature"])}
    if "redacted" in state:
        state = state | {"redacted": joined_base64(state["redacted"])}
    return state


# ── facts ──


def read_usage(counts: Body) -> Usage:
    """Usage with what the cache gave and took inside the input; Converse counts them beside it."""
    fresh = token_count(counts.get("inputTokens"))
    read = token_count(counts.get("cacheReadInputTokens"))
    written = token_count(counts.get("cacheWriteInputTokens"))
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=token_count(counts.get("outputTokens")),
        cache_read_tokens=read,
        cache_creation_tokens=written,
    )


def decode_chat(body: bytes, target: Target) -> Response:
    """The Response in a whole body."""
    return decode_whole(_Reader(target), body)


def chat_decoder(target: Target) -> StreamDecoder:
    """A decoder for one streamed answer."""
    return StreamDecoder(_Reader(target), EventStreamFramer(target.limits))


def decode_count(body: bytes, target: Target) -> int:
    """The number of tokens counted."""
    return read_count(body, "inputTokens", target)


# ── errors ──


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    try:
        body = read_json(OBJECT, answer.body, target.limits)
    except InvalidResponse:
        body = {"message": answer.body.decode("utf-8", "replace")[:500].strip()}
    complaint = _complaint(body, answer.header("x-amzn-errortype") or "")
    return api_error(target, complaint, answer)


_BEING_CREATED = "MPAgreementBeingCreated"


def _complaint(body: Body, kind: str) -> Complaint:
    """The facts of an error: its name stands before a colon in a header, or after a hash in the body."""
    kind = kind or string(body.get("__type"))
    message = string(body.get("message")) or string(body.get("Message"))
    original = string(body.get("originalMessage"))
    if original and original not in message:
        message = f"{message}: {original}" if message else original
    code = kind.rpartition("#")[2].partition(":")[0]
    if _BEING_CREATED in message:
        # Said as if access were denied, which it is only until the agreement is made.
        return Complaint(message=message, code=_BEING_CREATED, type=code)
    return Complaint(message=message, code=code)


def _stream_error(frame: Frame, target: Target) -> ApiError:
    try:
        body = read_json(OBJECT, frame.data, target.limits)
    except InvalidResponse:
        body = {"message": frame.data.decode("utf-8", "replace")[:500].strip()}
    return api_error(target, _complaint(body, frame.event))


def _refusal(answer: Body, body: bytes, target: Target) -> ApiError | InvalidResponse:
    if answer.get("message") or answer.get("__type"):
        return api_error(target, _complaint(answer, ""))
    return InvalidResponse("the answer has no message", body=body)
