"""What dragoman's codecs make of an exchange."""

import importlib
import itertools
import random
from collections.abc import Iterator
from types import ModuleType

from dragoman.errors import DragomanError
from dragoman.events import Event, Failed, fold
from dragoman.exchange import Response
from dragoman.http import HttpResponse
from dragoman.providers import PROVIDERS
from dragoman.rules import family_of
from dragoman.target import Quirks, Target

from .corpus import Exchange
from .facts import Counts, Facts, Vectors, call

__all__ = [
    "codec_of",
    "cut_anywhere",
    "facts_of",
    "read",
    "read_count",
    "read_cut",
    "read_error",
    "read_vectors",
]

SMALL_BYTES = 2048
FEW_CUTS = 40
BYTES_BETWEEN_MANY_CUTS = 40


def codec_of(wire: str) -> ModuleType:
    """The codec of that wire."""
    return importlib.import_module(f"dragoman.wire.{wire}")


def _target_of(exchange: Exchange) -> Target:
    """Whom the exchange was with. Chats are read without quirks: an answer must be readable by its own light.

    How a vector is packed is the one thing that an answer does not say.
    """
    wire = exchange.wire.replace("_", "-")
    packed = exchange.wire.startswith("embeddings") and exchange.provider in PROVIDERS
    return Target(
        provider=exchange.provider,
        model=exchange.model,
        wire=wire,
        base_url="https://recorded.invalid",
        family=family_of(exchange.model, wire),
        quirks=PROVIDERS[exchange.provider].quirks if packed else Quirks(),
    )


def _answer_of(exchange: Exchange) -> HttpResponse:
    """The answer as the transport would hand it over."""
    return HttpResponse(status=exchange.status, headers=exchange.headers, body=exchange.body)


def read(codec: ModuleType, exchange: Exchange) -> Response | DragomanError:
    """The Response, or the typed error that the answer is. Anything else that is raised is a fault of ours."""
    target = _target_of(exchange)
    try:
        if exchange.streamed:
            return fold(read_cut(codec, exchange, ()))
        return codec.decode_chat(exchange.body, target)
    except DragomanError as error:
        return error


def read_cut(codec: ModuleType, exchange: Exchange, cuts: tuple[int, ...]) -> list[Event]:
    """The events of the answer when its bytes arrive in pieces, cut at these places."""
    decoder = codec.chat_decoder(_target_of(exchange))
    events: list[Event] = []
    for begin, end in itertools.pairwise((0, *cuts, len(exchange.body))):
        events += decoder.feed(exchange.body[begin:end])
    return events + decoder.close()


def read_error(codec: ModuleType, exchange: Exchange) -> object:
    """The error that a refused request gives; embedding codecs raise it themselves."""
    answer, target = _answer_of(exchange), _target_of(exchange)
    if hasattr(codec, "decode_error"):
        return codec.decode_error(answer, target)
    try:
        return codec.decode_embed(answer, target)
    except DragomanError as error:
        return error


def read_vectors(codec: ModuleType, exchange: Exchange) -> Vectors:
    """The embeddings in the answer."""
    embeddings = codec.decode_embed(_answer_of(exchange), _target_of(exchange))
    return Vectors([list(vector) for vector in embeddings.vectors], embeddings.usage.input_tokens)


def read_count(codec: ModuleType, exchange: Exchange) -> object:
    """The number of tokens in the answer."""
    return codec.decode_count(exchange.body, _target_of(exchange))


def cut_anywhere(codec: ModuleType, exchange: Exchange) -> bool:
    """Whether every way of cutting the bytes gives the same events."""
    whole = _comparable(read_cut(codec, exchange, ()))
    return all(_comparable(read_cut(codec, exchange, cuts)) == whole for cuts in _ways_to_cut(exchange))


def _ways_to_cut(exchange: Exchange) -> Iterator[tuple[int, ...]]:
    size = len(exchange.body)
    if size <= SMALL_BYTES:
        yield tuple(range(1, size))
    if exchange.chunk_lengths:
        yield tuple(itertools.accumulate(exchange.chunk_lengths))[:-1]
    chance = random.Random(exchange.id)
    yield tuple(sorted(chance.sample(range(size), min(size, FEW_CUTS))))
    yield tuple(sorted(chance.sample(range(size), size // BYTES_BETWEEN_MANY_CUTS)))


def _comparable(events: list[Event]) -> list[object]:
    """Events with their errors opened up: two exceptions are never equal, what they say may be."""
    return [_said(event.error) if isinstance(event, Failed) else event for event in events]


def _said(error: DragomanError) -> tuple[object, ...]:
    return type(error), str(error), error.provider, error.model, error.status


def facts_of(response: Response) -> Facts:
    """Our own reading in the terms of the judges."""
    usage = response.usage
    return Facts(
        text=response.text,
        thinking=response.thinking,
        calls=tuple(call(each.id, each.name, each.arguments) for each in response.tool_calls),
        finish=response.finish_reason,
        usage=Counts(
            input=usage.input_tokens,
            output=usage.output_tokens,
            cache_read=usage.cache_read_tokens,
            cache_creation=usage.cache_creation_tokens,
            reasoning=usage.reasoning_tokens,
        ),
    )
