"""Answers: what came back, whole or streamed, and errors."""

from base64 import b64decode
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import ApiError, InvalidResponse
from ...events import TextStart, ThinkingStart
from ...exchange import FinishReason, Note, Response
from ...http import HttpResponse
from ...media import media_type_of
from ...messages import Audio, OpaquePart
from ...target import Target
from ...usage import Usage, token_count
from ..decoder import StreamDecoder, decode_whole
from ..failure import api_error, complaint_in, refusal, stray_text
from ..framing import Frame, SseFramer
from ..reading import ANYTHING, mapping, read_json, sequence, string, write_json
from ..scribe import Scribe

__all__ = ["chat_decoder", "decode_chat", "decode_error"]


FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "error": "error",
    "abort": "error",
    "insufficient_system_resource": "error",
}


class _Function(Struct, gc=False):
    name: Any = None
    arguments: Any = None


class _CallDelta(Struct, gc=False):
    index: Any = None
    id: Any = None
    function: _Function | None = None
    custom: Any = None
    extra_content: Any = None


class _Delta(Struct, gc=False):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[_CallDelta] | None = None
    function_call: _Function | None = None
    audio: Any = None
    annotations: Any = None
    extra_content: Any = None
    executed_tools: Any = None


class _Choice(Struct, gc=False):
    index: Any = 0
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: Any = None
    native_finish_reason: Any = None


class _Completion(Struct, gc=False):
    choices: list[_Choice] | None = None
    id: Any = None
    model: Any = None
    usage: Any = None
    error: Any = None
    service_tier: Any = None
    system_fingerprint: Any = None
    provider: Any = None
    x_groq: Any = None


_completions = msgspec.json.Decoder(_Completion)


