"""Parts as Converse's content blocks: one key each, files by a word for their format.

One writer serves one request: documents need names that are unique in it and use a narrow
alphabet, and cache points may not stand everywhere.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from ...errors import Misuse
from ...exchange import Note
from ...messages import (
    Audio,
    Document,
    Image,
    Message,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ...target import Target
from ..arguments import arguments_object

__all__ = ["FILLER", "BlockWriter", "media_type_for", "tool_name"]

Block = dict[str, Any]

# Stands where Converse refuses to see nothing.
FILLER = "."

_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_VIDEOS = {
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/mpg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
_SOUNDS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/aac": "aac",
    "audio/x-aac": "x-aac",
    "audio/mp4": "mp4",
    "audio/x-m4a": "m4a",
    "audio/m4a": "m4a",
    "audio/webm": "webm",
    "audio/pcm": "pcm",
}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "application/json": "txt",
    "application/xml": "txt",
    "application/yaml": "txt",
}
_FORMATS: dict[str, dict[str, str]] = {"image": _IMAGES, "video": _VIDEOS, "audio": _SOUNDS, "document": _DOCUMENTS}
# Ends of file names that are not the word for their format.
_SUFFIXES = {"jpg": "jpeg", "mpg": "mpeg", "3gp": "three_gp", "htm": "html", "markdown": "md", "text": "txt"}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9\s()\[\]-]")
_LONGEST_NAME = 200


class BlockWriter:
    """Writes the parts of one request as blocks."""

    def __init__(self, target: Target, notes: list[Note]) -> None:
        self._target = target
        self._notes = notes
        self._names: set[str] = set()

    def blocks(self, message: Message) -> list[Block]:
        """The blocks of a message, with a cache point after every part that asks for one."""
        written: list[Block] = []
        for part in message.parts:
            block = self._block(part, message)
            if block is not None:
                written.append(block)
            if mark := _mark(part):
                self.cache_point(written, mark)
        if message.role == "user" and _has(written, "document") and not _has(written, "text"):
            written.append({"text": FILLER})  # a document is refused without a word about it
        return written

    def cache_point(self, blocks: list[Block], mark: str | bool) -> None:
        """Ask for everything up to here to be cached: at the end, or before documents that no point may follow."""
        if not self._target.family.caches:
            self._note(Note("dropped", "cache mark", "this model family refuses cache points"))
            return
        at = len(blocks)
        while at and not self._may_end_cache(blocks[at - 1]):
            at -= 1
        if at < len(blocks):
            self._note(Note("changed", "cache mark", "no cache point may follow this document or video"))
        if at and "cachePoint" not in blocks[at - 1]:
            blocks.insert(at, {"cachePoint": {"type": "default"} | self._lifetime(mark)})

    def _lifetime(self, mark: str | bool) -> Block:
        if mark == "1h" and not self._is_claude:
            self._note(Note("changed", "cache mark", "this model family caches for five minutes, not for an hour"))
        return {"ttl": "1h"} if mark == "1h" and self._is_claude else {}

    @property
    def _is_claude(self) -> bool:
        return self._target.family.body_style == "claude"

    def _may_end_cache(self, block: Block) -> bool:
        if "video" in block:
            return False
        if "document" not in block:
            return True
        document = block["document"]
        return self._is_claude and (document["format"] == "pdf" or "citations" in document)

    def _note(self, note: Note) -> None:
        if note not in self._notes:
            self._notes.append(note)

    # ── parts ───────────────────────────────────────────────────────────────────────────────────

    def _block(self, part: Part, message: Message) -> Block | None:
        if message.role == "system" and not isinstance(part, Text | OpaquePart):
            raise Misuse(f"Converse takes no {type(part).__name__} in a system message: put it in the user's")
        match part:
            case Text():
                return self._text(part)
            case Thinking():
                return self._thinking(part, message)
            case ToolCall():
                arguments = arguments_object(part, self._notes)
                return {"toolUse": {"toolUseId": part.id, "name": self._tool_name(part.name), "input": arguments}}
            case ToolResult():
                return {"toolResult": self._tool_result(part)}
            case OpaquePart():
                return dict(part.opaque.data)
            case _:
                return self._media(part)

    def _tool_name(self, name: str) -> str:
        fitted = tool_name(name)
        if fitted != name:
            self._note(Note("changed", f"name of the call {name!r}", f"sent as {fitted!r}, which is accepted here"))
        return fitted

    def _text(self, part: Text) -> Block | None:
        state = part.opaque.data if part.opaque else {}
        if "citations" in state and self._is_claude:
            content = {"content": [{"text": part.text}]} if part.text else {}
            return {"citationsContent": content | {"citations": state["citations"]}}
        if "citations" in state:
            self._note(Note("dropped", "citations", "this model family does not take them back"))
        # An empty text is refused.
        return {"text": part.text} if part.text else None

    def _thinking(self, part: Thinking, message: Message) -> Block | None:
        state = part.opaque.data if part.opaque else {}
        if "redacted" in state:
            return {"reasoningContent": {"redactedContent": state["redacted"]}}
        if "signature" in state:
            signed = {"text": part.text, "signature": state["signature"]}
            return {"reasoningContent": {"reasoningText": signed}}
        if part.text and self._wanted_back(message):
            return {"reasoningContent": {"reasoningText": {"text": part.text}}}
        return None

    def _wanted_back(self, message: Message) -> bool:
        echo = self._target.quirks.reasoning_echo
        wanted = echo == "always" or (echo == "tool turns" and bool(message.tool_calls))
        return wanted and self._target.family.takes_reasoning_back

    def _tool_result(self, result: ToolResult) -> Block:
        content: list[Block] = [{"text": result.content}] if result.content else []
        for block in result.blocks:
            written = self._text(block) if isinstance(block, Text) else self._media(block)
            content += [written] if written else []
        wire: Block = {"toolUseId": result.id, "content": content or [{"text": FILLER}]}
        return wire | ({"status": "error"} if result.is_error else {})

    # ── files ───────────────────────────────────────────────────────────────────────────────────

    def _media(self, part: Image | Audio | Document) -> Block:
        kind = _kind(part)
        wire: Block = {"format": _format(part, kind), "source": _source(part)}
        if isinstance(part, Document) and kind == "document":
            wire["name"] = self._name(part, wire["format"])
            if part.context:
                wire["context"] = part.context
            if part.citations:
                wire |= {"citations": {"enabled": True}} | _cited_source(part, wire["format"])
        return {kind: wire}

    def _name(self, part: Document, format: str) -> str:
        """A name in the alphabet that Converse allows, used once."""
        wanted = part.name.removesuffix(f".{format}")
        plain = " ".join(_NOT_IN_NAMES.sub("-", wanted).split())[: _LONGEST_NAME - 8]
        name = plain = plain or "document"
        count = 1
        while name in self._names:
            count += 1
            name = f"{plain} {count}"
        self._names.add(name)
        if wanted and name != wanted:
            self._note(
                Note("changed", f"document name {part.name!r}", f"it is sent as {name!r}, as Converse's rules ask")
            )
        return name


def tool_name(name: str) -> str:
    """The name of a tool called earlier, perhaps elsewhere, in the letters that Converse allows."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def _mark(part: Part) -> str | None:
    """How long a part is to be cached. What a result holds cannot be marked, so its marks are the result's."""
    within = part.blocks if isinstance(part, ToolResult) else ()
    marks = {mark for each in (part, *within) if (mark := getattr(each, "cache", None))}
    return max(marks, key=("5m", "1h").index, default=None)


