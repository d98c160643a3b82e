import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.limits import Limits
from dragoman.wire.framing import EventStreamFramer, Frame, JsonArrayFramer, JsonLinesFramer, SseFramer

SMALL = Limits(event_bytes=32)


def all_of(framer, *chunks):
    frames = []
    for chunk in chunks:
        frames += framer.feed(chunk)
    return frames + framer.close()


def bytewise(data):
    return [data[i : i + 1] for i in range(len(data))]


SSE_CASES = {
    "lf": (b"data: a\n\ndata: b\n\n", [Frame(b"a"), Frame(b"b")]),
    "cr": (b"data: a\r\rdata: b\r\r", [Frame(b"a"), Frame(b"b")]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [Frame(b"a"), Frame(b"b")]),
    "mixed ends": (b"data: a\r\n\ndata: b\n\r\n", [Frame(b"a"), Frame(b"b")]),
    "comments": (b": keep-alive\n\ndata: a\n\n: x\n\n", [Frame(b"a")]),
    "comment inside": (b"data: a\n: no\ndata: b\n\n", [Frame(b"a\nb")]),
    "several lines": (b"data: a\ndata: b\n\n", [Frame(b"a\nb")]),
    "names": (b"event: ping\ndata: {}\nid: 7\nretry: 3\n\n", [Frame(b"{}", "ping")]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [Frame(b"a")]),
    "no space": (b"data:a\n\ndata:  b\n\n", [Frame(b"a"), Frame(b" b")]),
    "no last blank line": (b"data: a\n\ndata: b", [Frame(b"a"), Frame(b"b")]),
    "name without data": (b"event: ping\n\ndata: a\n\n", [Frame(b"a")]),
    "empty data": (b"data:\n\n", [Frame(b"")]),
    "blank lines before": (b"\n\n\n\ndata: a\n\n\n\n", [Frame(b"a")]),
    "a line with no colon": (b"data\n\n", [Frame(b"")]),
}


@pytest.mark.parametrize(("data", "frames"), SSE_CASES.values(), ids=SSE_CASES)
def test_server_sent_events_are_read_whole_and_byte_by_byte(data, frames):
    assert all_of(SseFramer(), data) == frames
    assert all_of(SseFramer(), *bytewise(data)) == frames


def test_a_stream_cut_inside_a_character_is_whole_again():
    snowman = "data: ☃\n\n".encode()
    framer = SseFramer()

    assert framer.feed(snowman[:7]) == []
    assert framer.feed(snowman[7:]) == [Frame("☃".encode())]


def test_an_event_of_just_the_limit_passes_and_one_more_byte_does_not():
    data = b"data: " + b"x" * 26
    assert all_of(SseFramer(SMALL), data + b"\n\n") == [Frame(b"x" * 26)]

    framer = SseFramer(SMALL)
    assert framer.feed(b"data: ok\n\n" + data + b"x\n\ndata: later\n\n") == [Frame(b"ok")]
    assert framer.fault is not None


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_an_event_that_never_ends_is_a_fault_however_it_comes(cut):
    framer = SseFramer(SMALL)
    data = b"data: " + b"x" * 1000
    frames = [frame for start in range(0, len(data), cut) for frame in framer.feed(data[start : start + cut])]

    assert frames == []
    assert "larger than 32 bytes" in str(framer.fault)


@given(st.lists(st.binary(max_size=20)), st.randoms())
def test_any_bytes_in_any_cut_give_the_same_frames(chunks, random):
    data = b"".join(chunks)
    for kind in (SseFramer, JsonLinesFramer, JsonArrayFramer, EventStreamFramer):
        whole = kind(SMALL)
        cut = kind(SMALL)
        assert all_of(whole, data) == all_of(cut, *chunks)
        assert str(whole.fault) == str(cut.fault)


@given(st.lists(st.sampled_from([b"data: x", b"\n", b"\r", b"\r\n", b": c", b"event: e", b"data", b"\xef\xbb\xbf"])))
def test_lines_of_any_kind_in_any_cut_give_the_same_events(pieces):
    data = b"".join(pieces)
    assert all_of(SseFramer(), data) == all_of(SseFramer(), *pieces) == all_of(SseFramer(), *bytewise(data))


def test_json_lines_may_lack_the_last_end():
    data = b'{"a":1}\r\n\n{"b":2}'
    assert (
        all_of(JsonLinesFramer(), data)
        == all_of(JsonLinesFramer(), *bytewise(data))
        == [Frame(b'{"a":1}'), Frame(b'{"b":2}')]
    )


def test_elements_of_an_array_come_as_they_are_completed():
    data = b'[{"a":"]}\\"["},\n {"b":[1,{"c":2}]}\n]'
    framer = JsonArrayFramer()

    assert framer.feed(data[:16]) == [Frame(b'{"a":"]}\\"["}')]
    assert framer.feed(data[16:]) == [Frame(b'{"b":[1,{"c":2}]}')]
    assert all_of(JsonArrayFramer(), *bytewise(data)) == all_of(JsonArrayFramer(), data)


def test_an_element_beyond_the_limit_is_a_fault():
    framer = JsonArrayFramer(SMALL)
    assert framer.feed(b'[{"a":1},{"b":"' + b"x" * 40) == [Frame(b'{"a":1}')]
    assert framer.fault is not None


