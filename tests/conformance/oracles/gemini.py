"""Answers as the google-genai SDK reads them."""

from typing import Any

import httpx2
from google import genai
from google.genai import types

from ..corpus import Exchange
from ..facts import Counts, Facts, call, finish_of
from .tape import Silent, Tape

__all__ = ["client", "read", "tape"]

tape = Tape(httpx2)
client: Any = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_client=tape.client))


def read(exchange: Exchange) -> Facts:
    """The first candidate; the SDK hands a stream over in chunks, whose parts are put in a row."""
    tape.insert(exchange)
    chunks = _streamed(exchange) if exchange.streamed else [client.models.generate_content(model="m", contents="?")]
    candidates = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
    parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or ()]
    found = [part.function_call for part in parts if part.function_call]
    words = [candidate.finish_reason for candidate in candidates if candidate.finish_reason]
    blocked = any(chunk.prompt_feedback and chunk.prompt_feedback.block_reason for chunk in chunks)
    return Facts(
        text="".join(part.text for part in parts if part.text and not part.thought),
        thinking="".join(part.text for part in parts if part.text and part.thought),
        calls=tuple(call(each.id, each.name, each.args) for each in found),
        finish=finish_of(words[-1] if words else None, called=bool(found), refused=blocked),
        usage=_usage([chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]),
    )


def _streamed(exchange: Exchange) -> list[Any]:
    if exchange.text.lstrip().startswith("["):
        raise Silent("it never asks for streams as a JSON array")
    return list(client.models.generate_content_stream(model="m", contents="?"))


def _usage(snapshots: list[Any]) -> Counts:
    prompt, tools = _last(snapshots, "prompt_token_count"), _last(snapshots, "tool_use_prompt_token_count")
    answer, thoughts = _last(snapshots, "candidates_token_count"), _last(snapshots, "thoughts_token_count")
    return Counts(
        input=None if prompt is None else prompt + (tools or 0),
        output=None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
        cache_read=_last(snapshots, "cached_content_token_count"),
        reasoning=thoughts,
    )


def _last(snapshots: list[Any], name: str) -> int | None:
    return next((count for each in reversed(snapshots) if (count := getattr(each, name))), None)
