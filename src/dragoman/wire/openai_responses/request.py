"""Requests: what is asked, as this format writes it."""

import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from ...effort import OFF
from ...errors import Misuse
from ...exchange import AnyTool, McpTool, Note, ProviderTool, Request, ToolSpec
from ...http import HttpRequest
from ...messages import Audio, CacheMark, Document, Image, Message, OpaquePart, Part, Text, ToolCall, ToolResult
from ...target import Target
from ..reading import mapping, string, write_json
from ..schema import OPENAI_STRICT, compile_schema
from ..thinking import effort_word
from .items import CALL_INPUTS, request_items

__all__ = ["encode_chat", "encode_count"]

Item = dict[str, Any]


ENCRYPTED_REASONING = "reasoning.encrypted_content"
UNNAMED_FILE = "document"
# How long a mark holds: half an hour is what is given unasked, and the next step is half a day.
CACHE_BREAKPOINTS: dict[CacheMark, Item] = {"5m": {"mode": "explicit"}, "1h": {"mode": "explicit", "ttl": "12h"}}

# What the counting endpoint takes of `extra`.
_COUNTED = frozenset(
    {
        "conversation",
        "input",
        "instructions",
        "parallel_tool_calls",
        "personality",
        "previous_response_id",
        "reasoning",
        "text",
        "tool_choice",
        "tools",
        "truncation",
    }
)


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    options = request.options
    given = {
        "max_output_tokens": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,  # some servers take it; for others it is refused before
        "metadata": options.metadata,
        "service_tier": options.service_tier,
    }
    body = _prompt(request, target, notes) | {"store": False}
    body |= {name: value for name, value in given.items() if value is not UNSET}
    if target.family.thinking != "none":
        body["include"] = [ENCRYPTED_REASONING]
    if request.stream:
        body["stream"] = True
    return _posted("/responses", _merged(body, _extra(request)), target)


def encode_count(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks how many tokens this would be."""
    extra = {name: value for name, value in _extra(request).items() if name in _COUNTED}
    return _posted("/responses/input_tokens", _merged(_prompt(request, target, notes), extra), target)


def _extra(request: Request) -> dict[str, Any]:
    return {} if request.options.extra is UNSET else request.options.extra


def _merged(body: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """The extra fields over ours; an object joins ours, so that `reasoning` and `text` may be added to."""
    joined = {name: mapping(body.get(name)) | value for name, value in extra.items() if isinstance(value, dict)}
    return body | extra | joined


def _posted(path: str, body: dict[str, Any], target: Target) -> HttpRequest:
    headers = (("content-type", "application/json"), *target.headers)
    return HttpRequest(url=f"{target.base_url}{path}", body=write_json(body), headers=headers)


def _prompt(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    """Everything that is read by the model, and so is counted."""
    options, messages = request.options, request.messages
    body: dict[str, Any] = {"model": target.model}
    instructions = _instructions(messages, target)
    if instructions is not None:
        body["instructions"] = instructions
        messages = messages[1:]
    body["input"] = _input(messages, target, notes, stored=_extra(request).get("store") is True)
    body |= _tools(request, target, notes)
    if options.parallel_tool_calls is not UNSET:
        body["parallel_tool_calls"] = options.parallel_tool_calls
    if options.effort_level and (reasoning := _reasoning(options.effort_level, target, notes)):
        body["reasoning"] = reasoning
    if options.response_schema is not UNSET:
        body["text"] = {"format": text_format(options.response_schema, target, notes)}
    _note_lost_marks(request, target, notes)
    return body


def _note_lost_marks(request: Request, target: Target, notes: list[Note]) -> None:
    """Only what users and tools say can be marked; without any marks at all, that was said before."""
    said = [part for message in request.messages if message.role == "assistant" for part in message.parts]
    if target.cache_mark and any(getattr(each, "cache", None) for each in (*request.tools, *said)):
        what = "cache marks on tools and on what the model said"
        notes.append(Note("dropped", what, "this wire takes them only on what users and tools say"))


def _instructions(messages: Sequence[Message], target: Target) -> str | None:
    """The leading system message, where it is one plain text with more to follow; others are items."""
    match messages:
        case (Message("system", (Text(text, cache=mark),)), _, *_):
            # Instructions take no mark.
            return None if mark and target.cache_mark else text
        case _:
            return None


def _reasoning(level: int, target: Target, notes: list[Note]) -> dict[str, Any]:
    word = effort_word(target.family, level)
    if not word:
        why = f"the {target.family.name} family has no word for it on this wire"
        notes.append(Note("dropped", "effort", why))
    return ({"effort": word} if word else {}) | ({} if level == OFF else {"summary": "auto"})


def text_format(schema: dict[str, Any], target: Target, notes: list[Note]) -> dict[str, Any]:
    """The form an answer is held to."""
    if not target.quirks.accepts_json_schema:
        notes.append(Note("changed", "response_schema", "this provider has only JSON mode; the schema is not enforced"))
        return {"type": "json_object"}
    compiled = compile_schema(schema, OPENAI_STRICT, "response_schema")
    notes.extend(compiled.notes)
    return {"type": "json_schema", "name": _schema_name(schema), "schema": compiled.schema, "strict": True}


def _schema_name(schema: dict[str, Any]) -> str:
    """The name a schema goes by: its title, in the letters that are allowed here."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", string(schema.get("title")))[:64] or "response"


