"""Reasoning and tool calls that a model wrote into its text, found while the text streams.

Two habits of open models: reasoning between `<think>` tags at the very start of the content, and
tool calls in the model's own token grammar when a server's parser missed them:

    <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0
    <|tool_call_argument_begin|>{"city":"Paris"}<|tool_call_end|><|tool_calls_section_end|>

A tag may be cut anywhere, so the reader holds back only what may still become one.
"""

import re
from collections.abc import Callable

from msgspec import Struct

__all__ = ["InlineCall", "InlineReader"]

_OPENINGS = ("<think>", "<thinking>")
_CLOSINGS = {"<think>": "</think>", "<thinking>": "</thinking>"}
_SECTION = "<|tool_calls_section_begin|>"
_SECTION_END = "<|tool_calls_section_end|>"
_CALL = "<|tool_call_begin|>"
_ARGUMENTS = "<|tool_call_argument_begin|>"
_CALL_END = "<|tool_call_end|>"
_CALL_ID = re.compile(r"(?:functions\.)?(?P<name>[^:]+)(?::\d+)?")

# Spaces before a first tag are held back with it, but not for ever.
_MOST_LEADING_SPACE = 256

Piece = tuple[bool, str]  # whether it is thinking, and the text


class InlineCall(Struct, frozen=True):
    """A tool call found in the text."""

    id: str
    name: str
    arguments: str


class InlineReader:
    """Splits the text of an answer into thinking and text, and takes leaked calls out of it."""

    def __init__(self) -> None:
        self.has_channel = False  # a field of its own carries the reasoning: tags in the text are just text
        self.passive = False  # text without a `<` can pass by unread
        self.calls: list[InlineCall] = []
        self._state: Callable[[], list[Piece]] = self._at_start
        self._held = ""
        self._closing = ""
        self._section: list[str] = []

    def feed(self, delta: str) -> list[Piece]:
        """The pieces that the text up to here surely is."""
        self._held += delta
        pieces: list[Piece] = []
        before = None
        while self._state != before:
            before = self._state
            pieces += self._state()
        self.passive = self._state == self._in_text and not self._held
        return pieces

    def flush(self) -> list[Piece]:
        """The text is over for now: whatever was held back is what it looked like."""
        pieces: list[Piece] = []
        if self._state == self._in_section:
            self._section.append(self._held)
            pieces += self._close_section()
        elif self._held:
            pieces.append((self._state == self._in_thinking, self._held))
        self._held = ""
        if self._state != self._in_thinking:
            self._state = self._in_text
        self.passive = self._state == self._in_text
        return pieces

    def _at_start(self) -> list[Piece]:
        text = self._held.lstrip()
        if not self.has_channel:
            for opening in _OPENINGS:
                if text.startswith(opening):
                    self._held = text[len(opening) :]
                    self._closing = _CLOSINGS[opening]
                    self._state = self._in_thinking
                    return []
            if len(self._held) < _MOST_LEADING_SPACE and any(opening.startswith(text) for opening in _OPENINGS):
                return []  # may still become a tag
        self._state = self._in_text
        return []

    def _in_thinking(self) -> list[Piece]:
        thought, found, rest = self._held.partition(self._closing)
        if not found:
            return self._all_but_a_beginning_of(self._closing, is_thinking=True)
        self._held = rest
        self._state = self._after_thinking
        return [(True, thought)] if thought else []

    def _after_thinking(self) -> list[Piece]:
        # The blank lines after the closing tag belong to it, not to the answer.
        self._held = self._held.lstrip()
        if self._held:
            self._state = self._in_text
        return []

    def _in_text(self) -> list[Piece]:
        text, found, rest = self._held.partition(_SECTION)
        if not found:
            return self._all_but_a_beginning_of(_SECTION, is_thinking=False)
        self._held = rest
        self._state = self._in_section
        return [(False, text)] if text else []

    def _in_section(self) -> list[Piece]:
        # Kept in pieces, of which only the last is searched again: a section may be long.
        tail = self._section.pop() if self._section else ""
        body, found, rest = (tail + self._held).partition(_SECTION_END)
        if found:
            self._section.append(body)
            self._held = rest
            self._state = self._in_text
            return self._close_section()
        keep = len(_SECTION_END) - 1
        self._section += [body[:-keep], body[-keep:]]
        self._held = ""
        return []

    def _close_section(self) -> list[Piece]:
        section = "".join(self._section)
        self._section = []
        calls = [_call(text) for text in section.split(_CALL)[1:] if _ARGUMENTS in text]
        self.calls += calls
        # A section without a single call in it was no section after all.
        return [] if calls else [(False, _SECTION + section)]

    def _all_but_a_beginning_of(self, tag: str, *, is_thinking: bool) -> list[Piece]:
        """Give out everything except an end that may be the beginning of the tag."""
        text = self._held
        at = text.rfind("<", -len(tag))
        keep = len(text) - at if at >= 0 and tag.startswith(text[at:]) else 0
        sure = text[: len(text) - keep]
        self._held = text[len(text) - keep :]
        return [(is_thinking, sure)] if sure else []


def _call(text: str) -> InlineCall:
    id, _, rest = text.partition(_ARGUMENTS)
    id = id.strip()
    name = _CALL_ID.match(id)
    return InlineCall(id, name["name"] if name else id, rest.partition(_CALL_END)[0].strip())
