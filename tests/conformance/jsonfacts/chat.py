"""Facts of a chat completion, straight from its JSON."""

import json
from typing import Any

from ..corpus import Exchange
from ..facts import Call, Counts, Facts, call, finish_of, split_thinking
from .frames import DONE, server_sent

__all__ = ["counts", "read"]


def read(exchange: Exchange) -> Facts:
    """The first choice of the completion, whole or streamed."""
    chunks = list(server_sent(exchange.text)) if exchange.streamed else [exchange.json]
    bodies = [chunk for chunk in chunks if isinstance(chunk, dict)]
    choices = [choice for body in bodies for choice in body.get("choices") or () if not choice.get("index")]
    # Some streams carry the message so far beside the delta.
    order = ("delta", "message") if exchange.streamed else ("message", "delta")
    messages = [choice.get(order[0]) or choice.get(order[1]) or {} for choice in choices]
    words = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    errors = [body["error"] for body in bodies if body.get("error")]
    text, thinking = _prose(messages)
    refusal = "".join(message.get("refusal") or "" for message in messages)
    calls = _calls(messages)
    return Facts(
        text=text + refusal,
        thinking=thinking,
        calls=calls,
        finish=finish_of(words[-1] if words else None, called=bool(calls), refused=bool(refusal)),
        usage=_last_usage(bodies),
        error=str(errors[0]) if errors else None,
        complete=not exchange.streamed or bool(words) or DONE in chunks,
    )


def _prose(messages: list[dict[str, Any]]) -> tuple[str, str]:
    chunks = [chunk for message in messages for chunk in _content(message.get("content"))]
    text = "".join(chunk.get("text") or "" for chunk in chunks if chunk.get("type") == "text")
    channels = [
        "".join(message.get("reasoning_content") or "" for message in messages),
        "".join(message.get("reasoning") or "" for message in messages),
        "".join(_detail(detail) for message in messages for detail in message.get("reasoning_details") or ()),
        "".join(_thoughts(chunk) for chunk in chunks if chunk.get("type") == "thinking"),
    ]
    thinking = next((channel for channel in channels if channel), "")
    return (text, thinking) if thinking else split_thinking(text)


def _content(content: Any) -> list[dict[str, Any]]:
    match content:
        case None:
            return []
        case list():
            return content
        case dict():  # structured output handed over parsed
            return [{"type": "text", "text": json.dumps(content, separators=(",", ":"), ensure_ascii=False)}]
        case _:
            return [{"type": "text", "text": content}]


def _detail(detail: dict[str, Any]) -> str:
    return detail.get("text") or detail.get("summary") or ""


def _thoughts(chunk: dict[str, Any]) -> str:
    thoughts = chunk["thinking"]
    return thoughts if isinstance(thoughts, str) else "".join(thought.get("text") or "" for thought in thoughts)


def _calls(messages: list[dict[str, Any]]) -> tuple[Call, ...]:
    calls: list[dict[str, Any]] = []
    for message in messages:
        for fragment in _fragments(message):
            known = _known(calls, fragment)
            if known is None:
                calls.append(fragment)
            else:
                known["arguments"] = (known["arguments"] or "") + (fragment["arguments"] or "")
    # Some servers write out every field of the format: a call of nothing is none.
    return tuple(call(each["id"], each["name"], each["arguments"]) for each in calls if each["name"])


def _fragments(message: dict[str, Any]) -> list[dict[str, Any]]:
    legacy = message.get("function_call")
    found = message.get("tool_calls") or ([{"index": 0, "function": legacy}] if legacy else [])
    return [{"index": each.get("index"), "id": each.get("id")} | _wish(each) for each in found]


def _wish(each: dict[str, Any]) -> dict[str, Any]:
    if each.get("function"):
        return {"name": each["function"].get("name"), "arguments": each["function"].get("arguments")}
    custom = each.get("custom") or {}
    return {"name": custom.get("name"), "arguments": custom.get("input")}


def _known(calls: list[dict[str, Any]], fragment: dict[str, Any]) -> dict[str, Any] | None:
    """The call that a fragment goes on with: a name with another id is always a new call."""
    same = [each for each in calls if fragment["index"] is not None and each["index"] == fragment["index"]]
    known = same[-1] if same else None
    if known is None:
        return calls[-1] if calls and not fragment["name"] and fragment["index"] is None else None
    return None if fragment["name"] and fragment["id"] and fragment["id"] != known["id"] else known


def _last_usage(bodies: list[dict[str, Any]]) -> Counts:
    found = [body.get("usage") or (body.get("x_groq") or {}).get("usage") for body in bodies]
    reported = [usage for usage in found if usage]
    return counts(reported[-1]) if reported else Counts()


def counts(usage: dict[str, Any]) -> Counts:
    """Usage as the many imitators write it."""
    read = usage.get("prompt_tokens_details") or {}
    written = usage.get("completion_tokens_details") or {}
    cached = _first(
        read.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("cached_tokens"),
        usage.get("num_cached_tokens"),
    )
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    reasoning = _first(written.get("reasoning_tokens"), usage.get("reasoning_tokens"))
    if cached and prompt is not None and cached > prompt:
        prompt += cached
    if reasoning and usage.get("total_tokens") == (prompt or 0) + (completion or 0) + reasoning:
        completion += reasoning
    return Counts(
        input=prompt,
        output=completion,
        cache_read=cached,
        cache_creation=_first(read.get("cache_write_tokens"), usage.get("cache_creation_input_tokens")),
        reasoning=reasoning,
    )


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
