"""The embeddings call that most providers share: a list of texts in, a list of numbered vectors out."""

from typing import Any

from msgspec import UNSET

from ...embedding import Embeddings, EmbedRequest
from ...exchange import Note
from ...http import HttpRequest, HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..reading import mapping, sequence, string, write_json
from .vectors import checked_vectors, read_answer, read_vector

__all__ = ["batch_limit", "decode_embed", "encode_embed"]


def batch_limit(target: Target) -> int:
    """How many texts one call may hold."""
    return target.quirks.embedding_batch


def encode_embed(request: EmbedRequest, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request for these vectors."""
    body: dict[str, Any] = {"model": target.model, "input": request.texts}
    if request.dimensions is not UNSET:
        body[target.quirks.embedding_dimensions_field] = request.dimensions
    if target.quirks.embeddings_base64:
        body["encoding_format"] = "base64"
    if request.kind is not UNSET:
        notes.append(Note("ignored", "kind", "this provider embeds queries and documents alike"))
    if request.extra is not UNSET:
        body |= request.extra
    return HttpRequest(
        url=f"{target.base_url}/embeddings",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


def decode_embed(answer: HttpResponse, target: Target) -> Embeddings:
    """The vectors, in the order of the texts, which may not be the order in which they came."""
    body = read_answer(answer, target)
    items = [mapping(item) for item in sequence(body.get("data"))]
    if all(type(item.get("index")) is int for item in items):
        items.sort(key=lambda item: item["index"])
    packing = target.quirks.embedding_packing
    counts = mapping(body.get("usage"))
    tokens = token_count(counts.get("prompt_tokens"))
    return Embeddings(
        vectors=checked_vectors(tuple(read_vector(item.get("embedding"), packing) for item in items)),
        usage=Usage(input_tokens=token_count(counts.get("total_tokens")) if tokens is None else tokens),
        model=string(body.get("model")) or target.model,
        provider=target.provider,
        metadata=_metadata(body, counts),
    )


def _metadata(body: dict[str, Any], counts: dict[str, Any]) -> dict[str, str]:
    found = {"response_id": string(body.get("id"))}
    cost = counts.get("cost")
    if isinstance(cost, dict):
        cost = cost.get("total_cost")
    if isinstance(cost, (int, float)):
        found["provider_cost"] = str(cost)
    return {name: value for name, value in found.items() if value}
