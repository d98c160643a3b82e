"""Gemini's embeddings: one text by `:embedContent`, several by `:batchEmbedContents`.

A batch is a list of whole requests, each of which names the model again. Which side of a search a
text is on is a field for some families and a prefix of the text for others.
"""

from typing import Any

from msgspec import UNSET

from ...embedding import Embeddings, EmbedRequest
from ...errors import Misuse
from ...exchange import Note
from ...http import HttpRequest, HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..gemini.answer import decode_error
from ..gemini.request import model_name, post
from ..reading import mapping, sequence
from .vectors import checked_vectors, read_answer, read_vectors

__all__ = ["batch_limit", "decode_embed", "encode_embed"]

Body = dict[str, Any]

_BATCH = 100
_TASKS = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}
_PREFIXES = {"query": "task: search result | query: ", "document": "title: none | text: "}


def batch_limit(target: Target) -> int:
    """How many texts one call may hold."""
    return _BATCH


def encode_embed(request: EmbedRequest, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request for these vectors. `extra` goes into the request of every text."""
    if len(request.texts) > _BATCH:
        raise Misuse(f"{target.model!r} embeds at most {_BATCH} texts in one call, not {len(request.texts)}")
    requests = [_request(text, request, target) for text in request.texts]
    if len(requests) == 1:
        return post(target, "embedContent", requests[0])
    return post(target, "batchEmbedContents", {"requests": requests})


def _request(text: str, request: EmbedRequest, target: Target) -> Body:
    body: Body = {"model": model_name(target)}
    if request.kind is not UNSET and target.family.embedding_kind == "prefix":
        text = _PREFIXES[request.kind] + text
    elif request.kind is not UNSET:
        body["taskType"] = _TASKS[request.kind]
    body["content"] = {"parts": [{"text": text}]}
    if request.dimensions is not UNSET:
        body["outputDimensionality"] = request.dimensions
    return body if request.extra is UNSET else body | request.extra


def decode_embed(answer: HttpResponse, target: Target) -> Embeddings:
    """The vectors of either call."""
    if not answer.ok:
        raise decode_error(answer, target)
    body = read_answer(answer, target)
    found = sequence(body["embeddings"]) if "embeddings" in body else [body.get("embedding")]
    items = [mapping(item) for item in found]
    return Embeddings(
        vectors=checked_vectors(read_vectors([item.get("values") for item in items])),
        usage=Usage(input_tokens=_tokens(body, items)),
        model=target.model,
        provider=target.provider,
    )


def _tokens(body: Body, items: list[Body]) -> int | None:
    """The tokens of the texts: counted together, or by each vector, or not at all."""
    counts = [token_count(mapping(item.get("statistics")).get("tokenCount")) for item in items]
    each = [count for count in counts if count is not None]
    together = token_count(mapping(body.get("usageMetadata")).get("promptTokenCount"))
    return sum(each) if together is None and len(each) == len(items) else together
