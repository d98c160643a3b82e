"""The same formats from the server's side: decode a request, encode a reply, held to one contract.

A mirror serves three masters: it fronts a gateway, it is the fake provider of tests, and it gives the
law that what a wire writes can be read again: `decode_request(encode_chat(request)) == request`.
"""

from importlib import import_module
from typing import Protocol, cast

from ...errors import DragomanError, Misuse
from ...events import Event
from ...exchange import Request, Response
from ...target import Target

__all__ = ["MIRRORS", "EventEncoder", "Mirror", "mirror_named"]


class EventEncoder(Protocol):
    """Writes one streamed answer."""

    def feed(self, event: Event, /) -> bytes:
        """The bytes that say this event; none where the format has no word for it."""
        ...


class Mirror(Protocol):
    """What the server's side of a wire can do."""

    def decode_request(self, body: bytes, target: Target, /) -> Request:
        """The request in a body; Misuse where it is none."""
        ...

    def encode_reply(self, response: Response, /, *, created: int = 0) -> bytes:
        """The body that says this response."""
        ...

    def StreamEncoder(self, *, created: int = 0) -> EventEncoder:  # a class in each module
        """An encoder for one streamed answer."""
        ...

    def encode_error(self, error: DragomanError, /) -> tuple[int, bytes]:
        """The status and the body that say this error."""
        ...


# Wires that can also be served; a module is imported when it is first asked for.
MIRRORS: dict[str, str] = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic-messages": "anthropic_messages",
}


def mirror_named(wire: str) -> Mirror:
    """The server's side of that wire; Misuse where there is none."""
    if wire not in MIRRORS:
        raise Misuse(f"{wire!r} cannot be served: use one of {', '.join(MIRRORS)}")
    return cast(Mirror, import_module(f".{MIRRORS[wire]}", __name__))
