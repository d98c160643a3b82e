"""What every stream decoder does, whatever it reads."""

import pytest

from dragoman.errors import IncompleteStream, InvalidResponse
from dragoman.events import Failed, Finished, fold
from dragoman.limits import Limits
from dragoman.wire import wire_named

from .replies import REPLIES, target_on

REPLY = next(reply for reply in REPLIES if reply.wire == "openai-chat" and reply.name == "text")


def decoder(**limits):
    return wire_named("openai-chat").chat_decoder(target_on("openai-chat", limits=Limits(**limits)))


def test_an_answer_of_just_the_limit_passes_and_one_more_byte_does_not():
    body, wire = REPLY.body_bytes(), wire_named("openai-chat")
    fits, beyond = decoder(body_bytes=len(body)), decoder(body_bytes=len(body) - 1)
    assert isinstance((fits.feed(body) + fits.close())[-1], Finished)
    assert isinstance((beyond.feed(body) + beyond.close())[-1], Failed)

    assert wire.decode_chat(body, target_on("openai-chat", limits=Limits(body_bytes=len(body))))
    with pytest.raises(InvalidResponse, match="larger than"):
        wire.decode_chat(body, target_on("openai-chat", limits=Limits(body_bytes=len(body) - 1)))


def test_a_stream_beyond_the_limit_keeps_what_came_before():
    data = REPLY.stream_bytes()
    whole, cut = decoder(body_bytes=len(data) // 2), decoder(body_bytes=len(data) // 2)
    events = whole.feed(data)
    assert isinstance(events[-1].error, InvalidResponse)
    assert len(events) > 1
    assert [event for at in range(len(data)) for event in cut.feed(data[at : at + 1])][:-1] == events[:-1]


def test_nothing_is_read_after_the_end():
    subject = decoder()
    subject.feed(REPLY.stream_bytes())
    assert subject.ended
    assert subject.feed(REPLY.stream_bytes()) == subject.close() == []


def test_blank_lines_and_a_mark_before_the_answer_mean_nothing():
    subject = decoder()
    data = b"\xef\xbb\xbf" + b"\n" * 200 + REPLY.body_bytes()
    events = [event for at in range(len(data)) for event in subject.feed(data[at : at + 1])] + subject.close()
    assert fold(events).text == "Grüß dich ☃ 😀"


def test_a_stream_that_never_began_is_incomplete():
    subject = decoder()
    (failed,) = subject.feed(b"\n\n") + subject.close()
    assert isinstance(failed.error, IncompleteStream)
    assert (failed.error.provider, failed.error.model) == ("lyrebird", "owl-2")


def test_a_last_event_without_its_end_is_cut_off_not_malformed():
    subject = decoder()
    events = subject.feed(REPLY.stream_bytes()[:-200]) + subject.close()
    assert isinstance(events[-1].error, IncompleteStream)
