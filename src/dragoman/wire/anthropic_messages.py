"""Anthropic Messages, and those who imitate it.

A conversation is turns of content blocks, and so is an answer; a stream opens, grows and closes
its blocks by index. A block that the vocabulary has a word for becomes that part, and the fields
it has no word for (signatures, citations, callers) become the part's opaque state: going back,
`block == words | state`. Every other block (a server's own tools, compaction, whatever comes
next) is an `OpaquePart` holding the whole block.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..effort import OFF
from ..errors import ApiError, InvalidResponse
from ..exchange import FinishReason, McpTool, Note, Request, Response, ToolSpec
from ..http import HttpRequest, HttpResponse
from ..target import Family, Target
from ..usage import Usage, token_count
from .anthropic_blocks import cache_control, instructions, turns
from .anthropic_pieces import Delta, GrowingBlock, begin_block
from .decoder import StreamDecoder, decode_whole
from .failure import Complaint, api_error, complaint_in
from .framing import Frame, SseFramer
from .reading import mapping, read_json, string, write_json
from .schema import ANTHROPIC, compile_schema
from .scribe import Scribe
from .thinking import effort_word, thinking_budget

__all__ = ["chat_decoder", "decode_chat", "decode_count", "decode_error", "encode_chat", "encode_count"]

# ── request ─────────────────────────────────────────────────────────────────────────────────────

API_VERSION = "2023-06-01"
MCP_BETA = "mcp-client-2025-11-20"
DEFAULT_MAX_TOKENS = 4_096  # the field is required; this fits every model there ever was

# Finds deferred tools on the server. Never deferred itself, so one tool is always in sight, as the API demands.
SEARCH_TOOL = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}

# What counting tokens takes; it refuses everything else.
_COUNTED = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "speed"}
)


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    return _http_request("/v1/messages", _body(request, target, notes), target)


def encode_count(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks how many tokens this would be."""
    tools = tuple(tool for tool in request.tools if not isinstance(tool, McpTool))
    if len(tools) < len(request.tools):
        notes.append(Note("dropped", "MCP servers", "their tools cannot be counted"))
    body = _body(replace(request, tools=tools), target, notes)
    counted = {name: value for name, value in body.items() if name in _COUNTED}
    return _http_request("/v1/messages/count_tokens", counted, target)


def _http_request(path: str, body: dict[str, Any], target: Target) -> HttpRequest:
    betas = [value for name, value in target.headers if name.lower() == "anthropic-beta"]
    if "mcp_servers" in body and not any("mcp-client-" in beta for beta in betas):
        betas.append(MCP_BETA)
    headers = {
        "content-type": "application/json",
        "anthropic-version": target.family.api_version or API_VERSION,
        **{name.lower(): value for name, value in target.headers},
    }
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return HttpRequest(url=f"{target.base_url}{path}", body=write_json(body), headers=tuple(headers.items()))


def _body(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    options = request.options
    max_tokens = target.family.max_output_tokens or DEFAULT_MAX_TOKENS
    if options.max_tokens is not UNSET:
        max_tokens = options.max_tokens
    given = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "stop_sequences": options.stop,
        "service_tier": options.service_tier,
    }
    body: dict[str, Any] = {"model": target.model, "max_tokens": max_tokens}
    body |= {name: value for name, value in given.items() if value is not UNSET}
    if request.stream:
        body["stream"] = True
    body |= _conversation(request, target, notes)
    body |= _tools(request, target, notes)
    if options.effort_level:
        body |= thinking_fields(options.effort_level, target.family, max_tokens, notes)
    if options.response_schema is not UNSET:
        form = _response_format(options.response_schema, notes)
        body["output_config"] = body.get("output_config", {}) | {"format": form}
    if options.cache is not UNSET and options.cache:
        lifetime = {} if options.cache is True else {"ttl": options.cache}
        body["cache_control"] = {"type": "ephemeral"} | lifetime
    if options.metadata is not UNSET:
        body |= _metadata(options.metadata, notes)
    if options.extra is not UNSET:
        body |= options.extra
    return body


