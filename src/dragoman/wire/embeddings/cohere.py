"""The `/v2/embed` call: texts with the side of the search they are on, vectors filed by their type."""

from typing import Any

from msgspec import UNSET

from ...embedding import Embeddings, EmbedRequest
from ...exchange import Note
from ...http import HttpRequest, HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..reading import mapping, string, write_json
from .vectors import checked_vectors, read_answer, read_vectors

__all__ = ["batch_limit", "decode_embed", "encode_embed", "floats_of", "input_type"]

# A model of this kind is always told which side a text is on; most texts are there to be found.
_INPUT_TYPES = {"query": "search_query", "document": "search_document"}


def batch_limit(target: Target) -> int:
    """How many texts one call may hold."""
    return 96


def input_type(request: EmbedRequest) -> str:
    """The side of the search, in this shape's words."""
    return _INPUT_TYPES["document" if request.kind is UNSET else request.kind]


def encode_embed(request: EmbedRequest, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request for these vectors."""
    body: dict[str, Any] = {
        "model": target.model,
        "texts": request.texts,
        "input_type": input_type(request),
        "embedding_types": ["float"],
    }
    if request.dimensions is not UNSET:
        body["output_dimension"] = request.dimensions
    if request.extra is not UNSET:
        body |= request.extra
    return HttpRequest(
        url=f"{target.base_url}/v2/embed",
        body=write_json(body),
        headers=(("content-type", "application/json"), *target.headers),
    )


def decode_embed(answer: HttpResponse, target: Target) -> Embeddings:
    """The vectors; the usage is what was billed."""
    body = read_answer(answer, target)
    billed = mapping(mapping(body.get("meta")).get("billed_units"))
    id = string(body.get("id"))
    return Embeddings(
        vectors=checked_vectors(read_vectors(floats_of(body.get("embeddings")))),
        usage=Usage(input_tokens=token_count(billed.get("input_tokens"))),
        model=target.model,
        provider=target.provider,
        metadata={"response_id": id} if id else {},
    )


def floats_of(embeddings: Any) -> Any:
    """The vectors of floats: filed under their type, or alone where nothing else was asked for."""
    return embeddings.get("float") if isinstance(embeddings, dict) else embeddings
