"""Whom a request is for, as data: the model's family and its rules, the provider's quirks.

Codecs ask these fields and never a name. A field's default means "as the format's owner does it".
"""

from typing import Literal

from msgspec import Struct

from .limits import DEFAULT_LIMITS, Limits

__all__ = ["Family", "Quirks", "Target", "ThinkingControl"]

# How a model is told how hard to think:
#   effort    a word (`reasoning_effort`, `reasoning.effort`, `think`)
#   adaptive  on or off, and a word beside it (Claude 4.6 and later)
#   budget    a number of tokens (Claude up to 4.5, Gemini 2.5)
#   level     a word of its own set (Gemini 3 and later)
#   toggle    on or off, with a word where the family lists any
#   none      nothing to say
ThinkingControl = Literal["effort", "adaptive", "budget", "level", "toggle", "none"]

SchemaMode = Literal["native", "tool", "prompted"]


class Family(Struct, frozen=True, kw_only=True):
    """The rules of a model family.

    `efforts` are the words it takes, weakest first, with `none` among them only if thinking can be
    switched off by that word; `budgets` the least and the most tokens of thought.
    `refuses` are options that are never accepted, `refuses_while_thinking` those that are not
    accepted while the model thinks.
    """

    name: str
    matches: tuple[str, ...] = ()
    thinking: ThinkingControl = "none"
    efforts: tuple[str, ...] = ()
    budgets: tuple[int, int] | None = None
    thinks_unasked: bool = False
    can_stop_thinking: bool = True
    refuses: frozenset[str] = frozenset()
    refuses_while_thinking: frozenset[str] = frozenset()
    forced_tool_choice: Literal["yes", "no", "not while thinking"] = "yes"
    schema_modes: tuple[SchemaMode, ...] = ("native", "tool", "prompted")
    schema_with_tools: bool = True
    defer_loading: bool = False
    system_anywhere: bool = True
    system_after_results: bool = True  # an instruction right after a tool's result is not taken for one
    caches: bool = True
    max_output_tokens: int | None = None
    wants: str = ""  # the wire this family must be spoken to on, where another would be refused
    efforts_only_on: dict[str, str] = {}  # words of effort that only one wire takes, with that wire
    tools_while_thinking: bool = True  # whether Chat Completions takes tools while the model thinks
    takes_reasoning_back: bool = True  # whether its provider's habit of wanting reasoning back holds for it
    thinking_off: str = "disabled"  # the word that stops the thinking
    needs_call_signature: bool = False  # the first call of a step must carry a signature, a dummy if need be
    embedding_kind: Literal["field", "prefix"] = "field"  # how query and document are told apart
    opens_with_user: bool = True  # Converse refuses it a conversation that begins with its own words
    api_version: str = ""  # where the API's version follows the model
    beside_results: Literal["anything", "no files", "nothing"] = "anything"  # what Converse takes in a turn of results
    body_style: str = ""  # which of a wire's per-maker shapes the extra fields take
    media_in_results: bool = False  # a tool's result may hold pictures and documents in itself


class Quirks(Struct, frozen=True, kw_only=True):
    """Where a provider departs from the owner of the wire it speaks."""

    refuses: frozenset[str] = frozenset()  # options the wire has and this provider does not
    also_accepts: frozenset[str] = frozenset()  # options the wire lacks and this provider has
    max_tokens_field: str = "max_completion_tokens"
    seed_field: str = "seed"
    effort_dialect: str = "reasoning_effort"
    accepts_strict: bool = True
    accepts_json_schema: bool = True
    accepts_schema_with_tools: bool = True
    accepts_stream_options: bool = True
    accepts_parallel_switch: bool = True
    accepts_named_choice: bool = True
    cache_mark: Literal["", "cache_control", "prompt_cache_breakpoint"] = ""  # how a part is marked for caching
    tools_while_thinking: bool = False  # takes them on Chat Completions even where the family's maker does not
    accepts_file_urls: bool = False  # a document's address may stand where its bytes would
    calls_last: bool = False  # on Responses, calls must come after all else that the model said in a turn
    required_choice: str = "required"  # empty: the provider has no such word
    reasoning_echo: Literal["never", "tool turns", "always"] = "never"
    reasoning_fields: tuple[str, ...] = ("reasoning_content", "reasoning")
    inline_refs: bool = False  # `$ref` in a tool's schema is misread
    call_id_shape: str = ""  # a named shape of tool-call id, see wire/ids.py
    embeddings_base64: bool = False  # vectors may be asked for in a compact form
    embedding_dimensions_field: str = "dimensions"
    embedding_packing: Literal["float32", "int8"] = "float32"  # the numbers in a vector that comes as base64
    embedding_batch: int = 2048  # most texts in one call
    legacy_embeddings: bool = False  # only the older call, which takes one text


class Target(Struct, frozen=True, kw_only=True):
    """One model at one provider, with everything a codec may need to know of it."""

    provider: str
    model: str
    wire: str
    base_url: str
    family: Family
    quirks: Quirks = Quirks()
    limits: Limits = DEFAULT_LIMITS
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def cache_mark(self) -> str:
        """The field that marks a part for caching, where the provider has one and the family takes it."""
        return self.quirks.cache_mark if self.family.caches else ""

    @property
    def issuer(self) -> str:
        """The name under which opaque state is issued: it goes back to the same provider and family only.

        The wire is part of it, because state has the shape of the format it came in.
        """
        return f"{self.provider}/{self.family.name}@{self.wire}"
