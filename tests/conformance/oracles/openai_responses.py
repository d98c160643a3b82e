"""Responses as the openai SDK reads them."""

from typing import Any

import httpx2
import openai

from ..corpus import Exchange
from ..facts import Call, Counts, Facts, call, finish_of, split_thinking
from .tape import Silent, Tape

__all__ = ["client", "read", "tape"]

tape = Tape(httpx2)
client: Any = openai.OpenAI(api_key="none", base_url="http://recorded.invalid", http_client=tape.client, max_retries=0)

_TERMINAL = ("response.completed", "response.incomplete", "response.failed")
_FOR_THE_CLIENT = ("mcp_approval_request", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")


def read(exchange: Exchange) -> Facts:
    """The response object; of a stream, the one in its terminal event."""
    tape.insert(exchange)
    response, items = _streamed() if exchange.streamed else _whole()
    spoken = [part for item in items if item.type == "message" for part in item.content]
    calls = tuple(_call(item) for item in items if item.type in ("function_call", "custom_tool_call"))
    waiting = any(item.type in _FOR_THE_CLIENT or getattr(item, "execution", "") == "client" for item in items)
    details = response.incomplete_details
    text = "".join(part.text if part.type == "output_text" else part.refusal for part in spoken)
    thinking = "".join(_thoughts(item) for item in items if item.type == "reasoning")
    if not thinking:
        text, thinking = split_thinking(text)
    return Facts(
        text=text,
        thinking=thinking,
        calls=calls,
        finish=finish_of(
            details.reason if details else response.status,
            called=bool(calls) or waiting,
            refused=any(part.type == "refusal" for part in spoken),
        ),
        usage=_usage(response.usage),
    )


def _whole() -> tuple[Any, list[Any]]:
    response = client.responses.create(model="m", input="")
    return response, response.output


def _streamed() -> tuple[Any, list[Any]]:
    items: dict[int, Any] = {}
    for event in client.responses.create(model="m", input="", stream=True):
        if event.type == "response.output_item.done":
            items[event.output_index] = event.item
        elif event.type in _TERMINAL:
            # Some servers end with a response that does not repeat its output.
            return event.response, event.response.output or [items[index] for index in sorted(items)]
    raise Silent("the stream has no end")


def _call(item: Any) -> Call:
    return call(item.call_id, item.name, item.input if item.type == "custom_tool_call" else item.arguments)


def _thoughts(item: Any) -> str:
    if item.content:
        return "".join(part.text for part in item.content)
    return "\n\n".join(part.text for part in item.summary)


def _usage(usage: Any) -> Counts | None:
    if usage is None:
        return None
    read, written = usage.input_tokens_details, usage.output_tokens_details
    return Counts(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=getattr(read, "cached_tokens", None),
        cache_creation=getattr(read, "cache_write_tokens", None),
        reasoning=getattr(written, "reasoning_tokens", None),
    )
