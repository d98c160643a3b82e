"""The one shape of every stream decoder: framer, reader, scribe.

The framer cuts bytes into frames, the codec's reader gives a frame its meaning, the scribe writes
the events. A decoder never raises: whatever goes wrong is its terminal event, so what came before
the fault reaches the caller however the bytes were cut.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from ..errors import DragomanError, IncompleteStream, InvalidResponse
from ..events import Event, fold
from ..exchange import Response
from .framing import BOM, Frame, Framer
from .scribe import Scribe

__all__ = ["Reader", "StreamDecoder", "decode_whole"]


class Reader(Protocol):
    """A codec's understanding of one answer."""

    scribe: Scribe

    def read(self, frame: Frame) -> None:
        """Write down what one frame of a stream says."""
        ...

    def read_body(self, body: bytes) -> None:
        """Write down what a whole answer says."""
        ...

    def end(self) -> None:
        """The stream is over: finish the record if this was a proper end."""
        ...


def decode_whole(reader: Reader, body: bytes) -> Response:
    """The Response in a whole body; a typed error where it holds one or cannot be read."""
    limit = reader.scribe.target.limits.body_bytes
    try:
        if len(body) > limit:
            raise InvalidResponse(f"the answer is larger than {limit} bytes")
        reader.read_body(body)
    except DragomanError as error:
        reader.scribe.fail(error)
    if not reader.scribe.ended:
        reader.scribe.fail(InvalidResponse("the answer has no end", body=body))
    return fold(reader.scribe.take())


class StreamDecoder:
    """Bytes in, events out.

    `whole_if` holds the first bytes by which an answer shows itself to be one JSON body instead of
    a stream (an error sent with status 200, a server that does not stream); `other_framers` are
    those of a wire with more than one kind of stream, by the first byte of each.
    """

    def __init__(
        self,
        reader: Reader,
        framer: Framer,
        *,
        whole_if: bytes = b"{",
        other_framers: Mapping[bytes, Framer] | None = None,
    ) -> None:
        self._reader = reader
        self._scribe = reader.scribe
        self._framer = framer
        self._whole_if = whole_if
        self._other_framers = other_framers or {}
        self._room = self._scribe.target.limits.body_bytes
        self._body = bytearray()
        self._take: Callable[[bytes], None] = self._sniff

    @property
    def ended(self) -> bool:
        """Whether the terminal event has been given."""
        return self._scribe.ended

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that the stream says with these bytes."""
        if self._scribe.ended:
            return []
        self._room -= len(chunk)
        try:
            if self._room < 0:
                self._overflow(chunk)
            self._take(chunk)
        except DragomanError as error:
            self._scribe.fail(error)
        return self._scribe.take()

    def close(self) -> list[Event]:
        """The stream is over. The last events, with `Failed(IncompleteStream)` if it stopped too early."""
        if self._scribe.ended:
            return []
        try:
            if self._take == self._gather:
                self._reader.read_body(bytes(self._body))
            else:
                self._close_stream()
        except DragomanError as error:
            self._scribe.fail(error)
        if not self._scribe.ended:
            self._scribe.fail(IncompleteStream("the stream ended before the answer did"))
        return self._scribe.take()

    def _close_stream(self) -> None:
        try:
            self._read_all(self._framer.close())
        except InvalidResponse as cut:
            # A frame without its end that cannot be read was cut off, not malformed.
            raise IncompleteStream("the stream was cut off", body=cut.body) from cut
        if not self._scribe.ended:
            self._reader.end()

    def _sniff(self, chunk: bytes) -> None:
        # Blank lines before the answer (some servers send them to keep the line open) mean nothing.
        self._body = bytearray((bytes(self._body) + chunk).removeprefix(BOM).lstrip())
        begun = bytes(self._body)
        if BOM.startswith(begun):
            return
        if begun[:1] == b"<":
            raise InvalidResponse("the answer is a web page, not a stream", body=begun)
        if begun[:1] in self._whole_if:
            self._take = self._gather
        else:
            self._framer = self._other_framers.get(begun[:1], self._framer)
            self._take = self._frame
            self._body = bytearray()
            self._frame(begun)

    def _frame(self, chunk: bytes) -> None:
        self._read_all(self._framer.feed(chunk))
        if self._framer.fault is not None and not self._scribe.ended:
            raise self._framer.fault

    def _read_all(self, frames: list[Frame]) -> None:
        read, scribe = self._reader.read, self._scribe
        for frame in frames:
            read(frame)
            if scribe.ended:
                return

    def _gather(self, chunk: bytes) -> None:
        self._body += chunk

    def _overflow(self, chunk: bytes) -> None:
        """Read what still fits, so that where the answer is cut does not depend on how it came."""
        self._take(chunk[: self._room])
        limit = self._scribe.target.limits.body_bytes
        raise InvalidResponse(f"the answer is larger than {limit} bytes")
