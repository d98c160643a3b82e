"""Token counts that add, and never claim to know what they were not told."""

from typing import Any

from msgspec import Struct

__all__ = ["Usage", "token_count"]

# No model reads or writes a trillion tokens in one call; a count beyond it is noise, not usage.
MOST_TOKENS = 10**12


def token_count(claim: Any) -> int | None:
    """A count as a provider claims it, or None where the claim is not a sane whole number."""
    if type(claim) is int:
        return claim if 0 <= claim <= MOST_TOKENS else None
    return token_count(int(claim)) if isinstance(claim, float) and claim.is_integer() else None


def _sum(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one call, or of many added together.

    Cache counts are inside `input_tokens` and reasoning is inside `output_tokens`, for every
    provider. `None` means "not reported"; it adds as zero without becoming zero.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """Input plus output, or None when neither is known."""
        return _sum(self.input_tokens, self.output_tokens)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: _sum(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__})

    def __bool__(self) -> bool:
        """Whether anything at all was reported."""
        return self != _NOTHING


_NOTHING = Usage()
