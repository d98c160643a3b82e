"""Bytes to frames: server-sent events, JSON lines, JSON arrays, AWS event streams.

A framer is fed whatever arrived and answers with the frames that completes; a frame may be cut
anywhere, even inside a character. What it holds back is bounded. A framer never raises: damage
is put in `fault`, so that the frames before the damage are not lost with it.
"""

import json
import re
import struct
import zlib
from typing import Protocol

from msgspec import Struct

from ..errors import InvalidResponse
from ..limits import DEFAULT_LIMITS, Limits

__all__ = ["EventStreamFramer", "Frame", "Framer", "JsonArrayFramer", "JsonLinesFramer", "SseFramer"]

BOM = b"\xef\xbb\xbf"


class Frame(Struct, frozen=True, gc=False):
    """One message of a stream. `event` is its name where the framing has names."""

    data: bytes
    event: str = ""
    is_exception: bool = False


class Framer(Protocol):
    """Cuts a stream of bytes into frames."""

    fault: InvalidResponse | None

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take what arrived and return the frames it completes."""
        ...

    def close(self) -> list[Frame]:
        """Nothing more will come: return what the last bytes can still mean."""
        ...


class _Delimited:
    """Frames that end with a delimiter.

    What has no end yet is kept in pieces and joined once, when the end comes; so each byte is
    searched once, however the stream is cut.
    """

    delimiter: bytes

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.fault: InvalidResponse | None = None
        self._limit = limits.event_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._last = b""  # end of the last piece, where a delimiter may have begun

    def _blocks(self, chunk: bytes) -> list[bytes]:
        """The blocks that the chunk completes."""
        delimiter = self.delimiter
        if self._pieces:
            if delimiter not in self._last + chunk:
                self._keep(chunk)
                return []
            chunk = b"".join((*self._pieces, chunk))
            self._pieces, self._size = [], 0
        whole, found, rest = chunk.rpartition(delimiter)
        if rest:
            self._keep(rest)
        return whole.split(delimiter) if found else []

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        reach = len(self.delimiter) - 1
        self._last = (self._last + piece)[-reach:] if reach else b""
        # The first byte of a delimiter may already be among them and does not count.
        self._check(self._size - reach)

    def _rest(self) -> bytes:
        rest = b"".join(self._pieces)
        self._pieces = []
        return rest

    def _check(self, size: int) -> None:
        if size > self._limit and self.fault is None:
            self.fault = InvalidResponse(f"one event of the stream is larger than {self._limit} bytes")


class SseFramer(_Delimited):
    """Server-sent events: lines end in LF, CR or CRLF, an event ends at an empty line."""

    delimiter = b"\n\n"

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(limits)
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take what arrived and return the events it completes."""
        if self._after_cr or b"\r" in chunk:
            chunk = self._unix_lines(chunk)
        if self.fault is not None:
            return []
        return self._frames(self._blocks(chunk))

    def close(self) -> list[Frame]:
        """The last event, for servers that leave out the empty line after it."""
        return self._frames([self._rest()]) if self.fault is None else []

    def _frames(self, blocks: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        limit = self._limit
        for block in blocks:
            if len(block) > limit:
                # Whatever stands before the oversized event is still good; nothing after it is.
                self._check(len(block))
                break
            # The two shapes that nearly every event has; anything else is read line by line.
            if block[:6] == b"data: " and b"\n" not in block:
                frames.append(Frame(block[6:]))
                self._at_start = False
                continue
            name, _, data = block.partition(b"\n") if block[:7] == b"event: " else (b"", b"", block)
            if data[:6] == b"data: " and b"\n" not in data:
                frames.append(Frame(data[6:], name[7:].decode("utf-8", "replace")))
            elif block:
                frame = self._parsed(block)
                if frame is not None:
                    frames.append(frame)
            self._at_start = False
        return frames

    def _parsed(self, block: bytes) -> Frame | None:
        if self._at_start and block.startswith(BOM):
            block = block[len(BOM) :]
        event, data = "", []
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            if value[:1] == b" ":
                value = value[1:]
            if field == b"data":
                data.append(value)
            elif field == b"event":
                event = value.decode("utf-8", "replace")
        return Frame(b"\n".join(data), event) if data else None

    def _unix_lines(self, chunk: bytes) -> bytes:
        # A CR that ended the last chunk has already counted as a line end; its LF must not count again.
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk[-1:] == b"\r"
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class JsonLinesFramer(_Delimited):
    """One JSON value a line."""

    delimiter = b"\n"

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take what arrived and return the lines it completes."""
        return [] if self.fault is not None else self._frames(self._blocks(chunk))

    def close(self) -> list[Frame]:
        """The last line, which may lack its end."""
        return self._frames([self._rest()]) if self.fault is None else []

    def _frames(self, blocks: list[bytes]) -> list[Frame]:
        frames: list[Frame] = []
        for block in blocks:
            if len(block) > self._limit:
                self._check(len(block))
                break
            line = block.strip()
            if line:
                frames.append(Frame(line))
        return frames


_JSON_MARKS = re.compile(rb'["\\{}\[\]]')


class JsonArrayFramer:
    """The elements of one JSON array, as they are completed."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.fault: InvalidResponse | None = None
        self._limit = limits.event_bytes
        self._held = bytearray()
        self._searched = 0
        self._start = 0
        self._depth = 0
        self._in_string = False
        self._skip = -1

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take what arrived and return the elements it completes."""
        if self.fault is not None:
            return []
        self._held += chunk
        frames: list[Frame] = []
        for mark in _JSON_MARKS.finditer(self._held, self._searched):
            self._take(mark.start(), mark.group(), frames)
            if self.fault is not None:
                return frames
        self._searched = len(self._held)
        self._forget()
        if self._depth > 1 and len(self._held) > self._limit:
            self.fault = InvalidResponse(f"one event of the stream is larger than {self._limit} bytes")
        return frames

    def close(self) -> list[Frame]:
        """An element without its end means nothing."""
        return []

    def _take(self, at: int, mark: bytes, frames: list[Frame]) -> None:
        if self._in_string:
            if at == self._skip:
                return
            if mark == b"\\":
                self._skip = at + 1
            elif mark == b'"':
                self._in_string = False
        elif mark == b'"':
            self._in_string = True
        elif mark in b"{[":
            self._depth += 1
            if self._depth == 2:
                self._start = at
        elif mark in b"}]":
            self._depth -= 1
            if self._depth == 1:
                self._complete(at + 1, frames)

    def _complete(self, end: int, frames: list[Frame]) -> None:
        if end - self._start > self._limit:
            self.fault = InvalidResponse(f"one event of the stream is larger than {self._limit} bytes")
        else:
            frames.append(Frame(bytes(self._held[self._start : end])))
        self._start = end

    def _forget(self) -> None:
        """Drop what has been given out (or stands between elements)."""
        done = self._start if self._depth > 1 else len(self._held)
        if done:
            del self._held[:done]
            self._searched -= done
            self._skip -= done
            self._start = 0


# AWS event streams: total length, header length, CRC of those two; headers; payload; CRC of everything.
_PRELUDE = struct.Struct("!III")
_CRC = struct.Struct("!I")
_HEADER_VALUE_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_STRING_TYPES = (6, 7)
_MOST_HEADERS_SEEN = 64


class EventStreamFramer:
    """AWS event-stream messages, with both checksums verified."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.fault: InvalidResponse | None = None
        self._limit = limits.event_bytes
        self._header_limit = limits.header_bytes
        self._held = bytearray()
        self._seen: dict[bytes, dict[str, str]] = {}  # headers repeat from message to message

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take what arrived and return the messages it completes."""
        frames: list[Frame] = []
        if self.fault is not None:
            return frames
        self._held += chunk
        try:
            while (frame := self._next()) is not None:
                frames.append(frame)
        except InvalidResponse as fault:
            self.fault = fault
        return frames

    def close(self) -> list[Frame]:
        """A message without its end means nothing."""
        return []

    def _next(self) -> Frame | None:
        held = self._held
        if len(held) < _PRELUDE.size:
            return None
        total, header_size, prelude_crc = _PRELUDE.unpack_from(held)
        if zlib.crc32(held[:8]) != prelude_crc:
            raise InvalidResponse("an event-stream message begins with a wrong checksum", body=bytes(held[:64]))
        if total > self._limit or header_size > self._header_limit or total < header_size + 16:
            raise InvalidResponse(f"an event-stream message claims {total} bytes with {header_size} of headers")
        if len(held) < total:
            return None
        message = bytes(held[:total])
        del held[:total]
        if zlib.crc32(message[:-4]) != _CRC.unpack_from(message, total - 4)[0]:
            raise InvalidResponse("an event-stream message fails its checksum", body=message[:64])
        headers_end = _PRELUDE.size + header_size
        headers = self._headers(message[_PRELUDE.size : headers_end])
        name = headers.get(":event-type") or headers.get(":exception-type") or headers.get(":error-code", "")
        payload = message[headers_end:-4]
        if not payload and ":error-message" in headers:
            payload = json.dumps({"message": headers[":error-message"]}).encode()
        return Frame(payload, name, headers.get(":message-type", "event") != "event")

    def _headers(self, data: bytes) -> dict[str, str]:
        known = self._seen.get(data)
        if known is None:
            known = _event_headers(data)
            if len(self._seen) < _MOST_HEADERS_SEEN:
                self._seen[data] = known
        return known


def _event_headers(data: bytes) -> dict[str, str]:
    """The string-valued headers; other types are stepped over."""
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name = data[at + 1 : name_end].decode("utf-8", "replace")
            kind = data[name_end]
            at = name_end + 1
            size = _HEADER_VALUE_SIZES.get(kind)
            if size is None:
                if kind not in _STRING_TYPES:
                    raise InvalidResponse(f"an event-stream header has the unknown type {kind}")
                size = int.from_bytes(data[at : at + 2], "big")
                at += 2
                headers[name] = data[at : at + size].decode("utf-8", "replace")
            at += size
    except IndexError as error:
        raise InvalidResponse("an event-stream message has broken headers", body=data) from error
    return headers
