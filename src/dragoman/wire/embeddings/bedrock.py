"""Embeddings through Bedrock's InvokeModel, whose body is the model maker's own.

A family names its shape in `body_style`: one `inputText`, a list of `texts`, or a
`single_embedding` task. What the body does not count, a header may.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from msgspec import UNSET, Struct

from ...embedding import Embeddings, EmbedRequest
from ...errors import Misuse
from ...exchange import Note
from ...http import HttpRequest, HttpResponse
from ...target import Target
from ...usage import Usage, token_count
from ..bedrock_converse import decode_error
from ..bedrock_converse.request import merged
from ..reading import mapping, sequence, string, write_json
from .cohere import floats_of, input_type
from .vectors import checked_vectors, read_answer, read_vectors

__all__ = ["batch_limit", "decode_embed", "encode_embed"]

Body = dict[str, Any]

_PURPOSES = {"query": "GENERIC_RETRIEVAL", "document": "GENERIC_INDEX"}


def _input_text(request: EmbedRequest, notes: list[Note]) -> Body:
    if request.kind is not UNSET:
        notes.append(Note("ignored", "kind", "this model embeds queries and documents alike"))
    body: Body = {"inputText": request.texts[0]}
    return body | ({} if request.dimensions is UNSET else {"dimensions": request.dimensions})


def _texts(request: EmbedRequest, notes: list[Note]) -> Body:
    body: Body = {"texts": request.texts, "input_type": input_type(request)}
    return body | ({} if request.dimensions is UNSET else {"output_dimension": request.dimensions})


def _single_embedding(request: EmbedRequest, notes: list[Note]) -> Body:
    purpose = _PURPOSES["document" if request.kind is UNSET else request.kind]
    # A text that is too long is to be an error: cut, it would be another text.
    text = {"value": request.texts[0], "truncationMode": "NONE"}
    task: Body = {"embeddingPurpose": purpose, "text": text}
    if request.dimensions is not UNSET:
        task["embeddingDimension"] = request.dimensions
    return {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": task}


class _Shape(Struct, frozen=True):
    write: Callable[[EmbedRequest, list[Note]], Body]
    find: Callable[[Body], Any]
    batch: int = 1


_SHAPES: dict[str, _Shape] = {
    "input_text": _Shape(_input_text, lambda body: [body.get("embedding")]),
    "texts": _Shape(_texts, lambda body: floats_of(body.get("embeddings")), batch=96),
    "single_embedding": _Shape(
        _single_embedding, lambda body: [mapping(item).get("embedding") for item in sequence(body.get("embeddings"))]
    ),
}


def _shape(target: Target) -> _Shape:
    style = target.family.body_style or "input_text"
    if style not in _SHAPES:
        raise Misuse(f"{target.model!r} has no known shape of embeddings: use one of {', '.join(_SHAPES)}")
    return _SHAPES[style]


def batch_limit(target: Target) -> int:
    """How many texts one call may hold."""
    return _shape(target).batch


def encode_embed(request: EmbedRequest, target: Target, notes: list[Note]) -> HttpRequest:
    """The HTTP request for these vectors."""
    shape = _shape(target)
    if len(request.texts) > shape.batch:
        raise Misuse(f"{target.model!r} embeds at most {shape.batch} texts in one call, not {len(request.texts)}")
    body = shape.write(request, notes)
    if request.extra is not UNSET:
        body = merged(body, request.extra)
    return HttpRequest(
        url=f"{target.base_url}/model/{quote(target.model, safe='')}/invoke",
        body=write_json(body),
        headers=(("content-type", "application/json"), ("accept", "application/json"), *target.headers),
    )


def decode_embed(answer: HttpResponse, target: Target) -> Embeddings:
    """The vectors of whichever maker's body this is."""
    if not answer.ok:
        raise decode_error(answer, target)
    body = read_answer(answer, target)
    id = string(body.get("id"))
    return Embeddings(
        vectors=checked_vectors(read_vectors(_shape(target).find(body))),
        usage=Usage(input_tokens=_tokens(body, answer)),
        model=target.model,
        provider=target.provider,
        metadata={"response_id": id} if id else {},
    )


def _tokens(body: Body, answer: HttpResponse) -> int | None:
    header = answer.header("x-amzn-bedrock-input-token-count") or ""
    told = int(header) if header.isascii() and header.isdigit() and len(header) < 16 else None
    return token_count(body.get("inputTextTokenCount", told))