class _Reader:
    """Understands completions, whole or in chunks: a body is a chunk that says everything."""

    def __init__(self, target: Target) -> None:
        self.scribe = Scribe(target, inline=True, seal=_sealed)
        self._limits = target.limits
        self._answered = False
        self._finish: str | None = None
        self._refusal = -1
        self._sound: list[bytes] = []
        self._sound_id = ""
        self._sound_words: list[str] = []
        self._last_call: object = None
        self._plain_reasoning = False

    def read(self, frame: Frame) -> None:
        data = frame.data
        if data[:1] != b"{":
            self._read_marker(data.strip(), frame.event)
            return
        completion = read_json(_completions, data, self._limits)
        if completion.choices is None and not completion.error:
            self._check_complaint(data, frame.event)
        self._read_completion(completion, whole=False)

    def read_body(self, body: bytes) -> None:
        self._read_completion(read_json(_completions, body, self._limits), whole=True)
        if not self._answered:
            self._check_complaint(body)
            raise InvalidResponse("the answer has no choices", body=body)
        self._complete()

    def end(self) -> None:
        # Many servers leave out [DONE]; a finish reason is end enough.
        if self._finish is not None:
            self._complete()

    def _read_marker(self, data: bytes, event: str) -> None:
        if data == b"[DONE]":
            if not self._answered:
                raise InvalidResponse("the stream ended without a single choice")
            self._complete()
        elif data:
            raise stray_text(data, event, self.scribe.target)

    def _check_complaint(self, data: bytes, event: str = "") -> None:
        """Some servers write an error without a field of its own around it."""
        body = mapping(read_json(ANYTHING, data, self._limits))
        if event == "error" or body.get("object") == "error":
            raise api_error(self.scribe.target, complaint_in(body))

    def _read_completion(self, completion: _Completion, *, whole: bool) -> None:
        # Some name the reason why a stream was stopped early among their own fields.
        if error := completion.error or mapping(completion.x_groq).get("error"):
            self.scribe.fail(api_error(self.scribe.target, complaint_in({"error": error})))
            return
        scribe = self.scribe
        if not scribe.id:
            self._read_head(completion)
        for choice in completion.choices or ():
            if choice.index:
                scribe.note(Note("ignored", "other choices", "only the first choice is read"))
                continue
            self._answered = True
            said = (choice.message or choice.delta) if whole else (choice.delta or choice.message)
            if said is not None:
                self._read_delta(said)
            if choice.finish_reason is not None:
                self._finish = string(choice.finish_reason)
                self._keep("native_finish_reason", choice.native_finish_reason)
        if completion.usage or completion.x_groq:
            self._read_usage(completion)

    def _read_head(self, completion: _Completion) -> None:
        scribe = self.scribe
        scribe.id = string(completion.id)
        scribe.model = string(completion.model)
        for name in ("service_tier", "system_fingerprint", "provider"):
            self._keep(name, getattr(completion, name))

    def _keep(self, name: str, value: Any) -> None:
        if isinstance(value, str) and value:
            self.scribe.metadata[name] = value

    def _read_delta(self, delta: _Delta) -> None:
        scribe = self.scribe
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details:
            self._read_reasoning(delta)
        content = delta.content
        if content.__class__ is str:
            scribe.text(content)
        elif content is not None:
            self._read_content(content)
        if delta.refusal or delta.annotations or delta.audio or delta.extra_content or delta.function_call:
            self._read_rarities(delta)
        if delta.executed_tools:
            scribe.gather(TextStart, "executed_tools", sequence(delta.executed_tools))
        if delta.tool_calls:
            for call in delta.tool_calls:
                self._read_call(call)

    # ── reasoning ──

    def _read_reasoning(self, delta: _Delta) -> None:
        field = "reasoning_content" if delta.reasoning_content else "reasoning"
        plain = delta.reasoning_content or delta.reasoning
        details = sequence(delta.reasoning_details)
        if isinstance(plain, str) and plain:
            self.scribe.thinking(plain)
            self.scribe.mark(ThinkingStart, {"field": field})
            self._plain_reasoning = True
        elif not self._plain_reasoning:  # else the details only repeat it
            for detail in details:
                self.scribe.thinking(string(mapping(detail).get("text")) or string(mapping(detail).get("summary")))
        if details:
            self.scribe.gather(ThinkingStart, "reasoning_details", details)

    # ── content ──

    def _read_content(self, content: Any) -> None:
        if isinstance(content, list):
            for chunk in content:
                self._read_chunk(mapping(chunk))
        elif isinstance(content, dict):
            # Some servers hand structured output over parsed.
            self.scribe.text(write_json(content).decode())

    def _read_chunk(self, chunk: dict[str, Any]) -> None:
        match chunk.get("type"):
            case "thinking":
                for thought in sequence(chunk.get("thinking")):
                    self.scribe.thinking(string(mapping(thought).get("text")))
                if isinstance(chunk.get("thinking"), str):
                    self.scribe.thinking(chunk["thinking"])
                self.scribe.mark(ThinkingStart, {"chunk": True})
            case "text":
                self.scribe.text(string(chunk.get("text")))
            case kind:
                self.scribe.part(OpaquePart(string(kind) or "unknown", self.scribe.opaque(chunk)))

    # ── calls ──

    def _read_call(self, call: _CallDelta) -> None:
        scribe = self.scribe
        # Some servers send the field of the other kind too, empty.
        custom = mapping(call.custom) if call.function is None else {}
        name = string(call.function.name if call.function else custom.get("name"))
        arguments = call.function.arguments if call.function else custom.get("input")
        key = self._call_key(call, name)
        if scribe.call_id(key) is None:
            scribe.call(key, string(call.id), name)
            if custom:
                scribe.mark_call(key, {"custom": True})
        self._last_call = key
        scribe.call_input(key, _arguments(arguments))
        if call.extra_content:
            scribe.mark_call(key, {"extra_content": call.extra_content})

    def _call_key(self, call: _CallDelta, name: str) -> object:
        """Whose fragment this is: by index; without one, a name begins a call and anything else goes on with it."""
        if type(call.index) is not int:
            return self._last_call if self._last_call is not None and not name else object()
        known = self.scribe.call_id(call.index)
        # Some servers number every call 0: another id with a name of its own is another call.
        another = known is not None and name and call.id and call.id != known
        return (call.index, call.id) if another else call.index

    # ── what is seldom said ──

    def _read_rarities(self, delta: _Delta) -> None:
        scribe = self.scribe
        if delta.annotations:
            scribe.gather(TextStart, "annotations", sequence(delta.annotations))
        if delta.extra_content:
            scribe.mark(TextStart, {"extra_content": delta.extra_content})
        if isinstance(delta.refusal, str) and delta.refusal:
            if self._refusal < 0:
                scribe.end_prose()
                self._refusal = scribe.start_text()
            scribe.add_text(self._refusal, delta.refusal)
        if delta.function_call and (delta.function_call.name or delta.function_call.arguments):
            self._read_call(_CallDelta(index=0, function=delta.function_call))
        if delta.audio:
            self._read_audio(mapping(delta.audio))

    def _read_audio(self, audio: dict[str, Any]) -> None:
        self._sound_id = string(audio.get("id")) or self._sound_id
        self._sound_words.append(string(audio.get("transcript")))
        try:
            self._sound.append(b64decode(string(audio.get("data"))))
        except ValueError as error:
            raise InvalidResponse("the audio of the answer is not base64") from error

    # ── end ──

    def _read_usage(self, completion: _Completion) -> None:
        counts = mapping(completion.usage) or mapping(mapping(completion.x_groq).get("usage"))
        if counts:
            self.scribe.usage(read_usage(counts))
            for name in ("cost", "cost_in_usd_ticks"):
                if isinstance(counts.get(name), (int, float)):
                    self.scribe.metadata[f"provider_{name}"] = str(counts[name])

    def _complete(self) -> None:
        scribe = self.scribe
        if self._sound:
            self._add_sound()
        if self._refusal >= 0:
            scribe.end(self._refusal, {"refusal": True})
        raw = self._finish or ""
        reason = FINISH_REASONS.get(raw, "stop")
        if raw and raw not in FINISH_REASONS:
            scribe.note(Note("ignored", f"finish reason {raw!r}", "not known; taken as a normal end"))
        scribe.finish("content_filter" if self._refusal >= 0 else reason, raw)

    def _add_sound(self) -> None:
        data, words = b"".join(self._sound), "".join(self._sound_words)
        if data:
            opaque = self.scribe.opaque({"id": self._sound_id}) if self._sound_id else None
            self.scribe.part(Audio(data, media_type_of(data) or "audio/pcm", transcript=words, opaque=opaque))


