"""Facts of an OpenAI Responses answer, straight from its JSON."""

from typing import Any

from ..corpus import Exchange
from ..facts import Call, Counts, Facts, call, finish_of, split_thinking
from .frames import DONE, server_sent

__all__ = ["read"]


def read(exchange: Exchange) -> Facts:
    """The response, whole or gathered from the deltas of its stream."""
    if not exchange.streamed:
        body = exchange.json
        return _facts(body, body.get("output") or [])
    events = [event for event in server_sent(exchange.text) if event != DONE]
    last = next((event["response"] for event in reversed(events) if event["type"] in _TERMINAL), None)
    complaint = next((event for event in events if event["type"] == "error"), None)
    return _facts(last or {}, _items(events), error=str(complaint) if complaint else None, complete=last is not None)


_TERMINAL = ("response.completed", "response.incomplete", "response.failed")


def _facts(
    body: dict[str, Any], items: list[dict[str, Any]], *, error: str | None = None, complete: bool = True
) -> Facts:
    spoken = [part for item in items if item["type"] == "message" for part in item.get("content") or ()]
    calls = tuple(_call(item) for item in items if item["type"] in _CALLS)
    refusal = "".join(part.get("refusal", "") for part in spoken if part["type"] == "refusal")
    waiting = any(item["type"] in _FOR_THE_CLIENT or item.get("execution") == "client" for item in items)
    word = (body.get("incomplete_details") or {}).get("reason") or body.get("status")
    text = "".join(part.get("text") or part.get("refusal") or "" for part in spoken)
    thinking = "".join(_thoughts(item) for item in items if item["type"] == "reasoning")
    if not thinking:
        text, thinking = split_thinking(text)
    return Facts(
        text=text,
        thinking=thinking,
        calls=calls,
        finish=finish_of(word, called=bool(calls) or waiting, refused=bool(refusal)),
        usage=_counts(body.get("usage") or {}),
        error=error or (str(body["error"]) if body.get("error") else None),
        complete=complete,
    )


_CALLS = ("function_call", "custom_tool_call")
_FOR_THE_CLIENT = ("mcp_approval_request", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")


def _call(item: dict[str, Any]) -> Call:
    return call(item["call_id"], item["name"], item.get("input" if item["type"] == "custom_tool_call" else "arguments"))


def _thoughts(item: dict[str, Any]) -> str:
    """The reasoning itself where it is shown, else its summary, whose parts are paragraphs."""
    shown = "".join(part.get("text", "") for part in item.get("content") or ())
    return shown or "\n\n".join(part.get("text", "") for part in item.get("summary") or ())


def _items(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items as they were finished; one that never was stays as its deltas left it."""
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        match event["type"]:
            case "response.output_item.added" | "response.output_item.done" if event.get("item"):
                items[event["output_index"]] = dict(event["item"])
            case kind if kind.rpartition(".")[0] in _GROWING:
                _grow(items[event["output_index"]], event)
    return [items[index] for index in sorted(items)]


# The event without its phase, to the list in the item that grows, and the kind of part that grows in it.
_GROWING = {
    "response.output_text": ("content", "output_text"),
    "response.refusal": ("content", "refusal"),
    "response.reasoning_text": ("content", "reasoning_text"),
    "response.reasoning_summary_text": ("summary", "summary_text"),
}


def _grow(item: dict[str, Any], event: dict[str, Any]) -> None:
    name, _, phase = event["type"].rpartition(".")
    field, kind = _GROWING[name]
    parts = item.setdefault("growing", {}).setdefault(field, {})
    part = parts.setdefault(event[f"{field}_index"], {"type": kind, "text": ""})
    # The end of a part repeats it whole, and is right where deltas are missing.
    part["text"] = part["text"] + event["delta"] if phase == "delta" else event.get("text") or event.get("refusal")
    item[field] = [parts[place] for place in sorted(parts)]


def _counts(usage: dict[str, Any]) -> Counts:
    read = usage.get("input_tokens_details") or {}
    return Counts(
        input=usage.get("input_tokens"),
        output=usage.get("output_tokens"),
        cache_read=read.get("cached_tokens"),
        cache_creation=read.get("cache_write_tokens"),
        reasoning=(usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
    )