# ── tools ──


def _tools(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    if not request.tools:
        return {}
    tools = [_tool(tool, target, notes) for tool in request.tools]
    deferred = any(tool.get("defer_loading") for tool in tools)
    if deferred and not any(tool.get("type") == "tool_search" for tool in tools):
        tools.append({"type": "tool_search"})
    choice = (
        {}
        if request.tool_choice == "auto"
        else {"tool_choice": tool_choice(request.tool_choice, request.tools, target)}
    )
    return {"tools": tools} | choice


def _tool(tool: AnyTool, target: Target, notes: list[Note]) -> Item:
    match tool:
        case ToolSpec():
            return _function(tool, target, notes)
        case McpTool():
            return _mcp_server(tool)
        case ProviderTool(data):
            return dict(data)


def _function(tool: ToolSpec, target: Target, notes: list[Note]) -> Item:
    wire: Item = {"type": "function", "name": tool.name, "parameters": tool.input_schema}
    if tool.description:
        wire["description"] = tool.description
    if target.quirks.accepts_strict:
        # Left out, the server would try to be strict with a schema that was not written for it.
        wire["strict"] = bool(tool.strict)
        if tool.strict:
            compiled = compile_schema(tool.input_schema, OPENAI_STRICT, f"tool {tool.name!r}")
            notes.extend(compiled.notes)
            wire["parameters"] = compiled.schema
    elif tool.strict:
        notes.append(Note("dropped", f"strict of {tool.name!r}", "calls are not held to a schema here"))
    return wire | ({"defer_loading": True} if tool.deferred else {}) | tool.extra


def _mcp_server(tool: McpTool) -> Item:
    wire: Item = {"type": "mcp", "server_label": tool.name, "server_url": tool.url, "require_approval": "never"}
    headers = dict(tool.headers)
    if headers.get("Authorization", "").startswith("Bearer "):
        wire["authorization"] = headers.pop("Authorization").removeprefix("Bearer ")
    if headers:
        wire["headers"] = headers
    if tool.allowed_tools is not None:
        wire["allowed_tools"] = list(tool.allowed_tools)
    return wire | ({"defer_loading": True} if tool.deferred else {})


def tool_choice(choice: str, tools: Sequence[AnyTool], target: Target) -> Any:
    """A choice as it is written: a word, or the tool of that name in the form that its kind wants."""
    if choice == "required":
        return target.quirks.required_choice
    if choice in ("auto", "none"):
        return choice
    for tool in tools:
        if isinstance(tool, McpTool) and tool.name == choice:
            return {"type": "mcp", "server_label": choice}
        if isinstance(tool, ProviderTool) and choice in (tool.data.get("name"), tool.data.get("type")):
            kind = tool.data.get("type")
            return {"type": kind} | ({"name": choice} if choice != kind else {})
    return {"type": "function", "name": choice}


# ── input ──


def _input(messages: Sequence[Message], target: Target, notes: list[Note], *, stored: bool) -> list[Item]:
    calls: dict[str, ToolCall] = {}
    items: list[Item] = []
    for message in messages:
        match message.role:
            case "assistant":
                calls |= {call.id: call for call in message.tool_calls}
                items += _in_order(request_items(message.parts, notes, stored=stored), target, notes)
            case "tool":
                items += [_tool_output(result, calls.get(result.id), target, notes) for result in message.tool_results]
            case role:
                items.append({"role": role, "content": _content(message.parts, target, notes)})
    return items


def _in_order(items: list[Item], target: Target, notes: list[Note]) -> list[Item]:
    """What the model said in one turn, with the calls last where only that is accepted."""
    ordered = sorted(items, key=lambda item: item["type"] in CALL_INPUTS) if target.quirks.calls_last else items
    if ordered != items:
        notes.append(Note("changed", "order of what the model said", "calls must come last here"))
    return ordered


def _content(parts: Sequence[Part], target: Target, notes: list[Note]) -> str | list[Item]:
    content = [_content_part(part, target, notes) for part in parts]
    match content:
        case [{"type": "input_text", "text": str(text), **rest}] if not rest:
            return text
        case _:
            return content


def _content_part(part: Part, target: Target, notes: list[Note]) -> Item:
    match part:
        case Text():
            wire: Item = {"type": "input_text", "text": part.text}
        case Image():
            wire = {"type": "input_image"} | ({"file_id": part.file_id} if part.file_id else {"image_url": _url(part)})
            if part.detail:
                wire["detail"] = part.detail
        case Document():
            wire = {"type": "input_file"} | _file(part, notes) | (part.opaque.data if part.opaque else {})
        case OpaquePart():
            return {"type": part.kind} | part.opaque.data
        case Audio():
            raise Misuse("the Responses API does not take audio: use Chat Completions for it, or send a transcript")
        case _:
            raise Misuse(f"the Responses API cannot carry {type(part).__name__} in what a user said")
    return wire | _cache_mark(part.cache, target)


def _cache_mark(mark: CacheMark | None, target: Target) -> Item:
    return {"prompt_cache_breakpoint": CACHE_BREAKPOINTS[mark]} if mark and target.cache_mark else {}


def _url(part: Image | Document) -> str:
    return part.url or f"data:{part.media_type};base64,{b64encode(part.data).decode()}"


def _file(part: Document, notes: list[Note]) -> Item:
    for name in ("context", "citations"):
        if getattr(part, name):
            notes.append(Note("dropped", f"{name} of a document", "this wire has no place for it"))
    named = {"filename": part.name} if part.name else {}
    if part.file_id:
        return {"file_id": part.file_id} | named
    if part.url:
        return {"file_url": part.url} | named
    return {"filename": UNNAMED_FILE, "file_data": _url(part)} | named


def _tool_output(result: ToolResult, call: ToolCall | None, target: Target, notes: list[Note]) -> Item:
    state = dict(result.opaque.data) if result.opaque else {}
    asked = call.opaque.data if call and call.opaque else {}
    kind = "custom_tool_call_output" if state.pop("custom", asked.get("custom")) else "function_call_output"
    output: Any = result.content
    mark = _cache_mark(result.cache, target)
    if result.blocks or mark:
        text = [{"type": "input_text", "text": result.content}] if result.content or not result.blocks else []
        output = text + [_content_part(block, target, notes) for block in result.blocks]
        output[-1] |= mark
    # A call made by a program is answered to that program.
    caller = {"caller": asked["caller"]} if "caller" in asked else {}
    return caller | state | {"type": kind, "call_id": result.id, "output": output}
