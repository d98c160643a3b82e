import json
from typing import Any

import pytest

from dragoman.embedding import EmbedRequest
from dragoman.errors import ApiError, InvalidResponse, Misuse
from dragoman.exchange import Note
from dragoman.http import HttpRequest, HttpResponse
from dragoman.target import Family, Quirks, Target
from dragoman.usage import Usage
from dragoman.wire.embeddings import ollama


def target(*, legacy: bool = False) -> Target:
    rules = {"family": Family(name="owl"), "quirks": Quirks(legacy_embeddings=legacy)}
    return Target(provider="o", model="owl-embed", wire="ollama", base_url="http://here.example", **rules)


def request_for(*texts: str, legacy: bool = False, notes: list[Note] | None = None, **more: Any) -> HttpRequest:
    request = EmbedRequest(model="o:owl-embed", texts=texts, **more)
    return ollama.encode_embed(request, target(legacy=legacy), [] if notes is None else notes)


def decoded(body: bytes, status: int = 200) -> Any:
    return ollama.decode_embed(HttpResponse(status=status, body=body), target())


def test_many_texts_go_in_one_call():
    request = request_for("a", "b", dimensions=64, extra={"truncate": False})

    assert request.url == "http://here.example/api/embed"
    assert json.loads(request.body) == {"model": "owl-embed", "input": ["a", "b"], "dimensions": 64, "truncate": False}


def test_an_older_server_takes_one_text_and_no_dimensions():
    notes: list[Note] = []

    request = request_for("a", legacy=True, notes=notes, dimensions=64, kind="query")

    assert request.url == "http://here.example/api/embeddings"
    assert json.loads(request.body) == {"model": "owl-embed", "prompt": "a"}
    assert [note.what for note in notes] == ["dimensions", "kind"]
    with pytest.raises(Misuse, match="one text"):
        request_for("a", "b", legacy=True)


def test_a_batch_is_one_on_older_servers():
    assert ollama.batch_limit(target(legacy=True)) == 1
    assert ollama.batch_limit(target()) > 1


def test_vectors_of_either_call_are_found():
    found = decoded(b'{"model": "owl-embed:2", "embeddings": [[1, 2], [3, 4]], "prompt_eval_count": 5}')

    assert found.vectors == ((1.0, 2.0), (3.0, 4.0))
    assert (found.usage, found.model) == (Usage(input_tokens=5), "owl-embed:2")
    assert decoded(b'{"embedding": [1, 2]}').vectors == ((1.0, 2.0),)
    assert not decoded(b'{"embedding": [1, 2]}').usage


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"embeddings": []}',
        b'{"embedding": []}',
        b'{"embeddings": [[1], [1, 2]]}',
        b'{"embeddings": "\\ud800"}',
    ],
)
def test_anything_else_is_invalid(body):
    with pytest.raises(InvalidResponse):
        decoded(body)


def test_a_missing_model_is_an_error_with_the_servers_words():
    with pytest.raises(ApiError, match="try pulling it"):
        decoded(b'{"error": "model not found, try pulling it first"}', 404)
