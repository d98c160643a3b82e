"""What is asked and what came back: requests, their options, and responses."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from .effort import EFFORT_NAMES, UNSAID, parse_effort
from .errors import Misuse
from .messages import CacheMark, Message, ToolCall
from .usage import Usage

__all__ = [
    "UNSET",
    "Attempt",
    "FinishReason",
    "McpTool",
    "Note",
    "Options",
    "ProviderTool",
    "Request",
    "Response",
    "ToolSpec",
    "UnsetType",
]

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "pause", "error"]

ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}


class ToolSpec(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="function"):
    """A tool as a model is told of it. Without a schema it takes any object.

    `strict` asks the provider to hold the model to the schema; `deferred` tools are found by
    search and not shown until then; `extra` is merged into the tool verbatim.
    """

    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: dict(ANY_OBJECT))
    strict: bool | None = None
    deferred: bool = False
    cache: CacheMark | None = None
    extra: dict[str, Any] = {}


class McpTool(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="mcp"):
    """A remote MCP server that the provider itself calls, where the wire has that."""

    url: str
    name: str
    headers: dict[str, str] = {}
    allowed_tools: tuple[str, ...] | None = None
    deferred: bool = False

    def __repr__(self) -> str:
        # Headers hold credentials.
        return (
            f"McpTool({self.url!r}, {self.name!r}, headers={sorted(self.headers)}, allowed_tools={self.allowed_tools})"
        )


class ProviderTool(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="provider"):
    """A tool of the provider's own (web search, code execution), in its own words; sent verbatim."""

    data: dict[str, Any]


AnyTool = ToolSpec | McpTool | ProviderTool


class Options(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How to answer. UNSET, like not giving it, leaves the provider's default alone.

    `effort` takes a name or a level; `cache` marks the end of the prompt for caching;
    `extra` is merged into the request body verbatim.
    """

    temperature: float | UnsetType = UNSET
    top_p: float | UnsetType = UNSET
    top_k: int | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    stop: tuple[str, ...] | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    system: str | UnsetType = UNSET
    effort: int | str | UnsetType = UNSET
    parallel_tool_calls: bool | UnsetType = UNSET
    response_schema: dict[str, Any] | UnsetType = UNSET
    cache: bool | CacheMark | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    service_tier: str | UnsetType = UNSET
    extra: dict[str, Any] | UnsetType = UNSET
    ignore_invalid_options: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.stop, str):
            force_setattr(self, "stop", (self.stop,))
        elif isinstance(self.stop, list):
            force_setattr(self, "stop", tuple(self.stop))
        if isinstance(self.effort, str):
            force_setattr(self, "effort", _effort_level(self.effort))

    @property
    def effort_level(self) -> int:
        """The effort as a level; 0 where none was asked for."""
        return self.effort if isinstance(self.effort, int) else UNSAID


def _effort_level(name: str) -> int:
    level = parse_effort(name)
    if level == UNSAID:
        raise Misuse(f"unknown effort {name!r}: use none, {', '.join(EFFORT_NAMES)}")
    return level


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question to a model. `tool_choice` is `auto`, `none`, `required`, or a tool's name."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[AnyTool, ...] = ()
    tool_choice: str = "auto"
    options: Options = Options()
    stream: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.messages, tuple):
            force_setattr(self, "messages", tuple(self.messages))
        if not isinstance(self.tools, tuple):
            force_setattr(self, "tools", tuple(self.tools))

    def then(self, *messages: Message) -> "Request":
        """The same request with the conversation carried on."""
        return msgspec.structs.replace(self, messages=self.messages + messages)


class Note(Struct, frozen=True):
    """Something done to a call that its caller should be able to see: dropped, changed, repaired, ignored."""

    act: Literal["dropped", "changed", "repaired", "ignored"]
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.act} {self.what}: {self.why}"


class Attempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One try at a call: how it ended and how long was waited before the next."""

    model: str
    outcome: str
    status: int | None = None
    waited_seconds: float = 0.0


class Response(Struct, frozen=True, kw_only=True):
    """What a model answered, in one vocabulary for every provider."""

    message: Message
    finish_reason: FinishReason
    raw_finish_reason: str = ""
    usage: Usage = Usage()
    id: str = ""
    model: str = ""
    provider: str = ""
    metadata: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    raw: Any = None

    @property
    def text(self) -> str:
        """The answer, without thinking."""
        return self.message.text

    @property
    def thinking(self) -> str:
        """The reasoning, apart from the answer."""
        return self.message.thinking

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls the model wants made."""
        return self.message.tool_calls

    def with_notes(self, notes: Iterable[Note]) -> "Response":
        """The same response with more notes, those of the request first."""
        return msgspec.structs.replace(self, notes=tuple(notes) + self.notes)
