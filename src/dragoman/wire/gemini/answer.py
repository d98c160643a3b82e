"""Answers: what came back, whole or streamed, and errors."""

import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import ApiError, InvalidResponse
from ...exchange import FinishReason, Note, Response
from ...http import HttpResponse
from ...messages import Audio, Document, Image, OpaquePart
from ...target import Target
from ...usage import Usage, token_count
from ..arguments import arguments_text
from ..decoder import StreamDecoder, decode_whole
from ..failure import Complaint, api_error, complaint_in, read_count, refusal
from ..framing import Frame, JsonArrayFramer, SseFramer
from ..reading import mapping, read_json, sequence, string, write_json
from ..scribe import Scribe
from .contents import MADE_UP_ID
from .partial_arguments import PartialArguments

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error"]

Body = dict[str, Any]


FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "NO_IMAGE": "error",
    "LANGUAGE": "error",
    "IMAGE_OTHER": "error",
    "OTHER": "error",
}

# Some recorded answers have numbers for words. From six on the API's two surfaces number differently.
_NUMBERED_REASONS = ("", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
_UNSAID_REASONS = ("", "FINISH_REASON_UNSPECIFIED")


class _Content(Struct, gc=False):
    parts: list[dict[str, Any]] | None = None


class _Candidate(Struct, gc=False, rename="camel"):
    content: _Content | None = None
    index: Any = None
    finish_reason: Any = None
    finish_message: Any = None
    continuation_token: Any = None
    safety_ratings: Any = None
    avg_logprobs: Any = None
    grounding_metadata: Any = None
    citation_metadata: Any = None
    url_context_metadata: Any = None
    logprobs_result: Any = None


class _Counts(Struct, gc=False, rename="camel"):
    prompt_token_count: Any = None
    tool_use_prompt_token_count: Any = None
    candidates_token_count: Any = None
    thoughts_token_count: Any = None
    cached_content_token_count: Any = None
    service_tier: Any = None
    traffic_type: Any = None


class _Answer(Struct, gc=False, rename="camel"):
    candidates: list[_Candidate] | None = None
    # Anything but an object is no usage, and no reason to refuse the answer.
    usage_metadata: _Counts | list[Any] | str | int | float | bool | None = None
    response_id: Any = None
    model_version: Any = None
    create_time: Any = None
    prompt_feedback: Any = None
    model_status: Any = None
    error: Any = None


_answer = msgspec.json.Decoder(_Answer)
_answers = msgspec.json.Decoder(list[_Answer])

# Fields of a part that say something about it and not what it is.
_SIDE_FIELDS = frozenset(
    {
        "thought",
        "thoughtSignature",
        "videoMetadata",
        "mediaResolution",
        "mediaProcessing",
        "partMetadata",
        "speechMetadata",
        "audioTranscription",
    }
)
_MEDIA: dict[str, type[Image] | type[Audio]] = {"image": Image, "audio": Audio}

# What a candidate says about its own parts, kept together behind them.
_SOURCES = {
    "grounding_metadata": "groundingMetadata",
    "citation_metadata": "citationMetadata",
    "url_context_metadata": "urlContextMetadata",
    "logprobs_result": "logprobsResult",
}
_FACTS = ("finish_message", "continuation_token", "safety_ratings", "avg_logprobs")
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,48}")


