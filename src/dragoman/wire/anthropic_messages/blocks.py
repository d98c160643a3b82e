"""Messages as Anthropic's turns of content blocks."""

from base64 import b64encode
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ...errors import Misuse
from ...exchange import Note
from ...messages import (
    Audio,
    CacheMark,
    Document,
    Image,
    Message,
    Opaque,
    OpaquePart,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from ...target import Target
from ..arguments import arguments_object
from ..reading import string

__all__ = ["cache_control", "instructions", "turns"]

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ROLES: dict[Role, Role] = {"tool": "user"}

Block = dict[str, Any]


def instructions(messages: Sequence[Message], notes: list[Note]) -> tuple[list[Block], Sequence[Message]]:
    """The system messages that a conversation opens with, as blocks, and the rest of it."""
    first = list(takewhile(_is_instruction, messages))
    return [block for message in first for block in _blocks(message, notes)], messages[len(first) :]


def _is_instruction(message: Message) -> bool:
    # Changes of the tools travel in system messages too, and only between the turns.
    return message.role == "system" and not any(isinstance(part, OpaquePart) for part in message.parts)


def turns(messages: Sequence[Message], target: Target, notes: list[Note]) -> list[dict[str, Any]]:
    """The conversation as the wire wants it: roles alternate, results come first, nothing is empty."""
    done: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message, notes)
        if not blocks:
            continue
        role = _role(message, target, notes)
        if done and done[-1]["role"] == role:
            done[-1]["content"] += blocks
        else:
            done.append({"role": role, "content": blocks})
    for turn in done:
        turn["content"].sort(key=lambda block: block.get("type") != "tool_result")
    _repeat_toolsets(done)
    return done


def _role(message: Message, target: Target, notes: list[Note]) -> Role:
    if message.role == "system" and not target.family.system_anywhere:
        why = "this model takes instructions only at the start; it became part of the user's turn"
        notes.append(Note("changed", "a system message", why))
        return "user"
    return _ROLES.get(message.role, message.role)


def _repeat_toolsets(done: list[dict[str, Any]]) -> None:
    """A call made through a toolset names it, and its result must name it again."""
    names: dict[str, Any] = {}
    for block in (block for turn in done for block in turn["content"]):
        if block.get("type") == "tool_use" and "toolset_name" in block:
            names[string(block.get("id"))] = block["toolset_name"]
        elif block.get("type") == "tool_result" and (id := string(block.get("tool_use_id"))) in names:
            block["toolset_name"] = names[id]


def _blocks(message: Message, notes: list[Note]) -> list[Block]:
    return [block for part in message.parts if (block := _block(part, notes)) is not None]


def _block(part: Part, notes: list[Note]) -> Block | None:
    match part:
        case Text():
            return _text(part, notes)
        case Image() | Document():
            return _media(part, notes)
        case Thinking():
            return _thinking(part)
        case ToolCall():
            return _call(part, notes)
        case ToolResult():
            return _result(part, notes)
        case OpaquePart():
            return dict(part.opaque.data)
        case Audio():
            raise Misuse("Anthropic Messages carries no audio: send a transcript, or use another wire")


def cache_control(mark: CacheMark | None) -> Block:
    """The field that marks a block for caching; five minutes is what a mark without a time means."""
    if mark is None:
        return {}
    return {"cache_control": {"type": "ephemeral"} | ({"ttl": mark} if mark != "5m" else {})}


def _state(opaque: Opaque | None) -> Block:
    return opaque.data if opaque is not None else {}


def _text(part: Text, notes: list[Note]) -> Block | None:
    if part.text.strip():
        return {"type": "text", "text": part.text} | cache_control(part.cache) | _state(part.opaque)
    if part.text:
        notes.append(Note("dropped", "a blank text", "text must hold more than white space here"))
    return None


def _thinking(part: Thinking) -> Block | None:
    """Only what its issuer has signed or sealed may go back."""
    state = _state(part.opaque)
    if "redacted" in state:
        return {"type": "redacted_thinking", "data": state["redacted"]}
    return {"type": "thinking", "thinking": part.text} | state if state.get("signature") else None


def _call(call: ToolCall, notes: list[Note]) -> Block:
    block = {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_object(call, notes)}
    return block | cache_control(call.cache) | _state(call.opaque)


def _result(result: ToolResult, notes: list[Note]) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": result.id}
    parts = (Text(result.content), *result.blocks)
    content: Any = result.content
    if result.blocks:
        content = [inner for part in parts if (inner := _block(part, notes)) is not None]
    if content:
        block["content"] = content
    if result.is_error:
        block["is_error"] = True
    return block | cache_control(result.cache) | _state(result.opaque)


def _media(part: Image | Document, notes: list[Note]) -> Block:
    kind = "image" if isinstance(part, Image) else "document"
    block: Block = {"type": kind, "source": _source(part, notes)}
    if isinstance(part, Document):
        block |= {"title": part.name} if part.name else {}
        block |= {"context": part.context} if part.context else {}
        block |= {"citations": {"enabled": True}} if part.citations else {}
    elif part.detail or part.name:
        notes.append(Note("dropped", "name and detail of an image", "this wire has no place for them"))
    return block | cache_control(part.cache) | _state(part.opaque)


def _source(part: Image | Document, notes: list[Note]) -> Block:
    if part.url:
        return {"type": "url", "url": part.url}
    if part.file_id:
        return {"type": "file", "file_id": part.file_id}
    if isinstance(part, Document) and part.media_type.startswith("text/"):
        return _plain_text(part, notes)
    if part.media_type in (_IMAGE_TYPES if isinstance(part, Image) else ("application/pdf",)):
        return {"type": "base64", "media_type": part.media_type, "data": b64encode(part.data).decode()}
    kind, accepted = ("image", "JPEG, PNG, GIF or WebP") if isinstance(part, Image) else ("document", "PDF or text")
    raise Misuse(f"Anthropic Messages cannot carry an {kind} of type {part.media_type!r}: send {accepted}")


def _plain_text(part: Document, notes: list[Note]) -> Block:
    if part.media_type != "text/plain":
        notes.append(Note("changed", f"document of type {part.media_type!r}", "sent as plain text"))
    try:
        return {"type": "text", "media_type": "text/plain", "data": part.data.decode()}
    except UnicodeDecodeError as error:
        raise Misuse(f"document of type {part.media_type!r} is not UTF-8: {error}") from error
