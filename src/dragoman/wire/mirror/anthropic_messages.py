"""Anthropic Messages from the server's side: requests read, answers and streams written.

What a request says that the vocabulary has no word for is kept where it stood: fields of a block
in the part's opaque state, whole blocks as opaque parts, whole tools as provider tools, and
fields of the body in `options.extra`.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from ...effort import HIGH, OFF
from ...errors import Misuse
from ...exchange import AnyTool, McpTool, Options, ProviderTool, Request, ToolSpec
from ...messages import (
    CacheMark,
    Document,
    Image,
    Message,
    Opaque,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ...surrogates import clean
from ...target import Target
from ..anthropic_messages.request import SEARCH_TOOL, thinking_fields
from ..arguments import arguments_text
from ..reading import mapping, sequence, string
from ..thinking import budget_level, effort_level
from .anthropic_messages_replies import StreamEncoder, encode_error, encode_reply
from .fields import read_fields, take

__all__ = ["StreamEncoder", "decode_request", "encode_error", "encode_reply"]

Block = dict[str, Any]

MOST = 10**9  # where a request names no limit of its own


def decode_request(body: bytes, target: Target) -> Request:
    """The request in a body; Misuse where it is none. State that only its issuer reads is the target's."""
    return _RequestReader(read_fields(body, target), target).request()


