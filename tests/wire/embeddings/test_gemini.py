import json

import pytest

from dragoman.embedding import EmbedRequest
from dragoman.errors import ApiError, InvalidResponse, Misuse, RateLimited
from dragoman.http import HttpResponse
from dragoman.target import Family, Target
from dragoman.wire.embeddings.gemini import batch_limit, decode_embed, encode_embed


def target(**family):
    base_url = "https://api.lyrebird.example/v1beta"
    return Target(
        provider="lyrebird", model="owl-embed", wire="gemini", base_url=base_url, family=Family(name="owl", **family)
    )


def encoded(*texts, to=None, **fields):
    sent = encode_embed(EmbedRequest(model="owl-embed", texts=texts, **fields), to or target(), [])
    return sent.url.rpartition("/")[2], json.loads(sent.body)


def decoded(body, status=200):
    return decode_embed(HttpResponse(status=status, body=json.dumps(body).encode()), target())


def test_one_text_is_a_call_of_its_own():
    method, body = encoded("owl", dimensions=768)
    assert method == "owl-embed:embedContent"
    assert body == {"model": "models/owl-embed", "content": {"parts": [{"text": "owl"}]}, "outputDimensionality": 768}


def test_a_batch_is_a_list_of_requests_that_each_name_the_model():
    method, body = encoded("owl", "eagle", extra={"title": "Birds"})
    assert method == "owl-embed:batchEmbedContents"
    assert body == {
        "requests": [
            {"model": "models/owl-embed", "content": {"parts": [{"text": text}]}, "title": "Birds"}
            for text in ("owl", "eagle")
        ]
    }


@pytest.mark.parametrize(("kind", "task"), [("query", "RETRIEVAL_QUERY"), ("document", "RETRIEVAL_DOCUMENT")])
def test_the_side_of_the_search_is_a_field(kind, task):
    _, body = encoded("owl", kind=kind)
    assert (body["taskType"], body["content"]) == (task, {"parts": [{"text": "owl"}]})


@pytest.mark.parametrize(
    ("kind", "text"), [("query", "task: search result | query: owl"), ("document", "title: none | text: owl")]
)
def test_the_side_of_the_search_is_a_prefix_for_some_families(kind, text):
    _, body = encoded("owl", kind=kind, to=target(embedding_kind="prefix"))
    assert body == {"model": "models/owl-embed", "content": {"parts": [{"text": text}]}}


def test_more_texts_than_a_call_may_hold_are_misuse():
    with pytest.raises(Misuse, match="100"):
        encoded(*["owl"] * (batch_limit(target()) + 1))


def test_both_answers_are_read():
    assert decoded({"embedding": {"values": [1, 0.5]}}).vectors == ((1.0, 0.5),)
    assert decoded({"embeddings": [{"values": [1]}, {"values": [2]}]}).vectors == ((1.0,), (2.0,))


def test_tokens_are_counted_together_or_by_vector_or_not_at_all():
    counted = {"embedding": {"values": [1]}, "usageMetadata": {"promptTokenCount": 7}}
    each = {
        "embeddings": [
            {"values": [1], "statistics": {"tokenCount": 3}},
            {"values": [2], "statistics": {"tokenCount": 4}},
        ]
    }
    assert [decoded(body).usage.input_tokens for body in (counted, each, {"embedding": {"values": [1]}})] == [
        7,
        7,
        None,
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"embedding": {}},
        {"embeddings": []},
        {"embeddings": [{"values": []}]},
        {"embeddings": [{"values": [1]}, {"values": [1, 2]}]},
        {"embedding": {"values": ["a"]}},
        {"embedding": [1]},
    ],
)
def test_vectors_that_are_none_are_an_invalid_response(body):
    with pytest.raises(InvalidResponse):
        decoded(body)


def test_a_refusal_is_read_like_any_other_of_this_wire():
    details = [{"retryDelay": "3s"}]
    with pytest.raises(RateLimited) as caught:
        decoded(
            {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Slow.", "details": details}}, status=429
        )
    assert caught.value.retry_after == 3


def test_an_error_inside_a_good_answer_is_an_error():
    with pytest.raises(ApiError):
        decoded({"error": {"code": 500, "message": "No."}})
