"""What a mirror writes, its own wire reads; and what a wire writes, any mirror of it reads."""

import json

import pytest
from msgspec.structs import replace

from dragoman.errors import ApiError, Misuse, Overloaded, RateLimited, TooLong, Unauthorized
from dragoman.events import fold
from dragoman.http import HttpResponse
from dragoman.wire import wire_named
from dragoman.wire.mirror import MIRRORS, mirror_named

from .replies import REPLIES, target_on

# Every answer, whoever gave it, told again in each format that can be served.
tellings = pytest.mark.parametrize("wire", MIRRORS)
every_reply = pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: f"{reply.wire} {reply.name}")


def events_of(reply):
    decoder = wire_named(reply.wire).chat_decoder(target_on(reply.wire))
    return decoder.feed(reply.stream_bytes()) + decoder.close()


def essence(response):
    """What an answer says, without the state that only its issuer reads."""
    calls = [(call.id, call.name, json.loads(call.arguments)) for call in response.tool_calls]
    usage = replace(response.usage, reasoning_tokens=None, cache_creation_tokens=None)
    return response.text, response.thinking, calls, response.finish_reason, usage


@tellings
@every_reply
def test_an_answer_told_again_says_the_same(wire, reply):
    response = fold(events_of(reply))
    body = mirror_named(wire).encode_reply(response, created=7)
    assert essence(wire_named(wire).decode_chat(body, target_on(wire))) == essence(response)


@tellings
@every_reply
def test_a_stream_told_again_says_the_same(wire, reply):
    events = events_of(reply)
    encoder = mirror_named(wire).StreamEncoder(created=7)
    told = b"".join(encoder.feed(event) for event in events)
    decoder = wire_named(wire).chat_decoder(target_on(wire))
    assert essence(fold(decoder.feed(told) + decoder.close())) == essence(fold(events))


ERRORS = [
    RateLimited("slow down", status=429),
    Overloaded("busy", status=503),
    Unauthorized("who are you", status=401),
    TooLong("shorter, please", status=400),
    ApiError("no", status=404),
]


@tellings
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_told_again_is_the_same_error(wire, error):
    status, body = mirror_named(wire).encode_error(error)
    read = wire_named(wire).decode_error(HttpResponse(status=status, body=body), target_on(wire))
    assert type(read) is type(error)
    assert error.message in str(read)


def test_a_wire_that_cannot_be_served_says_which_can():
    with pytest.raises(Misuse, match="'gemini' cannot be served: use one of openai-chat"):
        mirror_named("gemini")
