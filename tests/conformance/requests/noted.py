"""Which of our notes owns up to which difference."""

import re

from dragoman.exchange import Note

from .gaps import Gap

__all__ = ["kind_of", "owns_up"]

# What a note says, and the places that may differ because of it.
_OWNED: tuple[tuple[str, str], ...] = (
    (r"dropped (temperature|top_p|top_k|stop|seed|parallel_tool_calls|tool_choice): ", r"{0}"),
    (r"dropped effort: ", r"reasoning(_effort)?(\.\w+)?|thinking|output_config\.effort"),
    (r"dropped an empty system message: ", r"instructions"),
    (r"dropped an empty \w+ message: ", r"(messages|input)\[\d+\]"),
    (r"repaired (call|result of) ", r"(messages|input)\[\d+\].*"),
    (r"changed id of the call ", r"messages\[\d+\](\.tool_call_id|\.tool_calls\[\d+\]\.id)|input\[\d+\]\.call_id"),
    (r"changed the history: ", r"messages\[\d+\]"),
    (r"changed result of ", r"messages\[\d+\]\.content"),
    (r"changed response_schema: ", r"response_format(\..*)?|text\.format(\..*)?"),
    (r"dropped strict of ", r"tools\[\d+\](\.function)?\.strict"),
)


def owns_up(note: Note, gap: Gap) -> bool:
    """Whether the note says what was done here."""
    for words, places in _OWNED:
        found = re.match(words, str(note))
        if found and re.fullmatch(places.replace("{0}", found[1] if found.groups() else ""), gap.path):
            return True
    return False


def kind_of(note: Note) -> str:
    """The note without the names in it, for counting."""
    return re.sub(r"'[^']*'", "'…'", str(note))
