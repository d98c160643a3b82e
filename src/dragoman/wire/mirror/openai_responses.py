"""OpenAI Responses from the server's side: requests read, answers and streams written.

What a request says that the vocabulary has no word for is kept where it stood: other fields of an
item in its part's opaque state, other items as opaque parts, other tools as provider tools, and
fields of the body in `options.extra`.
"""

import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from ...effort import OFF
from ...errors import Misuse
from ...exchange import AnyTool, McpTool, Options, ProviderTool, Request, ToolSpec
from ...messages import Block, Document, Image, Message, Opaque, OpaquePart, Part, Role, Text, ToolCall, ToolResult
from ...target import Target
from ..openai_responses.items import parts_of, reasoning_id
from ..openai_responses.request import ENCRYPTED_REASONING, UNNAMED_FILE, text_format, tool_choice
from ..reading import mapping, sequence, string, write_json
from ..thinking import effort_level, effort_word
from .fields import read_fields, take
from .openai_responses_replies import StreamEncoder, encode_error, encode_reply

__all__ = ["StreamEncoder", "decode_request", "encode_error", "encode_reply"]

Item = dict[str, Any]

_ROLES: dict[str, Role] = {"user": "user", "system": "system", "developer": "system"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")

# Fields that are options of ours, with what they hold.
_OPTIONS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "max_output_tokens": ("max_tokens", int),
    "temperature": ("temperature", (int, float)),
    "top_p": ("top_p", (int, float)),
    "metadata": ("metadata", dict),
    "service_tier": ("service_tier", str),
    "parallel_tool_calls": ("parallel_tool_calls", bool),
}


def decode_request(body: bytes, target: Target) -> Request:
    """The request in a body; Misuse where it is none. State that only its issuer reads is the target's."""
    return _RequestReader(read_fields(body, target), target).request()


class _RequestReader:
    """Takes the fields of a request one by one; those left over at the end are `extra`."""

    def __init__(self, fields: dict[str, Any], target: Target) -> None:
        self._fields = fields
        self._target = target

    def request(self) -> Request:
        model = self._take("model", str, self._target.model)
        messages = self._instructions() + self._input()
        tools = _tools(self._take("tools", list, []))
        return Request(
            model=model,
            messages=messages,
            tools=tools,
            tool_choice=self._tool_choice(tools),
            stream=self._take("stream", bool, False),
            options=self._options(),
        )

    def _take(self, name: str, kind: type | tuple[type, ...], default: Any = UNSET) -> Any:
        return take(self._fields, name, kind, default)

    def _instructions(self) -> tuple[Message, ...]:
        instructions = self._take("instructions", str)
        return () if instructions is UNSET else (Message.system(instructions),)

    def _input(self) -> tuple[Message, ...]:
        given = self._take("input", (str, list), [])
        if isinstance(given, str):
            return (Message.user(given),)
        conversation = _Conversation(self._target.issuer)
        for item in given:
            conversation.take(item)
        return conversation.messages()

    def _tool_choice(self, tools: tuple[AnyTool, ...]) -> str:
        """The choice in our words, if the codec would write it as it was; else it is left among the extra fields."""
        choice = self._fields.get("tool_choice", "auto")
        wanted = mapping(choice)
        for name in (choice, wanted.get("name"), wanted.get("server_label"), wanted.get("type")):
            if isinstance(name, str) and tool_choice(name, tools, self._target) == choice:
                self._fields.pop("tool_choice", None)
                return name
        return "auto"

    def _options(self) -> Options:
        given: dict[str, Any] = {ours: self._take(name, kind) for name, (ours, kind) in _OPTIONS.items()}
        effort, schema = self._effort(), self._schema()
        if self._fields.get("store") is False:
            del self._fields["store"]
        if self._target.family.thinking != "none" and self._fields.get("include") == [ENCRYPTED_REASONING]:
            del self._fields["include"]
        return Options(**given, effort=effort, response_schema=schema, extra=self._fields or UNSET)

    def _effort(self) -> int | UnsetType:
        reasoning = {name: value for name, value in self._take("reasoning", dict, {}).items() if value is not None}
        level = effort_level(string(reasoning.get("effort")))
        if level:
            # What the codec will write of itself need not be kept.
            if effort_word(self._target.family, level) == reasoning["effort"]:
                del reasoning["effort"]
            if level != OFF and reasoning.get("summary") == "auto":
                del reasoning["summary"]
        self._keep("reasoning", reasoning)
        return level or UNSET

    def _schema(self) -> dict[str, Any] | UnsetType:
        text = dict(self._take("text", dict, {}))
        form = mapping(text.get("format"))
        schema: dict[str, Any] | UnsetType = UNSET
        if form.get("type") == "json_schema" and isinstance(form.get("schema"), dict):
            try:
                written = text_format(form["schema"], self._target, [])
            except Misuse:
                written = None  # only this wire, and not strictly, can be asked for that
            schema = UNSET if written is None else form["schema"]
            if written == form:
                del text["format"]
        elif form == {"type": "text"}:
            del text["format"]
        self._keep("text", text)
        return schema

    def _keep(self, name: str, rest: dict[str, Any]) -> None:
        if rest:
            self._fields[name] = rest