class _Reader:
    """Understands answers, whole or in pieces: a body is a piece that says everything."""

    def __init__(self, target: Target) -> None:
        self.scribe = Scribe(target)
        self._limits = target.limits
        self._answered = False
        self._finish = ""
        self._block = ""
        self._counts = _Counts()
        self._sources: Body = {}
        self._call_count = 0
        self._partial: tuple[object, PartialArguments] | None = None

    def read(self, frame: Frame) -> None:
        data = frame.data
        if data[:1] == b"{":
            self._read_answer(read_json(_answer, data, self._limits))
        elif data.strip() not in (b"", b"[DONE]"):  # some proxies add the end mark of another wire
            self._read_answers(data)

    def read_body(self, body: bytes) -> None:
        self._read_answers(body)
        if not self.scribe.ended:
            if not self._answered and not self._block:
                raise InvalidResponse("the answer has no candidates", body=body)
            self._complete()

    def end(self) -> None:
        # There is no end mark, and usage may follow the finish reason: only the close tells that all was said.
        if self._finish or self._block:
            self._complete()

    def _read_answers(self, data: bytes) -> None:
        """An answer, or a list of them: a stream asked for without server-sent events, or a wrapped error."""
        if data.lstrip()[:1] != b"[":
            self._read_answer(read_json(_answer, data, self._limits))
            return
        for answer in read_json(_answers, data, self._limits):
            if not self.scribe.ended:
                self._read_answer(answer)

    def _read_answer(self, answer: _Answer) -> None:
        scribe = self.scribe
        if answer.error:
            scribe.fail(api_error(scribe.target, _complaint({"error": answer.error})))
            return
        if not scribe.id:
            self._read_head(answer)
        if candidates := answer.candidates:
            self._answered = True
            if len(candidates) == 1 and not candidates[0].index:
                self._read_candidate(candidates[0])
            else:
                self._read_first(candidates)
        counts = answer.usage_metadata
        if counts.__class__ is _Counts and counts != self._counts:
            self._read_counts(counts)
        if answer.prompt_feedback:
            self._read_feedback(mapping(answer.prompt_feedback))

    def _read_head(self, answer: _Answer) -> None:
        scribe = self.scribe
        scribe.id = string(answer.response_id)
        scribe.model = string(answer.model_version) or scribe.model
        if created := string(answer.create_time):
            scribe.metadata["create_time"] = created
        self._keep_fact("model_status", answer.model_status)

    def _read_feedback(self, feedback: Body) -> None:
        """A prompt that was refused has a reason here and no candidates."""
        reason = feedback.get("blockReason")
        if reason:
            self._block = str(reason)
            self._keep_fact("finish_message", feedback.get("blockReasonMessage"))
            self._keep_fact("safety_ratings", feedback.get("safetyRatings"))

    def _read_first(self, candidates: list[_Candidate]) -> None:
        self.scribe.note(Note("ignored", "other candidates", "only the first candidate is read"))
        for candidate in [each for each in candidates if each.index in (0, None)][:1]:
            self._read_candidate(candidate)

    def _read_candidate(self, candidate: _Candidate) -> None:
        content = candidate.content
        if content is not None:
            for part in content.parts or ():
                # Almost every part of a stream is text and nothing else.
                if len(part) == 1 and (text := part.get("text")).__class__ is str:
                    self.scribe.text(text)
                else:
                    self._read_part(part)
        if (
            candidate.finish_reason is not None
            or candidate.continuation_token
            or candidate.safety_ratings
            or candidate.grounding_metadata
            or candidate.citation_metadata
            or candidate.url_context_metadata
            or candidate.logprobs_result
        ):
            self._read_rarities(candidate)

    # ── parts ──

    def _read_part(self, part: Body) -> None:
        read = next((reader for name, reader in _PART_READERS.items() if name in part), _Reader._keep)
        read(self, part)

    def _read_text(self, part: Body) -> None:
        scribe, text, state = self.scribe, part["text"] or "", _state(part, "text")
        if not isinstance(text, str):
            self._keep(part)
            return
        start, add, go_on = (
            (scribe.start_thinking, scribe.add_thinking, scribe.thinking)
            if part.get("thought")
            else (scribe.start_text, scribe.add_text, scribe.text)
        )
        if not state:
            go_on(text)
            return
        # A signature belongs to exactly the part it came with.
        scribe.end_prose()
        index = start()
        add(index, text)
        scribe.end(index, state)

    def _read_media(self, part: Body) -> None:
        blob = mapping(part["inlineData"])
        media_type, data = string(blob.get("mimeType")), _bytes(blob.get("data"))
        if not media_type or not data or part.get("thought"):
            self._keep(part)
            return
        state = _state(part, "inlineData")
        kind = _MEDIA.get(media_type.partition("/")[0], Document)
        opaque = self.scribe.opaque(state) if state else None
        self.scribe.part(kind(data, media_type, name=string(blob.get("displayName")), opaque=opaque))

    def _keep(self, part: Body) -> None:
        """A part that only its issuer understands, named after the field that makes it what it is."""
        kind = next((name for name in part if name not in _SIDE_FIELDS), "thoughtSignature")
        if kind in part:
            self.scribe.part(OpaquePart(kind, self.scribe.opaque(part)))

    # ── calls ──

    def _read_call(self, part: Body) -> None:
        call, state = mapping(part["functionCall"]), _state(part, "functionCall")
        if call.get("name"):
            self._begin_call(call, state)
        elif self._partial is not None:
            self._go_on_with_call(call, state)
        elif call:
            self._keep(part)

    def _begin_call(self, call: Body, state: Body) -> None:
        self._end_partial_call()
        id, name = string(call.get("id")), string(call.get("name"))
        if not id:
            id = self._made_up_id()
            state[MADE_UP_ID] = True
        self._call_count += 1
        if call.get("willContinue") or call.get("partialArgs"):
            key = object()
            self.scribe.call(key, id, name)
            self._partial = key, PartialArguments(self._limits)
            self._go_on_with_call(call, state)
        else:
            self.scribe.whole_call(id, name, arguments_text(call.get("args")), state)

    def _go_on_with_call(self, call: Body, state: Body) -> None:
        assert self._partial is not None
        key, arguments = self._partial
        self.scribe.mark_call(key, state)
        for piece in sequence(call.get("partialArgs")):
            arguments.add(piece)
        if not call.get("willContinue"):
            self._end_partial_call()

    def _end_partial_call(self) -> None:
        if self._partial is not None:
            key, arguments = self._partial
            self._partial = None
            self.scribe.call_input(key, arguments_text(arguments.whole()))
            self.scribe.end_call(key)

    def _made_up_id(self) -> str:
        """An id that no other turn has; empty, for the scribe to make one, where nothing tells turns apart."""
        turn = self.scribe.id
        return f"{turn}_{self._call_count}" if _PLAIN_ID.fullmatch(turn) else ""

    # ── what is seldom said ──

    def _read_rarities(self, candidate: _Candidate) -> None:
        self._finish = _reason(candidate.finish_reason) or self._finish
        for name in _FACTS:
            self._keep_fact(name, getattr(candidate, name))
        for name, wire_name in _SOURCES.items():
            for field, value in mapping(getattr(candidate, name)).items():
                kept = self._sources.setdefault(wire_name, {})
                kept[field] = _grown(kept.get(field), value)

    def _keep_fact(self, name: str, value: Any) -> None:
        if value:
            self.scribe.metadata[name] = value if isinstance(value, str) else write_json(value).decode()

    # ── end ──

    def _read_counts(self, counts: _Counts) -> None:
        # Counts are cumulative, and one that was given may be missing from a later piece.
        before, self._counts = self._counts, counts
        if not counts.prompt_token_count:
            counts.prompt_token_count = before.prompt_token_count
        if not counts.tool_use_prompt_token_count:
            counts.tool_use_prompt_token_count = before.tool_use_prompt_token_count
        if not counts.candidates_token_count:
            counts.candidates_token_count = before.candidates_token_count
        if not counts.thoughts_token_count:
            counts.thoughts_token_count = before.thoughts_token_count
        if not counts.cached_content_token_count:
            counts.cached_content_token_count = before.cached_content_token_count
        self.scribe.usage(_usage(counts))

    def _complete(self) -> None:
        scribe = self.scribe
        self._end_partial_call()
        for name in ("service_tier", "traffic_type"):
            if value := string(getattr(self._counts, name)):
                scribe.metadata[name] = value
        if self._sources:
            scribe.part(OpaquePart("grounding", scribe.opaque(self._sources)))
        if self._block:
            scribe.finish("content_filter", self._block)
            return
        raw = self._finish
        reason = FINISH_REASONS.get(raw, "stop")
        if raw and raw not in FINISH_REASONS:
            scribe.note(Note("ignored", f"finish reason {raw!r}", "not known; taken as a normal end"))
        if reason == "pause" and "continuation_token" not in scribe.metadata:
            reason = "length"  # without the token there is nothing to go on with
        scribe.finish(reason, raw)


