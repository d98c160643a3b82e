"""Requests: what is asked, as this format writes it."""

from typing import Any
from urllib.parse import quote

from msgspec import UNSET

from ...effort import OFF
from ...errors import Misuse
from ...exchange import Note, Options, Request, ToolSpec
from ...http import HttpRequest
from ...target import Family, Target
from ..reading import write_json
from ..schema import GEMINI, compile_schema
from ..thinking import effort_word, thinking_budget
from .contents import conversation

__all__ = ["encode_chat", "encode_count", "model_name", "post"]

Body = dict[str, Any]


def encode_chat(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks this; what cannot be carried as asked is noted."""
    verb = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return post(target, verb, _body(request, target, notes))


def encode_count(request: Request, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request that asks how many tokens this question has."""
    whole = {"model": model_name(target)} | _body(request, target, notes)
    return post(target, "countTokens", {"generateContentRequest": whole})


def post(target: Target, verb: str, body: Body) -> HttpRequest:
    """A call of one of the model's methods."""
    return HttpRequest(
        url=f"{target.base_url}/{quote(model_name(target))}:{verb}",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


def model_name(target: Target) -> str:
    """The model as a resource: `models/x`, also where only `x` was given."""
    return target.model if "/" in target.model else f"models/{target.model}"


def _body(request: Request, target: Target, notes: list[Note]) -> Body:
    options = request.options
    body = conversation(request.messages, target, notes) | _tools(request, notes)
    if config := _generation_config(options, target, notes):
        body["generationConfig"] = config
    if options.metadata is not UNSET:
        body["labels"] = options.metadata
    if options.service_tier is not UNSET:
        body["serviceTier"] = options.service_tier
    if _asks_for_caching(request):
        notes.append(Note("dropped", "cache marks", "this API caches by itself and takes no marks"))
    return body if options.extra is UNSET else _merged(body, options.extra)


def _merged(body: Body, extra: Body) -> Body:
    """`extra` over the body; objects that are in both are merged, anything else is replaced."""
    both = {
        name for name in body.keys() & extra.keys() if isinstance(body[name], dict) and isinstance(extra[name], dict)
    }
    return body | extra | {name: _merged(body[name], extra[name]) for name in both}


def _asks_for_caching(request: Request) -> bool:
    marked = [*request.tools, *(part for message in request.messages for part in message.parts)]
    asked = request.options.cache is not UNSET and bool(request.options.cache)
    return asked or any(getattr(each, "cache", None) for each in marked)


def _generation_config(options: Options, target: Target, notes: list[Note]) -> Body:
    given = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "topK": options.top_k,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": options.stop,
        "seed": options.seed,
    }
    config: Body = {name: value for name, value in given.items() if value is not UNSET}
    if options.response_schema is not UNSET:
        compiled = compile_schema(options.response_schema, GEMINI, "response_schema")
        notes.extend(compiled.notes)
        config |= {"responseMimeType": "application/json", "responseJsonSchema": compiled.schema}
    if options.effort_level and (thinking := _thinking_config(options, target.family, notes)):
        config["thinkingConfig"] = thinking
    return config


def _thinking_config(options: Options, family: Family, notes: list[Note]) -> Body:
    level, most = options.effort_level, options.max_tokens
    shown = {} if level == OFF else {"includeThoughts": True}
    match family.thinking:
        case "budget":
            budget = 0 if level == OFF else thinking_budget(family, level, most if isinstance(most, int) else None)
            return shown | {"thinkingBudget": budget}
        case "level":
            word = effort_word(family, level)
            if level == OFF and family.efforts:
                word = family.efforts[0]
                notes.append(
                    Note("changed", "effort", f"there is no word for none here; sent as {word!r}, the weakest")
                )
            return shown | ({"thinkingLevel": word.upper()} if word else {})
        case _:
            return {}


# ── tools ──


def _tools(request: Request, notes: list[Note]) -> Body:
    functions = [tool for tool in request.tools if isinstance(tool, ToolSpec)]
    tools = [_provider_tool(tool) for tool in request.tools if not isinstance(tool, ToolSpec)]
    if functions:
        tools.insert(0, {"functionDeclarations": [_declaration(tool, notes) for tool in functions]})
    body: Body = {"tools": tools} if tools else {}
    # The API refuses a calling mode where no function is declared.
    if functions and (calling := _calling(request.tool_choice, functions)):
        body["toolConfig"] = {"functionCallingConfig": calling}
    if tools and not functions and request.tool_choice != "auto":
        notes.append(Note("dropped", "tool_choice", "only functions can be chosen here, and none is declared"))
    return body


def _declaration(tool: ToolSpec, notes: list[Note]) -> Body:
    compiled = compile_schema(tool.input_schema, GEMINI, f"tool {tool.name!r}")
    notes.extend(compiled.notes)
    declaration: Body = {"name": tool.name, "description": tool.description}
    if "parameters" not in tool.extra:  # the older kind of schema, which excludes the other
        declaration["parametersJsonSchema"] = compiled.schema
    return declaration | tool.extra


def _provider_tool(tool: Any) -> Body:
    data = getattr(tool, "data", None)
    if data is None:
        raise Misuse(f"generateContent cannot call the MCP server {tool.name!r}: list its tools and offer those")
    return dict(data)


_CALLING_MODES = {"none": "NONE", "required": "ANY"}


def _calling(choice: str, functions: list[ToolSpec]) -> Body:
    if choice in _CALLING_MODES:
        return {"mode": _CALLING_MODES[choice]}
    if choice != "auto":
        return {"mode": "ANY", "allowedFunctionNames": [choice]}
    # Strictness is a matter of the whole request here: calls are checked against their schemas.
    return {"mode": "VALIDATED"} if any(tool.strict for tool in functions) else {}
