"""Requests: what is asked, as this format writes it."""

import re
from base64 import b64encode
from typing import Any

from msgspec import UNSET

from ...errors import Misuse
from ...exchange import Note, Request, ToolSpec
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
from ..dialects import BODY_DIALECTS, EFFORT_DIALECTS
from ..reading import sequence, string, write_json
from ..schema import OPENAI_STRICT, compile_schema

__all__ = ["encode_chat"]


_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    body = _options(request, target, notes)
    body["messages"] = [wire for message in request.messages for wire in _messages(message, target, notes)]
    body |= _tools(request, target, notes)
    for name in target.quirks.body_dialects:
        body = BODY_DIALECTS[name](body)
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
        body |= EFFORT_DIALECTS[quirks.effort_dialect](target.family, options.effort_level)
    if options.response_schema is not UNSET:
        body["response_format"] = response_format(options.response_schema, target, notes)
    if request.stream:
        body["stream"] = True
        if quirks.accepts_stream_options:
            body["stream_options"] = {"include_usage": True}
    return body


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
        body["tool_choice"] = _tool_choice(request.tool_choice, target)
    if request.options.parallel_tool_calls is not UNSET:
        body["parallel_tool_calls"] = request.options.parallel_tool_calls
    return body


def _tool(tool: Any, target: Target, notes: list[Note]) -> dict[str, Any]:
    if not isinstance(tool, ToolSpec):
        return dict(tool.data)
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    if tool.strict and target.quirks.accepts_strict:
        compiled = compile_schema(tool.input_schema, OPENAI_STRICT, f"tool {tool.name!r}")
        notes.extend(compiled.notes)
        function |= {"parameters": compiled.schema, "strict": True}
    elif tool.strict:
        notes.append(Note("dropped", f"strict of {tool.name!r}", "calls are not held to a schema here"))
    mark = {} if target.cache_mark == "prompt_cache_breakpoint" else _cache_mark(tool.cache, target)
    return {"type": "function", "function": function} | mark | tool.extra


def _cache_mark(mark: CacheMark | None, target: Target) -> dict[str, Any]:
    match target.cache_mark if mark else "":
        case "cache_control":
            return {"cache_control": {"type": "ephemeral"} | ({"ttl": mark} if mark != "5m" else {})}
        case "prompt_cache_breakpoint":
            return {"prompt_cache_breakpoint": {"mode": "explicit"}}
        case _:
            return {}


def _tool_choice(choice: str, target: Target) -> Any:
    if choice == "required":
        return target.quirks.required_choice
    if choice in ("auto", "none"):
        return choice
    return {"type": "function", "function": {"name": choice}}


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
        return [_assistant(Message("assistant", tuple(parts)), target) | fields]
    return [{"role": message.role, "content": _content(tuple(parts), target)} | fields]


def _content(parts: tuple[Part, ...], target: Target) -> Any:
    if len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].cache:
        return parts[0].text
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


def _assistant(message: Message, target: Target) -> dict[str, Any]:
    refusals = [part.text for part in message.parts if isinstance(part, Text) and _is_refusal(part)]
    text = "".join(part.text for part in message.parts if isinstance(part, Text) and not _is_refusal(part))
    calls = [_call(call) | _cache_mark(call.cache, target) for call in message.tool_calls]
    wire: dict[str, Any] = {"role": "assistant", "content": text or (None if calls or refusals else "")}
    if any(isinstance(part, OpaquePart) for part in message.parts):
        said = [part for part in message.parts if isinstance(part, (Text, OpaquePart))]
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
