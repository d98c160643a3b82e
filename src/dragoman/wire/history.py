"""A conversation made fit for whoever is to hear it next.

Providers refuse histories that others accept: calls without results, results without calls, ids
in the wrong alphabet, signatures of another model. This puts each in order, drops what only its
issuer can read, and notes every change.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from ..exchange import Note
from ..messages import Document, Image, Message, Opaque, OpaquePart, Part, Text, Thinking, ToolCall, ToolResult
from ..target import Target
from .ids import fit_id

__all__ = ["fit_history"]

_ID_SHAPES = {
    "anthropic-messages": "word",
    "bedrock-converse": "word_dots",
    "openai-responses": "upto_64",
}

# Wires on which a result cannot be marked as a failure.
_NO_ERROR_MARK = frozenset({"openai-chat", "openai-responses", "ollama"})

NO_RESULT = "No result: the call was interrupted before it finished."


def fit_history(
    messages: Iterable[Message], target: Target, notes: list[Note], *, continued: bool = False
) -> tuple[Message, ...]:
    """The same conversation as the target accepts it; `continued` where the provider itself holds what came before."""
    return _Fitting(target, notes, continued).fit(messages)


class _Fitting:
    """One pass over a conversation. `_waiting` holds the calls of the last turn that want a result."""

    def __init__(self, target: Target, notes: list[Note], continued: bool) -> None:
        self._target = target
        self._notes = notes
        self._continued = continued
        self._shape = _ID_SHAPES.get(target.wire) or target.quirks.call_id_shape or "any"
        self._done: list[Message] = []
        self._ids: set[str] = set()
        self._waiting: list[tuple[str, str]] = []  # id as it was, id as it is sent
        self._results: dict[str, ToolResult] = {}
        self._provided: set[str] = set()  # ids of calls in the provider's own words, which may have results
        self._foreign: Counter[tuple[str, str]] = Counter()

    def fit(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        for message in messages:
            self._take(message)
        self._close_turn()
        for (what, issuer), count in self._foreign.items():
            self._notes.append(Note("dropped", f"{count} × {what}", f"issued by {issuer}, which alone can read it"))
        self._note_failures()
        return tuple(self._done)

    def _note_failures(self) -> None:
        failed = any(result.is_error for message in self._done for result in message.tool_results)
        if failed and self._target.wire in _NO_ERROR_MARK:
            self._notes.append(
                Note("dropped", "is_error of a result", "this wire has no such mark; its text must say so")
            )

    def _take(self, message: Message) -> None:
        results = message.tool_results
        for result in results:
            self._take_result(result)
        if results:
            rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
            if not rest:
                return
            message = Message("user" if message.role == "tool" else message.role, rest)
        parts = [part for part in map(self._own, message.parts) if part is not None]
        if not parts:
            self._notes.append(Note("dropped", f"an empty {message.role} message", "no provider accepts one"))
            return
        self._close_turn()
        if message.role == "assistant":
            parts = [self._fit_call(part) if isinstance(part, ToolCall) else part for part in parts]
            self._provided |= {str(part.opaque.data.get("call_id")) for part in parts if isinstance(part, OpaquePart)}
        self._done.append(Message(message.role, tuple(parts)))

    # ── calls and results ──

    def _fit_call(self, call: ToolCall) -> ToolCall:
        id, salt = fit_id(call.id, self._shape), 0
        while id in self._ids:
            salt += 1
            id = fit_id(call.id, self._shape, salt)
        self._ids.add(id)
        self._waiting.append((call.id, id))
        if id == call.id:
            return call
        self._notes.append(Note("changed", f"id of the call {call.id!r}", f"sent as {id!r}, which is accepted here"))
        return replace(call, id=id)

    def _take_result(self, result: ToolResult) -> None:
        blocks = tuple(block for block in map(self._own, result.blocks) if isinstance(block, (Text, Image, Document)))
        result = replace(result, blocks=blocks, opaque=self._own_state(result.opaque, "state of a result"))
        wanted = [id for old, id in self._waiting if old == result.id]
        id = next((id for id in wanted if id not in self._results), None)
        if not wanted and (self._continued or result.id in self._provided):
            self._close_turn()
            self._done.append(Message.tool(result))
        elif not wanted:
            self._close_turn()
            self._notes.append(Note("repaired", f"result of {result.id!r}", "no call asks for it; sent as quoted text"))
            self._done.append(Message.user(f"[Result of an earlier tool call]\n{result.content}", *blocks))
        elif id is None:
            self._notes.append(Note("dropped", f"second result of {result.id!r}", "a call has one result"))
        else:
            self._results[id] = replace(result, id=id)

    def _close_turn(self) -> None:
        """Write the results of the turn in the order of its calls, with one made up for each that is missing."""
        if not self._waiting:
            return
        results = [self._results.get(id) or self._missing(old, id) for old, id in self._waiting]
        self._waiting, self._results = [], {}
        self._done.append(Message("tool", tuple(results)))

    def _missing(self, old: str, id: str) -> ToolResult:
        self._notes.append(Note("repaired", f"call {old!r}", "it had no result; one that says so was added"))
        return ToolResult(id, NO_RESULT, is_error=True)

    # ── what only its issuer may see ──

    def _own(self, part: Part) -> Part | None:
        """The part with nothing foreign on it; None where nothing is left."""
        if isinstance(part, Text) and not part.text and part.opaque is None:
            return None
        opaque = part.opaque
        if opaque is None or opaque.issuer == self._target.issuer:
            return part
        if isinstance(part, (Thinking, OpaquePart)):
            kind = f"part of kind {part.kind!r}" if isinstance(part, OpaquePart) else "thinking"
            self._foreign[kind, opaque.issuer] += 1
            return None
        self._foreign[f"state of a {type(part).__name__}", opaque.issuer] += 1
        if isinstance(part, Text) and not part.text:
            return None
        return replace(part, opaque=None)

    def _own_state(self, opaque: Opaque | None, what: str) -> Opaque | None:
        if opaque is None or opaque.issuer == self._target.issuer:
            return opaque
        self._foreign[what, opaque.issuer] += 1
        return None
