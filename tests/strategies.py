"""Random conversations, tools and options, for the laws that every wire must keep.

What a wire can carry differs, so each strategy takes the parts, names or values to draw from;
a wire's tests put together the requests that it promises to bring back unchanged.
"""

import json
from typing import Any

from hypothesis import strategies as st

from dragoman.exchange import AnyTool, Options, Request, ToolSpec
from dragoman.messages import Audio, Document, Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from dragoman.usage import Usage

# No "<": text that begins like a tag may be read as inline reasoning. No halves of characters.
letters = st.characters(exclude_categories=("Cs",), exclude_characters="<")
texts = st.text(letters, min_size=1, max_size=20)
words = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12)
nothing = st.none()
cache_marks = st.none() | st.sampled_from(["5m", "1h"])

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(letters, max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(words, json_values, max_size=3)

# ── parts ───────────────────────────────────────────────────────────────────────────────────────


def text_parts(cache: st.SearchStrategy[Any] = nothing) -> st.SearchStrategy[Text]:
    return st.builds(Text, texts, cache=cache)


def images(cache: st.SearchStrategy[Any] = nothing, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Image]:
    data = st.binary(min_size=1, max_size=20)
    types = st.sampled_from(["image/png", "image/jpeg"])
    urls = words.map(lambda word: f"https://pictures.example/{word}.png")
    return st.builds(Image, data, types, cache=cache, **fields) | st.builds(Image, url=urls, cache=cache, **fields)


def documents(cache: st.SearchStrategy[Any] = nothing) -> st.SearchStrategy[Document]:
    data = st.binary(min_size=1, max_size=20)
    return st.builds(Document, data, st.just("application/pdf"), name=words, cache=cache)


def sounds(cache: st.SearchStrategy[Any] = nothing) -> st.SearchStrategy[Audio]:
    data = st.binary(min_size=1, max_size=20)
    return st.builds(Audio, data, st.sampled_from(["audio/wav", "audio/mpeg"]), cache=cache)


def tool_calls(
    opaque: st.SearchStrategy[Opaque | None] = nothing, cache: st.SearchStrategy[Any] = nothing
) -> st.SearchStrategy[ToolCall]:
    return st.builds(ToolCall, id=words, name=words, arguments=json_objects.map(json.dumps), opaque=opaque, cache=cache)


# ── messages ────────────────────────────────────────────────────────────────────────────────────


def spoken(role: str, parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Message]:
    """A message of somebody who is not the model."""
    return st.lists(parts, min_size=1, max_size=3).map(lambda drawn: Message(role, tuple(drawn)))


@st.composite
def answered(
    draw: st.DrawFn,
    thinking: st.SearchStrategy[Thinking | None],
    text: st.SearchStrategy[Part | None],
    calls: st.SearchStrategy[ToolCall],
    results: st.SearchStrategy[ToolResult],
) -> list[Message]:
    """A turn of the model, and the results of the calls it made."""
    made = draw(st.lists(calls, max_size=2, unique_by=lambda call: call.id))
    parts = [part for part in (draw(thinking), draw(text), *made) if part is not None]
    said = Message("assistant", tuple(parts))
    if not made:
        return [said]
    answers = [draw(results) for _ in made]
    return [said, Message.tool(_with_id(answer, call.id) for answer, call in zip(answers, made, strict=True))]


def _with_id(result: ToolResult, id: str) -> ToolResult:
    return ToolResult(id, result.content, result.is_error, result.blocks, result.opaque, result.cache)


@st.composite
def conversations(
    draw: st.DrawFn,
    user: st.SearchStrategy[Part],
    turns: st.SearchStrategy[list[Message]],
    system: st.SearchStrategy[Part],
) -> tuple[Message, ...]:
    """Instructions, perhaps; then questions and answers, ending with a question."""
    messages = [draw(spoken("system", system))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 2))):
        messages += [draw(spoken("user", user)), *draw(turns)]
    return (*messages, draw(spoken("user", user)))


# ── tools, options, requests ────────────────────────────────────────────────────────────────────

strict_schemas = st.dictionaries(
    words, st.sampled_from([{"type": "string"}, {"type": ["integer", "null"]}]), max_size=3
).map(
    lambda properties: {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
)


def tools(
    cache: st.SearchStrategy[Any] = nothing, strict: st.SearchStrategy[bool | None] = nothing
) -> st.SearchStrategy[ToolSpec]:
    return st.builds(ToolSpec, words, texts, strict_schemas, strict=strict, cache=cache)


OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "temperature": st.floats(0, 2),
    "top_p": st.floats(0, 1),
    "top_k": st.integers(1, 100),
    "max_tokens": st.integers(1, 10_000),
    "stop": st.lists(texts, min_size=1, max_size=3).map(tuple),
    "seed": st.integers(0, 10_000),
    "effort": st.sampled_from(["none", "low", "medium", "high", "ultra"]),
    "response_schema": strict_schemas,
    "metadata": st.dictionaries(words, texts, max_size=2),
    "service_tier": words,
}


@st.composite
def options(draw: st.DrawFn, *names: str, **more: st.SearchStrategy[Any]) -> Options:
    """Some of the options of these names, with `more` of a wire's own."""
    known = {name: OPTIONS[name] for name in names} | more
    chosen = draw(st.lists(st.sampled_from(sorted(known)), unique=True, max_size=4)) if known else []
    return Options(**{name: draw(known[name]) for name in chosen})


@st.composite
def requests(
    draw: st.DrawFn,
    model: str,
    messages: st.SearchStrategy[tuple[Message, ...]],
    tools: st.SearchStrategy[AnyTool],
    options: st.SearchStrategy[Options],
) -> Request:
    """A request; with tools it may also say which to choose."""
    offered = draw(st.lists(tools, max_size=2, unique_by=lambda tool: getattr(tool, "name", repr(tool))))
    names = [
        tool.name for tool in offered if isinstance(tool, ToolSpec) and tool.name not in ("auto", "none", "required")
    ]
    choice = draw(st.sampled_from(["auto", "none", "required", *names])) if offered else "auto"
    return Request(
        model=model,
        messages=draw(messages),
        tools=tuple(offered),
        tool_choice=choice,
        options=draw(options),
        stream=draw(st.booleans()),
    )


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Counts that agree with each other, each known or not."""
    read, written, reasoning = (draw(st.none() | st.integers(0, 50)) for _ in range(3))
    return Usage(
        input_tokens=draw(st.integers(100, 500)),
        output_tokens=draw(st.integers(100, 500)),
        cache_read_tokens=read,
        cache_creation_tokens=written,
        reasoning_tokens=reasoning,
    )
