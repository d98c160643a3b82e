"""Requests: what is asked, as this format writes it."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ...effort import OFF
from ...errors import Misuse
from ...exchange import AnyTool, McpTool, Note, ProviderTool, Request, ToolSpec
from ...http import HttpRequest
from ...messages import CacheMark
from ...target import Family, Target
from ..reading import mapping, sequence, string, write_json
from ..schema import ANTHROPIC, compile_schema
from ..thinking import effort_word, thinking_budget
from .blocks import cache_control, instructions, turns

__all__ = ["encode_chat", "encode_count"]


API_VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4_096  # the field is required; this fits every model there ever was

# Fields, types of tools and types of edits that are taken only together with a beta.
BETAS = {
    "mcp_servers": "mcp-client-2025-11-20",
    "context_management": "context-management-2025-06-27",
    "compact_20260112": "compact-2026-01-12",
    "compaction": "compact-2026-09-04",
    "fallbacks": "server-side-fallback-2026-07-01",
    "thread": "message-threads-2026-08-12",
    "output_config.task_budget": "task-budgets-2026-03-13",
    "thinking.block_binding": "thinking-binding-controls-2026-08-01",
    "advisor_20260301": "advisor-tool-2026-03-01",
}
_DATE = len("-2026-01-31")

# Finds deferred tools on the server. Never deferred itself, so one tool is always in sight, as the API demands.
SEARCH_TOOL = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}

# What counting tokens takes; it refuses everything else.
_COUNTED = frozenset(
    {
        *("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "speed"),
        *("context_management", "compaction"),
    }
)


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    return _http_request("/v1/messages", _body(request, target, notes), target)


def encode_count(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks how many tokens this would be."""
    tools = tuple(tool for tool in request.tools if not _is_remote(tool))
    if len(tools) < len(request.tools):
        notes.append(Note("dropped", "MCP servers", "their tools cannot be counted"))
    body = _body(replace(request, tools=tools), target, notes)
    counted = {name: value for name, value in body.items() if name in _COUNTED}
    return _http_request("/v1/messages/count_tokens", counted, target)


def _is_remote(tool: AnyTool) -> bool:
    return isinstance(tool, McpTool) or (isinstance(tool, ProviderTool) and tool.data.get("type") == "mcp_toolset")


def _http_request(path: str, body: dict[str, Any], target: Target) -> HttpRequest:
    betas = [value for name, value in target.headers if name.lower() == "anthropic-beta"]
    given, used = ",".join(betas), _used(body)
    # Of a beta that the caller names, the caller chooses the release.
    betas += [beta for name, beta in BETAS.items() if name in used and beta[:-_DATE] not in given]
    headers = {
        "content-type": "application/json",
        "anthropic-version": target.family.api_version or API_VERSION,
        **{name.lower(): value for name, value in target.headers},
    }
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return HttpRequest(url=f"{target.base_url}{path}", body=write_json(body), headers=tuple(headers.items()))


def _used(body: dict[str, Any]) -> set[str]:
    """What of the API a request uses, as `BETAS` names it."""
    inner = {f"{name}.{field}" for name in ("output_config", "thinking") for field in mapping(body.get(name))}
    typed = (*sequence(body.get("tools")), *sequence(mapping(body.get("context_management")).get("edits")))
    return {*body, *inner, *(string(mapping(each).get("type")) for each in typed)}


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
        body |= _cache(options.cache, body["messages"], notes)
    if options.metadata is not UNSET:
        body |= _metadata(options.metadata, notes)
    if options.extra is not UNSET:
        body |= options.extra
    if not body.get("output_config", True):
        del body["output_config"]  # an empty one only says that no effort was named
    return body


def _conversation(request: Request, target: Target, notes: list[Note]) -> dict[str, Any]:
    blocks, rest = instructions(request.messages, target, notes)
    body: dict[str, Any] = {"messages": turns(rest, target, notes)}
    if not body["messages"]:
        raise Misuse("there is nothing to answer: besides instructions this wire needs a message")
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        body["system"] = blocks[0]["text"]
    elif blocks:
        body["system"] = blocks
    return body


def thinking_fields(level: int, family: Family, max_tokens: int, notes: list[Note]) -> dict[str, Any]:
    """How hard to think, in the fields of the body that say so to this family."""
    if level == OFF:
        if family.thinking_off == "between_tools":
            notes.append(Note("changed", "effort", "this model stops thinking before it answers, not between calls"))
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


def _cache(cache: bool | CacheMark, turns: list[dict[str, Any]], notes: list[Note]) -> dict[str, Any]:
    """A mark for the whole prompt. It falls on the last block; two marks there that differ are refused."""
    control: dict[str, Any] = {"type": "ephemeral"} | ({} if cache is True else {"ttl": cache})
    own = mapping(turns[-1]["content"][-1].get("cache_control")) or control
    if own.get("ttl", "5m") != control.get("ttl", "5m"):
        notes.append(Note("dropped", "cache", "the last part has a mark of its own, for another time"))
        return {}
    return {"cache_control": control}


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
    # Models that cannot be held to a schema do take the word that nobody asks for it.
    accepts_strict = target.quirks.accepts_strict and (not tool.strict or "native" in target.family.schema_modes)
    if tool.strict and accepts_strict:
        compiled = compile_schema(schema, ANTHROPIC, f"tool {tool.name!r}")
        notes.extend(compiled.notes)
        schema = compiled.schema
    elif "type" not in schema:
        notes.append(Note("changed", f"schema of {tool.name!r}", "its type is missing; the arguments are an object"))
        schema = {"type": "object"} | schema
    wire: dict[str, Any] = {"name": tool.name, "input_schema": schema}
    if tool.description:
        wire["description"] = tool.description
    if tool.strict is not None and accepts_strict:
        wire["strict"] = tool.strict
    elif tool.strict:
        notes.append(Note("dropped", f"strict of {tool.name!r}", "calls are not held to a schema here"))
    if not tool.deferred:
        return wire | cache_control(tool.cache) | tool.extra
    if tool.cache:
        notes.append(Note("dropped", f"cache mark of {tool.name!r}", "a deferred tool cannot carry one"))
    return wire | {"defer_loading": True} | tool.extra


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
