"""Converse and ConverseStream as botocore reads them."""

import io
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from ..corpus import Exchange
from ..facts import Call, Counts, Facts, call, finish_of, split_thinking

__all__ = ["client", "insert", "read"]

_playing: list[Exchange] = []


class _Line(io.BytesIO):
    """A body as botocore takes it from urllib3."""

    def stream(self, size: int = 65536, **_options: Any) -> Iterator[bytes]:
        while piece := self.read(size):
            yield piece


def _answer(request: Any, **_facts: Any) -> AWSResponse:
    exchange = _playing[-1]
    kind = "application/vnd.amazon.eventstream" if exchange.streamed else "application/json"
    return AWSResponse(request.url, exchange.status, {"Content-Type": kind}, _Line(exchange.body))


def _made() -> Any:
    client = botocore.session.Session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"max_attempts": 0}),
    )
    client.meta.events.register("before-send.bedrock-runtime", _answer)
    return client


client: Any = _made()
_asked: dict[str, Any] = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "?"}]}]}


def insert(exchange: Exchange) -> None:
    """Play this exchange next."""
    _playing[:] = [exchange]


def read(exchange: Exchange) -> Facts:
    """The message; botocore hands a stream over as events, which are put together here."""
    insert(exchange)
    if exchange.streamed:
        return _gathered(list(client.converse_stream(**_asked)["stream"]))
    answer = client.converse(**_asked)
    content = answer["output"]["message"]["content"]
    text = "".join(block.get("text", "") + _cited(block) for block in content)
    thoughts = [block["reasoningContent"].get("reasoningText", {}) for block in content if "reasoningContent" in block]
    calls = [block["toolUse"] for block in content if "toolUse" in block and _is_ours(block["toolUse"])]
    return _facts(
        text,
        "".join(each.get("text", "") for each in thoughts),
        tuple(call(each["toolUseId"], each["name"], each.get("input")) for each in calls),
        answer["stopReason"],
        answer.get("usage", {}),
    )


def _is_ours(use: dict[str, Any]) -> bool:
    """Whether the call is for the client; the provider's own tools are run by the provider."""
    return use.get("type") != "server_tool_use"


def _cited(block: dict[str, Any]) -> str:
    return "".join(each.get("text", "") for each in block.get("citationsContent", {}).get("content", ()))


def _gathered(events: list[dict[str, Any]]) -> Facts:
    deltas = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    starts = [event["contentBlockStart"] for event in events if "contentBlockStart" in event]
    calls = tuple(
        call(
            start["start"]["toolUse"]["toolUseId"],
            start["start"]["toolUse"]["name"],
            _input(deltas, start["contentBlockIndex"]),
        )
        for start in starts
        if "toolUse" in start["start"] and _is_ours(start["start"]["toolUse"])
    )
    return _facts(
        "".join(each["delta"].get("text", "") for each in deltas),
        "".join(each["delta"].get("reasoningContent", {}).get("text", "") for each in deltas),
        calls,
        next(event["messageStop"]["stopReason"] for event in events if "messageStop" in event),
        next((event["metadata"]["usage"] for event in events if "metadata" in event), {}),
    )


def _input(deltas: list[dict[str, Any]], index: int) -> str:
    return "".join(
        each["delta"].get("toolUse", {}).get("input", "") for each in deltas if each["contentBlockIndex"] == index
    )


def _facts(text: str, thinking: str, calls: tuple[Call, ...], word: str, usage: dict[str, Any]) -> Facts:
    if not thinking:
        text, thinking = split_thinking(text)
    read, written = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
    return Facts(
        text=text,
        thinking=thinking,
        calls=calls,
        finish=finish_of(word, called=bool(calls)),
        usage=Counts(
            input=usage["inputTokens"] + (read or 0) + (written or 0) if usage else None,
            output=usage.get("outputTokens"),
            cache_read=read,
            cache_creation=written,
        ),
    )
