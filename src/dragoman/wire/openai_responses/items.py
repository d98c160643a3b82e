"""Items of the Responses API, and the parts that stand for them.

On this wire an answer is a list of items, and the next request says it back item by item:

    reasoning          Thinking; its state is the whole item
    message            a Text for each content part; its state is what else the part holds, and under
                       `message` what else the item holds
    function_call      ToolCall; its state is what else the item holds
    custom_tool_call   the same, with `custom: true`; the arguments are the free text
    anything else      OpaquePart; its state is the whole item

Nothing is stored with the provider, so an id is worth sending only where the server finds all it
expects beside it: a reasoning item is refused without the item it led to, and that item without its
reasoning. So an item that follows a reasoning item remembers whom it followed (`after`), and where
a message was edited and the two no longer stand together, every id of it is left out. What a
provider's own tool did is not read without its id, so where it followed reasoning it is left out whole.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from ...errors import Misuse
from ...exchange import Note
from ...messages import (
    Audio,
    Document,
    Image,
    Opaque,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    render_blocks_as_text,
)
from ..arguments import arguments_text
from ..reading import mapping, sequence, string

__all__ = [
    "BETWEEN_THOUGHTS",
    "CALL_INPUTS",
    "Content",
    "call_state",
    "complete",
    "contents",
    "items_of",
    "made_up",
    "parts_of",
    "real_id",
    "reasoning_id",
    "request_items",
    "thought",
    "thought_state",
    "whole_state",
]

Item = dict[str, Any]
State = dict[str, Any]

# The items that are calls, and the field of each that holds what the tool is given.
CALL_INPUTS = {"function_call": "arguments", "custom_tool_call": "input"}

# What a reasoning item says in the open: the reasoning itself, or else a summary of it.
_THOUGHTS = ("content", "summary")
BETWEEN_THOUGHTS = "\n\n"

_TEXT_TYPES = ("output_text", "input_text", "text")
_OWN_FIELDS = frozenset({"message", "after", "refusal", "custom"})  # of a state, not of an item

# Other items by what becomes of them where ids are left out: read without an id, or not at all.
_KNOWN_WITHOUT_ID = frozenset({"apply_patch_call", "shell_call", "tool_search_call"})
_NEEDS_ID = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "web_search_call",
    }
)

# ── ids ─────────────────────────────────────────────────────────────────────────────────────────

_MADE_UP = "_made_up_"


def made_up(prefix: str, place: int) -> str:
    """An id for an item that has none. It refers to nothing, so whoever reads it need not keep it."""
    return f"{prefix}{_MADE_UP}{place}"


def real_id(item: Item) -> str:
    """The id of an item or a response, empty where it has none of its own."""
    id = string(item.get("id"))
    return "" if _MADE_UP in id else id


def _facts(item: Item, known: Sequence[str]) -> State:
    """What an item holds besides the known fields. Without an id of its own, being complete is no news either."""
    facts = {name: value for name, value in item.items() if name not in known and value is not None}
    if not real_id(item):
        facts.pop("id", None)
        if facts.get("status") == "completed":
            del facts["status"]
    return facts


# ── items to parts ──────────────────────────────────────────────────────────────────────────────


class Content(Struct, frozen=True):
    """One content part of a message; `kind` is set where it is neither text nor refusal."""

    text: str
    state: State
    kind: str = ""


def contents(item: Item, after: str = "") -> list[Content]:
    """What a message item says, part by part."""
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
    facts = _facts(item, ("type", "role", "content"))
    whose: State = {"message": facts} if facts else {}
    first: State = {"after": after} if after else {}
    return [_content(mapping(part), whose | ({} if place else first)) for place, part in enumerate(sequence(content))]


def _content(part: Item, whose: State) -> Content:
    kind = string(part.get("type"))
    if kind in _TEXT_TYPES:
        return Content(string(part.get("text")), _rest(part, "text") | whose)
    if kind == "refusal":
        return Content(string(part.get("refusal")), _rest(part, "refusal") | whose | {"refusal": True})
    return Content("", {"part": part} | whose, kind or "unknown")


def _rest(part: Item, field: str) -> State:
    """What a content part holds besides its text; no annotations are nothing to keep."""
    return {name: value for name, value in part.items() if name not in ("type", field) and value not in (None, [])}


def thought(item: Item, field: str = "") -> str:
    """The reasoning that an item shows as one text: what is in that field, or in the first that has any."""
    for name in (field,) if field else _THOUGHTS:
        pieces = [text for piece in sequence(item.get(name)) if (text := string(mapping(piece).get("text")))]
        if pieces:
            return BETWEEN_THOUGHTS.join(pieces)
    return ""


def thought_state(item: Item, after: str = "") -> State:
    """The item, unless it says nothing but the text that we have of it."""
    state = _facts(item, ())
    return whole_state(state, after) if state.keys() - {"type", "summary"} else {}


def whole_state(item: Item, after: str = "") -> State:
    """The item, and whom it followed."""
    return item | {"after": after} if after else item


def reasoning_id(item: Item) -> str:
    """The id of a reasoning item, for the item after it to remember."""
    return real_id(item) if item.get("type") == "reasoning" else ""


def call_state(item: Item, after: str = "") -> State:
    """What a call holds besides its name, its id and what it passes."""
    kind = string(item.get("type"))
    state = _facts(item, ("type", "call_id", "name", CALL_INPUTS[kind]))
    if kind == "custom_tool_call":
        state["custom"] = True
    return state | ({"after": after} if after else {})


def parts_of(item: Item, after: str, issuer: str) -> list[Part]:
    """The parts that one item of the model's side stands for."""

    def sealed(state: State) -> Opaque | None:
        return Opaque(issuer, state) if state else None

    kind = string(item.get("type"))
    if kind == "reasoning":
        return [Thinking(thought(item), sealed(thought_state(item, after)))]
    if kind in CALL_INPUTS:
        arguments = arguments_text(item.get(CALL_INPUTS[kind])) or "{}"
        call_id, name = string(item.get("call_id")), string(item.get("name"))
        return [ToolCall(call_id, name, arguments, sealed(call_state(item, after)))]
    said = contents(item, after) if kind == "message" else []
    if not said:
        return [OpaquePart(kind, Opaque(issuer, whole_state(item, after)))]
    return [
        OpaquePart(content.kind, Opaque(issuer, content.state))
        if content.kind
        else Text(content.text, sealed(content.state))
        for content in said
    ]