# ── AWS event streams ──


def message(payload=b"{}", **headers):
    encoded = b"".join(
        bytes([len(name) + 1]) + b":" + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in ((key.replace("_", "-"), value) for key, value in headers.items())
    )
    prelude = struct.pack("!II", len(encoded) + len(payload) + 16, len(encoded))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + encoded + payload
    return body + struct.pack("!I", zlib.crc32(body))


EVENT = message(b'{"role":"assistant"}', message_type="event", event_type="messageStart")
FAULT = message(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException")


def test_event_stream_messages_are_read_in_any_cut():
    frames = [
        Frame(b'{"role":"assistant"}', "messageStart"),
        Frame(b'{"message":"slow down"}', "throttlingException", True),
    ]

    assert all_of(EventStreamFramer(), EVENT + FAULT) == frames
    assert all_of(EventStreamFramer(), *bytewise(EVENT + FAULT)) == frames


@pytest.mark.parametrize("at", [0, 9, 20, len(EVENT) - 1])
def test_a_flipped_bit_fails_a_checksum(at):
    damaged = bytearray(EVENT)
    damaged[at] ^= 1
    framer = EventStreamFramer()

    assert framer.feed(FAULT + bytes(damaged)) == [Frame(b'{"message":"slow down"}', "throttlingException", True)]
    assert framer.fault is not None


def test_a_message_that_claims_too_much_is_refused_before_it_comes():
    prelude = struct.pack("!II", 1 << 30, 0)
    framer = EventStreamFramer()
    framer.feed(prelude + struct.pack("!I", zlib.crc32(prelude)))

    assert "claims" in str(framer.fault)


def test_an_error_that_stands_in_the_headers_alone_is_read():
    frames = EventStreamFramer().feed(
        message(b"", message_type="error", error_code="Broken", error_message='so "it" is')
    )
    assert frames == [Frame(b'{"message": "so \\"it\\" is"}', "Broken", True)]


def test_headers_of_other_types_are_stepped_over():
    odd = b"\x04:num\x04\x00\x00\x00\x07" + b"\x05:flag\x00" + b"\x0b:event-type\x07\x00\x04ping"
    prelude = struct.pack("!II", len(odd) + 2 + 16, len(odd))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + odd + b"{}"

    assert EventStreamFramer().feed(body + struct.pack("!I", zlib.crc32(body))) == [Frame(b"{}", "ping")]


@pytest.mark.parametrize("framer", [SseFramer, JsonLinesFramer])
def test_a_long_event_in_small_pieces_is_joined_once(framer):
    """Work grows with the bytes, not with bytes times pieces: what was searched is not touched again until the end."""
    subject = framer()
    for _ in range(2_000):
        assert subject.feed(b"x" * 10) == []

    assert subject._pieces == [b"x" * 10] * 2_000


def test_a_long_element_in_small_pieces_is_searched_once():
    subject = JsonArrayFramer()
    subject.feed(b'[{"a":"')
    for _ in range(2_000):
        subject.feed(b"x" * 10)
        assert subject._searched == len(subject._held)


def padded(kind, size):
    """One event of exactly that many bytes, as its framing counts them, and the bytes that bring it."""
    if kind is EventStreamFramer:
        return message(b"x" * (size - 16))
    if kind is JsonArrayFramer:
        return b'[{"a":"' + b"x" * (size - 8) + b'"}]'
    return b"data: " + b"x" * (size - 6) + kind.delimiter


@pytest.mark.parametrize("kind", [SseFramer, JsonLinesFramer, JsonArrayFramer, EventStreamFramer])
def test_the_limit_is_the_same_to_the_byte_however_an_event_comes(kind):
    for cut in (lambda data: [data], bytewise):
        fits, beyond = kind(SMALL), kind(SMALL)
        assert len(all_of(fits, *cut(padded(kind, 32)))) == 1
        assert fits.fault is None
        assert all_of(beyond, *cut(padded(kind, 33))) == []
        assert beyond.fault is not None


def test_elements_of_an_array_are_forgotten_once_given():
    framer = JsonArrayFramer()
    framer.feed(b"[" + b'{"a":1},' * 1_000)
    assert len(framer._held) == 0
    assert framer.feed(b'{"b":') == []
    assert framer.feed(b"2}") == [Frame(b'{"b":2}')]


def test_headers_that_never_repeat_are_not_all_remembered():
    framer = EventStreamFramer()
    for n in range(200):
        framer.feed(message(event_type=f"kind-{n}"))
    assert 0 < len(framer._seen) <= 64


def test_a_payload_beside_an_error_in_the_headers_is_kept():
    frames = EventStreamFramer().feed(message(b'{"x":1}', message_type="error", error_message="so it is"))
    assert frames == [Frame(b'{"x":1}', "", True)]


@pytest.mark.parametrize(("total", "headers"), [(0, 0), (15, 0), (20, 8), (16, 1)])
def test_a_message_that_claims_less_than_it_must_be_is_refused(total, headers):
    prelude = struct.pack("!II", total, headers)
    framer = EventStreamFramer()

    assert framer.feed(prelude + struct.pack("!I", zlib.crc32(prelude)) + bytes(40)) == []
    assert "claims" in str(framer.fault)
