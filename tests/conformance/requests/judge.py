"""One recorded request before the judge: read by the server's side, written again in two ways, compared."""

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from dragoman import wire
from dragoman.errors import Misuse
from dragoman.exchange import Note, Request
from dragoman.providers import PROVIDERS
from dragoman.rules import family_of
from dragoman.target import Quirks, Target

from ..corpus import Exchange
from ..verdict import Verdict
from . import anthropic, chat, responses
from .gaps import Gap, gaps
from .noted import owns_up
from .rules import Rule

__all__ = ["WAYS", "Outcome", "RequestVerdict", "judge_request"]

TABLES: dict[str, tuple[Rule, ...]] = {
    "anthropic_messages": anthropic.RULES,
    "openai_responses": responses.RULES,
    "openai_chat": chat.RULES,
}

Written = tuple[bytes, list[Note]]


@dataclass(slots=True)
class Outcome:
    """What it took to make one way of writing a request equal to the recording."""

    rules: list[Rule] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@dataclass(slots=True)
class RequestVerdict:
    """What became of one request: for each way that it was written, the outcome."""

    verdict: Verdict
    outcomes: dict[str, Outcome] = field(default_factory=dict)


def judge_request(exchange: Exchange) -> RequestVerdict | None:
    """The verdict on one request; None where there is none to judge."""
    if exchange.task != "chat" or exchange.wire not in TABLES or not isinstance(exchange.request, dict):
        return None
    result = RequestVerdict(Verdict(exchange))
    try:
        request = _read(exchange)
        for way, write in WAYS.items() if exchange.ok else ():
            outcome = _compared(exchange, *write(request, _target_of(exchange)))
            result.outcomes[way] = outcome
            result.verdict.check(way, ((gap.path, gap.ours, gap.recorded) for gap in outcome.gaps))
        result.verdict.check("read", iter(()))
    except Exception as fault:  # whatever slips through is what this run is looking for
        if exchange.ok or not isinstance(fault, Misuse):
            result.verdict.check("read", iter([("request", repr(fault), "a Request")]))
    return result


def _target_of(exchange: Exchange) -> Target:
    """Whom the request was for. Who has no row is taken at the word of the request."""
    wire_name = exchange.wire.replace("_", "-")
    spelling = "max_tokens" if "max_tokens" in exchange.request else "max_completion_tokens"
    row = PROVIDERS.get(exchange.provider)
    return Target(
        provider=exchange.provider,
        model=exchange.model,
        wire=wire_name,
        base_url="https://recorded.invalid",
        family=family_of(exchange.model, wire_name),
        quirks=row.quirks if row is not None else Quirks(max_tokens_field=spelling),
    )


def _read(exchange: Exchange) -> Request:
    mirror = importlib.import_module(f"dragoman.wire.mirror.{exchange.wire}")
    request: Request = mirror.decode_request(json.dumps(exchange.request).encode(), _target_of(exchange))
    return request


def _by_codec(request: Request, target: Target) -> Written:
    notes: list[Note] = []
    codec: ModuleType = importlib.import_module(f"dragoman.wire.{wire.WIRES[target.wire]}")
    return codec.encode_chat(request, target, notes).body, notes


def _in_full(request: Request, target: Target) -> Written:
    options = replace(request.options, ignore_invalid_options=True)
    encoded = wire.encode(replace(request, options=options), target)
    return encoded.http.body, list(encoded.notes)


# codec: by the wire alone. full: made fit for its target first, as every call is.
WAYS: dict[str, Callable[[Request, Target], Written]] = {"codec": _by_codec, "full": _in_full}


def _compared(exchange: Exchange, body: bytes, notes: list[Note]) -> Outcome:
    recorded, ours = exchange.request, json.loads(body)
    if not any(gaps(recorded, ours)):
        return Outcome()
    active = _active_rules(recorded, ours, TABLES[exchange.wire])
    remaining = _gaps_after(active, recorded, ours)
    needed = [rule for rule in active if _gaps_after([r for r in active if r is not rule], recorded, ours) != remaining]
    outcome = Outcome(needed)
    outcome.gaps = [gap for gap in remaining if not _is_noted(gap, notes, outcome)]
    return outcome


def _active_rules(recorded: Any, ours: Any, table: tuple[Rule, ...]) -> list[Rule]:
    """The rules that have something to say about these two."""
    active = []
    for rule in table:
        before, (recorded, ours) = (recorded, ours), rule.apply(recorded, ours)
        active += [rule] if before != (recorded, ours) else []
    return active


def _gaps_after(rules: list[Rule], recorded: Any, ours: Any) -> list[Gap]:
    for rule in rules:
        recorded, ours = rule.apply(recorded, ours)
    return list(gaps(recorded, ours))


def _is_noted(gap: Gap, notes: list[Note], outcome: Outcome) -> bool:
    owning = next((note for note in notes if owns_up(note, gap)), None)
    if owning is not None and owning not in outcome.notes:
        outcome.notes.append(owning)
    return owning is not None
