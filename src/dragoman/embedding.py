"""Texts to vectors: what is asked and what comes back."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from .errors import Misuse
from .exchange import Note
from .usage import Usage

__all__ = ["EmbedRequest", "Embeddings"]


class EmbedRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Texts to embed; a single one may stand alone. `kind` says which side of a search they are on,
    for models that make a difference.
    """

    model: str
    texts: tuple[str, ...]
    dimensions: int | UnsetType = UNSET
    kind: Literal["query", "document"] | UnsetType = UNSET
    extra: dict[str, Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        force_setattr(self, "texts", (self.texts,) if isinstance(self.texts, str) else tuple(self.texts))
        if not self.texts:
            raise Misuse("nothing to embed: give at least one text")
        for position, text in enumerate(self.texts):
            if not isinstance(text, str):
                raise Misuse(f"text {position} is a {type(text).__name__}: only texts are embedded")
            if not text:
                raise Misuse(f"text {position} is empty: providers refuse empty texts or return empty vectors")
        if self.kind not in (UNSET, "query", "document"):
            raise Misuse(f"unknown kind {self.kind!r}: use 'query' or 'document'")
        if self.dimensions is not UNSET and (type(self.dimensions) is not int or self.dimensions < 1):
            raise Misuse(f"dimensions must be a whole number of at least 1, not {self.dimensions!r}")


class Embeddings(Struct, frozen=True, kw_only=True):
    """One vector for each text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]
    usage: Usage = Usage()
    model: str = ""
    provider: str = ""
    metadata: dict[str, str] = {}
    notes: tuple[Note, ...] = ()