# ── parts to items ──────────────────────────────────────────────────────────────────────────────


def request_items(parts: Sequence[Part], notes: list[Note], *, stored: bool = False) -> list[Item]:
    """What the model said, as it is said back to it; `stored` where the provider keeps what an id refers to."""
    parts = [_in_words(part, notes) for part in parts]
    said = [part for part in parts if not isinstance(part, Thinking) or _can_go_back(part, notes, stored)]
    together = _stand_together(said)
    if not together:
        said = [part for part in said if not _is_lost_without_id(part, notes)]
    while said and isinstance(said[-1], Thinking):
        said.pop()
        notes.append(Note("dropped", "reasoning at the end of a message", "it is refused without what it led to"))
    items = items_of(said)
    return items if together else [_without_ids(item) for item in items]


def _in_words(part: Part, notes: list[Note]) -> Part:
    """What this wire cannot say for the model (another one said it), in words."""
    match part:
        case Audio():
            words = part.transcript or "[audio]"
        case Image() | Document():
            words = render_blocks_as_text([part])
        case _:
            return part
    notes.append(Note("changed", f"{type(part).__name__} of the model", "this wire takes only its words"))
    return Text(words)


def _can_go_back(part: Thinking, notes: list[Note], stored: bool) -> bool:
    state = _state(part)
    if state.get("encrypted_content") or state.get("content"):
        return True
    refers = bool(state.get("id"))
    if refers and not stored:
        notes.append(Note("dropped", "reasoning without its content", "it refers to something stored, and nothing is"))
    return refers and stored