# ── conversation ────────────────────────────────────────────────────────────────────────────────


class _Conversation:
    """Gathers items into messages: what the model said in a row is one, and so are results in a row."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._done: list[Message] = []
        self._role: Role = "assistant"
        self._parts: list[Part] = []
        self._before: Item = {}
        self._calls: dict[str, ToolCall] = {}

    def messages(self) -> tuple[Message, ...]:
        self._turn("user")
        return tuple(self._done)

    def take(self, item: Any) -> None:
        if not isinstance(item, dict):
            raise Misuse(f"an item of the input is {type(item).__name__}, not an object")
        kind, role = string(item.get("type")) or "message", string(item.get("role"))
        if kind == "message" and role != "assistant":
            self._take_message(item, role)
        elif kind in _OUTPUTS:
            self._turn("tool")
            self._parts.append(self._result(item, kind))
        else:
            self._turn("assistant")
            parts = parts_of(item | {"type": kind}, reasoning_id(self._before), self._issuer)
            self._calls |= {part.id: part for part in parts if isinstance(part, ToolCall)}
            self._parts += parts
        self._before = item

    def _turn(self, role: Role) -> None:
        """From here on that role speaks."""
        if self._role != role:
            if self._parts:
                self._done.append(Message(self._role, tuple(self._parts)))
            self._role, self._parts, self._before = role, [], {}

    def _take_message(self, item: Item, role: str) -> None:
        if role not in _ROLES:
            raise Misuse(f"role {role!r} is not one of {', '.join(_ROLES)}, assistant")
        self._turn("user")
        content = item.get("content")
        if isinstance(content, str):
            content = [{"type": "input_text", "text": content}]
        parts = tuple(_part(mapping(part), self._issuer) for part in sequence(content))
        self._done.append(Message(_ROLES[role], parts))

    def _result(self, item: Item, kind: str) -> ToolResult:
        id, output = string(item.get("call_id")), item.get("output")
        call = self._calls.get(id)
        asked = call.opaque.data if call and call.opaque else {}
        state = {name: value for name, value in item.items() if name not in ("type", "call_id", "output", "status")}
        if state.get("caller") == asked.get("caller"):
            state.pop("caller", None)
        if kind == "custom_tool_call_output" and not asked.get("custom"):
            state["custom"] = True
        opaque = Opaque(self._issuer, state) if state else None
        if isinstance(output, str):
            return ToolResult(id, output, opaque=opaque)
        content, blocks = _blocks(sequence(output), self._issuer)
        match blocks:
            case (Text(text, cache=str(mark)),) if not content:  # a mark on the result as a whole
                return ToolResult(id, text, opaque=opaque, cache=mark)
            case _:
                return ToolResult(id, content, blocks=blocks, opaque=opaque)


def _blocks(output: Sequence[Any], issuer: str) -> tuple[str, tuple[Block, ...]]:
    """The text a result begins with, and the blocks after it."""
    parts = [_part(mapping(part), issuer) for part in output]
    blocks = [part if isinstance(part, (Text, Image, Document)) else _unknown(part) for part in parts]
    if blocks and isinstance(blocks[0], Text) and not blocks[0].cache:
        return blocks[0].text, tuple(blocks[1:])
    return "", tuple(blocks)


def _unknown(part: Part) -> Text:
    return Text(write_json(part.opaque.data if part.opaque else {}).decode())


_FILE_FIELDS = frozenset({"type", "filename", "file_data", "file_url", "file_id", "prompt_cache_breakpoint"})


def _part(part: Item, issuer: str) -> Part:
    facts: dict[str, Any] = {}
    if "prompt_cache_breakpoint" in part:
        facts["cache"] = "1h" if mapping(part["prompt_cache_breakpoint"]).get("ttl") == "12h" else "5m"
    match part.get("type"):
        case "input_text":
            return Text(string(part.get("text")), **facts)
        case "input_image":
            source = _source(part.get("image_url")) or {"file_id": string(part.get("file_id"))}
            return Image(**source, detail=string(part.get("detail")), **facts)
        case "input_file":
            name = string(part.get("filename"))
            rest = {name: value for name, value in part.items() if name not in _FILE_FIELDS and value is not None}
            facts |= {"opaque": Opaque(issuer, rest)} if rest else {}
            return Document(**_file(part), name="" if name == UNNAMED_FILE else name, **facts)
        case kind:
            return OpaquePart(string(kind) or "unknown", Opaque(issuer, part))


_DATA_URL = re.compile(r"data:(?P<media_type>[^;,]*)(?:;[^;,]*)*;base64,", re.IGNORECASE)


def _source(url: Any) -> dict[str, Any]:
    """Where a file lies, or its bytes where the address holds them."""
    found = _DATA_URL.match(string(url))
    if found is None:
        return {"url": url} if isinstance(url, str) and url else {}
    return {"data": _decoded(string(url)[found.end() :]), "media_type": found["media_type"]}


def _file(part: Item) -> dict[str, Any]:
    data = string(part.get("file_data"))
    if data:
        return _source(data) if _DATA_URL.match(data) else {"data": _decoded(data)}
    return _source(part.get("file_url")) or {"file_id": string(part.get("file_id"))}


def _decoded(data: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except ValueError as error:
        raise Misuse("the data of a file is not base64") from error


# ── tools ───────────────────────────────────────────────────────────────────────────────────────


_FUNCTION_FIELDS = frozenset({"description", "strict", "defer_loading"})
_MCP_FIELDS = frozenset({"authorization", "headers", "allowed_tools", "defer_loading"})


def _tools(wires: list[Any]) -> tuple[AnyTool, ...]:
    tools = [_tool(mapping(wire)) for wire in wires]
    if any(isinstance(tool, (ToolSpec, McpTool)) and tool.deferred for tool in tools):
        # The codec adds the search for deferred tools of itself.
        tools = [tool for tool in tools if tool != ProviderTool({"type": "tool_search"})]
    return tuple(tools)


def _tool(wire: Item) -> AnyTool:
    fields = {name: value for name, value in wire.items() if value is not None}
    read = {"function": _function, "mcp": _mcp_server}.get(string(fields.pop("type", "")))
    tool = read(fields) if read else None
    return tool or ProviderTool(wire)


def _function(fields: Item) -> ToolSpec | None:
    """The tool, if it holds nothing but what a tool of ours does."""
    match fields:
        case {"name": str(name), "parameters": dict(schema), **rest} if rest.keys() <= _FUNCTION_FIELDS:
            strict, deferred = bool(rest.get("strict")) or None, bool(rest.get("defer_loading"))
            return ToolSpec(name, string(rest.get("description")), schema, strict=strict, deferred=deferred)
        case _:
            return None


def _mcp_server(fields: Item) -> McpTool | None:
    """The server, if it holds nothing but what a server of ours does."""
    match fields:
        case {"server_label": str(name), "server_url": str(url), "require_approval": "never", **rest} if (
            rest.keys() <= _MCP_FIELDS and isinstance(rest.get("allowed_tools", []), list)
        ):
            token = {"Authorization": f"Bearer {rest['authorization']}"} if "authorization" in rest else {}
            allowed = tuple(map(string, rest["allowed_tools"])) if "allowed_tools" in rest else None
            headers = token | mapping(rest.get("headers"))
            return McpTool(url, name, headers, allowed, deferred=bool(rest.get("defer_loading")))
        case _:
            return None
