"""Differences that mean nothing on OpenAI Responses."""

from itertools import groupby, pairwise
from typing import Any

from dragoman.wire.schema import OPENAI_STRICT, compile_schema

from .rules import NOTHING_SAID, Rule, added, at, beside, both, less, recorded_only

__all__ = ["RULES"]

Body = dict[str, Any]

ENCRYPTED = ["reasoning.encrypted_content"]
_LED_TO = (None, "message", "function_call", "custom_tool_call")  # None: a message, by its role
_NEEDS_ID = ("code_interpreter_call", "web_search_call")  # what a provider's tool did, which has no form without an id


def _listed_input(value: Any) -> Any:
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


def _plain_message(item: Body) -> Body:
    return less("type", "message")(item) if "role" in item else item


def _listed_content(item: Body) -> Body:
    content = item.get("content")
    if "role" not in item or not isinstance(content, str):
        return item
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    return item | {"content": [{"type": kind, "text": content}]}


def _system(item: Body) -> Body:
    return item | {"role": "system"} if item.get("role") == "developer" else item


def _instructed(body: Body) -> Body:
    match body:
        case {
            "input": [{"role": "system", "content": [{"type": "input_text", "text": str(text), **rest}]}, *items]
        } if not rest and "instructions" not in body:
            return body | {"instructions": text, "input": items}
        case _:
            return body


def _without_references(items: list[Body]) -> list[Body]:
    """Reasoning that is only an id left out, and with it what cannot go without, and the ids of the rest beside it."""
    done: list[Body] = []
    for theirs, run in groupby(items, key=_is_of_model):
        said = list(run)
        if not theirs or not any(_is_reference(before) for before, _ in pairwise(said)):
            done += [item for item in said if not theirs or not _is_reference(item)]
            continue
        led_to = [item for before, item in pairwise(({}, *said)) if not _needs_reasoning(before, item)]
        done += [_without_ids(item) for item in led_to if not _is_reference(item)]
    return done


def _needs_reasoning(before: Body, item: Body) -> bool:
    return before.get("type") == "reasoning" and item.get("type") in _NEEDS_ID


def _is_of_model(item: Body) -> bool:
    return item.get("role", "assistant") == "assistant" and not str(item.get("type")).endswith("_output")


def _is_reference(item: Body) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content") and not item.get("content")


def _without_ids(item: Body) -> Body:
    if item.get("type") not in (*_LED_TO, "reasoning"):
        return item
    return {name: value for name, value in item.items() if name not in ("id", "status")}


def _complete(item: Body) -> Body:
    return item if "id" in item else less("status", "completed")(item)


def _joined(items: list[Body]) -> list[Body]:
    """Messages of the model in a row, of which nothing else is known, as one."""
    done: list[Body] = []
    for item in items:
        if (
            item.keys() == {"role", "content"}
            and item["role"] == "assistant"
            and done
            and _frame(done[-1]) == _frame(item)
        ):
            done[-1] = done[-1] | {"content": done[-1]["content"] + item["content"]}
        else:
            done.append(item)
    return done


def _frame(item: Body) -> Body:
    return {name: value for name, value in item.items() if name != "content"}


def _without_silence(items: list[Body]) -> list[Body]:
    return [item for item in items if item != {"role": "assistant", "content": [{"type": "output_text", "text": ""}]}]


def _is_search(tool: Body) -> bool:
    return tool.get("type") == "tool_search"


def _search_last(tools: list[Body]) -> list[Body]:
    return sorted(tools, key=_is_search)


def _compiled(schema: Body) -> Body:
    return compile_schema(schema, OPENAI_STRICT, "schema").schema


def _compiled_if_strict(tool: Body, ours: Body) -> Body:
    strict = tool.get("type") == "function" and ours.get("strict")
    return tool | {"parameters": _compiled(tool["parameters"])} if strict else tool


def _unstrict(tool: Body) -> Body:
    return less("strict", False)(tool) if tool.get("type") == "function" else tool


def _summarised(recorded: Body, ours: Body) -> tuple[Body, Body]:
    asked = "summary" in recorded.get("reasoning", {})
    return recorded, ours if asked else at("reasoning", less("summary", "auto"))(ours)


RULES = (
    *NOTHING_SAID,
    Rule("store", "we speak without state: nothing is stored unless the request says so", added("store", False)),
    Rule(
        "include",
        "without state a model keeps its reasoning only if it travels, sealed, in the answer",
        added("include", ENCRYPTED),
    ),
    Rule("input as a list", "a text by itself is short for what the user says", both(at("input", _listed_input))),
    Rule("type: message", "an item with a role is a message", both(at("input[]", _plain_message))),
    Rule("text as a list", "a text by itself is short for a list of one text", both(at("input[]", _listed_content))),
    Rule(
        "no annotations",
        "no annotations, or no log probabilities, are none",
        both(at("input[].content[]", less("annotations", []), less("logprobs", []))),
    ),
    Rule(
        "reasoning by reference",
        "an item that is only an id points to what a server stored; nothing is stored, so it points nowhere, and what"
        " followed it is refused with its id and without it",
        recorded_only(at("input", _without_references)),
    ),
    Rule("status: completed", "what is said back was said to the end", both(at("input[]", _complete))),
    Rule("empty text", "a text without words says nothing", both(at("input", _without_silence))),
    Rule(
        "messages in a row", "texts of the model in a row are one turn in one item or two", both(at("input", _joined))
    ),
    Rule("developer", "system and developer are two words for one role", both(at("input[]", _system))),
    Rule("instructions", "they stand before the conversation, as a leading system message does", both(_instructed)),
    Rule("tool_choice: auto", "the model chooses unless told otherwise", both(less("tool_choice", "auto"))),
    Rule("no description", "an empty description describes nothing", both(at("tools[]", less("description", "")))),
    Rule(
        "place of the search", "where the search stands among the tools says nothing", both(at("tools", _search_last))
    ),
    Rule(
        "strict: false",
        "unsaid, the server enforces a schema if it can and else does not; we never leave that to chance",
        both(at("tools[]", _unstrict)),
    ),
    Rule(
        "schema dialect",
        "a schema that is enforced is sent in the words that the API enforces (tests/wire/test_schema.py)",
        beside("tools[]", _compiled_if_strict),
    ),
    Rule("summary", "who asks for effort wants to see the thinking, which is shown only as a summary", _summarised),
)