class _RequestReader:
    """Takes the fields of a request one by one; those left over at the end are `extra`."""

    def __init__(self, fields: dict[str, Any], target: Target) -> None:
        self._fields = fields
        self._target = target
        self._exact = False  # whether the codec would write another effort than this request names

    def request(self) -> Request:
        model = self._take("model", str, self._target.model)
        messages = self._instructions() + self._turns()
        tools = self._tools()
        stream = self._take("stream", bool, False)
        choice, parallel = self._tool_choice()
        options = self._options(parallel)
        return Request(model=model, messages=messages, tools=tools, tool_choice=choice, options=options, stream=stream)

    def _take(self, name: str, kind: type | tuple[type, ...], default: Any = UNSET) -> Any:
        return take(self._fields, name, kind, default)

    # ── conversation ──

    def _instructions(self) -> tuple[Message, ...]:
        parts = self._parts(self._take("system", (str, list), ""), "system")
        return (Message("system", parts),) if parts else ()

    def _turns(self) -> tuple[Message, ...]:
        turns = self._take("messages", list)
        if not turns:
            raise Misuse("messages are missing")
        return tuple(message for place, turn in enumerate(turns) for message in self._turn(turn, f"messages.{place}"))

    def _turn(self, turn: Any, place: str) -> list[Message]:
        if not isinstance(turn, dict) or turn.get("role") not in ("user", "assistant", "system"):
            raise Misuse(f"{place} is not a message of a user, an assistant or the system")
        parts = self._parts(turn.get("content"), place)
        results = [part for part in parts if isinstance(part, ToolResult)]
        rest = tuple(part for part in parts if not isinstance(part, ToolResult))
        messages = [Message.tool(results)] if results else []
        return [*messages, Message(turn["role"], rest)] if rest or not results else messages

    def _parts(self, content: Any, place: str) -> tuple[Part, ...]:
        if isinstance(content, str):
            return (Text(content),) if content else ()
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise Misuse(f"the content of {place} is neither text nor a list of blocks")
        return tuple(_part(block, self._target.issuer) for block in content)

    # ── tools ──

    def _tools(self) -> tuple[AnyTool, ...]:
        wires = self._take("tools", list, [])
        if not all(isinstance(wire, dict) for wire in wires):
            raise Misuse("a tool is not an object")
        servers = self._mcp_servers(wires)
        tools = [servers.get(string(wire.get("mcp_server_name"))) or _tool(wire) for wire in wires]
        named = {string(wire.get("mcp_server_name")) for wire in wires}
        tools += [server for name, server in servers.items() if name not in named]
        if any(isinstance(tool, (ToolSpec, McpTool)) and tool.deferred for tool in tools):
            tools = [tool for tool in tools if tool != ProviderTool(SEARCH_TOOL)]
        return tuple(tools)

    def _mcp_servers(self, wires: list[Block]) -> dict[str, McpTool]:
        """The MCP servers by name; none, and everything left as it stands, where one says more than we can."""
        servers = [server for server in sequence(self._fields.get("mcp_servers")) if isinstance(server, dict)]
        toolsets = {string(wire.get("mcp_server_name")): wire for wire in wires if wire.get("type") == "mcp_toolset"}
        found = {string(server.get("name")): _find_mcp(server, toolsets) for server in servers}
        known = {name: tool for name, tool in found.items() if tool is not None}
        if len(known) < len(found) or not toolsets.keys() <= known.keys():
            return {}
        self._fields.pop("mcp_servers", None)
        return known

    def _tool_choice(self) -> tuple[str, Any]:
        wire = self._take("tool_choice", dict, {"type": "auto"})
        kind = string(wire.get("type"))
        choice = string(wire.get("name")) if kind == "tool" else _CHOICES.get(kind, "")
        if not choice:
            raise Misuse(f"tool_choice must not be {_described(wire)}")
        serial = wire.get("disable_parallel_tool_use")
        return choice, not serial if isinstance(serial, bool) else UNSET

    # ── options ──

    def _options(self, parallel: Any) -> Options:
        given = {"effort": self._effort(), "response_schema": self._schema(), "cache": self._cache()}
        given |= {name: self._take(wire, kind) for wire, name, kind in _OPTIONS}
        if given["max_tokens"] == 0:
            # The prompt is only to be cached. No option of ours says that, so the field stays as it is.
            self._fields["max_tokens"] = given.pop("max_tokens")
        given |= {"parallel_tool_calls": parallel, "extra": self._fields or UNSET}
        return Options(**given)

    def _effort(self) -> Any:
        """The level nearest to what is asked; where the codec would ask otherwise, `extra` keeps the exact words."""
        thinking = self._take("thinking", dict, {})
        word = string(mapping(self._fields.get("output_config")).get("effort"))
        level = _level(thinking, word)
        written = self._written(level)
        if thinking and thinking != written.get("thinking"):
            self._fields["thinking"] = thinking
        self._exact = word != mapping(written.get("output_config")).get("effort", "")
        return level or UNSET

    def _written(self, level: int) -> dict[str, Any]:
        most = self._fields.get("max_tokens")
        fits = most if type(most) is int else MOST
        return thinking_fields(level, self._target.family, fits, []) if level else {}

    def _schema(self) -> Any:
        config = self._take("output_config", dict, {})
        # Before structured output was released its field stood by itself.
        old = self._take("output_format", dict, {})
        form = mapping(config.get("format") or old)
        if self._exact or config.keys() - {"effort", "format"}:
            self._fields["output_config"] = config | ({"format": form} if form else {})
        return form["schema"] if isinstance(form.get("schema"), dict) else UNSET

    def _cache(self) -> Any:
        control = self._fields.get("cache_control")
        mark = _find_mark({"cache_control": control})
        if mark is None:
            return UNSET
        del self._fields["cache_control"]
        return mark if "ttl" in mapping(control) else True


def _level(thinking: dict[str, Any], word: str) -> int:
    match thinking.get("type"):
        case "disabled" | "between_tools":
            return OFF
        case "enabled" if type(thinking.get("budget_tokens")) is int:
            return max(budget_level(thinking["budget_tokens"]), effort_level(word))
        case "adaptive" | "enabled":
            return effort_level(word) or HIGH  # the level that the API takes where none is named
        case _:
            return effort_level(word)


_CHOICES = {"auto": "auto", "any": "required", "none": "none"}

