"""A conversation as generateContent takes it: contents of the user and of the model.

There is no role for the system or for tools: instructions stand apart from the contents, and a
tool's results are parts of a user's turn. Opaque state goes back on the part that it came with.
"""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from ...errors import Misuse
from ...exchange import Note
from ...messages import (
    Audio,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    render_blocks_as_text,
)
from ...target import Target
from ..arguments import arguments_object

__all__ = ["MADE_UP_ID", "conversation"]

Body = dict[str, Any]

# Marks a call whose id is ours: the API never saw that id and must not be shown it.
MADE_UP_ID = "made_up_id"

# What to send as the signature of a call that has none: base64 of `skip_thought_signature_validator`.
STAND_IN_SIGNATURE = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

# What a result may hold, where the family takes media there at all.
MEDIA_IN_RESULTS = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})


def conversation(messages: tuple[Message, ...], target: Target, notes: list[Note]) -> Body:
    """`contents`, and `systemInstruction` where the conversation begins with one."""
    count = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    system = [wire for message in messages[:count] for wire in _parts(message, target, notes)]
    contents = _contents(messages[count:], target, notes)
    if system and not contents:
        notes.append(Note("changed", "the system message", "something must be said by the user; sent as that"))
        return {"contents": [{"role": "user", "parts": system}]}
    return ({"systemInstruction": {"parts": system}} if system else {}) | {"contents": contents}


def _contents(messages: Iterable[Message], target: Target, notes: list[Note]) -> list[Body]:
    contents: list[Body] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "system":
            notes.append(Note("changed", "a system message", "only the first can be one here; sent as the user's"))
        if message.role == "tool":
            parts = _results(message.tool_results, calls, target, notes)
        else:
            parts = _parts(message, target, notes)
        if parts:
            contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
    return contents


def _parts(message: Message, target: Target, notes: list[Note]) -> list[Body]:
    parts = [wire for part in message.parts if (wire := _part(part, target, notes)) is not None]
    if target.family.needs_call_signature:
        _sign_first_call(parts, notes)
    return parts


def _sign_first_call(parts: list[Body], notes: list[Note]) -> None:
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None and "thoughtSignature" not in first:
        first["thoughtSignature"] = STAND_IN_SIGNATURE
        name = first["functionCall"]["name"]
        notes.append(Note("repaired", f"call of {name!r}", "it has no signature of this model; sent with a stand-in"))


# ── parts ───────────────────────────────────────────────────────────────────────────────────────


def _part(part: Part, target: Target, notes: list[Note]) -> Body | None:
    """The part on the wire; None where it has nothing to say there."""
    state = _state(part.opaque)
    match part:
        case Text():
            wire: Body = {"text": part.text}
        case Thinking():
            wire = {"text": part.text, "thought": True}
        case ToolCall():
            wire = {"functionCall": _id(part) | {"name": part.name, "args": arguments_object(part, notes)}}
        case Image() | Audio() | Document():
            wire = _media(part, target, notes)
        case OpaquePart(kind):
            # A kept part is named after one of its fields; what was said about an answer is no part of it.
            return dict(state) if kind in state else None
        case ToolResult():
            raise Misuse("a tool's result stands outside a tool message: use Message.tool(…)")
    if _says_nothing(part, state):
        return None
    return wire | {name: value for name, value in state.items() if name != MADE_UP_ID}


def _says_nothing(part: Part, state: Body) -> bool:
    """Whether the API would refuse the part or has no use for it: empty text, thoughts without a signature."""
    if isinstance(part, Thinking):
        return "thoughtSignature" not in state
    return isinstance(part, Text) and not part.text and not state


def _state(opaque: Opaque | None) -> Body:
    return opaque.data if opaque is not None else {}


def _id(call: ToolCall) -> Body:
    return {} if _state(call.opaque).get(MADE_UP_ID) else {"id": call.id}


def _media(part: Image | Audio | Document, target: Target, notes: list[Note]) -> Body:
    for name in ("detail", "transcript", "context", "citations"):
        if getattr(part, name, None):
            notes.append(Note("dropped", f"{name} of a {type(part).__name__}", "this wire has no place for it"))
    if part.data:
        return {"inlineData": {"mimeType": part.media_type, "data": b64encode(part.data).decode()}}
    uri = part.url or (part.file_id if "://" in part.file_id else f"{target.base_url}/{part.file_id}")
    return {"fileData": {"fileUri": uri} | ({"mimeType": part.media_type} if part.media_type else {})}


# ── results ─────────────────────────────────────────────────────────────────────────────────────


def _results(
    results: Iterable[ToolResult], calls: dict[str, ToolCall], target: Target, notes: list[Note]
) -> list[Body]:
    """Every result of the turn, then the media that no result can hold."""
    responses: list[Body] = []
    beside: list[Body] = []
    for result in results:
        inside = [block for block in result.blocks if _fits_in_result(block, target)]
        outside = [block for block in result.blocks if not _fits_in_result(block, target)]
        call = calls.get(result.id) or ToolCall(result.id, result.id)
        responses.append({"functionResponse": _response(result, call, outside) | _media_parts(inside, target, notes)})
        beside += _media_parts(outside, target, notes).get("parts", [])
    return responses + beside


def _fits_in_result(block: Block, target: Target) -> bool:
    media_type = "" if isinstance(block, Text) else block.media_type
    return target.family.media_in_results and media_type in MEDIA_IN_RESULTS


def _response(result: ToolResult, call: ToolCall, outside: list[Block]) -> Body:
    """The answer of one function; media that come beside it are described where they belong."""
    content = "\n".join(filter(None, (result.content, render_blocks_as_text(outside))))
    return _id(call) | {"name": call.name, "response": {"error" if result.is_error else "output": content}}


def _media_parts(blocks: list[Block], target: Target, notes: list[Note]) -> Body:
    parts = [_media(block, target, notes) for block in blocks if not isinstance(block, Text)]
    return {"parts": parts} if parts else {}
