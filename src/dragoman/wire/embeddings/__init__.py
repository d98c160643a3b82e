"""Texts to vectors: one module for each shape that providers use, held to one contract."""

from importlib import import_module
from typing import Protocol, cast

from ...embedding import Embeddings, EmbedRequest
from ...errors import Misuse
from ...exchange import Note
from ...http import HttpRequest, HttpResponse
from ...target import Target

__all__ = ["SHAPES", "EmbeddingWire", "embeddings_named"]


class EmbeddingWire(Protocol):
    """What every module of this package can do."""

    def batch_limit(self, target: Target, /) -> int:
        """The most texts that one call takes."""
        ...

    def encode_embed(self, request: EmbedRequest, target: Target, notes: list[Note], /) -> HttpRequest:
        """The HTTP request that embeds these texts."""
        ...

    def decode_embed(self, answer: HttpResponse, target: Target, /) -> Embeddings:
        """The vectors in an answer; the error it means where it is one."""
        ...


# A module is imported when it is first spoken.
SHAPES = ("openai", "gemini", "bedrock", "ollama", "cohere")


def embeddings_named(shape: str) -> EmbeddingWire:
    """The shape of that name; Misuse where there is none."""
    if shape not in SHAPES:
        raise Misuse(f"unknown shape of embeddings {shape!r}: use one of {', '.join(SHAPES)}")
    return cast(EmbeddingWire, import_module(f".{shape}", __name__))