_PART_READERS: dict[str, Callable[[_Reader, Body], None]] = {
    "text": _Reader._read_text,
    "functionCall": _Reader._read_call,
    "inlineData": _Reader._read_media,
}


def _reason(claim: Any) -> str:
    """The finish reason as a word; empty where it says that nothing was said."""
    if type(claim) is int:
        claim = _NUMBERED_REASONS[claim] if 0 <= claim < len(_NUMBERED_REASONS) else str(claim)
    word = string(claim)
    return "" if word in _UNSAID_REASONS else word


def _state(part: Body, kind: str) -> Body:
    """What a part carries beside itself: its signature, above all."""
    return {name: value for name, value in part.items() if name not in (kind, "thought") and value is not None}


def _bytes(data: Any) -> bytes:
    try:
        return b64decode(string(data))
    except ValueError:
        return b""


def _grown(old: Any, new: Any) -> Any:
    """A value after another piece of the stream: lists grow, whether a piece repeats what was there or not."""
    if isinstance(old, list) and isinstance(new, list) and new[: len(old)] != old:
        old.extend(new)
        return old
    return new if new or old is None else old


def _usage(counts: _Counts) -> Usage:
    """Usage with what tools put into the prompt inside input, and thoughts inside output."""
    thoughts = token_count(counts.thoughts_token_count)
    return Usage(
        input_tokens=_sum(token_count(counts.prompt_token_count), token_count(counts.tool_use_prompt_token_count)),
        output_tokens=_sum(token_count(counts.candidates_token_count), thoughts),
        cache_read_tokens=token_count(counts.cached_content_token_count),
        reasoning_tokens=thoughts,
    )