def _is_lost_without_id(part: Part, notes: list[Note]) -> bool:
    if not isinstance(part, OpaquePart) or part.kind not in _NEEDS_ID or "after" not in part.opaque.data:
        return False
    notes.append(Note("dropped", f"{part.kind} after reasoning", "it is refused without its reasoning"))
    return True


def _stand_together(parts: Sequence[Part]) -> bool:
    """Whether everything follows the reasoning that it followed when the model said it, and nothing else does."""
    pairs = pairwise((None, *parts))
    return all(
        _state(part).get("after", "") == (reasoning_id(_state(before)) if isinstance(before, Thinking) else "")
        for before, part in pairs
    )


def _without_ids(item: Item) -> Item:
    if item["type"] in _KNOWN_WITHOUT_ID:
        return {name: value for name, value in item.items() if name != "id"}
    if item["type"] not in ("reasoning", "message", *CALL_INPUTS):
        return item
    return {name: value for name, value in item.items() if name not in ("id", "status")}


def items_of(parts: Sequence[Part]) -> list[Item]:
    """The items that parts stand for. Texts of one message, which know the same of it, are one item."""
    items: list[Item] = []
    message: Item | None = None  # the item that the next text may belong to
    facts: State = {}
    for part in parts:
        content = _content_of(part)
        if content is None:
            message = None
            items.append(_item(part))
            continue
        state = _state(part)
        if message is None or facts != mapping(state.get("message")) or "after" in state:
            facts = mapping(state.get("message"))
            message = {**facts, "type": "message", "role": "assistant", "content": []}
            items.append(message)
        message["content"].append(content)
    return items


def _state(part: Part | None) -> State:
    return part.opaque.data if part is not None and part.opaque is not None else {}


def _content_of(part: Part) -> Item | None:
    """The part as a content part of a message, or None where it is an item of its own."""
    state = _state(part)
    if isinstance(part, OpaquePart):
        return mapping(state.get("part")) if "part" in state and "type" not in state else None
    if not isinstance(part, Text):
        return None
    rest = {name: value for name, value in state.items() if name not in _OWN_FIELDS}
    if state.get("refusal"):
        return rest | {"type": "refusal", "refusal": part.text}
    # Only a message with an id is held to the full form, in which annotations may not be missing.
    if "id" in mapping(state.get("message")):
        rest = {"annotations": []} | rest
    return rest | {"type": "output_text", "text": part.text}


def _item(part: Part) -> Item:
    state = _state(part)
    match part:
        case Thinking() if state.get("type") == "reasoning":
            return {"summary": []} | _without_after(state)
        case Thinking():
            return {"type": "reasoning", "summary": [{"type": "summary_text", "text": part.text}] if part.text else []}
        case ToolCall():
            rest = {name: value for name, value in state.items() if name not in _OWN_FIELDS}
            kind = "custom_tool_call" if state.get("custom") else "function_call"
            return rest | {"type": kind, "call_id": part.id, "name": part.name, CALL_INPUTS[kind]: part.arguments}
        case OpaquePart():
            return {"type": part.kind} | _without_after(state)
        case _:
            raise Misuse(f"the Responses API cannot carry {type(part).__name__} in what a model said")


def _without_after(state: State) -> Item:
    return {name: value for name, value in state.items() if name != "after"}


_ID_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


def complete(item: Item, place: int) -> Item:
    """The item with what every item of an answer has, made up where it is not known."""
    kind = string(item["type"])
    if kind in _ID_PREFIXES and "id" not in item:
        done = {} if kind == "reasoning" else {"status": "completed"}
        item = {"id": made_up(_ID_PREFIXES[kind], place)} | done | item
    if kind == "message":
        return item | {"content": [_full(part) for part in sequence(item.get("content"))]}
    return item


def _full(part: Any) -> Any:
    return {"annotations": []} | part if mapping(part).get("type") == "output_text" else part
