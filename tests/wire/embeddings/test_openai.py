import json
import struct
from base64 import b64encode
from typing import Any

import pytest

from dragoman.embedding import EmbedRequest
from dragoman.errors import ApiError, InvalidResponse, RateLimited
from dragoman.exchange import Note
from dragoman.http import HttpResponse
from dragoman.target import Family, Quirks, Target
from dragoman.usage import Usage
from dragoman.wire.embeddings import openai


def target(**quirks: Any) -> Target:
    rules = {"family": Family(name="owl"), "quirks": Quirks(**quirks)}
    return Target(provider="p", model="owl-embed", wire="openai-chat", base_url="https://x.example/v1", **rules)


def sent(to: Target, notes: list[Note] | None = None, **more: Any) -> dict[str, Any]:
    request = EmbedRequest(model="p:owl-embed", texts=("a", "b"), **more)
    body: dict[str, Any] = json.loads(openai.encode_embed(request, to, [] if notes is None else notes).body)
    return body


def answer(*vectors: Any, status: int = 200, **more: Any) -> HttpResponse:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return HttpResponse(status=status, body=json.dumps({"data": data} | more).encode())


def test_texts_go_as_a_list_and_nothing_else_is_asked():
    request = openai.encode_embed(EmbedRequest(model="p:owl-embed", texts=("a", "b")), target(), [])

    assert request.url == "https://x.example/v1/embeddings"
    assert json.loads(request.body) == {"model": "owl-embed", "input": ["a", "b"]}


def test_dimensions_have_the_providers_name():
    assert sent(target(), dimensions=64)["dimensions"] == 64
    assert sent(target(embedding_dimensions_field="output_dimension"), dimensions=64)["output_dimension"] == 64


def test_base64_is_asked_of_those_who_have_it():
    assert sent(target(embeddings_base64=True))["encoding_format"] == "base64"


def test_a_kind_is_ignored_and_noted():
    notes: list[Note] = []

    assert sent(target(), notes, kind="query", extra={"user": "u"}) == {
        "model": "owl-embed",
        "input": ["a", "b"],
        "user": "u",
    }
    assert [note.what for note in notes] == ["kind"]


def test_the_batch_is_the_owners_or_the_providers():
    assert openai.batch_limit(target()) == 2048
    assert openai.batch_limit(target(embedding_batch=256)) == 256


def test_vectors_come_in_the_order_of_the_texts():
    data = [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1.5]}]
    body = {
        "data": data,
        "model": "owl-embed-2",
        "usage": {"prompt_tokens": 3, "total_tokens": 3, "cost": 0.5},
        "id": "e1",
    }

    found = openai.decode_embed(HttpResponse(status=200, body=json.dumps(body).encode()), target())

    assert found.vectors == ((1.5,), (2.0,))
    assert found.usage == Usage(input_tokens=3)
    assert (found.model, found.provider) == ("owl-embed-2", "p")
    assert found.metadata == {"response_id": "e1", "provider_cost": "0.5"}


def test_usage_may_be_only_a_total_or_missing():
    assert openai.decode_embed(answer([1.0], usage={"total_tokens": 4}), target()).usage.input_tokens == 4
    assert not openai.decode_embed(answer([1.0]), target()).usage


def test_a_cost_may_be_itemised():
    usage = {"prompt_tokens": 1, "cost": {"currency": "USD", "total_cost": 0.25}}

    assert openai.decode_embed(answer([1.0], usage=usage), target()).metadata == {"provider_cost": "0.25"}


def test_packed_vectors_are_little_endian_floats():
    packed = b64encode(struct.pack("<3f", 0.5, -1.25, 3.0)).decode()

    assert openai.decode_embed(answer(packed), target()).vectors == ((0.5, -1.25, 3.0),)


def test_packed_vectors_may_be_of_bytes():
    packed = b64encode(struct.pack("4b", 1, -2, 127, -128)).decode()

    assert openai.decode_embed(answer(packed), target(embedding_packing="int8")).vectors == (
        (1.0, -2.0, 127.0, -128.0),
    )


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[]],
        [[1.0], [1.0, 2.0]],
        [["x"]],
        [[[1.0]]],
        [None],
        ["!AAAAAA=="],
        ["\ud800"],
        ["AAA="],
        [b64encode(struct.pack("<f", float("nan"))).decode()],
    ],
)
def test_anything_but_vectors_of_one_length_is_invalid(vectors):
    with pytest.raises(InvalidResponse):
        openai.decode_embed(answer(*vectors), target())


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"data": {}}', b"<html>"])
def test_a_body_without_vectors_is_invalid(body):
    with pytest.raises(InvalidResponse):
        openai.decode_embed(HttpResponse(status=200, body=body), target())


def test_an_error_is_an_error_whatever_its_status():
    with pytest.raises(ApiError, match="no such model"):
        openai.decode_embed(HttpResponse(status=200, body=b'{"error": {"message": "no such model"}}'), target())
    with pytest.raises(RateLimited):
        openai.decode_embed(HttpResponse(status=429, body=b"slow down"), target())
