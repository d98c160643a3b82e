"""The blocks of an answer of Anthropic's, while they grow."""

from typing import Any, Protocol

from msgspec import Struct

from ...exchange import Note
from ...messages import OpaquePart, Thinking, ToolCall
from ..arguments import arguments_object, arguments_text
from ..reading import ANYTHING, mapping, read_json, sequence, string
from ..scribe import Scribe

__all__ = ["Delta", "GrowingBlock", "begin_block"]


class Delta(Struct, gc=False):
    """One more piece of a block: of its many fields, those of the kind in `type` are set."""

    type: Any = None
    text: Any = None
    thinking: Any = None
    partial_json: Any = None
    signature: Any = None
    citation: Any = None


class GrowingBlock(Protocol):
    """A block under way."""

    def grow(self, delta: Delta, data: bytes) -> bool:
        """Take one more piece, which the frame in `data` holds; False for a piece of an unknown kind."""
        ...

    def close(self, late: dict[str, Any]) -> None:
        """The block is whole. `late` are fields that were not known when it began."""
        ...


class _TextBlock:
    """Words, and what they cite."""

    def __init__(self, scribe: Scribe, block: dict[str, Any]) -> None:
        self._scribe = scribe
        self._index = scribe.start_text()
        self._state = _state(block, "text")
        self._citations: list[Any] = []
        scribe.add_text(self._index, string(block.get("text")))

    def grow(self, delta: Delta, data: bytes) -> bool:
        if delta.type == "text_delta" and delta.text.__class__ is str:
            self._scribe.add_text(self._index, delta.text)
        elif delta.type == "citations_delta":
            self._citations.append(delta.citation)
        else:
            return False
        return True

    def close(self, late: dict[str, Any]) -> None:
        if self._citations:
            self._state["citations"] = sequence(self._state.get("citations")) + self._citations
        self._scribe.end(self._index, self._state | late)


class _ThinkingBlock:
    """Reasoning, signed at its end."""

    def __init__(self, scribe: Scribe, block: dict[str, Any]) -> None:
        self._scribe = scribe
        self._index = scribe.start_thinking()
        self._state = _state(block, "thinking")
        scribe.add_thinking(self._index, string(block.get("thinking")))

    def grow(self, delta: Delta, data: bytes) -> bool:
        if delta.type == "thinking_delta":
            self._scribe.add_thinking(self._index, string(delta.thinking))
        elif delta.type == "signature_delta":
            self._state |= {"signature": delta.signature} if delta.signature else {}
        else:
            return False
        return True

    def close(self, late: dict[str, Any]) -> None:
        self._scribe.end(self._index, self._state | late)


class _CallBlock:
    """A call whose input comes in fragments, or whole where the block begins."""

    def __init__(self, scribe: Scribe, block: dict[str, Any]) -> None:
        self._scribe = scribe
        self._state = _state(block, "id", "name", "input")
        self._input = block.get("input")
        scribe.call(self, string(block.get("id")), string(block.get("name")))

    def grow(self, delta: Delta, data: bytes) -> bool:
        if delta.type != "input_json_delta":
            return False
        fragment = string(delta.partial_json)
        if fragment:
            self._input = None
            self._scribe.call_input(self, fragment)
        return True

    def close(self, late: dict[str, Any]) -> None:
        if self._input:
            self._scribe.call_input(self, arguments_text(self._input))
        self._scribe.mark_call(self, self._state | late)
        self._scribe.end_call(self)


class _KeptBlock:
    """A block to be returned as it came: strings grow by their name, `partial_json` becomes the input."""

    def __init__(self, scribe: Scribe, block: dict[str, Any]) -> None:
        self._scribe = scribe
        self._block = dict(block)
        self._grown: dict[str, list[str]] = {}

    def grow(self, delta: Delta, data: bytes) -> bool:
        event = mapping(read_json(ANYTHING, data, self._scribe.target.limits))
        pieces = {name: piece for name, piece in mapping(event.get("delta")).items() if name != "type"}
        for name, piece in pieces.items():
            if isinstance(piece, str):
                self._grown.setdefault(name, []).append(piece)
        return all(piece is None or isinstance(piece, str) for piece in pieces.values())

    def close(self, late: dict[str, Any]) -> None:
        block = self._block
        for name, fragments in self._grown.items():
            text = "".join(fragments)
            if name == "partial_json":
                block |= {"input": self._input(text)} if text else {}
            else:
                block[name] = string(block.get(name)) + text
        kind = string(block.get("type")) or "unknown"
        if kind == "redacted_thinking":
            self._scribe.part(Thinking("", self._scribe.opaque({"redacted": block.get("data")})))
        else:
            self._scribe.part(OpaquePart(kind, self._scribe.opaque(block)))

    def _input(self, text: str) -> dict[str, Any]:
        notes: list[Note] = []
        given = arguments_object(ToolCall("", string(self._block.get("name")), text), notes)
        for note in notes:
            self._scribe.note(note)
        return given


def _state(block: dict[str, Any], *words: str) -> dict[str, Any]:
    """The fields that the vocabulary has no word for; empty ones say nothing."""
    return {
        name: value for name, value in block.items() if name != "type" and name not in words and value not in _EMPTY
    }


_EMPTY: tuple[Any, ...] = (None, "", [])


_KINDS: dict[str, type[_TextBlock | _ThinkingBlock | _CallBlock]] = {
    "text": _TextBlock,
    "thinking": _ThinkingBlock,
    "tool_use": _CallBlock,
}


def begin_block(scribe: Scribe, block: dict[str, Any]) -> GrowingBlock:
    """The block that begins like this; a kind that has no part of its own is kept whole."""
    return _KINDS.get(string(block.get("type")), _KeptBlock)(scribe, block)
