"""Differences that mean nothing on Chat Completions, to its owner and to those who imitate it."""

from typing import Any

from dragoman.wire.schema import OPENAI_STRICT, compile_schema

from .rules import MODEL_IN_URL, NOTHING_SAID, Rule, added, at, beside, both, less, renamed

__all__ = ["RULES"]

Body = dict[str, Any]


def _is_plain(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text"


def _one_text(message: Body) -> Body:
    match message.get("content"):
        case [part] if _is_plain(part):
            return message | {"content": part["text"]}
        case _:
            return message


def _silent(message: Body) -> Body:
    return less("content", "", [])(message) if message.get("role") == "assistant" else message


def _system(message: Body) -> Body:
    return message | {"role": "system"} if message.get("role") == "developer" else message


def _unnamed_results(body: Body) -> Body:
    """Results without a name that is the name of their call."""
    calls = [call for message in body["messages"] for call in message.get("tool_calls", [])]
    names = {call["id"]: call["function"]["name"] for call in calls if "function" in call}
    results = [less("name", names.get(message.get("tool_call_id")))(message) for message in body["messages"]]
    return body | {"messages": results}


def _less_index(call: Body) -> Body:
    return {name: value for name, value in call.items() if name != "index"}


def _listed(stop: Any) -> Any:
    return [stop] if isinstance(stop, str) else stop


def _as_object(part: Body) -> Body:
    url = part.get("image_url")
    return part | {"image_url": {"url": url}} if isinstance(url, str) else part


def _function(tool: Body) -> Body:
    return {"type": "function"} | tool if isinstance(tool.get("function"), dict) else tool


def _required(choice: Any) -> Any:
    return "required" if choice == "any" else choice


def _function_chosen(choice: Any) -> Any:
    return {"type": "function"} | choice if isinstance(choice, dict) and "function" in choice else choice


def _compiled(schema: Body) -> Body:
    return compile_schema(schema, OPENAI_STRICT, "schema").schema


def _compiled_if_strict(function: Body, ours: Body) -> Body:
    return function | {"parameters": _compiled(function["parameters"])} if ours.get("strict") else function


def _without_tools(body: Body) -> Body:
    return body if "tools" in body else {name: value for name, value in body.items() if name != "parallel_tool_calls"}


def _effort_object(recorded: Body, ours: Body) -> tuple[Body, Body]:
    """A word of effort by itself, where ours puts the same word into the object."""
    word = recorded.get("reasoning_effort")
    if word is None or ours.get("reasoning") != {"effort": word}:
        return recorded, ours
    return less("reasoning_effort", word)(recorded), less("reasoning", {"effort": word})(ours)


def _thinking_switch(recorded: Body, ours: Body) -> tuple[Body, Body]:
    asked = "reasoning_effort" in recorded and "thinking" not in recorded
    return recorded, less("thinking", {"type": "enabled"})(ours) if asked else ours


_REASONING = ("reasoning", "reasoning_content")
_MARKS = ("cache_control", "prompt_cache_breakpoint")


def _reasoned_once(message: Body, ours: Body) -> Body:
    """A message less the reasoning that it has in two fields and ours in the other of them."""
    texts = [ours[name] for name in _REASONING if name in ours]
    twice = [name for name in _REASONING if name not in ours and message.get(name) in texts]
    return {name: value for name, value in message.items() if name not in twice}


def _unreasoned(message: Body, ours: Body) -> Body:
    """A message less its reasoning where ours has none."""
    if any(name in ours for name in _REASONING):
        return message
    return {name: value for name, value in message.items() if name not in _REASONING}


def _unreasoned_where_unwanted(recorded: Body, ours: Body) -> tuple[Body, Body]:
    """Whoever wants it at least with calls is sent it with some: there every call must have it."""
    wanted = any(name in message for message in ours["messages"] if "tool_calls" in message for name in _REASONING)

    def change(message: Body, ours: Body) -> Body:
        return message if wanted and "tool_calls" in message else _unreasoned(message, ours)

    return beside("messages[]", change)(recorded, ours)


def _without_mark(value: Body, ours: Body) -> Body:
    return {name: kept for name, kept in value.items() if name not in _MARKS or name in ours}


def _unmarked(recorded: Body, ours: Body) -> tuple[Body, Body]:
    for place in ("messages[]", "messages[].content[]", "messages[].tool_calls[]", "tools[]"):
        recorded, ours = beside(place, _without_mark)(recorded, ours)
    return recorded, ours


def _answered(message: Body, ours: Body) -> Body:
    """A result that names no call, given the name of the call that ours takes it to answer."""
    known = message.get("role") != "tool" or "tool_call_id" in message
    return message if known else message | {"tool_call_id": ours.get("tool_call_id")}


def _sound(audio: Any, ours: Any) -> Any:
    return audio if isinstance(audio, dict) or audio != ours.get("data") else ours


RULES = (
    *NOTHING_SAID,
    Rule("developer", "system and developer are two words for one role", both(at("messages[]", _system))),
    Rule("text as a list", "a text by itself is short for a list of one text", both(at("messages[]", _one_text))),
    Rule(
        "silence",
        "a model that says nothing beside its calls says it by null, an empty text, an empty list or no field",
        both(at("messages[]", _silent)),
    ),
    Rule("name of a result", "a result is known by the id of its call, which has that name", both(_unnamed_results)),
    Rule(
        "index of a call",
        "calls of a whole message stand in their order",
        both(at("messages[].tool_calls[]", _less_index)),
    ),
    Rule(
        "ttl: 5m",
        "a cache mark without a time holds five minutes",
        both(
            at("messages[].content[].cache_control", less("ttl", "5m")),
            at("tools[].cache_control", less("ttl", "5m")),
            at("messages[].cache_control", less("ttl", "5m")),
            at("messages[].tool_calls[].cache_control", less("ttl", "5m")),
        ),
    ),
    Rule(
        "image as an object",
        "an address by itself is short for an object with it",
        both(at("messages[].content[]", _as_object)),
    ),
    Rule(
        "max_tokens", "the older and the newer name of one limit", both(renamed("max_tokens", "max_completion_tokens"))
    ),
    Rule("stop as a list", "a word by itself is short for a list of one", both(at("stop", _listed))),
    Rule("tool_choice: auto", "the model chooses unless told otherwise", both(less("tool_choice", "auto"))),
    Rule("any", "some servers say any where others say required", both(at("tool_choice", _required))),
    Rule(
        "type: function",
        "a tool with a function in it, or a choice of one, is a function",
        both(at("tools[]", _function), at("tool_choice", _function_chosen)),
    ),
    Rule(
        "no description",
        "an empty description describes nothing",
        both(at("tools[].function", less("description", ""))),
    ),
    Rule(
        "strict: false",
        "a schema is not enforced unless asked for",
        both(at("tools[].function", less("strict", False))),
    ),
    Rule(
        "schema dialect",
        "a schema that is enforced is sent in the words that the API enforces (tests/wire/test_schema.py)",
        beside("tools[].function", _compiled_if_strict),
    ),
    Rule("parallel without tools", "without tools there are no calls to make at once", both(_without_tools)),
    Rule("usage of a stream", "we always ask a stream for its usage", added("stream_options", {"include_usage": True})),
    MODEL_IN_URL,
    Rule("effort as an object", "this provider takes one word of effort in two places", _effort_object),
    Rule(
        "thinking switched on",
        "a word of effort switches the thinking on; this provider has a switch besides",
        _thinking_switch,
    ),
    Rule(
        "reasoning in one field",
        "two fields with the same reasoning say it once",
        beside("messages[]", _reasoned_once),
    ),
    Rule(
        "empty reasoning",
        "who wants reasoning back is told by an empty text that there was none",
        both(at("messages[]", *(less(name, "") for name in _REASONING))),
    ),
    Rule(
        "reasoning not wanted",
        "plain reasoning goes back only to providers whose row says that they want it: others ignore or refuse it",
        _unreasoned_where_unwanted,
    ),
    Rule(
        "cache marks",
        "a mark changes the price of a prompt, never its meaning; it is sent where the row says that it is known",
        _unmarked,
    ),
    Rule(
        "result without an id",
        "a result that names no call answers the first that has none",
        beside("messages[]", _answered),
    ),
    Rule(
        "audio as an object",
        "sound by itself is short for an object with it",
        beside("messages[].content[].input_audio", _sound),
    ),
)