# The wire's name of an option, ours, and what it must be.
_OPTIONS: tuple[tuple[str, str, Any], ...] = (
    ("max_tokens", "max_tokens", int),
    ("temperature", "temperature", (int, float)),
    ("top_p", "top_p", (int, float)),
    ("top_k", "top_k", int),
    ("stop_sequences", "stop", list),
    ("service_tier", "service_tier", str),
    ("metadata", "metadata", dict),
)


def _described(value: Any) -> str:
    return f"{str(value)[:60]!r}"


# ── tools ───────────────────────────────────────────────────────────────────────────────────────

_TOOL_WORDS = frozenset({"type", "name", "description", "input_schema", "strict", "defer_loading", "cache_control"})
# How a tool's input is streamed, and samples of it, do not change what the tool is: they are its `extra`.
_TOOL_HINTS = frozenset({"eager_input_streaming", "input_examples"})


def _tool(wire: Block) -> AnyTool:
    """A tool of the client's own; everything else, and one with conditions we have no word for, stays as it is."""
    said = {name: value for name, value in wire.items() if value is not None and name not in _TOOL_HINTS}
    mark, schema = _find_mark(wire), said.get("input_schema")
    known = said.keys() <= _TOOL_WORDS and (mark is not None or "cache_control" not in said)
    if said.get("type", "custom") != "custom" or not known:
        return ProviderTool(wire)
    if not string(said.get("name")) or not isinstance(schema, dict):
        raise Misuse(f"a tool needs a name and a schema of its input: {_described(wire)}")
    return ToolSpec(
        said["name"],
        string(said.get("description")),
        schema,
        strict=said["strict"] if isinstance(said.get("strict"), bool) else None,
        deferred=said.get("defer_loading") is True,
        cache=mark,
        extra={name: wire[name] for name in _TOOL_HINTS if wire.get(name) is not None},
    )


def _find_mcp(server: Block, toolsets: dict[str, Block]) -> McpTool | None:
    """The MCP server as one tool, if one tool can say all that is said of it."""
    name, token = string(server.get("name")), string(server.get("authorization_token"))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    rules = _find_toolset(toolsets[name]) if name in toolsets else _find_configuration(server)
    if rules is None or server.keys() - {"type", "name", "url", "authorization_token", "tool_configuration"}:
        return None
    return McpTool(string(server.get("url")), name, headers, *rules)


ToolRules = tuple[tuple[str, ...] | None, bool]  # the tools that are allowed, and whether they are deferred


def _find_toolset(toolset: Block) -> ToolRules | None:
    default, configs = mapping(toolset.get("default_config")), mapping(toolset.get("configs"))
    closed = default.get("enabled") is False
    plain = toolset.keys() <= {"type", "mcp_server_name", "default_config", "configs"}
    if not plain or (configs and not closed) or any(config != {"enabled": True} for config in configs.values()):
        return None
    return tuple(configs) if closed else None, default.get("defer_loading") is True


def _find_configuration(server: Block) -> ToolRules:
    """The form of the connector's first release, in the server itself."""
    configuration = mapping(server.get("tool_configuration"))
    if configuration.get("enabled") is False:
        return (), False
    names = configuration.get("allowed_tools")
    return tuple(names) if isinstance(names, list) else None, False


# ── blocks ──────────────────────────────────────────────────────────────────────────────────────


def _part(block: Block, issuer: str) -> Part:
    read = _PARTS.get(string(block.get("type")))
    part = read(block, issuer) if read is not None else None
    return part or OpaquePart(string(block.get("type")), Opaque(issuer, block))


def _find_mark(block: Block) -> CacheMark | None:
    control = mapping(block.get("cache_control"))
    if control.keys() <= {"type", "ttl"} and control.get("type") == "ephemeral":
        marks: dict[Any, CacheMark] = {None: "5m", "5m": "5m", "1h": "1h"}
        return marks.get(string(control.get("ttl")) or None)
    return None