def _has(blocks: Iterable[Block], kind: str) -> bool:
    return any(kind in block for block in blocks)


def _kind(part: Image | Audio | Document) -> str:
    if isinstance(part, Document):
        is_video = part.media_type.startswith("video/") or (not part.media_type and _suffix_format(part.url, "video"))
        return "video" if is_video else "document"
    return "image" if isinstance(part, Image) else "audio"


def _format(part: Image | Audio | Document, kind: str) -> str:
    formats = _FORMATS[kind]
    found = formats.get(part.media_type)
    if found is None and kind == "document" and part.media_type.startswith("text/"):
        found = "txt"
    if found is None and not part.media_type:
        found = _suffix_format(part.url, kind)
    if found is None:
        raise Misuse(f"Converse cannot carry {kind} of type {part.media_type!r}: use one of {', '.join(formats)}")
    return found


def media_type_for(kind: str, format: str) -> str:
    """The media type that a word for a format stands for."""
    return next((type for type, word in _FORMATS[kind].items() if word == format), f"{kind}/{format or 'unknown'}")


def _suffix_format(url: str, kind: str) -> str | None:
    suffix = url.rpartition(".")[2].lower()
    format = _SUFFIXES.get(suffix, suffix)
    return format if format in _FORMATS[kind].values() else None


def _source(part: Image | Audio | Document) -> Block:
    if part.data:
        return {"bytes": b64encode(part.data).decode()}
    if part.url.startswith("s3://"):
        return {"s3Location": {"uri": part.url}}
    raise Misuse(f"Converse cannot fetch a {type(part).__name__}: send its bytes, or an s3:// URL")


def _cited_source(part: Document, format: str) -> Block:
    """Plain text that is to be cited goes as text: its characters are what citations count."""
    try:
        return {"source": {"text": part.data.decode()}} if part.data and format == "txt" else {}
    except UnicodeDecodeError:
        return {}
