"""From a model's name to who serves it: a table, tried in order.

`provider:model` says it outright. A bare name is matched against the rules; what none of them
knows is an error that lists what comes close, never a guess.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from .errors import Misuse
from .providers import PROVIDERS, Provider

__all__ = ["DETECTION", "Rule", "detect"]


class Rule(Struct, frozen=True):
    """Names that begin so belong to that provider."""

    begins: tuple[str, ...]
    provider: str
    only_its_key: bool = False  # holds only where no other provider's key is set
    anywhere: bool = False  # the text may stand anywhere in the name

    def holds(self, model: str, environ: Mapping[str, str]) -> bool:
        """Whether this rule decides the name."""
        fits = any(text in model for text in self.begins) if self.anywhere else model.startswith(self.begins)
        return fits and (not self.only_its_key or _only_key_set(self.provider, environ))


DETECTION: tuple[Rule, ...] = (
    Rule(("accounts/fireworks/",), "fireworks"),
    Rule(("claude-",), "anthropic"),
    Rule(("gpt-oss",), "groq", only_its_key=True),
    Rule(("gpt-", "chatgpt-", "text-embedding-3", "text-embedding-ada"), "openai"),
    Rule(tuple(f"o{digit}" for digit in range(1, 10)), "openai"),
    Rule(("gemini-", "models/gemini-", "gemma-"), "gemini"),
    Rule(("deepseek-",), "deepseek"),
    Rule(("grok-",), "xai"),
    Rule(
        ("mistral-", "ministral-", "magistral-", "codestral-", "devstral-", "pixtral-", "open-mi", "voxtral-"),
        "mistral",
    ),
    Rule(("kimi-", "moonshot-"), "moonshot"),
    Rule(("glm-",), "zai"),
    Rule(("sonar", "perplexity/"), "perplexity"),
    Rule(("embed-",), "cohere"),
    Rule(
        ("us.", "eu.", "apac.", "jp.", "au.", "ca.", "in.", "us-gov.", "global.", "arn:aws:bedrock", "arn:aws-"),
        "bedrock",
    ),
    Rule(("anthropic.", "amazon.", "meta.", "cohere.", "openai.", "mistral.", "qwen.", "deepseek."), "bedrock"),
    Rule(
        ("moonshot.", "moonshotai.", "zai.", "minimax.", "nvidia.", "ai21.", "writer.", "xai.", "google.gemma"),
        "bedrock",
    ),
    Rule(("big-pickle", "minimax-", "mimo-", "nemotron-", "qwen3", "muse-"), "opencode", only_its_key=True),
    Rule(("/",), "together", anywhere=True),
)


def _only_key_set(name: str, environ: Mapping[str, str]) -> bool:
    keyed = {row.name for row in PROVIDERS.values() if any(environ.get(key) for key in row.keys)}
    return keyed == {name}


def detect(model: str, environ: Mapping[str, str], names: Sequence[str] | None = None) -> tuple[str, str]:
    """The provider's name and the model's own; Misuse where no rule knows the name.

    >>> detect("ollama:qwen3:8b", {})
    ('ollama', 'qwen3:8b')
    >>> detect("claude-sonnet-4-5", {})
    ('anthropic', 'claude-sonnet-4-5')
    """
    names = tuple(PROVIDERS) if names is None else names
    before, colon, after = model.partition(":")
    if colon and before in names:
        if not after:
            raise Misuse(f"{model!r} names a provider and no model: write {before}:<model>")
        return before, after
    for rule in DETECTION:
        if rule.holds(model, environ):
            return rule.provider, model
    raise Misuse(f"no provider is known for {model!r}: write provider:model{_near(model, names)}")


def _near(model: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches  # slow to import, needed only here

    before = model.partition(":")[0]
    beginnings = [text for rule in DETECTION for text in rule.begins if not rule.anywhere]
    close = get_close_matches(before, [*names, *beginnings], n=3, cutoff=0.5)
    if close:
        return f" (close to: {', '.join(close)})"
    return f" with one of {', '.join(sorted(names))}"


def provider_row(name: str) -> Provider:
    """The row of that name; Misuse with what comes close where there is none."""
    row = PROVIDERS.get(name)
    if row is None:
        raise Misuse(f"unknown provider {name!r}{_near(name, tuple(PROVIDERS))}")
    return row
