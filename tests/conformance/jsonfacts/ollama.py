"""Facts of an Ollama chat answer, straight from its JSON."""

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of, split_thinking
from .frames import json_lines

__all__ = ["read"]


def read(exchange: Exchange) -> Facts:
    """The message: a body is a stream of one line."""
    lines = list(json_lines(exchange.text)) if exchange.streamed else [exchange.json]
    messages = [line["message"] for line in lines if "message" in line]
    last = lines[-1]
    text = "".join(message.get("content") or "" for message in messages)
    thinking = "".join(message.get("thinking") or "" for message in messages)
    if not thinking:
        text, thinking = split_thinking(text)
    found = [each for message in messages for each in message.get("tool_calls") or ()]
    calls = tuple(call(each.get("id"), each["function"]["name"], each["function"].get("arguments")) for each in found)
    return Facts(
        text=text,
        thinking=thinking,
        calls=calls,
        finish=finish_of(last.get("done_reason"), called=bool(calls)),
        usage=Counts(input=last.get("prompt_eval_count"), output=last.get("eval_count")),
        error=next((line["error"] for line in lines if "error" in line), None),
        complete=bool(last.get("done")),
    )
