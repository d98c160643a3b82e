"""Ollama's embeddings: many texts in one call, or one in the call of older servers."""

from typing import Any

from msgspec import UNSET

from ...embedding import Embeddings, EmbedRequest
from ...errors import Misuse
from ...exchange import Note
from ...http import HttpRequest, HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..reading import string, write_json
from .vectors import checked_vectors, read_answer, read_vectors

__all__ = ["batch_limit", "decode_embed", "encode_embed"]

# The server sets no limit of its own; a call of this size stays well within its time and ours.
_BATCH = 512


def batch_limit(target: Target) -> int:
    """How many texts one call may hold."""
    return 1 if target.quirks.legacy_embeddings else _BATCH


def encode_embed(request: EmbedRequest, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request for these vectors."""
    call, body = _legacy(request, notes) if target.quirks.legacy_embeddings else _current(request)
    body |= {"model": target.model}
    if request.kind is not UNSET:
        notes.append(Note("ignored", "kind", "this provider embeds queries and documents alike"))
    if request.extra is not UNSET:
        body |= request.extra
    return HttpRequest(
        url=f"{target.base_url}/api/{call}",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


def _current(request: EmbedRequest) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"input": request.texts}
    if request.dimensions is not UNSET:
        body["dimensions"] = request.dimensions
    return "embed", body


def _legacy(request: EmbedRequest, notes: list[Note]) -> tuple[str, dict[str, Any]]:
    if len(request.texts) != 1:
        raise Misuse(f"the older embeddings call takes one text, not {len(request.texts)}")
    if request.dimensions is not UNSET:
        notes.append(Note("dropped", "dimensions", "the older embeddings call has no such option"))
    return "embeddings", {"prompt": request.texts[0]}


def decode_embed(answer: HttpResponse, target: Target) -> Embeddings:
    """The vectors of either call."""
    body = read_answer(answer, target)
    found = body["embeddings"] if "embeddings" in body else [body.get("embedding")]
    return Embeddings(
        vectors=checked_vectors(read_vectors(found)),
        usage=Usage(input_tokens=token_count(body.get("prompt_eval_count"))),
        model=string(body.get("model")) or target.model,
        provider=target.provider,
    )
