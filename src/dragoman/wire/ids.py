"""Ids of tool calls, fitted to what the next provider accepts."""

import hashlib
import re

__all__ = ["CALL_ID_SHAPES", "fit_id"]

# Shapes by name; a wire or a provider's row picks one.
CALL_ID_SHAPES: dict[str, "re.Pattern[str]"] = {
    "any": re.compile(r".+", re.DOTALL),
    "word": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "word_dots": re.compile(r"[A-Za-z0-9_.:-]{1,64}"),
    "upto_64": re.compile(r".{1,64}", re.DOTALL),
    "upto_40": re.compile(r".{1,40}", re.DOTALL),
    "nine": re.compile(r"[A-Za-z0-9]{9}"),
}


def fit_id(id: str, shape: str, salt: int = 0) -> str:
    """The id itself where it fits, else one made from it: the same id gives the same one every time."""
    if not salt and CALL_ID_SHAPES[shape].fullmatch(id):
        return id
    digest = hashlib.sha256(f"{salt}:{id}".encode("utf-8", "replace")).hexdigest()
    return digest[:9] if shape == "nine" else f"call_{digest[:24]}"
