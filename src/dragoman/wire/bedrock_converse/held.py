"""Blocks that a stream brings in pieces and that mean something only when they are whole.

The provider's own tool traffic and pictures are put together into the block that a whole answer
would have held, so that both are read by the same code.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import msgspec

from ..arguments import arguments_text
from ..reading import mapping, sequence, string

__all__ = ["HELD_KINDS", "HeldBlock", "joined_base64"]

Body = dict[str, Any]


class HeldBlock:
    """One such block, from its start until its last piece has come."""

    def __init__(self, kind: str, start: Body) -> None:
        self.kind = kind
        self.start = start
        self.pieces: list[Any] = []

    def block(self) -> Body:
        """The block as a whole answer would have it."""
        return {self.kind: self.start | _WHOLE[self.kind](self.pieces)}


def _whole_input(pieces: list[Any]) -> Body:
    text = "".join(arguments_text(mapping(piece).get("input")) for piece in pieces)
    try:
        return {"input": msgspec.json.decode(text or "{}")}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {"input": text}


def _whole_result(pieces: list[Any]) -> Body:
    content: list[Body] = []
    texts: list[str] = []
    for item in (mapping(item) for piece in pieces for item in sequence(piece)):
        if isinstance(item.get("text"), str):
            texts.append(item["text"])
            continue
        content += [*_text_block(texts), item]
        texts = []
    return {"content": content + _text_block(texts)}


def _text_block(texts: list[str]) -> list[Body]:
    return [{"text": "".join(texts)}] if texts else []


def _whole_image(pieces: list[Any]) -> Body:
    sources = [mapping(mapping(piece).get("source")) for piece in pieces]
    errors = [mapping(piece)["error"] for piece in pieces if mapping(piece).get("error")]
    # A picture may lie somewhere else instead of being here.
    source = next((each for each in sources if each and "bytes" not in each), None)
    if source is None:
        source = {"bytes": joined_base64([string(each.get("bytes")) for each in sources])}
    return {"source": source} | ({"error": errors[0]} if errors else {})


_WHOLE: dict[str, Callable[[list[Any]], Body]] = {
    "toolUse": _whole_input,
    "toolResult": _whole_result,
    "image": _whole_image,
}


HELD_KINDS = frozenset(_WHOLE)


def joined_base64(pieces: list[str]) -> str:
    """Base64 in pieces as one; a single piece stays as it is, to the letter."""
    if len(pieces) == 1:
        return pieces[0]
    try:
        return b64encode(b"".join(b64decode(piece) for piece in pieces)).decode()
    except ValueError:
        return "".join(pieces)
