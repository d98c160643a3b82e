"""Items of a Responses answer while they grow: what arrives of each, and how it ends.

A piece of an item (a content part, a summary, the arguments of a call) comes as deltas, or whole, or
both; what was heard is not written again. An item that came only whole is closed as soon as it is
opened, which is how a body is read.
"""

from itertools import chain, count
from typing import Any, ClassVar, Protocol

from ...messages import OpaquePart
from ..arguments import arguments_text
from ..inline import InlineReader, Piece
from ..reading import string
from ..scribe import Scribe
from .items import (
    BETWEEN_THOUGHTS,
    CALL_INPUTS,
    Content,
    call_state,
    contents,
    reasoning_id,
    thought,
    thought_state,
    whole_state,
)

__all__ = ["Growing", "growing", "is_growing"]

Item = dict[str, Any]


class Growing(Protocol):
    """An item under way. `first` is the item as it was announced, `kinds` those that grow in this way."""

    kinds: ClassVar[tuple[str, ...]]
    first: Item

    def add(self, field: str, place: int, delta: str) -> None:
        """More of one piece."""
        ...

    def add_rest(self, field: str, place: int, whole: str) -> None:
        """The whole of one piece, of which some may have been heard."""
        ...

    def close(self, item: Item) -> None:
        """The item as it ended."""
        ...


class _Said:
    """One content part of a message: its text, and the reasoning that some models write before it."""

    __slots__ = ("heard", "text", "thinking")

    def __init__(self) -> None:
        self.heard = 0
        self.text = -1
        self.thinking = -1


class _Message:
    """A message: each content part is a text of its own."""

    kinds: ClassVar[tuple[str, ...]] = ("message",)

    def __init__(self, scribe: Scribe, first: Item, before: "_Reasoning | None") -> None:
        self.first = first
        self._scribe = scribe
        self._splitter = scribe.inline or InlineReader()
        self._before = before
        self._held = scribe.place()  # the place of what comes first
        self._said: dict[int, _Said] = {}

    def add(self, field: str, place: int, delta: str) -> None:
        said = self._said.get(place)
        if said is None:
            said = self._said[place] = _Said()
        said.heard += len(delta)
        if said.text >= 0 and self._splitter.passive and "<" not in delta:
            self._scribe.add_text(said.text, delta)
        else:
            self._write(said, [(False, delta)] if field == "refusal" else self._splitter.feed(delta))

    def add_rest(self, field: str, place: int, whole: str) -> None:
        known = self._said.get(place)
        self.add(field, place, whole[known.heard :] if known else whole)

    def close(self, item: Item) -> None:
        after = _id_of(self._before)
        heard = [{"type": "output_text"}] * len(self._said)
        contained = contents(item, after) or contents(item | {"content": heard}, after)
        # Some servers count on from item to item, so only the order of the numbers can be relied on.
        numbers = chain(list(self._said), count(max(self._said, default=-1) + 1))
        for content in contained:
            if content.kind:
                self._scribe.part(OpaquePart(content.kind, self._scribe.opaque(content.state)), self._place())
            else:
                self._end(next(numbers), content)
        if not contained:
            self._scribe.part(OpaquePart("message", self._scribe.opaque(whole_state(item, after))), self._place())

    def _place(self) -> int:
        place, self._held = self._held, -1
        return place if place >= 0 else self._scribe.place()

    def _end(self, place: int, content: Content) -> None:
        scribe = self._scribe
        self.add_rest("refusal" if "refusal" in content.state else "text", place, content.text)
        said = self._said[place]
        self._write(said, self._splitter.flush())
        if said.text < 0 and said.thinking < 0:
            said.text = scribe.start_text(self._place())
        scribe.end(said.thinking)
        scribe.end(said.text, content.state)

    def _write(self, said: _Said, pieces: list[Piece]) -> None:
        scribe = self._scribe
        for is_thinking, piece in pieces:
            if is_thinking:
                if said.thinking < 0:
                    said.thinking = scribe.start_thinking(self._place())
                scribe.add_thinking(said.thinking, piece)
            elif piece:
                if said.text < 0:
                    scribe.end(said.thinking)
                    said.text = scribe.start_text(self._place())
                scribe.add_text(said.text, piece)