def _sum(count: int | None, more: int | None) -> int | None:
    return count if more is None else more if count is None else count + more


def decode_chat(body: bytes, target: Target) -> Response:
    """The Response in a whole body."""
    return decode_whole(_Reader(target), body)


def chat_decoder(target: Target) -> StreamDecoder:
    """A decoder for one streamed answer: server-sent events, or one JSON array."""
    arrays = {b"[": JsonArrayFramer(target.limits)}
    return StreamDecoder(_Reader(target), SseFramer(target.limits), other_framers=arrays)


def decode_count(body: bytes, target: Target) -> int:
    """How many tokens the question has."""
    return read_count(body, "totalTokens", target)


# ── errors ──

_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    return refusal(answer, target, _complaint)


def _complaint(body: Any) -> Complaint:
    """The facts of the error envelope: the status is a word, and details say why and when to come back."""
    plain = complaint_in(body)
    whole = mapping(body[0] if isinstance(body, list) and body else body)
    error = mapping(whole.get("error"))
    details = [mapping(detail) for detail in sequence(error.get("details"))]
    reason = next((reason for detail in details if (reason := string(detail.get("reason")))), "")
    delays = [_SECONDS.fullmatch(string(detail.get("retryDelay"))) for detail in details]
    return Complaint(
        message=plain.message,
        type=string(error.get("status")) or plain.type,
        code=reason or ("" if plain.code.isdigit() else plain.code),
        status=int(plain.code) if re.fullmatch(r"[45]\d\d", plain.code) else plain.status,
        retry_after=next((float(delay[1]) for delay in delays if delay), None),
    )
