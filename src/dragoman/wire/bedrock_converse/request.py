"""Requests: what is asked, as this format writes it."""

import re
from typing import Any
from urllib.parse import quote

from msgspec import UNSET

from ...errors import Misuse
from ...exchange import AnyTool, Note, ProviderTool, Request, ToolSpec
from ...http import HttpRequest
from ...messages import Message
from ...target import Target
from ..reading import string, write_json
from ..schema import BEDROCK, compile_schema
from .blocks import FILLER, BlockWriter, tool_name
from .fields import model_fields, tool_choice

__all__ = ["encode_chat", "encode_count", "merged"]

Body = dict[str, Any]


# The most points at which one request may be cached.
_MOST_POINTS = 4

_ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool": "user"}


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    body = _conversation(request, target, notes) | _settings(request, target, notes)
    if request.options.extra is not UNSET:
        body = merged(body, request.options.extra)
    call = "converse-stream" if request.stream else "converse"
    return _post(target, target.model, call, body)


def encode_count(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks how many tokens this would be."""
    conversation = _conversation(request, target, notes)
    if request.options.extra is not UNSET:
        given = request.options.extra
        conversation = merged(conversation, {name: given[name] for name in _COUNTED if name in given})
    return _post(target, _counted_model(target.model), "count-tokens", {"input": {"converse": conversation}})


# All that a count of tokens is told.
_COUNTED = ("messages", "system", "toolConfig", "additionalModelRequestFields")


def _post(target: Target, model: str, call: str, body: Body) -> HttpRequest:
    return HttpRequest(
        url=f"{target.base_url}/model/{quote(model, safe='')}/{call}",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


# Models reached through an inference profile are counted under their own id.
_PROFILE = re.compile(r"(?:arn:.*:inference-profile/)?(?:us-gov|us|eu|apac|jp|au|ca|in|global)\.(?=.)")


def _counted_model(model: str) -> str:
    return _PROFILE.sub("", model, count=1) if _PROFILE.match(model) else model


def merged(body: Body, extra: Body) -> Body:
    """The caller's own fields over ours, object by object: the maker's fields live one level down."""
    whole = dict(body)
    for name, value in extra.items():
        ours = whole.get(name)
        whole[name] = ours | value if isinstance(ours, dict) and isinstance(value, dict) else value
    return whole


def _conversation(request: Request, target: Target, notes: list[Note]) -> Body:
    """What both a chat and a count of its tokens consist of."""
    writer = BlockWriter(target, notes)
    leading = next((at for at, m in enumerate(request.messages) if m.role != "system"), len(request.messages))
    system = [block for message in request.messages[:leading] for block in writer.blocks(message)]
    turns: list[Body] = []
    for message in request.messages[leading:]:
        _append(turns, _role(message, target, notes), writer.blocks(message), target, notes)
    if not turns or (target.family.opens_with_user and turns[0]["role"] != "user"):
        notes.append(
            Note("changed", "the history", f"a user's {FILLER!r} was put before it; this family wants one first")
        )
        turns.insert(0, {"role": "user", "content": [{"text": FILLER}]})
    if mark := request.options.cache or False:
        for blocks in (system, turns[-1]["content"] if turns else []):
            writer.cache_point(blocks, mark)
    tools, choice = _tools(request, writer, target, notes)
    _thin_out_points([tools.get("tools", []), system, *(turn["content"] for turn in turns)], notes)
    fields = model_fields(request.options, target, notes) | choice
    body: Body = {"messages": turns, "system": system, "toolConfig": tools, "additionalModelRequestFields": fields}
    return {name: value for name, value in body.items() if value or name == "messages"}


def _role(message: Message, target: Target, notes: list[Note]) -> str:
    if message.role == "system" and not target.family.system_anywhere:
        why = "this model takes instructions only at the start; it became part of the user's turn"
        notes.append(Note("changed", "a system message", why))
        return "user"
    return _ROLES[message.role]


def _append(turns: list[Body], role: str, blocks: list[Body], target: Target, notes: list[Note]) -> None:
    """Add to the conversation; two turns of one role are one turn."""
    if turns and turns[-1]["role"] == role:
        if not _may_follow_results(turns[-1]["content"], blocks, target):
            notes.append(
                Note("changed", "the history", f"a {FILLER!r} of the model stands between results and the rest")
            )
            turns.append({"role": "assistant", "content": [{"text": FILLER}]})
            turns.append({"role": role, "content": blocks})
            return
        turns[-1]["content"] += blocks
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _may_follow_results(content: list[Body], blocks: list[Body], target: Target) -> bool:
    """Whether blocks may stand in one turn with the results there, if there are any."""
    rest = [kind for block in blocks for kind in block if kind not in ("toolResult", "cachePoint")]
    match target.family.beside_results:
        case "nothing":
            refused = bool(rest)
        case "no files":
            refused = "document" in rest or "video" in rest
        case _:
            refused = False
    return not (refused and any("toolResult" in block for block in content))


def _thin_out_points(places: list[list[Body]], notes: list[Note]) -> None:
    """Take out the cache points that are too many: the earliest, since a later one covers what they do."""
    points = [(place, block) for place in places for block in place if "cachePoint" in block]
    for place, point in points[:-_MOST_POINTS]:
        del place[next(at for at, block in enumerate(place) if block is point)]
    if len(points) > _MOST_POINTS:
        what = f"{len(points) - _MOST_POINTS} × cache mark"
        notes.append(Note("dropped", what, f"a request has at most {_MOST_POINTS} cache points; the last are kept"))


def _settings(request: Request, target: Target, notes: list[Note]) -> Body:
    options = request.options
    inference = {
        "maxTokens": options.max_tokens,
        "temperature": options.temperature,
        "topP": options.top_p,
        "stopSequences": options.stop,
    }
    body: Body = {}
    if given := {name: value for name, value in inference.items() if value is not UNSET}:
        body["inferenceConfig"] = given
    if options.response_schema is not UNSET:
        body["outputConfig"] = {"textFormat": _text_format(options.response_schema, notes)}
    if options.metadata:
        body["requestMetadata"] = options.metadata
    if options.service_tier is not UNSET:
        body["serviceTier"] = {"type": options.service_tier}
    return body


def _text_format(schema: Body, notes: list[Note]) -> Body:
    compiled = compile_schema(schema, BEDROCK, "response_schema")
    notes.extend(compiled.notes)
    name = re.sub(r"[^A-Za-z0-9_-]", "_", string(schema.get("title")))[:64] or "response"
    definition = {"name": name, "schema": write_json(compiled.schema).decode()}
    return {"type": "json_schema", "structure": {"jsonSchema": definition}}


def _tools(request: Request, writer: BlockWriter, target: Target, notes: list[Note]) -> tuple[Body, Body]:
    """The tools with their choice, and what of the choice the model's maker must be told instead."""
    called = {tool_name(call.name): None for message in request.messages for call in message.tool_calls}
    if request.tools and (request.tool_choice != "none" or called):
        tools: list[Body] = []
        for tool in request.tools:
            tools.append(_tool(tool, target, notes))
            if mark := getattr(tool, "cache", None):
                writer.cache_point(tools, mark)
        choice, fields = tool_choice(request, target, notes)
        return {"tools": tools} | ({"toolChoice": choice} if choice else {}), fields
    if called:
        # A history with calls is refused without a description of their tools.
        notes.append(Note("repaired", "tools", "the history has calls, so their tools are described by name"))
        return {"tools": [_tool_spec(ToolSpec(name), target, notes) for name in called]}, {}
    return {}, {}


def _tool(tool: AnyTool, target: Target, notes: list[Note]) -> Body:
    match tool:
        case ToolSpec():
            return _tool_spec(tool, target, notes)
        case ProviderTool():
            return dict(tool.data)
        case _:
            raise Misuse(f"Converse cannot call an MCP server ({tool.name!r}): connect to it and pass its tools")


def _tool_spec(tool: ToolSpec, target: Target, notes: list[Note]) -> Body:
    spec: Body = {"name": tool.name, "inputSchema": {"json": tool.input_schema}}
    if tool.description:
        spec["description"] = tool.description
    if tool.strict and "native" not in target.family.schema_modes:
        notes.append(Note("dropped", f"strict of {tool.name!r}", "this family's calls are not held to a schema"))
    elif tool.strict:
        compiled = compile_schema(tool.input_schema, BEDROCK, f"tool {tool.name!r}")
        notes.extend(compiled.notes)
        spec |= {"inputSchema": {"json": compiled.schema}, "strict": True}
    return {"toolSpec": spec | tool.extra}
