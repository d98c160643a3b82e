"""Text that is valid Unicode, whatever arrived.

JSON may smuggle half a character (`"\\ud83d"`), and some providers cut an emoji between two
stream chunks. Halves that meet are joined; halves that never do become U+FFFD.
"""

from typing import Any

__all__ = ["clean", "has_surrogates", "join_halves"]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def has_surrogates(text: str) -> bool:
    """Whether any half of a surrogate pair stands in the text."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def join_halves(text: str) -> str:
    """Join pairs that stand side by side and replace every half that stands alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(value: Any) -> Any:
    """The same JSON value with every string valid."""
    match value:
        case str():
            return join_halves(value) if has_surrogates(value) else value
        case list() | tuple():
            return [clean(item) for item in value]
        case dict():
            return {clean(key): clean(item) for key, item in value.items()}
        case _:
            return value
