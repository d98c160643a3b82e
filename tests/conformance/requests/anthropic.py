"""Differences that mean nothing on Anthropic Messages."""

from typing import Any

from dragoman.wire.schema import ANTHROPIC, compile_schema

from .rules import MODEL_IN_URL, NOTHING_SAID, Rule, at, both, less, recorded_only

__all__ = ["RULES"]

Body = dict[str, Any]


def _listed(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _merged(turns: list[Body]) -> list[Body]:
    done: list[Body] = []
    for turn in turns:
        if done and done[-1]["role"] == turn["role"]:
            done[-1] = done[-1] | {"content": _listed(done[-1]["content"]) + _listed(turn["content"])}
        else:
            done.append(turn)
    return done


def _released_format(body: Body) -> Body:
    if "output_format" not in body:
        return body
    config = body.get("output_config", {}) | {"format": body["output_format"]}
    return {name: value for name, value in body.items() if name != "output_format"} | {"output_config": config}


def _compiled(schema: Body) -> Body:
    return compile_schema(schema, ANTHROPIC, "schema").schema


def _compiled_if_strict(tool: Body) -> Body:
    return tool | {"input_schema": _compiled(tool["input_schema"])} if tool.get("strict") else tool


def _released_connector(body: Body) -> Body:
    """The toolset that says what a server's `tool_configuration`, or its absence, said."""
    named = {tool.get("mcp_server_name") for tool in body.get("tools", [])}
    toolsets = [_toolset(server) for server in body.get("mcp_servers", []) if server["name"] not in named]
    return body | {"tools": body.get("tools", []) + toolsets} if toolsets else body


def _toolset(server: Body) -> Body:
    toolset = {"type": "mcp_toolset", "mcp_server_name": server["name"]}
    rules = server.get("tool_configuration") or {}
    if rules.get("enabled") is False:
        return toolset | {"default_config": {"enabled": False}, "configs": {}}
    if "allowed_tools" in rules:
        configs = {name: {"enabled": True} for name in rules["allowed_tools"]}
        return toolset | {"default_config": {"enabled": False}, "configs": configs}
    return toolset


def _without_configuration(server: Body) -> Body:
    return {name: value for name, value in server.items() if name != "tool_configuration"}


def _is_search(tool: Body) -> bool:
    return str(tool.get("type")).startswith("tool_search_tool_")


def _search_last(tools: list[Body]) -> list[Body]:
    return sorted(tools, key=_is_search)


def _search_added(recorded: Body, ours: Body) -> tuple[Body, Body]:
    tools = recorded.get("tools", [])
    if any(map(_is_search, tools)) or not any(tool.get("defer_loading") for tool in tools):
        return recorded, ours
    return recorded, ours | {"tools": [tool for tool in ours["tools"] if not _is_search(tool)]}


_BLOCKS = ("system[]", "messages[].content[]", "messages[].content[].content[]", "tools[]")

RULES = (
    *NOTHING_SAID,
    Rule("no instructions", "an empty system prompt instructs nothing", both(less("system", "", []))),
    Rule(
        "text as a list",
        "a text by itself is short for a list of one text block",
        both(at("system", _listed), at("messages[].content", _listed), at("messages[].content[].content", _listed)),
    ),
    Rule(
        "turns of one speaker",
        "the API joins turns of one role that follow each other into one turn",
        both(at("messages", _merged)),
    ),
    Rule("tool_choice: auto", "the model chooses unless told otherwise", both(less("tool_choice", {"type": "auto"}))),
    Rule(
        "is_error: false",
        "a result is no failure unless it says so",
        both(at("messages[].content[]", less("is_error", False))),
    ),
    Rule(
        "ttl: 5m",
        "a cache mark without a time holds five minutes",
        both(*(at(f"{place}.cache_control", less("ttl", "5m")) for place in _BLOCKS)),
    ),
    Rule(
        "type: custom", "a tool without a type is one of the client's own", both(at("tools[]", less("type", "custom")))
    ),
    Rule("no description", "an empty description describes nothing", both(at("tools[]", less("description", "")))),
    Rule(
        "output_format",
        "the field's name before structured output was released; now it is output_config.format",
        recorded_only(_released_format),
    ),
    Rule(
        "schema dialect",
        "a schema that is enforced is sent in the words that the API enforces (tests/wire/test_schema.py)",
        recorded_only(at("output_config.format.schema", _compiled), at("tools[]", _compiled_if_strict)),
    ),
    MODEL_IN_URL,
    Rule(
        "first MCP connector",
        "its first release put into the server what a toolset among the tools says now",
        recorded_only(_released_connector, at("mcp_servers[]", _without_configuration)),
    ),
    Rule(
        "place of the search",
        "tools are known by name: where the search stands among them says nothing",
        both(at("tools", _search_last)),
    ),
    Rule(
        "search added",
        "a deferred tool is one that is found by search, so the search is offered with it",
        _search_added,
    ),
)