_DETAIL_TEXTS = ("text", "summary", "data")


def _sealed(state: dict[str, Any]) -> dict[str, Any]:
    """Fragments of one reasoning detail become one again: that is how its issuer wants it back."""
    if "reasoning_details" not in state:
        return state
    whole: dict[str, dict[str, Any]] = {}
    fragments: dict[tuple[str, str], list[str]] = {}
    for detail in map(mapping, state["reasoning_details"]):
        key = str((detail.get("type"), detail.get("index"), detail.get("id") if "data" in detail else None))
        whole[key] = whole.get(key, {}) | {name: value for name, value in detail.items() if value is not None}
        for name in _DETAIL_TEXTS:
            if isinstance(detail.get(name), str):
                fragments.setdefault((key, name), []).append(detail[name])
    for key, detail in whole.items():
        detail |= {name: "".join(fragments[key, name]) for name in _DETAIL_TEXTS if (key, name) in fragments}
    return state | {"reasoning_details": list(whole.values())}


def _arguments(value: Any) -> str:
    """Arguments as JSON text: some servers send the object itself, some nothing at all."""
    if value is None or isinstance(value, str):
        return value or ""
    return write_json(value).decode()


def read_usage(counts: dict[str, Any]) -> Usage:
    """Usage in the words of every imitator, with cache inside input and reasoning inside output."""
    prompt, completion = token_count(counts.get("prompt_tokens")), token_count(counts.get("completion_tokens"))
    read = mapping(counts.get("prompt_tokens_details"))
    written = mapping(counts.get("completion_tokens_details"))
    cached = _first(
        read.get("cached_tokens"),
        counts.get("prompt_cache_hit_tokens"),
        counts.get("cache_read_input_tokens"),
        counts.get("cached_tokens"),
        counts.get("num_cached_tokens"),
    )
    stored = _first(read.get("cache_write_tokens"), counts.get("cache_creation_input_tokens"))
    reasoning = _first(written.get("reasoning_tokens"), counts.get("reasoning_tokens"))
    if prompt is not None and cached is not None and cached > prompt:
        prompt += cached  # then the prompt was counted without what the cache gave
    if prompt is not None and completion is not None and reasoning:
        apart = token_count(counts.get("total_tokens")) == prompt + completion + reasoning
        completion += reasoning if apart else 0  # then the completion was counted without its reasoning
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        cache_read_tokens=cached,
        cache_creation_tokens=stored,
        reasoning_tokens=reasoning,
    )


def _first(*claims: Any) -> int | None:
    return next((count for claim in claims if (count := token_count(claim)) is not None), None)


def decode_chat(body: bytes, target: Target) -> Response:
    """The Response in a whole body."""
    return decode_whole(_Reader(target), body)


def chat_decoder(target: Target) -> StreamDecoder:
    """A decoder for one streamed answer."""
    return StreamDecoder(_Reader(target), SseFramer(target.limits))


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    return refusal(answer, target)
