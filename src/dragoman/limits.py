"""The ends of every buffer: how much an answer may hold before it is refused."""

from msgspec import Struct

__all__ = ["DEFAULT_LIMITS", "Limits"]

MIB = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on what an upstream may send; each can be set, none can be absent."""

    body_bytes: int = 32 * MIB
    event_bytes: int = 8 * MIB
    header_bytes: int = 64 * 1024
    nesting: int = 64
    tool_calls: int = 512


DEFAULT_LIMITS = Limits()
