"""The laws that every wire keeps, over the same answers in each."""

import contextlib
import copy
import json
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DragomanError, InvalidResponse
from dragoman.events import Failed, Finished, fold
from dragoman.http import HttpResponse
from dragoman.limits import Limits
from dragoman.wire import WIRES, wire_named

from .replies import REPLIES, Reply, framed, target_on

every_reply = pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: f"{reply.wire} {reply.name}")


def streamed(wire, *chunks, **more):
    decoder = wire_named(wire).chat_decoder(target_on(wire, **more))
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.close()


def comparable(events):
    """Errors have no equality; what they say does."""
    return [(type(e.error).__name__, str(e.error)) if isinstance(e, Failed) else e for e in events]


@every_reply
def test_folding_the_stream_gives_the_reply_of_the_body(reply):
    whole = wire_named(reply.wire).decode_chat(reply.body_bytes(), target_on(reply.wire))
    assert fold(streamed(reply.wire, reply.stream_bytes())) == whole


@every_reply
def test_any_cut_gives_the_same_events(reply):
    data = reply.stream_bytes()
    whole = streamed(reply.wire, data)

    assert streamed(reply.wire, *(data[i : i + 1] for i in range(len(data)))) == whole
    for seed in range(5):
        cuts = sorted(random.Random(seed).sample(range(len(data)), 20))
        assert streamed(reply.wire, *(data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True))) == whole


@every_reply
def test_a_body_where_a_stream_was_asked_for_is_read_all_the_same(reply):
    body = reply.body_bytes()
    assert (
        fold(streamed(reply.wire, body))
        == fold(streamed(reply.wire, b"\n  ", body))
        == wire_named(reply.wire).decode_chat(body, target_on(reply.wire))
    )


@every_reply
def test_each_part_is_opened_once_and_closed_once_and_the_end_is_last(reply):
    events = streamed(reply.wire, reply.stream_bytes())
    assert isinstance(events[-1], Finished)
    assert not any(isinstance(event, (Finished, Failed)) for event in events[:-1])
    names = [type(event).__name__ for event in events]
    assert sum(name.endswith("Start") for name in names) == sum(name.endswith("End") for name in names)


