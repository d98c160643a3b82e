"""Streams cut into their JSON messages, in the most naive way that reads a whole recording."""

import json
import re
import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["DONE", "event_stream", "first_half", "json_lines", "server_sent"]

DONE = "[DONE]"


def server_sent(text: str) -> Iterator[Any]:
    """The data of each server-sent event, parsed; `DONE` for the marker."""
    for block in re.split(r"\n\n+", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = [line.removeprefix("data:") for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(line.removeprefix(" ") for line in lines).strip()
        if data:
            yield DONE if data == DONE else json.loads(data)


def json_lines(text: str) -> Iterator[Any]:
    """One JSON value a line."""
    for line in text.split("\n"):
        if line.strip():
            yield json.loads(line)


def first_half(body: bytes) -> bytes:
    """The whole frames in the first half of a stream; nothing where there are none, or no frames to tell apart."""
    middle = len(body) // 2
    if body[:1] == b"\0":
        end = total = 0
        while (end := end + total) <= middle:
            (total,) = struct.unpack("!I", body[end : end + 4])
        return body[: end - total]
    if body[:1] == b"[":
        return b""
    delimiter = next(each for each in (b"\r\n\r\n", b"\n\n", b"\n") if each in body)
    whole, found, _ = body[:middle].rpartition(delimiter)
    return whole + found


def event_stream(body: bytes) -> Iterator[tuple[str, Any]]:
    """The name and payload of each AWS event-stream message; checksums are not looked at."""
    while body:
        total, header_size = struct.unpack("!II", body[:8])
        headers = body[12 : 12 + header_size]
        name = re.search(rb":(?:event|exception)-type\x07..([A-Za-z]+)", headers, re.S)
        yield name[1].decode() if name else "", json.loads(body[12 + header_size : total - 4])
        body = body[total:]
