"""Translation between the vocabulary and what providers really send. Nothing here does I/O.

Each module beside this one is a wire: four functions, held to the `Wire` contract by the type
checker. `encode` is the one way in: it makes a request fit its target, then lets the wire write it.
"""

import re
from importlib import import_module
from typing import Any, Protocol, cast

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..errors import ApiError, Misuse
from ..events import Event
from ..exchange import AnyTool, McpTool, Note, ProviderTool, Request, Response, ToolSpec
from ..http import HttpRequest, HttpResponse
from ..messages import Message
from ..target import Target
from .reading import mapping

__all__ = ["WIRES", "CountingWire", "Decoder", "Encoded", "Wire", "encode", "encode_count", "prepare", "wire_named"]


class Decoder(Protocol):
    """Reads one streamed answer."""

    @property
    def ended(self) -> bool:
        """Whether the terminal event has been given."""
        ...

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that the stream says with these bytes; never raises."""
        ...

    def close(self) -> list[Event]:
        """The last events, once nothing more will come; never raises."""
        ...


class Wire(Protocol):
    """What every module of this package can do."""

    def encode_chat(self, request: Request, target: Target, notes: list[Note], /) -> HttpRequest:
        """The HTTP request that asks this of that target."""
        ...

    def decode_chat(self, body: bytes, target: Target, /) -> Response:
        """The Response in a whole body."""
        ...

    def chat_decoder(self, target: Target, /) -> Decoder:
        """A decoder for one streamed answer."""
        ...

    def decode_error(self, answer: HttpResponse, target: Target, /) -> ApiError:
        """The error that a refused request means."""
        ...


class CountingWire(Wire, Protocol):
    """A wire whose API also counts the tokens of a request."""

    def encode_count(self, request: Request, target: Target, notes: list[Note], /) -> HttpRequest:
        """The HTTP request that asks how many tokens this would be."""
        ...

    def decode_count(self, body: bytes, target: Target, /) -> int:
        """The number of tokens in the answer."""
        ...


# One line per format; a module is imported when it is first spoken.
WIRES: dict[str, str] = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic-messages": "anthropic_messages",
    "gemini": "gemini",
    "bedrock-converse": "bedrock_converse",
    "ollama": "ollama",
}


def wire_named(name: str) -> Wire:
    """The wire of that name; Misuse where there is none."""
    if name not in WIRES:
        raise Misuse(f"unknown wire {name!r}: use one of {', '.join(WIRES)}")
    return cast(Wire, import_module(f".{WIRES[name]}", __name__))


class Encoded(Struct, frozen=True):
    """A request ready to be signed and sent, with what had to be changed to make it so."""

    http: HttpRequest
    notes: tuple[Note, ...]


def encode(request: Request, target: Target) -> Encoded:
    """The HTTP request for a question, in the target's wire and within its rules."""
    notes: list[Note] = []
    prepared = prepare(request, target, notes)
    http = wire_named(target.wire).encode_chat(prepared, target, notes)
    return Encoded(http, tuple(notes))


def encode_count(request: Request, target: Target) -> Encoded:
    """The HTTP request that counts a question's tokens; Misuse where the provider cannot."""
    wire = wire_named(target.wire)
    if not hasattr(wire, "encode_count"):
        raise Misuse(f"{target.provider} has no way to count tokens on {target.wire!r}")
    notes: list[Note] = []
    prepared = prepare(request, target, notes)
    http = cast(CountingWire, wire).encode_count(prepared, target, notes)
    return Encoded(http, tuple(notes))


# ── what is done to every request before a wire sees it ─────────────────────────────────────────

_TOOL_NAMES = {
    "openai-chat": r"[A-Za-z0-9_-]{1,64}",
    "openai-responses": r"[A-Za-z0-9_-]{1,64}",
    "anthropic-messages": r"[A-Za-z0-9_-]{1,128}",
    "gemini": r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}",
    "bedrock-converse": r"[A-Za-z0-9_-]{1,64}",
    "ollama": r"[A-Za-z0-9_.:-]{1,128}",
}


def prepare(request: Request, target: Target, notes: list[Note]) -> Request:
    """The request made fit for its target; what was changed is noted, what cannot be is an error."""
    from .history import fit_history
    from .options import fit_options

    request = _with_system(request)
    _check_tools(request, target)
    request = fit_options(request, target, notes)
    messages = fit_history(request.messages, target, notes, continued=_is_continued(request))
    if not messages:
        raise Misuse("there is nothing to send: the conversation has no content")
    return replace(request, messages=messages)


# Extra fields that name a conversation which the provider holds; the calls that a result answers may be there.
_CONTINUES = frozenset({"previous_response_id", "conversation"})


def _is_continued(request: Request) -> bool:
    extra = request.options.extra
    return extra is not UNSET and not _CONTINUES.isdisjoint(extra)


def _with_system(request: Request) -> Request:
    system = request.options.system
    if system is UNSET:
        return request
    options = replace(request.options, system=UNSET)
    return replace(request, options=options, messages=(Message.system(system), *request.messages))


def _check_tools(request: Request, target: Target) -> None:
    names = [tool.name for tool in request.tools if isinstance(tool, ToolSpec)]
    shape = _TOOL_NAMES[target.wire]
    for name in names:
        if not re.fullmatch(shape, name):
            raise Misuse(f"tool name {name!r} is not accepted by {target.provider}: it must match {shape}")
        if names.count(name) > 1:
            raise Misuse(f"two tools are named {name!r}: give each a name of its own")
    if request.tool_choice not in ("auto", "none") and not request.tools:
        raise Misuse(f"tool_choice {request.tool_choice!r} needs tools: this request has none")
    others = [name for tool in request.tools for name in _other_names(tool)]
    if request.tool_choice not in ("auto", "none", "required", *names, *others) and names:
        raise Misuse(f"tool_choice {request.tool_choice!r} is no tool of this request: {', '.join(names)}")


def _other_names(tool: AnyTool) -> tuple[Any, ...]:
    """What a tool that is not ours may be chosen by."""
    match tool:
        case McpTool():
            return (tool.name,)
        case ProviderTool(data):
            return (data.get("name"), data.get("type"), mapping(data.get("custom")).get("name"))
        case _:
            return ()
