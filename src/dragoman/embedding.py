"""Texts to vectors: what is asked and what comes back."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from .errors import Misuse
from .exchange import Note
from .usage import Usage

__all__ = ["EmbedRequest", "Embeddings"]


class EmbedRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Texts to embed. `kind` says which side of a search they are on, for models that make a difference."""

    model: str
    texts: tuple[str, ...]
    dimensions: int | UnsetType = UNSET
    kind: Literal["query", "document"] | UnsetType = UNSET
    extra: dict[str, Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        force_setattr(self, "texts", tuple(self.texts))
        if not self.texts:
            raise Misuse("nothing to embed: give at least one text")
        for position, text in enumerate(self.texts):
            if not text:
                raise Misuse(f"text {position} is empty: providers refuse empty texts or return empty vectors")


class Embeddings(Struct, frozen=True, kw_only=True):
    """One vector for each text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage = Usage()
    model: str = ""
    provider: str = ""
    metadata: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
