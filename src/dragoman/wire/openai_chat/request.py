"""Requests: what is asked, as this format writes it."""

import re
from base64 import b64encode
from typing import Any

from msgspec import UNSET

from ...effort import OFF, UNSAID
from ...errors import Misuse
from ...exchange import AnyTool, Note, Options, ProviderTool, Request, ToolSpec
from ...http import HttpRequest
from ...messages import (
    Audio,
    CacheMark,
    Document,
    Image,
    Message,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    render_blocks_as_text,
)
from ...target import Target
from ..dialects import EFFORT_DIALECTS
from ..reading import mapping, sequence, string, write_json
from ..schema import INLINED, OPENAI_STRICT, compile_schema
from ..thinking import effort_level, effort_word

__all__ = ["encode_chat"]


_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    body = _options(request, target, notes)
    body["messages"] = [wire for message in request.messages for wire in _messages(message, target, notes)]
    if request.options.cache:
        _mark_end(body["messages"], "1h" if request.options.cache == "1h" else "5m", target)
    body |= _tools(request, target, notes)
    if request.options.extra is not UNSET:
        body |= request.options.extra
    return HttpRequest(
        url=f"{target.base_url}/chat/completions",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


def _options(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    options, quirks = request.options, target.quirks
    given = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        quirks.max_tokens_field: options.max_tokens,
        quirks.seed_field: options.seed,
        "stop": options.stop,
        "metadata": options.metadata,
        "service_tier": options.service_tier,
    }
    body: dict[str, Any] = {"model": target.model}
    body |= {name: value for name, value in given.items() if value is not UNSET}
    if options.effort_level:
        body |= _effort(options, target, notes)
    if options.response_schema is not UNSET:
        body["response_format"] = response_format(options.response_schema, target, notes)
    if request.stream:
        body["stream"] = True
        if quirks.accepts_stream_options:
            body["stream_options"] = {"include_usage": True}
    return body


def _effort(options: Options, target: Target, notes: list[Note]) -> dict[str, Any]:
    """How hard to think, in this provider's dialect; noted where that says less than was asked."""
    level = options.effort_level
    fields = EFFORT_DIALECTS[target.quirks.effort_dialect](target.family, level)
    word = string(fields.get("reasoning_effort") or mapping(fields.get("reasoning")).get("effort"))
    if level != OFF and not effort_level(word):
        notes.append(Note("changed", "effort", "here the model can be told to think, but not how hard"))
    elif effort_level(word) not in (UNSAID, level) and word != effort_word(target.family, level):
        notes.append(Note("changed", "effort", f"sent as {word!r}, the nearest this provider has"))
    return fields


def response_format(schema: dict[str, Any], target: Target, notes: list[Note]) -> dict[str, Any]:
    """The form an answer is held to."""
    if not target.quirks.accepts_json_schema:
        notes.append(Note("changed", "response_schema", "this provider has only JSON mode; the schema is not enforced"))
        return {"type": "json_object"}
    compiled = compile_schema(schema, OPENAI_STRICT, "response_schema")
    notes.extend(compiled.notes)
    format = {"name": schema_name(schema), "schema": compiled.schema, "strict": True}
    return {"type": "json_schema", "json_schema": format}


def schema_name(schema: dict[str, Any]) -> str:
    """The name a schema goes by: its title, in the letters that are allowed."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", string(schema.get("title")))[:64] or "response"


def _tools(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    tools = [_tool(tool, target, notes) for tool in request.tools]
    if not tools:
        return {}
    body: dict[str, Any] = {"tools": tools}
    if request.tool_choice != "auto":
        body["tool_choice"] = _tool_choice(request.tool_choice, request.tools, target)
    if request.options.parallel_tool_calls is not UNSET:
        body["parallel_tool_calls"] = request.options.parallel_tool_calls
    return body


def _tool(tool: Any, target: Target, notes: list[Note]) -> dict[str, Any]:
    if not isinstance(tool, ToolSpec):
        return dict(tool.data)
    schema = _schema(tool, target, notes)
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": schema}
    if tool.strict and target.quirks.accepts_strict:
        compiled = compile_schema(tool.input_schema, OPENAI_STRICT, f"tool {tool.name!r}")
        notes.extend(compiled.notes)
        function |= {"parameters": compiled.schema, "strict": True}
    elif tool.strict:
        notes.append(Note("dropped", f"strict of {tool.name!r}", "calls are not held to a schema here"))
    return {"type": "function", "function": function} | _whole_mark(tool.cache, target, notes) | tool.extra


def _schema(tool: ToolSpec, target: Target, notes: list[Note]) -> dict[str, Any]:
    """What a tool takes, as it was given; without references where they are misread."""
    if not target.quirks.inline_refs or b'"$ref"' not in write_json(tool.input_schema):
        return tool.input_schema
    compiled = compile_schema(tool.input_schema, INLINED, f"tool {tool.name!r}")
    notes.extend(compiled.notes)
    return compiled.schema


def _whole_mark(mark: CacheMark | None, target: Target, notes: list[Note]) -> dict[str, Any]:
    """A mark on a tool or a call, which are no parts: breakpoints stand on parts alone."""
    if mark and target.cache_mark == "prompt_cache_breakpoint":
        notes.append(Note("dropped", "cache mark of a tool or a call", "only parts of a message can be marked here"))
        return {}
    return _cache_mark(mark, target)


def _cache_mark(mark: CacheMark | None, target: Target) -> dict[str, Any]:
    match target.cache_mark if mark else "":
        case "cache_control":
            return {"cache_control": {"type": "ephemeral"} | ({"ttl": mark} if mark != "5m" else {})}
        case "prompt_cache_breakpoint":
            return {"prompt_cache_breakpoint": {"mode": "explicit"}}
        case _:
            return {}


def _mark_end(messages: list[dict[str, Any]], mark: CacheMark, target: Target) -> None:
    """Mark the last words of the prompt, unless they have a mark of their own."""
    last = next((message for message in reversed(messages) if message.get("content")), None)
    field = _cache_mark(mark, target)
    if last is None or not field:
        return
    content = last["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    last["content"] = [*parts[:-1], field | parts[-1]]


def _tool_choice(choice: str, tools: tuple[AnyTool, ...], target: Target) -> Any:
    if choice == "required":
        return target.quirks.required_choice
    if choice in ("auto", "none"):
        return choice
    customs = [mapping(tool.data.get("custom")) for tool in tools if isinstance(tool, ProviderTool)]
    kind = "custom" if any(custom.get("name") == choice for custom in customs) else "function"
    return {"type": kind, kind: {"name": choice}}


# A part of this kind holds fields of a whole message that the vocabulary has no word for (a speaker's name, say).
MESSAGE_FIELDS = "message_fields"


def _messages(message: Message, target: Target, notes: list[Note]) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [_tool_result(result, target, notes) for result in message.tool_results]
    fields: dict[str, Any] = {}
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, OpaquePart) and part.kind == MESSAGE_FIELDS:
            fields |= part.opaque.data
        else:
            parts.append(part)
    if message.role == "assistant":
        return [_assistant(Message("assistant", tuple(parts)), target, notes) | fields]
    if message.role == "system":
        _check_words(parts)
    return [{"role": message.role, "content": _content(tuple(parts), target, notes)} | fields]


def _check_words(parts: list[Part]) -> None:
    for part in parts:
        if isinstance(part, (Image, Audio, Document)):
            raise Misuse(
                f"Chat Completions takes only text from the system, not {_described(part)}: say it as the user"
            )


def _content(parts: tuple[Part, ...], target: Target, notes: list[Note]) -> Any:
    if len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].cache:
        return parts[0].text
    for part in parts:
        if isinstance(part, Document) and (part.context or part.citations):
            notes.append(Note("dropped", "context and citations of a document", "this wire has no place for them"))
    return [_content_part(part, target) for part in parts]


def _content_part(part: Part, target: Target) -> dict[str, Any]:
    match part:
        case Text():
            wire: dict[str, Any] = {"type": "text", "text": part.text}
        case Image():
            detail = {"detail": part.detail} if part.detail else {}
            wire = {"type": "image_url", "image_url": {"url": part.url or _data_url(part)} | detail}
        case Audio(data=data, media_type=media_type) if data and media_type in _AUDIO_FORMATS:
            sound = {"data": b64encode(data).decode(), "format": _AUDIO_FORMATS[media_type]}
            wire = {"type": "input_audio", "input_audio": sound}
        case Document() if part.file_id:
            wire = {"type": "file", "file": {"file_id": part.file_id}}
        case Document() if part.data:
            wire = {"type": "file", "file": {"filename": part.name or "document", "file_data": _data_url(part)}}
        case Document() if part.url and target.quirks.accepts_file_urls:
            wire = {"type": "file", "file": {"filename": part.name or "document", "file_data": part.url}}
        case OpaquePart():
            return part.opaque.data
        case _:
            raise Misuse(f"Chat Completions cannot carry {_described(part)}: send its bytes, or use another wire")
    return wire | _cache_mark(part.cache, target)


def _described(part: Part) -> str:
    kind = type(part).__name__
    return f"{kind} of type {part.media_type!r}" if isinstance(part, (Image, Audio, Document)) else kind


def _data_url(part: Image | Document) -> str:
    if not part.data:
        raise Misuse(f"Chat Completions cannot carry {_described(part)} by file id: send its bytes or a URL")
    return f"data:{part.media_type};base64,{b64encode(part.data).decode()}"


def _assistant(message: Message, target: Target, notes: list[Note]) -> dict[str, Any]:
    message = Message("assistant", tuple(_in_words(part, notes) for part in message.parts))
    refusals = [part.text for part in message.parts if isinstance(part, Text) and _is_refusal(part)]
    text = "".join(part.text for part in message.parts if isinstance(part, Text) and not _is_refusal(part))
    calls = [_call(call) | _whole_mark(call.cache, target, notes) for call in message.tool_calls]
    wire: dict[str, Any] = {"role": "assistant", "content": text or (None if calls or refusals else "")}
    said = [part for part in message.parts if isinstance(part, (Text, OpaquePart))]
    if any(isinstance(part, OpaquePart) or (part.cache and target.cache_mark) for part in said):
        wire["content"] = [_content_part(part, target) for part in said if not _is_refusal(part)]
    if refusals:
        wire["refusal"] = "".join(refusals)
    if calls:
        wire["tool_calls"] = calls
    for part in message.parts:
        if isinstance(part, Audio) and part.opaque:
            wire["audio"] = {"id": part.opaque.data.get("id")}
        if isinstance(part, Text) and part.opaque and "extra_content" in part.opaque.data:
            wire["extra_content"] = part.opaque.data["extra_content"]
    return wire | _reasoning(message, target)


def _in_words(part: Part, notes: list[Note]) -> Part:
    """What this wire cannot say for the model, in words: the transcript of a sound, the description of a picture."""
    match part:
        case Audio(opaque=None):
            words = part.transcript or f"[{_described(part)}]"
        case Image() | Document():
            words = render_blocks_as_text([part])
        case _:
            return part
    notes.append(Note("changed", f"{_described(part)} of the model", "this wire takes only its words"))
    return Text(words)


def _is_refusal(part: Text | OpaquePart) -> bool:
    return isinstance(part, Text) and part.opaque is not None and bool(part.opaque.data.get("refusal"))


def _reasoning(message: Message, target: Target) -> dict[str, Any]:
    """Reasoning sent back in the field it came in, to the provider that wants it back.

    Whoever sends it in details, signed or sealed, wants those back; only plain reasoning is a matter of habit.
    """
    echo = target.quirks.reasoning_echo
    if not target.family.takes_reasoning_back:
        return {}
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    details = [d for part in thoughts if part.opaque for d in sequence(part.opaque.data.get("reasoning_details"))]
    if details:
        return {"reasoning_details": details}
    if echo == "never" or (echo == "tool turns" and not message.tool_calls):
        return {}
    fields = [part.opaque.data.get("field") for part in thoughts if part.opaque]
    field = next((field for field in fields if isinstance(field, str)), target.quirks.reasoning_fields[0])
    return {field: message.thinking}


def _call(call: ToolCall) -> dict[str, Any]:
    state = call.opaque.data if call.opaque else {}
    if state.get("custom"):
        wire = {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    else:
        wire = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    return wire | ({"extra_content": state["extra_content"]} if "extra_content" in state else {})


def _tool_result(result: ToolResult, target: Target, notes: list[Note]) -> dict[str, Any]:
    content: Any = result.content
    if result.blocks:
        rendered = render_blocks_as_text(result.blocks)
        content = f"{content}\n{rendered}" if content else rendered
        if any(not isinstance(block, Text) for block in result.blocks):
            notes.append(Note("changed", f"result of {result.id!r}", "this wire takes only text from a tool"))
    if mark := _cache_mark(result.cache, target):
        content = [{"type": "text", "text": content} | mark]
    return {"role": "tool", "tool_call_id": result.id, "content": content}
