"""Chat answers as the ollama client reads them."""

from typing import Any

import httpx
import ollama

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of, split_thinking
from .tape import Tape

__all__ = ["client", "read", "tape"]

tape = Tape(httpx)
client: Any = ollama.Client(host="http://recorded.invalid", transport=tape.transport)


def read(exchange: Exchange) -> Facts:
    """The message. The client drops the ids of calls."""
    tape.insert(exchange)
    chunks: list[Any] = (
        list(client.chat(model="m", messages=[], stream=True))
        if exchange.streamed
        else [client.chat(model="m", messages=[])]
    )
    text = "".join(chunk.message.content or "" for chunk in chunks)
    thinking = "".join(chunk.message.thinking or "" for chunk in chunks)
    if not thinking:
        text, thinking = split_thinking(text)
    found = [each.function for chunk in chunks for each in chunk.message.tool_calls or ()]
    last = chunks[-1]
    return Facts(
        text=text,
        thinking=thinking,
        calls=tuple(call(None, each.name, each.arguments) for each in found),
        finish=finish_of(last.done_reason, called=bool(found)),
        usage=Counts(input=last.prompt_eval_count, output=last.eval_count),
    )
