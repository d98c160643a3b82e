"""Ollama's native chat: messages that are plain strings, pictures beside them, one JSON object a line.

A call's arguments are objects in both directions and its id may be missing, so results name their
tool. A stream is the whole answer cut into lines; the one that says `done` carries the counts.
"""

from base64 import b64encode
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from ..effort import OFF
from ..errors import ApiError, Misuse
from ..exchange import FinishReason, Note, ProviderTool, Request, Response, ToolSpec
from ..http import HttpRequest, HttpResponse
from ..messages import Image, Message, OpaquePart, Part, Text, Thinking, ToolCall, ToolResult, render_blocks_as_text
from ..target import Family, Target
from ..usage import Usage, token_count
from .arguments import arguments_object, arguments_text
from .decoder import StreamDecoder, decode_whole
from .failure import api_error, complaint_in, refusal
from .framing import Frame, JsonLinesFramer
from .reading import mapping, read_json, sequence, string, write_json
from .schema import OLLAMA, OLLAMA_TOOLS, compile_schema
from .scribe import Scribe
from .thinking import effort_word

__all__ = ["chat_decoder", "decode_chat", "decode_error", "encode_chat"]

Body = dict[str, Any]

# ── request ─────────────────────────────────────────────────────────────────────────────────────


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    body = _options(request, target, notes)
    body["messages"] = _messages(request.messages, target, notes)
    if request.tools and request.tool_choice == "none":
        notes.append(Note("changed", "tools", "this wire cannot forbid a call, so the model is not shown any"))
    elif request.tools:
        body["tools"] = [_tool(tool, notes) for tool in request.tools]
    if request.options.extra is not UNSET:
        body = _merged(body, request.options.extra)
    return HttpRequest(
        url=f"{target.base_url}/api/chat",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


def _options(request: Request, target: Target, notes: list[Note]) -> Body:
    options = request.options
    sampling = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "num_predict": options.max_tokens,
        "stop": options.stop,
        "seed": options.seed,
    }
    # Without a word about it the server streams.
    body: Body = {"model": target.model, "stream": request.stream}
    if given := {name: value for name, value in sampling.items() if value is not UNSET}:
        body["options"] = given
    if options.effort_level:
        body["think"] = _think(target.family, options.effort_level, notes)
    if options.response_schema is not UNSET:
        compiled = compile_schema(options.response_schema, OLLAMA, "response_schema")
        notes.extend(compiled.notes)
        body["format"] = compiled.schema
    return body


def _think(family: Family, level: int, notes: list[Note]) -> bool | str:
    """On or off; for the families that know degrees, how hard."""
    if level == OFF:
        return False
    word = effort_word(family, level) if family.thinking == "effort" else ""
    if not word:
        notes.append(Note("changed", "effort", "this model's thinking is only on or off; it is on"))
    return word or True


def _merged(body: Body, extra: Body) -> Body:
    """The caller's own fields over ours; those of the model (`num_ctx`, …) live in `options` and join ours there."""
    own = body.get("options", {}) | mapping(extra.get("options"))
    return body | extra | ({"options": own} if own else {})


def _tool(tool: Any, notes: list[Note]) -> Body:
    match tool:
        case ToolSpec():
            compiled = compile_schema(tool.input_schema, OLLAMA_TOOLS, f"tool {tool.name!r}")
            notes.extend(compiled.notes)
            if tool.strict:
                notes.append(Note("dropped", f"strict of {tool.name!r}", "calls are not held to a schema here"))
            function = {"name": tool.name, "description": tool.description, "parameters": compiled.schema}
            return {"type": "function", "function": function} | tool.extra
        case ProviderTool():
            return dict(tool.data)
        case _:
            raise Misuse(f"Ollama's wire calls no MCP server ({tool.name!r}): connect to it and pass its tools")


def _messages(messages: tuple[Message, ...], target: Target, notes: list[Note]) -> list[Body]:
    wire: list[Body] = []
    names: dict[str, str] = {}  # of the tools called so far, by the call's id
    for message in messages:
        if message.role == "tool":
            wire += [_tool_result(result, names, notes) for result in message.tool_results]
        elif message.role == "assistant":
            names |= {call.id: call.name for call in message.tool_calls}
            wire.append(_assistant(message, target, notes))
        else:
            wire.append(_said(message, notes))
    return wire


def _said(message: Message, notes: list[Note]) -> Body:
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    pictures = [_picture(part, notes) for part in message.parts if not isinstance(part, Text)]
    wire: Body = {"role": message.role, "content": "\n".join(texts)}
    return wire | ({"images": pictures} if pictures else {})


def _picture(part: Part, notes: list[Note]) -> str:
    if not isinstance(part, Image):
        raise Misuse(f"Ollama's wire carries text and pictures, not {type(part).__name__}: send its text instead")
    if not part.data:
        raise Misuse("Ollama's wire carries a picture only as its bytes: fetch it and pass data=…")
    if part.detail:
        notes.append(Note("dropped", "detail of an Image", "this wire has no place for it"))
    return b64encode(part.data).decode()


