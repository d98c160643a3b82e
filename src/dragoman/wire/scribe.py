"""Writes down what a codec hears, as events in good order.

Every codec writes through a scribe, so that the promises of a stream are kept in one place: each
part is opened once and closed once, ids of calls are present and unique, the number of calls is
bounded, text is valid Unicode, inline reasoning and leaked tool grammar are put where they
belong, and there is exactly one terminal event.
"""

from collections.abc import Callable
from typing import Any

from ..errors import DragomanError, InvalidResponse
from ..events import (
    Event,
    Failed,
    Finished,
    PartAdded,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallEnd,
    ToolCallStart,
    ToolInputDelta,
    UsageReported,
)
from ..exchange import FinishReason, Note
from ..messages import Opaque, Part
from ..surrogates import REPLACEMENT, has_surrogates, join_halves
from ..target import Target
from ..usage import Usage
from .inline import InlineCall, InlineReader, Piece

__all__ = ["Scribe"]

Prose = type[TextStart] | type[ThinkingStart]
State = dict[str, Any]

_DELTAS: dict[type[Any], type[TextDelta] | type[ThinkingDelta]] = {TextStart: TextDelta, ThinkingStart: ThinkingDelta}

# More would be a flood from a hostile stream, not something a caller could use.
MOST_NOTES = 256

# Prefixes that open models put before a tool's name; no wire that they speak allows a dot in one.
_NAME_PREFIXES = ("tool.", "tools.", "function.", "functions.")