def _state(block: Block, issuer: str, *words: str) -> Opaque | None:
    """The fields of a block that the vocabulary has no word for."""
    known = {"type", *words} | ({"cache_control"} if _find_mark(block) else set())
    rest = {name: value for name, value in block.items() if name not in known and value not in (None, "", [])}
    return Opaque(issuer, rest) if rest else None


def _word(block: Block, name: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise Misuse(f"{name} is missing in a block of type {block.get('type')!r}")
    return value


def _text(block: Block, issuer: str) -> Part:
    return Text(_word(block, "text"), _state(block, issuer, "text"), _find_mark(block))


def _thinking(block: Block, issuer: str) -> Part:
    return Thinking(_word(block, "thinking"), _state(block, issuer, "thinking"))


def _redacted(block: Block, issuer: str) -> Part:
    return Thinking("", Opaque(issuer, {"redacted": _word(block, "data")}))


def _call(block: Block, issuer: str) -> Part:
    state = _state(block, issuer, "id", "name", "input")
    arguments = arguments_text(block.get("input")) or "{}"
    return ToolCall(_word(block, "id"), _word(block, "name"), arguments, state, _find_mark(block))


def _image(block: Block, issuer: str) -> Part | None:
    source = _find_source(block)
    if source is None:
        return None
    return Image(**source, cache=_find_mark(block), opaque=_state(block, issuer, "source"))


def _document(block: Block, issuer: str) -> Part | None:
    source, citations = _find_source(block), block.get("citations")
    if source is None or citations not in (None, {"enabled": True}, {"enabled": False}):
        return None
    return Document(
        **source,
        name=string(block.get("title")),
        context=string(block.get("context")),
        citations=citations == {"enabled": True},
        cache=_find_mark(block),
        opaque=_state(block, issuer, "source", "title", "context", "citations"),
    )


def _find_source(block: Block) -> dict[str, Any] | None:
    """Where the bytes of a file are, in our words; None for a source that is no file (a list of blocks)."""
    source = mapping(block.get("source"))
    match source.get("type"):
        case "base64":
            return {"data": _bytes(_word(source, "data")), "media_type": _word(source, "media_type")}
        case "text":
            return {"data": clean(_word(source, "data")).encode(), "media_type": _word(source, "media_type")}
        case "url":
            return {"url": _word(source, "url")}
        case "file":
            return {"file_id": _word(source, "file_id")}
        case _:
            return None


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misuse(f"the data of a block is not base64: {error}") from error


def _result(block: Block, issuer: str) -> Part:
    content, blocks = _result_content(block.get("content"), issuer)
    words = ("tool_use_id", "is_error", "toolset_name", "content")
    state = _state(block, issuer, *words)
    if blocks is None:
        # Blocks that no result of ours can hold go back as they came; their text stands for them elsewhere.
        state, blocks = _state(block, issuer, *words[:-1]), ()
    return ToolResult(
        _word(block, "tool_use_id"), content, block.get("is_error") is True, blocks, state, _find_mark(block)
    )


ResultBlock = Text | Image | Document


def _result_content(content: Any, issuer: str) -> tuple[str, tuple[ResultBlock, ...] | None]:
    """A result's own text and the blocks after it; None for blocks of another kind."""
    if isinstance(content, str):
        return content, ()
    parts = [_part(block, issuer) for block in sequence(content) if isinstance(block, dict)]
    blocks = tuple(part for part in parts if isinstance(part, (Text, Image, Document)))
    if len(blocks) < len(parts):
        return "\n".join(block.text for block in blocks if isinstance(block, Text)), None
    first = blocks[0] if len(blocks) > 1 else None
    if isinstance(first, Text) and first == Text(first.text):
        return first.text, blocks[1:]
    return "", blocks


_PARTS: dict[str, Callable[[Block, str], Part | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _image,
    "document": _document,
}