def _assistant(message: Message, target: Target, notes: list[Note]) -> Body:
    wire: Body = {"role": "assistant", "content": message.text}
    if thinking := _reasoning(message, target):
        wire["thinking"] = thinking
    if calls := [_call(call, notes) for call in message.tool_calls]:
        wire["tool_calls"] = calls
    for part in message.parts:
        if not isinstance(part, (Text, Thinking, ToolCall)):
            kind = part.kind if isinstance(part, OpaquePart) else type(part).__name__
            notes.append(Note("dropped", f"{kind} in an assistant message", "this wire carries only text there"))
    return wire


def _reasoning(message: Message, target: Target) -> str:
    """Reasoning sent back, to those who want it back."""
    echo = target.quirks.reasoning_echo
    wanted = echo == "always" or (echo == "tool turns" and message.tool_calls)
    return message.thinking if wanted and target.family.takes_reasoning_back else ""


def _call(call: ToolCall, notes: list[Note]) -> Body:
    function = {"name": call.name, "arguments": arguments_object(call, notes)}
    return {"id": call.id, "type": "function", "function": function}


def _tool_result(result: ToolResult, names: dict[str, str], notes: list[Note]) -> Body:
    rendered = render_blocks_as_text(result.blocks)
    content = f"{result.content}\n{rendered}" if result.content and rendered else result.content or rendered
    if any(not isinstance(block, Text) for block in result.blocks):
        notes.append(Note("changed", f"result of {result.id!r}", "this wire takes only text from a tool"))
    return {"role": "tool", "tool_name": names.get(result.id, ""), "tool_call_id": result.id, "content": content}


# ── answer ──────────────────────────────────────────────────────────────────────────────────────

DONE_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    # Nothing was asked: the model was only loaded or unloaded.
    "load": "stop",
    "unload": "stop",
    # The model was cut off from its reader before it could say why it stopped.
    "": "error",
}

# Facts of the last line that are worth keeping; durations are in nanoseconds.
_FACTS = (
    "created_at",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
    "remote_model",
    "remote_host",
)


class _Said(Struct, gc=False):
    content: Any = None
    thinking: Any = None
    tool_calls: Any = None
    images: Any = None


class _Line(Struct, gc=False):
    message: _Said | None = None
    done: Any = None
    model: Any = None
    error: Any = None
    done_reason: Any = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_duration: Any = None
    eval_duration: Any = None
    remote_model: Any = None
    remote_host: Any = None
    created_at: Any = None
    logprobs: Any = None


_lines = msgspec.json.Decoder(_Line)


class _Reader:
    """Understands an answer line by line: a whole body is a stream of one line."""

    def __init__(self, target: Target) -> None:
        self.scribe = Scribe(target, inline=True)
        self._limits = target.limits
        self._logprobs: list[Any] = []

    def read(self, frame: Frame) -> None:
        self._read_line(read_json(_lines, frame.data, self._limits))

    def read_body(self, body: bytes) -> None:
        self._read_line(read_json(_lines, body, self._limits))

    def end(self) -> None:
        """Only a line that says `done` ends an answer."""

    def _read_line(self, line: _Line) -> None:
        if line.error:
            self.scribe.fail(api_error(self.scribe.target, complaint_in({"error": line.error})))
            return
        if line.message is not None:
            self._read_message(line.message)
        if line.logprobs:
            self._logprobs += sequence(line.logprobs)
        if line.done is True:
            self._read_end(line)

    def _read_message(self, said: _Said) -> None:
        scribe = self.scribe
        if said.thinking:
            scribe.thinking(string(said.thinking))
        if said.content:
            scribe.text(string(said.content))
        if said.tool_calls:
            for call in sequence(said.tool_calls):
                self._read_call(mapping(call))
        if said.images:
            scribe.note(Note("ignored", "pictures in the answer", "not known on this wire"))

    def _read_call(self, call: Body) -> None:
        function = mapping(call.get("function"))
        arguments = arguments_text(function.get("arguments"))
        self.scribe.whole_call(string(call.get("id")), string(function.get("name")), arguments)

    def _read_end(self, line: _Line) -> None:
        scribe = self.scribe
        scribe.model = string(line.model)
        for name in _FACTS:
            if value := getattr(line, name):
                scribe.metadata[name] = value if isinstance(value, str) else write_json(value).decode()
        if self._logprobs:
            scribe.metadata["logprobs"] = write_json(self._logprobs).decode()
        # The server leaves out a count that it did not make.
        usage = Usage(input_tokens=token_count(line.prompt_eval_count), output_tokens=token_count(line.eval_count))
        if usage:
            scribe.usage(usage)
        raw = string(line.done_reason)
        if raw not in DONE_REASONS:
            scribe.note(Note("ignored", f"done reason {raw!r}", "not known; taken as a normal end"))
        scribe.finish(DONE_REASONS.get(raw, "stop"), raw)


def decode_chat(body: bytes, target: Target) -> Response:
    """The Response in a whole body."""
    return decode_whole(_Reader(target), body)


def chat_decoder(target: Target) -> StreamDecoder:
    """A decoder for one streamed answer."""
    return StreamDecoder(_Reader(target), JsonLinesFramer(target.limits), whole_if=b"")


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    return refusal(answer, target)