class Scribe:
    """Keeps the record of one answer.

    With `inline`, text is searched for reasoning tags and leaked calls; with `keyed`, every text has a
    place of its own and the codec does that search itself. `seal` gives opaque state its final
    shape when its part is closed.
    """

    def __init__(
        self,
        target: Target,
        *,
        inline: bool = False,
        keyed: bool = False,
        seal: Callable[[State], State] = dict,
    ) -> None:
        self.target = target
        self.inline = InlineReader() if inline else None
        self.ended = False
        self.id = ""
        self.model = ""
        self.metadata: dict[str, str] = {}
        self._events: list[Event] = []
        self._notes: dict[Note, None] = {}  # each once, in order
        self._open: dict[int, TextStart | ThinkingStart | ToolCallStart] = {}
        self._next_index = 0
        self._prose = -1  # index of the open text or thinking that unkeyed deltas belong to
        self._prose_kind: Prose = TextStart
        self._prose_opaque: State = {}
        self._calls: dict[object, tuple[int, str]] = {}  # the wire's key of a call to our index and id
        self._call_opaque: dict[int, State] = {}
        self._ids: set[str] = set()
        self._halves: dict[int, str] = {}  # first half of a character, by part, until its second comes
        self._keyed = keyed
        self._seal = seal

    # ── what was written ──────────────────────────────────────────────────────────────────────

    def take(self) -> list[Event]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    @property
    def called(self) -> bool:
        """Whether the model has called a tool."""
        return bool(self._ids)

    # ── prose that comes without keys: at most one text or thinking is open ─────────────────────

    def text(self, delta: str) -> None:
        """More of the answer."""
        if not delta:
            return
        inline = self.inline
        if inline is None or (inline.passive and "<" not in delta):
            self._write(TextStart, delta)
        else:
            self._write_pieces(inline.feed(delta))

    def thinking(self, delta: str) -> None:
        """More of the reasoning, from a field of its own (which ends the search for inline tags)."""
        if not delta:
            return
        if self.inline is not None and not self.inline.passive:
            self.inline.has_channel = True
            self._write_pieces(self.inline.flush())
        self._write(ThinkingStart, delta)

    def mark(self, kind: Prose, data: State) -> None:
        """Attach opaque state to the open prose of that kind, opening an empty one if there is none."""
        if self.inline is not None and not self.inline.passive:
            self._write_pieces(self.inline.flush())  # words held back come before what is said of them
        if self._prose < 0 or self._prose_kind is not kind:
            self._close_prose()
            self._open_prose(kind)
        self._prose_opaque.update(data)

    def gather(self, kind: Prose, name: str, items: list[Any]) -> None:
        """Attach opaque state that comes as a growing list."""
        if self._prose < 0 or self._prose_kind is not kind or name not in self._prose_opaque:
            self.mark(kind, {name: []})
        self._prose_opaque[name] += items

    def end_prose(self) -> None:
        """Close the open text or thinking, if there is one."""
        if self._keyed:
            return
        if self.inline is not None:
            self._write_pieces(self.inline.flush())
        self._close_prose()

    def _write(self, kind: Prose, delta: str) -> None:
        if self._prose < 0 or self._prose_kind is not kind:
            self._close_prose()
            self._open_prose(kind)
        if self._halves or not delta.isascii():
            delta = self._whole_characters(self._prose, delta)
        self._events.append(_DELTAS[kind](self._prose, delta))

    def _write_pieces(self, pieces: list[Piece]) -> None:
        for is_thinking, piece in pieces:
            self._write(ThinkingStart if is_thinking else TextStart, piece)

    def _open_prose(self, kind: Prose) -> None:
        self._prose = self._start(kind)
        self._prose_kind = kind

    def _close_prose(self) -> None:
        if self._prose >= 0:
            self.end(self._prose, self._prose_opaque)
            self._prose = -1
            self._prose_opaque = {}

    # ── parts with handles ──────────────────────────────────────────────────────────────────────

    def place(self) -> int:
        """Keep the next place in the message for something that is announced and not here yet."""
        index = self._next_index
        self._next_index += 1
        return index

    def start_text(self, at: int | None = None) -> int:
        """Open a text part of its own, in the place kept for it or in the next."""
        return self._start(TextStart, at)

    def start_thinking(self, at: int | None = None) -> int:
        """Open a thinking part of its own, in the place kept for it or in the next."""
        return self._start(ThinkingStart, at)

    def add_text(self, index: int, delta: str) -> None:
        """More of the part that `start_text` opened."""
        if delta:
            self._events.append(TextDelta(index, self._whole_characters(index, delta)))

    def add_thinking(self, index: int, delta: str) -> None:
        """More of the part that `start_thinking` opened."""
        if delta:
            self._events.append(ThinkingDelta(index, self._whole_characters(index, delta)))

    def end(self, index: int, opaque: State | None = None) -> None:
        """Close a part, with the state its issuer wants back."""
        start = self._open.pop(index, None)
        if start is None:
            return
        if self._halves.pop(index, ""):
            self._lone_half(start)
        seal = self.opaque(opaque) if opaque else None
        match start:
            case TextStart():
                self._events.append(TextEnd(index, seal))
            case ThinkingStart():
                self._events.append(ThinkingEnd(index, seal))
            case ToolCallStart():
                self._events.append(ToolCallEnd(index, start.id, seal))

    def part(self, part: Part, at: int | None = None) -> None:
        """A part that came whole, in the place kept for it or in the next."""
        self.end_prose()
        self._events.append(PartAdded(self.place() if at is None else at, part))

    def opaque(self, data: State) -> Opaque:
        """State under the name of whoever is answering."""
        if _deeper_than(data, self.target.limits.nesting):
            raise InvalidResponse(f"JSON nested deeper than {self.target.limits.nesting}")
        return Opaque(self.target.issuer, self._seal(data))

    def _start(self, kind: Prose, at: int | None = None) -> int:
        index = self.place() if at is None else at
        start = kind(index)
        self._open[index] = start
        self._events.append(start)
        return index

    def _whole_characters(self, index: int, delta: str) -> str:
        """Hold back half a character at the end of a delta; join it with its other half when that comes."""
        if not self._halves and delta.isascii():
            return delta
        delta = self._halves.pop(index, "") + delta
        if "\ud800" <= delta[-1] <= "\udbff":
            self._halves[index] = delta[-1]
            delta = delta[:-1]
        return join_halves(delta) if has_surrogates(delta) else delta

    def _lone_half(self, start: TextStart | ThinkingStart | ToolCallStart) -> None:
        """The other half of a character never came."""
        match start:
            case TextStart(index) | ThinkingStart(index):
                self._events.append(_DELTAS[type(start)](index, REPLACEMENT))
            case ToolCallStart(index, id, _):
                self._events.append(ToolInputDelta(index, id, REPLACEMENT))

    # ── tool calls, keyed as the wire keys them ─────────────────────────────────────────────────

    def call(self, key: object, id: str, name: str) -> int:
        """Open a call. A missing id is made up, a repeated one is made unique; both are noted."""
        self.end_prose()
        if len(self._ids) >= self.target.limits.tool_calls:
            raise InvalidResponse(f"more than {self.target.limits.tool_calls} tool calls in one answer")
        index = self.place()
        name = self._plain_name(name)
        id = self._unique(id, name, len(self._ids))
        start = ToolCallStart(index, id, name)
        self._open[index] = start
        self._calls[key] = (index, id)
        self._events.append(start)
        return index

    def call_id(self, key: object) -> str | None:
        """The id of the open call of that key, or None where there is none."""
        known = self._calls.get(key)
        return known[1] if known else None

    def call_input(self, key: object, delta: str) -> None:
        """More of a call's arguments."""
        if delta:
            index, id = self._calls[key]
            self._events.append(ToolInputDelta(index, id, self._whole_characters(index, delta)))

    def mark_call(self, key: object, data: State) -> None:
        """Attach opaque state to a call."""
        index, _ = self._calls[key]
        self._call_opaque.setdefault(index, {}).update(data)

    def end_call(self, key: object) -> None:
        """The call is whole."""
        index, _ = self._calls.pop(key)
        self.end(index, self._call_opaque.pop(index, None))

    def whole_call(self, id: str, name: str, arguments: str, opaque: State | None = None) -> None:
        """A call that came in one piece."""
        key = object()
        self.call(key, id, name)
        self.call_input(key, arguments)
        if opaque:
            self.mark_call(key, opaque)
        self.end_call(key)

    def _plain_name(self, name: str) -> str:
        prefix = next((prefix for prefix in _NAME_PREFIXES if name.startswith(prefix)), "")
        if self.inline is None or not prefix or name == prefix:
            return name
        plain = name[len(prefix) :]
        self.note(Note("repaired", f"call of {name!r}", f"no tool has such a prefix; it is {plain!r}"))
        return plain

    def _unique(self, id: str, name: str, position: int) -> str:
        wanted = id or f"call_{position}"
        unique, again = wanted, 1
        while unique in self._ids:
            again += 1
            unique = f"{wanted}_{again}"
        if not id:
            self.note(Note("repaired", f"call of {name!r}", f"it came without an id and is now {unique!r}"))
        elif unique != id:
            self.note(Note("repaired", f"call of {name!r}", f"its id {id!r} was taken and is now {unique!r}"))
        self._ids.add(unique)
        return unique

    # ── the rest of the answer ──────────────────────────────────────────────────────────────────

    def usage(self, usage: Usage) -> None:
        """The usage so far."""
        self._events.append(UsageReported(usage))

    def note(self, note: Note) -> None:
        """Something the caller should see in the response, said once."""
        if len(self._notes) < MOST_NOTES:
            self._notes[note] = None

    def finish(self, reason: FinishReason, raw: str = "") -> None:
        """The answer is complete: close what is open and write the terminal event."""
        if self.ended:
            return
        self.end_prose()
        if self.inline is not None:
            self._rescue_calls(self.inline.calls)
        for key in list(self._calls):
            self.end_call(key)
        for index in list(self._open):
            self.end(index)
        if reason == "stop" and self.called:
            reason = "tool_calls"  # many servers say "stop" after a call; the call is what counts
        self.ended = True
        self._events.append(
            Finished(
                reason=reason,
                raw_reason=raw,
                id=self.id,
                model=self.model or self.target.model,
                provider=self.target.provider,
                metadata=self.metadata,
                notes=tuple(self._notes),
            )
        )

    def fail(self, error: DragomanError) -> None:
        """The answer ends in an error."""
        if self.ended:
            return
        error.provider = error.provider or self.target.provider
        error.model = error.model or self.target.model
        self.ended = True
        self._events.append(Failed(error))

    def _rescue_calls(self, leaked: list[InlineCall]) -> None:
        """Calls written into the text count where none came as they should; else they are the same calls again."""
        had_calls = self.called
        for call in leaked:
            what = f"call of {call.name!r} written into the text"
            if had_calls:
                self.note(Note("dropped", what, "the answer also has calls where they belong"))
            else:
                self.whole_call(call.id, call.name, call.arguments)
                self.note(Note("repaired", what, "read as the call it is"))


def _deeper_than(value: Any, limit: int) -> bool:
    """Whether a JSON value is nested deeper than the limit, found level by level."""
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return False
    return True
