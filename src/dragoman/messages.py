"""What is said: messages and the parts they are made of.

A part keeps its place: a model that thinks, speaks, calls a tool and speaks again gives four
parts in that order, and gets them back in that order. Whatever a provider needs returned
untouched (signatures, encrypted reasoning, item ids) sits on the part it belongs to as
`Opaque`, with the name of who issued it; only the issuer ever sees it again.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from .arguments import read_arguments
from .errors import Misuse
from .media import data_url, media_type_of
from .surrogates import clean

__all__ = [
    "Audio",
    "Document",
    "Image",
    "Message",
    "Opaque",
    "OpaquePart",
    "Part",
    "Role",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "dump_messages",
    "load_messages",
    "render_blocks_as_text",
]

Role = Literal["system", "user", "assistant", "tool"]
ROLES = ("system", "user", "assistant", "tool")

# How long a prompt-cache mark on a part should hold; None is no mark.
CacheMark = Literal["5m", "1h"]


class Opaque(Struct, frozen=True, omit_defaults=True):
    """State that only its issuer understands, to be returned verbatim to it and to nobody else."""

    issuer: str
    data: dict[str, Any]


class Text(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="text"):
    """Words meant for the reader."""

    text: str
    opaque: Opaque | None = None
    cache: CacheMark | None = None


class _Media(Struct, frozen=True, omit_defaults=True, tag_field="type"):
    """A file said rather than written: its bytes, or where it lies. Exactly one of the three."""

    data: bytes = b""
    media_type: str = ""
    url: str = ""
    file_id: str = ""
    name: str = ""
    cache: CacheMark | None = None
    opaque: Opaque | None = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if self.url.startswith("data:"):
            self._take_data_url(kind)
        sources = sum(1 for source in (self.data, self.url, self.file_id) if source)
        if sources != 1:
            raise Misuse(f"{kind} needs exactly one of data, url and file_id; it was given {sources}")
        if self.data and not self.media_type:
            found = media_type_of(self.data)
            if found is None:
                raise Misuse(
                    f"{kind} of {len(self.data)} bytes is of no kind we can recognise: give media_type='…/…' with it"
                )
            force_setattr(self, "media_type", found)

    def _take_data_url(self, kind: str) -> None:
        """A `data:` URL is no place but the bytes themselves; so every wire can carry it."""
        media_type, data = data_url(self.url, kind)
        force_setattr(self, "url", "")
        force_setattr(self, "data", data)
        force_setattr(self, "media_type", self.media_type or media_type)


class Image(_Media, frozen=True, tag="image"):
    """A picture. `detail` is the reading accuracy some providers sell (`low`, `high`, `auto`)."""

    detail: str = ""


class Audio(_Media, frozen=True, tag="audio"):
    """Sound. `transcript` holds the words of audio that a model spoke."""

    transcript: str = ""


class Document(_Media, frozen=True, tag="document"):
    """A file to read: PDF, text, or anything with a media type that is neither image nor audio."""

    context: str = ""
    citations: bool = False


class Thinking(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="thinking"):
    """The model's reasoning: a channel of its own, never part of the answer."""

    text: str = ""
    opaque: Opaque | None = None


class ToolCall(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="tool_call"):
    """A model's wish to run one tool. `arguments` is JSON text exactly as it was received."""

    id: str
    name: str
    arguments: str = "{}"
    opaque: Opaque | None = None
    cache: CacheMark | None = None

    def parse_arguments(self) -> dict[str, Any]:
        """The arguments as a dictionary; InvalidResponse where the text is not exactly one JSON object."""
        return read_arguments(self.arguments, tool=self.name)


Block = Text | Image | Document


class ToolResult(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="tool_result"):
    """What a tool answered to the call of the same id. `blocks` follow `content` and may hold images."""

    id: str
    content: str = ""
    is_error: bool = False
    blocks: tuple[Block, ...] = ()
    opaque: Opaque | None = None
    cache: CacheMark | None = None


class OpaquePart(Struct, frozen=True, omit_defaults=True, tag_field="type", tag="opaque"):
    """A part only its issuer understands (a server-side tool's traffic, say), kept whole and in place."""

    kind: str
    opaque: Opaque


Part = Text | Image | Audio | Document | Thinking | ToolCall | ToolResult | OpaquePart


class Message(Struct, frozen=True):
    """One turn of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise Misuse(f"unknown role {self.role!r}: use one of {', '.join(ROLES)}")
        if not isinstance(self.parts, tuple):
            force_setattr(self, "parts", tuple(self.parts))

    @classmethod
    def system(cls, *content: "str | Part") -> "Message":
        """Instructions to the model."""
        return cls("system", _parts(content))

    @classmethod
    def user(cls, *content: "str | Part") -> "Message":
        """What the user says: text, or text with images, audio and documents."""
        return cls("user", _parts(content))

    @classmethod
    def assistant(cls, *content: "str | Part") -> "Message":
        """What the model said."""
        return cls("assistant", _parts(content))

    @classmethod
    def tool(cls, results: "ToolResult | Iterable[ToolResult]") -> "Message":
        """Every result of the turn before, in one message."""
        return cls("tool", (results,) if isinstance(results, ToolResult) else tuple(results))

    @property
    def text(self) -> str:
        """The words meant for the reader, without thinking."""
        return "".join(part.text for part in self.parts if type(part) is Text)

    @property
    def thinking(self) -> str:
        """The reasoning, apart from the answer."""
        return "".join(part.text for part in self.parts if type(part) is Thinking)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls the model wants made, in its order."""
        return tuple(part for part in self.parts if type(part) is ToolCall)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results this message carries."""
        return tuple(part for part in self.parts if type(part) is ToolResult)


def _parts(content: "Sequence[str | Part]") -> tuple[Part, ...]:
    return tuple(Text(item) if isinstance(item, str) else item for item in content)


def render_blocks_as_text(blocks: Iterable[Block]) -> str:
    """Tool-result blocks for a provider that takes only text there; a picture becomes its description.

    >>> render_blocks_as_text([Text("a chart:"), Image(b"1234", media_type="image/png")])
    'a chart:\\n[Image: image/png, 4B]'
    """
    return "\n".join(_block_as_text(block) for block in blocks)


def _block_as_text(block: Block) -> str:
    if isinstance(block, Text):
        return block.text
    kind = type(block).__name__
    where = f"{len(block.data)}B" if block.data else block.url or block.file_id
    return f"[{kind}: {block.media_type or 'unknown'}, {where}]"


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[Message, ...])


def dump_messages(messages: Iterable[Message]) -> bytes:
    """A conversation as JSON, with nothing lost."""
    conversation = list(messages)
    try:
        return _encoder.encode(conversation)
    except UnicodeEncodeError:
        return _encoder.encode(clean(msgspec.to_builtins(conversation)))


def load_messages(data: bytes | str) -> tuple[Message, ...]:
    """The conversation that `dump_messages` wrote."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise Misuse(f"not a stored conversation: {error}") from error
