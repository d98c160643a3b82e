"""A call's arguments for wires that carry them as an object and not as text."""

from typing import Any

from ..errors import InvalidResponse
from ..exchange import Note
from ..messages import ToolCall
from .reading import write_json

__all__ = ["arguments_object", "arguments_text"]


def arguments_object(call: ToolCall, notes: list[Note]) -> dict[str, Any]:
    """The arguments of an earlier call; text that is no object travels inside one, for the model to see its mistake."""
    try:
        return call.parse_arguments()
    except InvalidResponse:
        why = "they are not a JSON object; this wire carries nothing else, so the text is sent inside one"
        notes.append(Note("changed", f"arguments of {call.name!r}", why))
        return {"arguments": call.arguments}


def arguments_text(value: Any) -> str:
    """Arguments as JSON text, whether they came as an object, as text, or not at all."""
    if value is None or isinstance(value, str):
        return value or ""
    return write_json(value).decode()