class _Reasoning:
    """Reasoning: its pieces are one text, with blank lines between."""

    kinds: ClassVar[tuple[str, ...]] = ("reasoning",)

    def __init__(self, scribe: Scribe, first: Item, before: "_Reasoning | None") -> None:
        self.first = first
        self.id = reasoning_id(first)
        if scribe.inline is not None:
            scribe.inline.has_channel = True
        self._scribe = scribe
        self._before = before
        self._index = scribe.start_thinking()
        self._field = ""  # what is shown: the reasoning itself or its summary, whichever comes first
        self._place = 0
        self._heard: dict[int, int] = {}  # characters of each piece
        self._written = 0

    def add(self, field: str, place: int, delta: str) -> None:
        if not delta or (self._field and self._field != field):
            return
        if self._field and self._place != place:
            self._write(BETWEEN_THOUGHTS)
        self._field, self._place = field, place
        self._heard[place] = self._heard.get(place, 0) + len(delta)
        self._write(delta)

    def add_rest(self, field: str, place: int, whole: str) -> None:
        self.add(field, place, whole[self._heard.get(place, 0) :])

    def close(self, item: Item) -> None:
        self._write(thought(item, self._field)[self._written :])
        self.id = reasoning_id(item)
        self._scribe.end(self._index, thought_state(item, _id_of(self._before)))

    def _write(self, text: str) -> None:
        self._written += len(text)
        self._scribe.add_thinking(self._index, text)


class _Call:
    """A call, opened as soon as its name is known."""

    kinds: ClassVar[tuple[str, ...]] = ("function_call", "custom_tool_call")

    def __init__(self, scribe: Scribe, first: Item, before: "_Reasoning | None") -> None:
        self.first = first
        self._scribe = scribe
        self._before = before
        self._heard = 0
        self._is_open = False
        if first.get("name"):
            self._open(first)

    def _open(self, item: Item) -> None:
        self._is_open = True
        self._scribe.call(self, string(item.get("call_id")) or string(item.get("id")), string(item.get("name")))

    def add(self, field: str, place: int, delta: str) -> None:
        if self._is_open:
            self._heard += len(delta)
            self._scribe.call_input(self, delta)

    def add_rest(self, field: str, place: int, whole: str) -> None:
        self.add(field, place, whole[self._heard :])

    def close(self, item: Item) -> None:
        if not self._is_open:
            self._open(item)
        field = CALL_INPUTS[item["type"]]
        self.add_rest(field, 0, arguments_text(item.get(field)))
        self._scribe.mark_call(self, call_state(item, _id_of(self._before)))
        self._scribe.end_call(self)


class _Whole:
    """Anything else, which means something only when it is whole."""

    kinds: ClassVar[tuple[str, ...]] = ()

    def __init__(self, scribe: Scribe, first: Item, before: "_Reasoning | None") -> None:
        self.first = first
        self._scribe = scribe
        self._before = before
        self._index = scribe.place()

    def add(self, field: str, place: int, delta: str) -> None:
        pass

    def add_rest(self, field: str, place: int, whole: str) -> None:
        pass

    def close(self, item: Item) -> None:
        kind = string(item.get("type")) or "unknown"
        state = whole_state(item, _id_of(self._before))
        self._scribe.part(OpaquePart(kind, self._scribe.opaque(state)), self._index)


def _id_of(reasoning: _Reasoning | None) -> str:
    return reasoning.id if reasoning else ""


_KINDS = {kind: grows for grows in (_Message, _Reasoning, _Call) for kind in grows.kinds}


def _kind_of(item: Item) -> type[_Message | _Reasoning | _Call | _Whole]:
    kind = string(item.get("type"))
    if kind == "message" and item.get("role", "assistant") != "assistant":
        return _Whole  # an answer may quote the user (a compaction does); that is not what the model says
    return _KINDS.get(kind, _Whole)


def is_growing(growing: Growing, item: Item) -> bool:
    """Whether this is how an item of that kind grows."""
    return type(growing) is _kind_of(item)


def growing(scribe: Scribe, item: Item, before: Growing | None) -> Growing:
    """A new item, after the one before it."""
    return _kind_of(item)(scribe, item, before if isinstance(before, _Reasoning) else None)
