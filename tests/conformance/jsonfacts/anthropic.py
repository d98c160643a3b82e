"""Facts of an Anthropic message, straight from its JSON."""

from typing import Any

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of
from .frames import server_sent

__all__ = ["read"]


def read(exchange: Exchange) -> Facts:
    """The message, whole or streamed."""
    if not exchange.streamed:
        return _facts(exchange.json)
    events = list(server_sent(exchange.text))
    complaint = next((event["error"] for event in events if event["type"] == "error"), None)
    ended = any(event["type"] == "message_stop" for event in events)
    return _facts(_gathered(events), error=str(complaint) if complaint else None, complete=ended)


def _facts(message: dict[str, Any], *, error: str | None = None, complete: bool = True) -> Facts:
    blocks = message.get("content", [])
    calls = tuple(call(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use")
    return Facts(
        text="".join(block["text"] for block in blocks if block["type"] == "text"),
        thinking="".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=calls,
        finish=finish_of(message.get("stop_reason"), called=bool(calls)),
        usage=_counts(message.get("usage") or {}),
        error=error,
        complete=complete,
    )


_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def _gathered(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that the stream adds up to; a block's input is its fragments of text."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        match event["type"]:
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta" if event["delta"]["type"] in _GROWING:
                name, block = _GROWING[event["delta"]["type"]], blocks[event["index"]]
                block[name] = block.get(name, "") + event["delta"][name]
            case "message_delta":
                message |= event["delta"]
                said = {name: value for name, value in event.get("usage", {}).items() if value is not None}
                message["usage"] = message.get("usage", {}) | said
    for block in blocks.values():
        block["input"] = block.get("partial_json") or block.get("input")
    return message | {"content": [blocks[index] for index in sorted(blocks)]}


def _counts(usage: dict[str, Any]) -> Counts:
    fresh, written, read = (usage.get(name) for name in ("input_tokens", *_CACHE))
    return Counts(
        input=None if fresh is None else fresh + (written or 0) + (read or 0),
        output=usage.get("output_tokens"),
        cache_read=read,
        cache_creation=written,
        reasoning=(usage.get("output_tokens_details") or {}).get("thinking_tokens"),
    )


_CACHE = ("cache_creation_input_tokens", "cache_read_input_tokens")
