"""Messages as Anthropic's turns of content blocks."""

from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

from msgspec.structs import replace

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
    render_blocks_as_text,
)
from ...target import Target
from ..arguments import arguments_object
from ..reading import string

__all__ = ["cache_control", "instructions", "turns"]

_IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ROLES: dict[Role, Role] = {"tool": "user"}

# From this version of the API on, documents are the user's to send and citations the assistant's.
_STRICTER_VERSION = "2026-10-21"

# Blocks that a model says by itself (None is no block at all); others are the traffic of the server's tools.
_SPOKEN = frozenset({None, "text", "thinking", "redacted_thinking", "tool_use"})

# Stands between a tool's result and an instruction, where a model would take the one for part of the other.
END_OF_RESULTS = "These are all the results."

# What a failure that came without words is said to be.
SILENT_FAILURE = "The tool failed and said nothing."

Block = dict[str, Any]


def instructions(
    messages: Sequence[Message], target: Target, notes: list[Note]
) -> tuple[list[Block], Sequence[Message]]:
    """The system messages that a conversation opens with, as blocks, and the rest of it."""
    first = list(takewhile(_is_instruction, messages))
    return [block for message in first for block in _blocks(message, target, notes)], messages[len(first) :]


def _is_instruction(message: Message) -> bool:
    return message.role == "system" and not _changes_tools(message)


def _changes_tools(message: Message) -> bool:
    """Changes of the tools travel in system messages too, and only between the turns."""
    return any(isinstance(part, OpaquePart) for part in message.parts)


def turns(messages: Sequence[Message], target: Target, notes: list[Note]) -> list[dict[str, Any]]:
    """The conversation as the wire wants it: roles alternate, results come first, nothing is empty."""
    done: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message, target, notes)
        if not blocks:
            continue
        _add_turn(done, _role(message, target, notes), blocks, notes)
    for turn in done:
        turn["content"].sort(key=lambda block: block.get("type") != "tool_result")
    _repeat_toolsets(done)
    _settle_instructions(done, target, notes)
    return done


def _add_turn(done: list[dict[str, Any]], role: Role, blocks: list[Block], notes: list[Note]) -> None:
    """Another turn, or more of the last. An instruction stands behind the user's turn, never before it."""
    instruction = done.pop() if role == "user" and done and _is_plain_instruction(done[-1]) else None
    if done and done[-1]["role"] == role:
        done[-1]["content"] += blocks
    else:
        done.append({"role": role, "content": blocks})
    if instruction is not None:
        notes.append(Note("changed", "a system message", "it may only follow the user's turn; it was put behind it"))
        done.append(instruction)


def _is_plain_instruction(turn: dict[str, Any]) -> bool:
    return turn["role"] == "system" and all(block.get("type") == "text" for block in turn["content"])


def _settle_instructions(done: list[dict[str, Any]], target: Target, notes: list[Note]) -> None:
    """What an instruction between the turns needs before it: a user's turn, or the server's own tools at work."""
    for before, turn in pairwise([{"role": "", "content": [{}]}, *done]):
        last = before["content"][-1].get("type")
        if not _is_plain_instruction(turn):
            continue
        if before["role"] != "user" and last in _SPOKEN:
            notes.append(Note("changed", "a system message", "it may only follow the user's turn; it became one"))
            turn["role"] = "user"
        elif last == "tool_result" and not target.family.system_after_results:
            why = "this model takes an instruction right after them for one of them; a sentence was put between"
            notes.append(Note("changed", "the end of the results", why))
            before["content"].append({"type": "text", "text": END_OF_RESULTS})


def _role(message: Message, target: Target, notes: list[Note]) -> Role:
    if message.role == "system" and not target.family.system_anywhere and not _changes_tools(message):
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


def _blocks(message: Message, target: Target, notes: list[Note]) -> list[Block]:
    is_stricter = target.family.api_version >= _STRICTER_VERSION
    parts = [_fit_to_role(part, message.role, is_stricter, notes) for part in message.parts]
    return [block for part in parts if (block := _block(part, notes)) is not None]


def _fit_to_role(part: Part, role: Role, is_stricter: bool, notes: list[Note]) -> Part:
    """The part without what only the other side of the conversation may say."""
    if role == "assistant" and isinstance(part, (Image, Document) if is_stricter else Image):
        what = f"{'an image' if isinstance(part, Image) else 'a document'} of the assistant"
        notes.append(Note("changed", what, "only users may send one; its description is sent"))
        return Text(render_blocks_as_text([part]), cache=part.cache)
    return _uncited(part, notes) if is_stricter and role != "assistant" else part


def _uncited(part: Part, notes: list[Note]) -> Part:
    if not isinstance(part, Text) or part.opaque is None or not part.opaque.data.get("citations"):
        return part
    notes.append(Note("dropped", "citations of a text", "only the assistant may cite"))
    rest = {name: value for name, value in part.opaque.data.items() if name != "citations"}
    return replace(part, opaque=Opaque(part.opaque.issuer, rest))


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
        case Audio() if part.transcript:
            notes.append(Note("changed", "a sound", "this wire carries none; its transcript is sent"))
            return _text(Text(part.transcript, cache=part.cache), notes)
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
    if result.is_error and not content:
        notes.append(
            Note("changed", f"result of {result.id!r}", "a failure must be told in words here; some were added")
        )
        content = SILENT_FAILURE
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
    kind, accepted = (
        ("an image", "JPEG, PNG, GIF or WebP") if isinstance(part, Image) else ("a document", "PDF or text")
    )
    raise Misuse(f"Anthropic Messages cannot carry {kind} of type {part.media_type!r}: send {accepted}")


def _plain_text(part: Document, notes: list[Note]) -> Block:
    if part.media_type != "text/plain":
        notes.append(Note("changed", f"document of type {part.media_type!r}", "sent as plain text"))
    try:
        return {"type": "text", "media_type": "text/plain", "data": part.data.decode()}
    except UnicodeDecodeError as error:
        raise Misuse(f"document of type {part.media_type!r} is not UTF-8: {error}") from error