def _conversation(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    blocks, rest = instructions(request.messages, notes)
    body: dict[str, Any] = {"messages": turns(rest, target, notes)}
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        body["system"] = blocks[0]["text"]
    elif blocks:
        body["system"] = blocks
    return body


def thinking_fields(level: int, family: Family, max_tokens: int, notes: list[Note]) -> dict[str, Any]:
    """How hard to think, in the fields of the body that say so to this family."""
    if level == OFF:
        return {"thinking": {"type": family.thinking_off}}
    word = effort_word(family, level)
    effort = {"output_config": {"effort": word}} if word else {}
    match family.thinking:
        case "adaptive":
            # Without asking for the summary, later models send signatures and no words.
            return {"thinking": {"type": "adaptive", "display": "summarized"}} | effort
        case "budget" | "toggle":
            budget = thinking_budget(family, level, max_tokens)
            if budget < max_tokens:
                return {"thinking": {"type": "enabled", "budget_tokens": budget}} | effort
            notes.append(Note("dropped", "thinking", f"max_tokens={max_tokens} leaves no room for it"))
    return effort


def _response_format(schema: dict[str, Any], notes: list[Note]) -> dict[str, Any]:
    compiled = compile_schema(schema, ANTHROPIC, "response_schema")
    notes.extend(compiled.notes)
    return {"type": "json_schema", "schema": compiled.schema}


def _metadata(metadata: dict[str, str], notes: list[Note]) -> dict[str, Any]:
    others = sorted(name for name in metadata if name != "user_id")
    if others:
        notes.append(Note("dropped", f"metadata {', '.join(others)}", "this wire carries only user_id"))
    return {"metadata": {"user_id": metadata["user_id"]}} if "user_id" in metadata else {}


def _tools(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    tools = [_tool(tool, target, notes) for tool in request.tools]
    if not tools:
        return {}
    deferred = any(isinstance(tool, (ToolSpec, McpTool)) and tool.deferred for tool in request.tools)
    if deferred and not any(string(tool.get("type")).startswith("tool_search_tool_") for tool in tools):
        tools.append(SEARCH_TOOL)
    body: dict[str, Any] = {"tools": tools}
    servers = [_mcp_server(tool, notes) for tool in request.tools if isinstance(tool, McpTool)]
    if servers:
        body["mcp_servers"] = servers
    return body | _tool_choice(request)


def _tool(tool: Any, target: Target, notes: list[Note]) -> dict[str, Any]:
    match tool:
        case ToolSpec():
            return _function(tool, target, notes)
        case McpTool():
            return _toolset(tool)
        case _:
            return dict(tool.data)


def _function(tool: ToolSpec, target: Target, notes: list[Note]) -> dict[str, Any]:
    schema = tool.input_schema
    if tool.strict and target.quirks.accepts_strict:
        compiled = compile_schema(schema, ANTHROPIC, f"tool {tool.name!r}")
        notes.extend(compiled.notes)
        schema = compiled.schema
    elif "type" not in schema:
        notes.append(Note("changed", f"schema of {tool.name!r}", "its type is missing; the arguments are an object"))
        schema = {"type": "object"} | schema
    wire: dict[str, Any] = {"name": tool.name, "input_schema": schema}
    if tool.description:
        wire["description"] = tool.description
    if tool.strict is not None and target.quirks.accepts_strict:
        wire["strict"] = tool.strict
    elif tool.strict:
        notes.append(Note("dropped", f"strict of {tool.name!r}", "calls are not held to a schema here"))
    if not tool.deferred:
        return wire | cache_control(tool.cache)
    if tool.cache:
        notes.append(Note("dropped", f"cache mark of {tool.name!r}", "a deferred tool cannot carry one"))
    return wire | {"defer_loading": True}


def _toolset(tool: McpTool) -> dict[str, Any]:
    wire: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": tool.name}
    default: dict[str, Any] = {"defer_loading": True} if tool.deferred else {}
    if tool.allowed_tools is not None:
        default["enabled"] = False
        wire["configs"] = {name: {"enabled": True} for name in tool.allowed_tools}
    return wire | ({"default_config": default} if default else {})


def _mcp_server(tool: McpTool, notes: list[Note]) -> dict[str, Any]:
    wire = {"type": "url", "name": tool.name, "url": tool.url}
    for name, value in tool.headers.items():
        scheme, _, token = value.partition(" ")
        if name.lower() == "authorization" and scheme.lower() == "bearer":
            wire["authorization_token"] = token.strip()
        else:
            notes.append(Note("dropped", f"header {name!r} of {tool.name!r}", "only a bearer token can be passed on"))
    return wire


_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def _tool_choice(request: Request) -> dict[str, Any]:
    choice, parallel = request.tool_choice, request.options.parallel_tool_calls
    if choice == "auto" and parallel is UNSET:
        return {}
    wire: dict[str, Any] = {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}
    if parallel is not UNSET and choice != "none":
        wire["disable_parallel_tool_use"] = not parallel
    return {"tool_choice": wire}


# ── answer ──────────────────────────────────────────────────────────────────────────────────────

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
USAGE_FACTS = ("service_tier", "inference_geo", "speed", "cache_creation", "server_tool_use", "iterations")


class _Event(Struct, gc=False):
    """What the events that come by the thousand say; the others are read a second time, whole."""

    type: Any = None
    index: int = 0
    delta: Delta | None = None
    content_block: Any = None


_events = msgspec.json.Decoder(_Event)
_anything = msgspec.json.Decoder(Any)


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
                self._read_rarity(kind, mapping(read_json(_anything, data, self._limits)))

    def read_body(self, body: bytes) -> None:
        message = mapping(read_json(_anything, body, self._limits))
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
        if event == "error":
            complaint = Complaint(message=data.decode("utf-8", "replace"))
            self.scribe.fail(api_error(self.scribe.target, complaint))
        elif data and data != b"[DONE]":
            raise InvalidResponse("an event of the stream is not JSON", body=data)

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
    count = token_count(mapping(read_json(_anything, body, target.limits)).get("input_tokens"))
    if count is None:
        raise InvalidResponse("the answer has no count", body=body, provider=target.provider, model=target.model)
    return count


def decode_error(answer: HttpResponse, target: Target) -> ApiError:
    """The error that a refused request means."""
    try:
        body = read_json(_anything, answer.body, target.limits)
    except InvalidResponse:
        return api_error(target, Complaint(message=answer.body.decode("utf-8", "replace")[:500].strip()), answer)
    error = api_error(target, complaint_in(body), answer)
    error.request_id = string(mapping(body).get("request_id")) or error.request_id
    return error
