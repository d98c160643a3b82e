"""One exchange before the judges: which checks applied, which of them it passed, what differs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from dragoman.errors import ApiError, DragomanError, IncompleteStream, RateLimited
from dragoman.events import fold
from dragoman.exchange import Response

from . import complaints, jsonfacts, oracles, ours
from .corpus import Exchange
from .facts import Facts, Fault, differences, vector_differences
from .jsonfacts.frames import first_half

__all__ = ["CHECKS", "Difference", "Verdict", "judge"]

# decoded: read without an error. cuts: the same events however the bytes are cut, and the same
# Response by way of the stream decoder. sdk, json: equal to that judge. errors: typed as it should be.
CHECKS = ("decoded", "cuts", "sdk", "json", "errors")


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that we and a judge read differently."""

    check: str
    field: str
    ours: Any
    theirs: Any


@dataclass(slots=True)
class Verdict:
    """What became of one exchange. A check that did not apply is not among `passed`."""

    exchange: Exchange
    passed: dict[str, bool] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def check(self, name: str, found: Iterator[Fault]) -> None:
        """Enter the differences of one check: none of them is a pass."""
        fresh = [Difference(name, *difference) for difference in found]
        self.passed[name] = self.passed.get(name, True) and not fresh
        self.differences += fresh


def judge(exchange: Exchange) -> Verdict:
    """The verdict on one exchange."""
    verdict = Verdict(exchange)
    if exchange.task.startswith("out of scope"):
        verdict.remarks.append(exchange.task)
        return verdict
    try:
        codec = ours.codec_of(exchange.wire)
        _JUDGES["error" if not exchange.ok else exchange.task](verdict, codec)
    except Exception as fault:  # whatever a codec lets slip is what this run is looking for
        verdict.check("decoded", iter([("exception", repr(fault), "an answer")]))
    return verdict


# ── chat ────────────────────────────────────────────────────────────────────────────────────────


def _judge_chat(verdict: Verdict, codec: ModuleType) -> None:
    exchange = verdict.exchange
    facts = jsonfacts.READERS[exchange.wire](exchange)
    answer = ours.read(codec, exchange)
    verdict.check("cuts", _cut_faults(codec, exchange, answer))
    if facts.error is not None:
        verdict.check("errors", _fault_inside(exchange, answer, facts))
    elif not facts.complete:
        verdict.remarks.append("ends before the answer does")
        verdict.check("errors", _unfinished(answer, facts))
    elif isinstance(answer, DragomanError):
        verdict.check("decoded", iter([("error", repr(answer), "an answer")]))
    else:
        verdict.check("decoded", iter(()))
        verdict.check("json", differences(ours.facts_of(answer), facts))
        _ask_oracle(verdict, lambda theirs: differences(ours.facts_of(answer), theirs))


def _cut_faults(codec: ModuleType, exchange: Exchange, answer: Response | DragomanError) -> Iterator[Fault]:
    if not ours.cut_anywhere(codec, exchange):
        yield "cuts", "other events", "the same events"
    if isinstance(answer, Response) and exchange.streamed:
        yield from _cut_short(codec, exchange)
    elif isinstance(answer, Response):
        sniffed = fold(ours.read_cut(codec, exchange, ()))
        if sniffed != answer:
            yield "sniffed", sniffed, answer


def _cut_short(codec: ModuleType, exchange: Exchange) -> Iterator[Fault]:
    """A stream of which only the first half arrives."""
    half = replace(exchange, body=first_half(exchange.body))
    facts = jsonfacts.READERS[exchange.wire](half) if half.body else None
    if facts is not None and not facts.complete:
        faults = _unfinished(ours.read(codec, half), facts)
        yield from ((f"first half: {name}", mine, theirs) for name, mine, theirs in faults)


def _ask_oracle(verdict: Verdict, compare: Callable[[Any], Iterator[Fault]]) -> None:
    try:
        theirs = oracles.read(verdict.exchange)
    except oracles.Silent as silence:
        verdict.remarks.append(f"the SDK cannot read it: {silence}")
    else:
        if theirs is not None:
            verdict.check("sdk", compare(theirs))


# ── vectors and counts ──────────────────────────────────────────────────────────────────────────


def _judge_vectors(verdict: Verdict, codec: ModuleType) -> None:
    vectors = ours.read_vectors(codec, verdict.exchange)
    verdict.check("decoded", iter(()))
    verdict.check("json", vector_differences(vectors, jsonfacts.read_vectors(verdict.exchange)))
    _ask_oracle(verdict, lambda theirs: vector_differences(vectors, theirs))


def _judge_count(verdict: Verdict, codec: ModuleType) -> None:
    mine, theirs = ours.read_count(codec, verdict.exchange), jsonfacts.read_count(verdict.exchange)
    verdict.check("decoded", iter(()))
    verdict.check("json", _count_differences(mine, theirs))
    _ask_oracle(verdict, lambda theirs: _count_differences(mine, theirs))


def _count_differences(mine: object, theirs: object) -> Iterator[Fault]:
    if mine != theirs:
        yield "count", mine, theirs


# ── errors ──────────────────────────────────────────────────────────────────────────────────────


def _judge_error(verdict: Verdict, codec: ModuleType) -> None:
    verdict.check("errors", _error_faults(verdict.exchange, ours.read_error(codec, verdict.exchange)))


def _error_faults(exchange: Exchange, error: Any) -> Iterator[Fault]:
    if not isinstance(error, ApiError):
        yield "error", repr(error), "an ApiError"
        return
    if type(error).__name__ != complaints.expected_class(exchange):
        yield "class", f"{type(error).__name__}: {error}", complaints.expected_class(exchange)
    expected_status = complaints.expected_status(exchange)
    if expected_status is not None and error.status != expected_status:
        yield "status", error.status, expected_status
    wait = complaints.expected_wait(exchange)
    if isinstance(error, RateLimited) and wait is not None and error.retry_after != wait:
        yield "retry_after", error.retry_after, wait
    message = complaints.message_in(exchange)
    if not str(error).startswith(exchange.provider) or message[:200] not in str(error):
        yield "sentence", str(error), f"{exchange.provider} … {message}"


def _fault_inside(exchange: Exchange, answer: Response | DragomanError, facts: Facts) -> Iterator[Fault]:
    """An error inside a 200."""
    if not isinstance(answer, ApiError):
        yield "error", repr(answer), facts.error
    else:
        yield from _error_faults(exchange, answer)


def _unfinished(answer: Response | DragomanError, facts: Facts) -> Iterator[Fault]:
    """A stream without its end is never a success; what came of it is kept."""
    if not isinstance(answer, IncompleteStream):
        yield "error", repr(answer), "IncompleteStream"
    else:
        partial = ours.facts_of(answer.partial)
        yield from differences(partial, replace(facts, finish=None, calls=None))
        # A call that was not whole is left out of the partial answer.
        if not set(map(repr, partial.calls or ())) <= set(map(repr, facts.calls or ())):
            yield "calls", partial.calls, facts.calls


_JUDGES: dict[str, Callable[[Verdict, ModuleType], None]] = {
    "chat": _judge_chat,
    "error": _judge_error,
    "embed": _judge_vectors,
    "count": _judge_count,
}