@every_reply
def test_a_stream_cut_short_is_never_a_success(reply):
    """However little is missing, unless all that is missing comes after the provider's own last word."""
    data = reply.stream_bytes()
    complete = fold(streamed(reply.wire, data))
    for end in range(0, len(data), max(1, len(data) // 60)):
        last = streamed(reply.wire, data[:end])[-1]
        if isinstance(last, Finished):
            cut = fold(streamed(reply.wire, data[:end]))
            assert (cut.message, cut.finish_reason) == (complete.message, complete.finish_reason)
        else:
            assert isinstance(last.error, DragomanError)


# ── what an upstream may get wrong ──

JUNK = [None, 0, -1, 1.5, True, "", "x", [], {}, [None], [[]], {"a": 1}, "\ud800", 10**30, ["x"], [{"type": "new"}]]


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def spoiled(value, path, junk):
    if not path:
        return junk
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return changed


def outcome(wire, data):
    """What a decoder makes of bytes: a typed ending, whatever they are, the same for two cuts."""
    events = streamed(wire, data)
    assert isinstance(events[-1], (Finished, Failed))
    assert comparable(streamed(wire, data[: len(data) // 2], data[len(data) // 2 :])) == comparable(events)
    if isinstance(events[-1], Failed):
        assert isinstance(events[-1].error, DragomanError)
    else:
        fold(events)
    return events


@every_reply
def test_anything_in_any_place_of_a_body_ends_in_a_response_or_a_typed_error(reply):
    for path in places(reply.body):
        for junk in JUNK:
            try:
                wire_named(reply.wire).decode_chat(
                    json.dumps(spoiled(reply.body, path, junk)).encode(), target_on(reply.wire)
                )
            except DragomanError:
                continue


@every_reply
def test_anything_in_any_place_of_a_stream_ends_in_a_response_or_a_typed_error(reply):
    for path in places(reply.stream):
        if path:
            for junk in JUNK[len(str(path)) % 2 :: 2]:
                outcome(reply.wire, framed(reply.wire, spoiled(reply.stream, path, junk)))


@every_reply
def test_anything_missing_ends_in_a_response_or_a_typed_error(reply):
    for path in places(reply.stream):
        if path:
            changed = copy.deepcopy(reply.stream)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            del inner[path[-1]]
            outcome(reply.wire, framed(reply.wire, changed))


@every_reply
def test_unknown_fields_change_nothing(reply):
    def more(value):
        if isinstance(value, dict):
            return {key: more(item) for key, item in value.items()} | (
                {"brand_new": {"deep": [1]}} if "input" not in value and value and "city" not in value else {}
            )
        return [more(item) for item in value] if isinstance(value, list) else value

    before = fold(streamed(reply.wire, reply.stream_bytes()))
    with_more = [more(payload) for payload in reply.stream]
    if reply.wire == "bedrock-converse":
        with_more = [{name: more(item) for name, item in payload.items()} for payload in reply.stream]
    after = fold(streamed(reply.wire, framed(reply.wire, with_more)))

    assert (after.text, after.thinking, after.finish_reason, after.usage) == (
        before.text,
        before.thinking,
        before.finish_reason,
        before.usage,
    )
    assert [call.name for call in after.tool_calls] == [call.name for call in before.tool_calls]


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.binary(max_size=200))
def test_any_bytes_end_in_a_typed_error(wire, data):
    outcome(wire, data)
    with contextlib.suppress(DragomanError):
        wire_named(wire).decode_chat(data, target_on(wire))
    wire_named(wire).decode_error(HttpResponse(status=500, body=data), target_on(wire))


@pytest.mark.parametrize("wire", WIRES)
@given(text=st.text(max_size=100), status=st.sampled_from([400, 401, 403, 404, 413, 429, 500, 503, 529]))
def test_any_error_body_gives_a_sentence_that_names_the_provider(wire, text, status):
    bodies = [
        text,
        json.dumps(text),
        json.dumps({"error": text}),
        json.dumps({"error": {"message": text}}),
        json.dumps([{"error": {"message": text}}]),
    ]
    for body in bodies:
        error = wire_named(wire).decode_error(
            HttpResponse(status=status, body=body.encode("utf-8", "replace")), target_on(wire)
        )
        assert str(error).startswith(f"lyrebird http {status}: ")
        assert error.status == status


@pytest.mark.parametrize("wire", WIRES)
def test_a_web_page_is_not_an_answer(wire):
    page = b"<!doctype html><title>Bad gateway</title>"
    assert isinstance(streamed(wire, page)[-1].error, InvalidResponse)
    with pytest.raises(InvalidResponse):
        wire_named(wire).decode_chat(page, target_on(wire))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("data", [b"", b"   ", b"\n\n", b"null", b"[]", b"{}", b'""', b"0"])
def test_an_empty_answer_is_an_error(wire, data):
    assert isinstance(streamed(wire, data)[-1], Failed)
    with pytest.raises(DragomanError):
        wire_named(wire).decode_chat(data, target_on(wire))


@pytest.mark.parametrize("wire", WIRES)
def test_nesting_has_an_end(wire):
    for depth in (100, 100_000):
        deep = b'{"x":' + b"[" * depth + b"]" * depth + b"}"
        with pytest.raises(DragomanError):
            wire_named(wire).decode_chat(deep, target_on(wire))
        outcome(wire, framed("ollama", [0])[:0] + b"data: " + deep + b"\n\n")


@every_reply
def test_a_body_beyond_the_limit_is_refused(reply):
    target = target_on(reply.wire, limits=Limits(body_bytes=64))
    with pytest.raises(InvalidResponse, match="larger than 64 bytes"):
        wire_named(reply.wire).decode_chat(reply.body_bytes(), target)
    decoder = wire_named(reply.wire).chat_decoder(target)
    assert isinstance((decoder.feed(reply.body_bytes()) + decoder.close())[-1], Failed)


@every_reply
def test_an_event_beyond_the_limit_is_refused(reply):
    events = streamed(reply.wire, reply.stream_bytes(), limits=Limits(event_bytes=24))
    assert isinstance(events[-1].error, InvalidResponse)


def test_nothing_is_opened_while_decoding():
    """An audit hook sees every file, socket and process; decoding touches none."""
    program = """
import sys
from tests.wire.replies import REPLIES, target_on
from dragoman.wire import wire_named
for reply in REPLIES:  # first round: imports happen
    wire_named(reply.wire).decode_chat(reply.body_bytes(), target_on(reply.wire))
seen = []
watched = ("open", "socket", "subprocess", "os", "time")
sys.addaudithook(lambda event, args: seen.append(event) if event.split(".")[0] in watched else None)
for reply in REPLIES:
    wire_named(reply.wire).decode_chat(reply.body_bytes(), target_on(reply.wire))
    decoder = wire_named(reply.wire).chat_decoder(target_on(reply.wire))
    decoder.feed(reply.stream_bytes()), decoder.close()
assert not seen, seen
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def steps(work):
    """How many lines of Python a piece of work runs: a measure that no busy machine disturbs."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("wire", WIRES)
def test_work_grows_with_the_size_of_the_answer_and_no_faster(wire):
    """Twice the deltas take twice the steps, in a stream and in the fold."""
    reply = next(reply for reply in REPLIES if reply.wire == wire and reply.name == "text")
    at = next(
        n
        for n, payload in enumerate(reply.stream)
        if "Grüß" in json.dumps(payload, ensure_ascii=False) and "dich" not in json.dumps(payload, ensure_ascii=False)
    )

    def long(times):
        return Reply(
            wire, "long", {}, [*reply.stream[:at], *[reply.stream[at]] * times, *reply.stream[at + 1 :]]
        ).stream_bytes()

    small, large = long(200), long(400)
    once, twice = steps(lambda: fold(streamed(wire, small))), steps(lambda: fold(streamed(wire, large)))
    assert twice < 2.1 * once
    pieces = [large[i : i + 64] for i in range(0, len(large), 64)]
    halves = [small[i : i + 64] for i in range(0, len(small), 64)]
    assert steps(lambda: streamed(wire, *pieces)) < 2.1 * steps(lambda: streamed(wire, *halves))
