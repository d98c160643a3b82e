"""Messages as the anthropic SDK reads and accumulates them."""

from typing import Any

import anthropic
import httpx2

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of
from .tape import Tape

__all__ = ["client", "read", "tape"]

tape = Tape(httpx2)
client: Any = anthropic.Anthropic(
    api_key="none", base_url="http://recorded.invalid", http_client=tape.client, max_retries=0
)
_asked: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}]}


def read(exchange: Exchange) -> Facts:
    """The message, of a stream the one that the SDK's own accumulation ends with."""
    tape.insert(exchange)
    message = _streamed() if exchange.streamed else client.beta.messages.create(**_asked)
    blocks = message.content
    calls = tuple(call(block.id, block.name, block.input) for block in blocks if block.type == "tool_use")
    return Facts(
        text="".join(block.text for block in blocks if block.type == "text"),
        thinking="".join(block.thinking for block in blocks if block.type == "thinking"),
        calls=calls,
        finish=finish_of(message.stop_reason, called=bool(calls)),
        usage=_usage(message.usage),
    )


def _streamed() -> Any:
    with client.beta.messages.stream(**_asked) as stream:
        return stream.get_final_message()


def _usage(usage: Any) -> Counts:
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    details = getattr(usage, "output_tokens_details", None)
    return Counts(
        input=usage.input_tokens + (read or 0) + (written or 0),
        output=usage.output_tokens,
        cache_read=read,
        cache_creation=written,
        reasoning=getattr(details, "thinking_tokens", None),
    )
