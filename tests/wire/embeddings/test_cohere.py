import json
from typing import Any

import pytest

from dragoman.embedding import EmbedRequest
from dragoman.errors import ApiError, InvalidResponse
from dragoman.http import HttpRequest, HttpResponse
from dragoman.target import Family, Target
from dragoman.usage import Usage
from dragoman.wire.embeddings import cohere

TARGET = Target(provider="c", model="owl-embed", wire="", base_url="https://x.example", family=Family(name="owl"))


def request_for(**more: Any) -> HttpRequest:
    return cohere.encode_embed(EmbedRequest(model="c:owl-embed", texts=("a", "b"), **more), TARGET, [])


def decoded(body: Any, status: int = 200) -> Any:
    return cohere.decode_embed(HttpResponse(status=status, body=json.dumps(body).encode()), TARGET)


def test_a_text_is_a_document_unless_it_is_said_to_be_a_query():
    assert request_for().url == "https://x.example/v2/embed"
    assert json.loads(request_for().body) == {
        "model": "owl-embed",
        "texts": ["a", "b"],
        "input_type": "search_document",
        "embedding_types": ["float"],
    }
    assert json.loads(request_for(kind="query").body)["input_type"] == "search_query"


def test_dimensions_and_extra_fields_are_sent():
    body = json.loads(request_for(dimensions=512, extra={"truncate": "NONE"}).body)

    assert (body["output_dimension"], body["truncate"]) == (512, "NONE")


def test_a_batch_is_ninety_six():
    assert cohere.batch_limit(TARGET) == 96


@pytest.mark.parametrize("embeddings", [{"float": [[1, 2]], "int8": [[3, 4]]}, [[1, 2]]])
def test_the_floats_are_found_and_what_was_billed(embeddings):
    found = decoded({"id": "e1", "embeddings": embeddings, "meta": {"billed_units": {"input_tokens": 3}}})

    assert found.vectors == ((1.0, 2.0),)
    assert (found.usage, found.metadata) == (Usage(input_tokens=3), {"response_id": "e1"})


@pytest.mark.parametrize("embeddings", [None, {}, [], {"float": [[]]}, {"float": [[1], [1, 2]]}, {"int8": [[1]]}])
def test_anything_else_is_invalid(embeddings):
    with pytest.raises(InvalidResponse):
        decoded({"embeddings": embeddings})


def test_a_refusal_has_its_sentence_at_the_top():
    with pytest.raises(ApiError, match="not found"):
        decoded({"id": "e1", "message": "model not found"}, 404)
