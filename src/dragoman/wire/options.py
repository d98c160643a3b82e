"""Which options a model takes, found out before anything is sent.

Rules come from three places: the wire (the format has no such field), the provider's quirks, and
the model's family. A refused option is an `InvalidOption` that names the remedy, or, with
`ignore_invalid_options`, left out and noted.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..effort import OFF, UNSAID
from ..errors import InvalidOption, Misuse
from ..exchange import McpTool, Note, Options, Request, ToolSpec
from ..target import Family, Target
from .thinking import effort_level, effort_word

__all__ = ["fit_options", "thinks"]

# Options that a format has no place for.
_WIRE_LACKS: dict[str, frozenset[str]] = {
    "openai-chat": frozenset({"top_k"}),
    "openai-responses": frozenset({"top_k", "stop", "seed"}),
    "anthropic-messages": frozenset({"seed"}),
    "gemini": frozenset({"parallel_tool_calls"}),
    "bedrock-converse": frozenset({"seed"}),
    "ollama": frozenset({"parallel_tool_calls", "metadata", "service_tier"}),
}
# Wires on which only some families' extra fields carry an option.
_NEEDS_STYLE: dict[tuple[str, str], frozenset[str]] = {
    ("bedrock-converse", "top_k"): frozenset({"claude", "nova"}),
    ("bedrock-converse", "parallel_tool_calls"): frozenset({"claude"}),
}
_MARKS_CACHE = frozenset({"anthropic-messages", "bedrock-converse"})
_MARKS_NOTHING = frozenset({"openai-chat", "openai-responses", "ollama"})  # unless a quirk says otherwise
_CALLS_MCP = frozenset({"anthropic-messages", "openai-responses"})
_CHOOSES_TOOLS = frozenset({"openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse"})

_DEFAULT_TEMPERATURE = 1

_NUMBERS = ("temperature", "top_p", "top_k", "max_tokens", "seed")


class Objection(Struct, frozen=True):
    """One option that cannot be sent, why, and what to do instead; `without` is the request less that option."""

    option: str
    reason: str
    remedy: str
    without: Request
    is_error: bool = True


def thinks(family: Family, options: Options) -> bool:
    """Whether the model will think when asked with these options."""
    level = options.effort_level
    return family.thinks_unasked if level == UNSAID else level != OFF


def fit_options(request: Request, target: Target, notes: list[Note]) -> Request:
    """The request with every refused option gone, or InvalidOption for the first one."""
    _check_values(request.options)
    for rule in _RULES:
        for objection in rule(request, target):
            if objection.is_error and not request.options.ignore_invalid_options:
                raise InvalidOption(
                    objection.option,
                    model=target.model,
                    provider=target.provider,
                    reason=objection.reason,
                    remedy=objection.remedy,
                )
            notes.append(Note("dropped", objection.option, objection.reason))
            request = objection.without
    _note_effort(request.options.effort_level, target.family, notes)
    return request


def _note_effort(level: int, family: Family, notes: list[Note]) -> None:
    """Say so where the family has no word of just that strength."""
    word = effort_word(family, level) if level != UNSAID and family.efforts else ""
    if word and effort_level(word) != level:
        notes.append(Note("changed", "effort", f"sent as {word!r}, the nearest the {family.name} family has"))


def _check_values(options: Options) -> None:
    for name in _NUMBERS:
        value = getattr(options, name)
        if value is UNSET:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise Misuse(f"{name} must be a finite number, not {value!r}")
    if options.max_tokens is not UNSET and options.max_tokens < 1:
        raise Misuse(f"max_tokens must be at least 1, not {options.max_tokens}")


# ── the rules, each finding at most one thing at a time ────────────────────────────────────────


def _given(options: Options) -> list[str]:
    return [name for name in options.__struct_fields__ if getattr(options, name) is not UNSET]


def _without(request: Request, option: str) -> Request:
    return replace(request, options=replace(request.options, **{option: UNSET}))


def _lacking(request: Request, target: Target) -> Iterator[Objection]:
    quirks = target.quirks
    refused = (_WIRE_LACKS.get(target.wire, frozenset()) - quirks.also_accepts) | quirks.refuses
    for option in _given(request.options):
        styles = _NEEDS_STYLE.get((target.wire, option))
        if option in refused or (styles is not None and target.family.body_style not in styles):
            request = _without(request, option)
            yield Objection(option, f"{target.provider} has no such option on this wire", "leave it out", request)


def _refused_by_family(request: Request, target: Target) -> Iterator[Objection]:
    family = target.family
    for option in _given(request.options):
        if option in family.refuses:
            request = _without(request, option)
            yield Objection(option, f"the {family.name} family refuses it", "leave it out", request)
        elif option == "temperature" and request.options.temperature == _DEFAULT_TEMPERATURE:
            continue  # what it would be anyway is let through while thinking
        elif option in family.refuses_while_thinking and thinks(family, request.options):
            remedy = "leave it out" + (', or pass effort="none"' if family.can_stop_thinking else "")
            request = _without(request, option)
            yield Objection(option, f"the {family.name} family refuses it while it thinks", remedy, request)


def _effort(request: Request, target: Target) -> Iterator[Objection]:
    level, family = request.options.effort_level, target.family
    if level == UNSAID:
        return
    without = _without(request, "effort")
    if level == OFF and family.thinks_unasked and not family.can_stop_thinking:
        yield Objection("effort", f"the {family.name} family cannot stop thinking", 'use effort="low"', without)
    elif family.thinking == "none":
        reason = f"the {family.name} family has no such control"
        yield Objection("effort", reason, "leave it out", without, is_error=level != OFF)


def _tool_choice(request: Request, target: Target) -> Iterator[Objection]:
    choice, family, quirks = request.tool_choice, target.family, target.quirks
    if choice == "auto" or not request.tools:
        return
    without = replace(request, tool_choice="auto")
    if choice == "none":
        return
    elif target.wire not in _CHOOSES_TOOLS:
        yield Objection("tool_choice", "this wire lets the model choose", 'use "auto"', without)
    elif family.forced_tool_choice == "no":
        yield Objection("tool_choice", f"the {family.name} family cannot be forced to call", 'use "auto"', without)
    elif family.forced_tool_choice == "not while thinking" and thinks(family, request.options):
        remedy = 'use "auto", or pass effort="none"'
        yield Objection("tool_choice", f"the {family.name} family cannot be forced while it thinks", remedy, without)
    elif choice == "required" and not quirks.required_choice:
        yield Objection(
            "tool_choice", f"{target.provider} cannot be told that a call is required", 'use "auto"', without
        )
    elif choice != "required" and not quirks.accepts_named_choice:
        yield Objection("tool_choice", f"{target.provider} does not heed a named tool", 'use "required"', without)


def _parallel(request: Request, target: Target) -> Iterator[Objection]:
    if request.options.parallel_tool_calls is UNSET:
        return
    without = _without(request, "parallel_tool_calls")
    if not request.tools:
        yield Objection("parallel_tool_calls", "there are no tools", "leave it out", without, is_error=False)
    elif not target.quirks.accepts_parallel_switch:
        yield Objection("parallel_tool_calls", f"{target.provider} has no such switch", "leave it out", without)


def _schema(request: Request, target: Target) -> Iterator[Objection]:
    family = target.family
    if request.options.response_schema is UNSET:
        return
    without = _without(request, "response_schema")
    if "native" not in family.schema_modes:
        yield Objection("response_schema", f"the {family.name} family has no schema mode", "use generate()", without)
    elif not target.quirks.accepts_json_schema:
        yield Objection("response_schema", f"{target.provider} has no schema mode", "use generate()", without)
    elif request.tools and not (family.schema_with_tools and target.quirks.accepts_schema_with_tools):
        who = target.provider if family.schema_with_tools else f"the {family.name} family"
        reason = f"{who} takes a schema or tools, not both"
        yield Objection("response_schema", reason, "use generate(), or leave the tools out", without)


def _tools(request: Request, target: Target) -> Iterator[Objection]:
    family = target.family
    if (
        target.wire == "openai-chat"
        and any(isinstance(tool, ToolSpec) for tool in request.tools)
        and not (family.tools_while_thinking or target.quirks.tools_while_thinking)
        and thinks(family, request.options)
    ):
        reason = f"the {family.name} family takes tools on this wire only while it does not think"
        others = tuple(tool for tool in request.tools if not isinstance(tool, ToolSpec))
        remedy = 'use wire="openai-responses", or pass effort="none"'
        named = any(isinstance(tool, ToolSpec) and tool.name == request.tool_choice for tool in request.tools)
        request = replace(request, tools=others, tool_choice="auto" if named else request.tool_choice)
        yield Objection("tools", reason, remedy, request)
    if target.wire not in _CALLS_MCP and any(isinstance(tool, McpTool) for tool in request.tools):
        rest = tuple(tool for tool in request.tools if not isinstance(tool, McpTool))
        remedy = "connect to the server yourself and pass its tools"
        yield Objection("mcp_tools", "this provider calls no MCP server", remedy, replace(request, tools=rest))


def _deferred(request: Request, target: Target) -> Iterator[Objection]:
    if target.family.defer_loading and target.wire in _CALLS_MCP:
        return
    if any(isinstance(tool, (ToolSpec, McpTool)) and tool.deferred for tool in request.tools):
        shown = tuple(replace(t, deferred=False) if isinstance(t, (ToolSpec, McpTool)) else t for t in request.tools)
        reason = "this model cannot search for tools; they are all shown"
        yield Objection("deferred tools", reason, "show them", replace(request, tools=shown), is_error=False)


def _cache(request: Request, target: Target) -> Iterator[Objection]:
    if request.options.cache in (UNSET, False):
        return
    if target.wire in _MARKS_CACHE and target.family.caches:
        return
    if target.wire == "openai-chat" and target.cache_mark:
        return
    without = _without(request, "cache")
    yield Objection("cache", "prompts cannot be marked for caching here", "leave it out", without, is_error=False)


def _marks(request: Request, target: Target) -> Iterator[Objection]:
    """Marks on parts and tools. Wires that know some say for themselves what became of them."""
    if target.wire not in _MARKS_NOTHING or target.cache_mark:
        return
    marked = [*request.tools, *(part for message in request.messages for part in message.parts)]
    if any(getattr(each, "cache", None) for each in marked):
        reason = "prompts cannot be marked for caching here"
        yield Objection("cache marks", reason, "leave them out", request, is_error=False)


_RULES: tuple[Callable[[Request, Target], Iterator[Objection]], ...] = (
    _lacking,
    _effort,  # before those that ask whether the model will think
    _refused_by_family,
    _tool_choice,
    _parallel,
    _tools,
    _schema,
    _deferred,
    _cache,
    _marks,
)


def option_names() -> tuple[str, ...]:
    """Every option that exists, for errors that suggest one."""
    return Options.__struct_fields__


def options_from(given: dict[str, Any]) -> Options:
    """Options by name; Misuse that suggests the right one for a name that is none."""
    for name in given:
        if name not in option_names():
            from difflib import get_close_matches  # slow to import, needed only here

            close = get_close_matches(name, option_names(), n=1)
            raise Misuse(f"unknown option {name!r}" + (f": did you mean {close[0]!r}?" if close else ""))
    return Options(**given)
