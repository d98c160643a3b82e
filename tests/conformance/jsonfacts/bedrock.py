"""Facts of a Bedrock Converse answer, straight from its JSON."""

from typing import Any

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of, split_thinking
from .frames import event_stream

__all__ = ["counts", "read", "said"]


def read(exchange: Exchange) -> Facts:
    """The message, whole or as an event stream."""
    if not exchange.streamed:
        body = exchange.json
        return said(body["output"]["message"]["content"], body["stopReason"], body.get("usage") or {})
    return _streamed(list(event_stream(exchange.body)))


def _streamed(events: list[tuple[str, Any]]) -> Facts:
    blocks: dict[int, dict[str, Any]] = {}
    word: str | None = None
    error: str | None = None
    usage: dict[str, Any] = {}
    for name, payload in events:
        match name:
            case "contentBlockStart" if "toolUse" in payload["start"]:
                blocks[payload["contentBlockIndex"]] = {"toolUse": payload["start"]["toolUse"] | {"input": ""}}
            case "contentBlockDelta":
                _grow(blocks.setdefault(payload["contentBlockIndex"], {}), payload["delta"])
            case "messageStop":
                word = payload["stopReason"]
            case "metadata":
                usage = payload.get("usage") or {}
            case _ if name.endswith("Exception"):
                error = str(payload)
    return said([blocks[index] for index in sorted(blocks)], word, usage, error=error)


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    match delta:
        case {"text": text}:
            block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": fragment}} if "toolUse" in block:
            block["toolUse"]["input"] += fragment
        case {"reasoningContent": {"text": text}}:
            reasoning = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})
            reasoning["reasoningText"]["text"] += text


def said(content: list[dict[str, Any]], word: Any, usage: dict[str, Any], *, error: str | None = None) -> Facts:
    """The facts in content blocks, stop reason and usage."""
    thinking = "".join(_thought(block["reasoningContent"]) for block in content if "reasoningContent" in block)
    text = "".join(_text(block) for block in content)
    if not thinking:
        text, thinking = split_thinking(text)
    calls = tuple(
        call(block["toolUse"]["toolUseId"], block["toolUse"]["name"], block["toolUse"].get("input"))
        for block in content
        if "toolUse" in block and block["toolUse"].get("type") != "server_tool_use"
    )
    return Facts(
        text=text,
        thinking=thinking,
        calls=calls,
        finish=finish_of(word, called=bool(calls)),
        usage=counts(usage),
        error=error,
        complete=word is not None,
    )


def _text(block: dict[str, Any]) -> str:
    cited = block.get("citationsContent", {}).get("content", [])
    return block.get("text", "") + "".join(each.get("text", "") for each in cited)


def _thought(reasoning: dict[str, Any]) -> str:
    return reasoning.get("reasoningText", {}).get("text", "")


def counts(usage: dict[str, Any]) -> Counts:
    """Converse counts the cache apart from the input."""
    read, written = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
    fresh = usage.get("inputTokens")
    return Counts(
        input=None if fresh is None else fresh + (read or 0) + (written or 0),
        output=usage.get("outputTokens"),
        cache_read=read,
        cache_creation=written,
    )
