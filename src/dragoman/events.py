"""What a stream says, piece by piece, and the fold that makes the pieces a Response.

Every event of a part carries `index`, the part's place in the message, so that parts may grow
side by side. A stream ends with exactly one terminal event: `Finished`, or `Failed` with the
error that stopped it. A whole body is read by the same decoders as a stream of one piece, so
folding a stream and decoding a body cannot come to differ.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from .errors import DragomanError, IncompleteStream, InvalidResponse
from .exchange import FinishReason, Note, Response
from .messages import Message, Opaque, Part, Text, Thinking, ToolCall
from .usage import Usage

__all__ = [
    "DISCARD",
    "Event",
    "Failed",
    "Finished",
    "Fold",
    "PartAdded",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolInputDelta",
    "UsageReported",
    "fold",
]


class TextStart(Struct, frozen=True, gc=False):
    """A piece of the answer begins."""

    index: int


class TextDelta(Struct, frozen=True, gc=False):
    """More of the answer; never what was said before."""

    index: int
    text: str


class TextEnd(Struct, frozen=True):
    """That piece of the answer is whole."""

    index: int
    opaque: Opaque | None = None


class ThinkingStart(Struct, frozen=True, gc=False):
    """The model begins to reason."""

    index: int


class ThinkingDelta(Struct, frozen=True, gc=False):
    """More of the reasoning."""

    index: int
    text: str


class ThinkingEnd(Struct, frozen=True):
    """That stretch of reasoning is whole."""

    index: int
    opaque: Opaque | None = None


class ToolCallStart(Struct, frozen=True, gc=False):
    """The model begins a call."""

    index: int
    id: str
    name: str


class ToolInputDelta(Struct, frozen=True, gc=False):
    """More of a call's arguments, as JSON text."""

    index: int
    id: str
    delta: str


class ToolCallEnd(Struct, frozen=True):
    """The call is whole."""

    index: int
    id: str
    opaque: Opaque | None = None


class PartAdded(Struct, frozen=True):
    """A part that came whole: a picture, or something only its issuer understands."""

    index: int
    part: Part


class UsageReported(Struct, frozen=True, gc=False):
    """The usage so far; a snapshot, so the last one wins."""

    usage: Usage


class Finished(Struct, frozen=True, kw_only=True):
    """The answer is complete."""

    reason: FinishReason
    raw_reason: str = ""
    id: str = ""
    model: str = ""
    provider: str = ""
    metadata: dict[str, str] = {}
    notes: tuple[Note, ...] = ()


class Failed(Struct, frozen=True):
    """The answer ended in an error; what came before it stands."""

    error: DragomanError


Event = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolInputDelta
    | ToolCallEnd
    | PartAdded
    | UsageReported
    | Finished
    | Failed
)


def DISCARD(event: Event) -> None:
    """A sink that drops every event."""


class _Growing:
    """A part under way: its fragments, joined once at the end so that a long stream stays linear."""

    __slots__ = ("fragments", "start")

    def __init__(self, start: TextStart | ThinkingStart | ToolCallStart) -> None:
        self.start = start
        self.fragments: list[str] = []

    def whole(self, opaque: Opaque | None) -> Part:
        content = "".join(self.fragments)
        match self.start:
            case TextStart():
                return Text(content, opaque)
            case ThinkingStart():
                return Thinking(content, opaque)
            case ToolCallStart(_, id, name):
                return ToolCall(id, name, content or "{}", opaque)


class Fold:
    """Gathers events into a Response.

    >>> gathered = Fold()
    >>> for event in (TextStart(0), TextDelta(0, "hi"), TextEnd(0), Finished(reason="stop")):
    ...     gathered.add(event)
    >>> gathered.response.text
    'hi'
    """

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}
        self._growing: dict[int, _Growing] = {}
        self._usage = Usage()
        self._end: Finished | Failed | None = None

    @property
    def ended(self) -> bool:
        """Whether the terminal event has come."""
        return self._end is not None

    def add(self, event: Event) -> None:
        """Take one more event."""
        _TAKERS[type(event)](self, event)

    @property
    def response(self) -> Response:
        """The Response; raises the stream's own error, or IncompleteStream where it has not ended."""
        match self._end:
            case Finished() as end:
                return self._answer(end)
            case Failed(error):
                if isinstance(error, IncompleteStream) and error.partial is None:
                    error.partial = self.partial()
                raise error
            case None:
                raise IncompleteStream("the stream has not ended", partial=self.partial())

    def partial(self) -> Response:
        """What there is so far. A call whose arguments are not whole is left out and noted."""
        starts = (growing.start for growing in self._growing.values())
        cut = [start for start in starts if isinstance(start, ToolCallStart)]
        notes = tuple(Note("dropped", f"call of {start.name!r}", "its arguments were cut off") for start in cut)
        return self._answer(Finished(reason="error", notes=notes))

    def _answer(self, end: Finished) -> Response:
        parts = dict(self._parts)
        for index, growing in self._growing.items():
            if not isinstance(growing.start, ToolCallStart):
                parts[index] = growing.whole(None)
        return Response(
            message=Message("assistant", tuple(parts[index] for index in sorted(parts))),
            finish_reason=end.reason,
            raw_finish_reason=end.raw_reason,
            usage=self._usage,
            id=end.id,
            model=end.model,
            provider=end.provider,
            metadata=end.metadata,
            notes=end.notes,
        )

    def _part_start(self, event: TextStart | ThinkingStart | ToolCallStart) -> None:
        self._growing[event.index] = _Growing(event)

    def _prose_delta(self, event: TextDelta | ThinkingDelta) -> None:
        self._growing[event.index].fragments.append(event.text)

    def _input_delta(self, event: ToolInputDelta) -> None:
        self._growing[event.index].fragments.append(event.delta)

    def _part_end(self, event: TextEnd | ThinkingEnd | ToolCallEnd) -> None:
        self._parts[event.index] = self._growing.pop(event.index).whole(event.opaque)

    def _part_added(self, event: PartAdded) -> None:
        self._parts[event.index] = event.part

    def _usage_reported(self, event: UsageReported) -> None:
        self._usage = event.usage

    def _ended(self, event: Finished | Failed) -> None:
        if self._end is not None:
            raise InvalidResponse("a stream has ended twice")
        self._end = event


_TAKERS: dict[type[Any], Callable[[Fold, Any], None]] = {
    TextStart: Fold._part_start,
    TextDelta: Fold._prose_delta,
    TextEnd: Fold._part_end,
    ThinkingStart: Fold._part_start,
    ThinkingDelta: Fold._prose_delta,
    ThinkingEnd: Fold._part_end,
    ToolCallStart: Fold._part_start,
    ToolInputDelta: Fold._input_delta,
    ToolCallEnd: Fold._part_end,
    PartAdded: Fold._part_added,
    UsageReported: Fold._usage_reported,
    Finished: Fold._ended,
    Failed: Fold._ended,
}


def fold(events: Iterable[Event]) -> Response:
    """The Response that a stream's events add up to."""
    gathered = Fold()
    for event in events:
        gathered.add(event)
    return gathered.response
