import json
from typing import Any

import pytest

from dragoman.embedding import EmbedRequest
from dragoman.errors import InvalidResponse, Misuse, RateLimited
from dragoman.exchange import Note
from dragoman.http import HttpResponse
from dragoman.target import Family, Target
from dragoman.usage import Usage
from dragoman.wire.embeddings import bedrock


def target(style: str) -> Target:
    family = Family(name="owl", body_style=style)
    return Target(
        provider="b", model="lyre.embed-1:0", wire="bedrock-converse", base_url="https://x.example", family=family
    )


def sent(style: str, *texts: str, notes: list[Note] | None = None, **more: Any) -> dict[str, Any]:
    request = EmbedRequest(model="b:embed", texts=texts or ("a",), **more)
    body: dict[str, Any] = json.loads(bedrock.encode_embed(request, target(style), [] if notes is None else notes).body)
    return body


def decoded(style: str, body: Any, *headers: tuple[str, str]) -> Any:
    return bedrock.decode_embed(
        HttpResponse(status=200, headers=headers, body=json.dumps(body).encode()), target(style)
    )


def test_the_model_is_invoked_by_its_encoded_id():
    request = bedrock.encode_embed(EmbedRequest(model="b:embed", texts=("a",)), target("input_text"), [])

    assert request.url == "https://x.example/model/lyre.embed-1%3A0/invoke"


def test_one_text_with_its_dimensions():
    assert sent("input_text") == {"inputText": "a"}
    assert sent("input_text", dimensions=256, extra={"normalize": True}) == {
        "inputText": "a",
        "dimensions": 256,
        "normalize": True,
    }


def test_many_texts_with_their_side_of_the_search():
    assert sent("texts", "a", "b") == {"texts": ["a", "b"], "input_type": "search_document"}
    assert sent("texts", kind="query", dimensions=512) == {
        "texts": ["a"],
        "input_type": "search_query",
        "output_dimension": 512,
    }


@pytest.mark.parametrize(("kind", "purpose"), [("query", "GENERIC_RETRIEVAL"), ("document", "GENERIC_INDEX")])
def test_a_task_with_its_purpose(kind, purpose):
    assert sent("single_embedding", kind=kind, dimensions=384) == {
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": {
            "embeddingPurpose": purpose,
            "embeddingDimension": 384,
            "text": {"value": "a", "truncationMode": "NONE"},
        },
    }


def test_extra_fields_join_a_task_and_do_not_replace_it():
    body = sent("single_embedding", extra={"singleEmbeddingParams": {"embeddingPurpose": "CLUSTERING"}})

    assert body["singleEmbeddingParams"] == {
        "embeddingPurpose": "CLUSTERING",
        "text": {"value": "a", "truncationMode": "NONE"},
    }


def test_a_kind_that_makes_no_difference_is_noted():
    notes: list[Note] = []
    sent("input_text", notes=notes, kind="query")

    assert [note.what for note in notes] == ["kind"]


@pytest.mark.parametrize(("style", "batch"), [("", 1), ("input_text", 1), ("texts", 96), ("single_embedding", 1)])
def test_a_batch_is_as_large_as_the_shape_allows(style, batch):
    assert bedrock.batch_limit(target(style)) == batch
    with pytest.raises(Misuse, match="at most"):
        sent(style, *(["a"] * (batch + 1)))


def test_an_unknown_shape_is_misuse():
    with pytest.raises(Misuse, match="shape"):
        sent("claude")


@pytest.mark.parametrize(
    ("style", "body"),
    [
        ("input_text", {"embedding": [1, 2], "embeddingsByType": {"float": [1, 2]}}),
        ("texts", {"embeddings": [[1, 2]], "response_type": "embeddings_floats"}),
        ("texts", {"embeddings": {"float": [[1, 2]]}, "response_type": "embeddings_by_type"}),
        ("single_embedding", {"embeddings": [{"embeddingType": "TEXT", "embedding": [1, 2]}]}),
    ],
)
def test_every_makers_vectors_are_found(style, body):
    assert decoded(style, body).vectors == ((1.0, 2.0),)


def test_tokens_are_counted_in_the_body_or_in_a_header():
    header = ("X-Amzn-Bedrock-Input-Token-Count", "4")

    assert decoded("input_text", {"embedding": [1.0], "inputTextTokenCount": 3}, header).usage == Usage(input_tokens=3)
    assert decoded("texts", {"embeddings": [[1.0]], "id": "e1"}, header).usage == Usage(input_tokens=4)
    for nonsense in ("four", "²", "9" * 5000):
        assert not decoded("texts", {"embeddings": [[1.0]]}, ("x-amzn-bedrock-input-token-count", nonsense)).usage


@pytest.mark.parametrize(
    ("style", "body"),
    [
        ("input_text", {}),
        ("texts", {"embeddings": {"int8": [[1]]}}),
        ("texts", {"embeddings": [[1], [1, 2]]}),
        ("single_embedding", {"embeddings": [3]}),
        ("single_embedding", {"embeddings": []}),
    ],
)
def test_anything_else_is_invalid(style, body):
    with pytest.raises(InvalidResponse):
        decoded(style, body)


def test_a_refusal_is_named_by_its_header():
    headers = (("x-amzn-errortype", "ThrottlingException:http://x/"),)

    with pytest.raises(RateLimited):
        bedrock.decode_embed(HttpResponse(status=400, headers=headers, body=b'{"message": "slow"}'), target("texts"))
