"""Encoded Converse requests held against the service's own description, as the official SDK ships it."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from dragoman.exchange import Options, ProviderTool, Request, ToolSpec
from dragoman.http import HttpRequest
from dragoman.messages import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    OpaquePart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from dragoman.resolve import resolve
from dragoman.wire import encode, encode_count

session = pytest.importorskip("botocore.session")

OPERATIONS = {"converse": "Converse", "converse-stream": "ConverseStream", "count-tokens": "CountTokens"}


# ── a validator stricter than the SDK's own, which looks at types and required members only ─────


def complaints(shape: Any, value: Any, at: str) -> Iterator[str]:
    """What the service would refuse in a value, each with its place."""
    if getattr(shape, "is_document_type", False):
        return
    kind = _KINDS[shape.type_name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield f"{at}: {value!r} is no {shape.type_name}"
        return
    yield from _size_complaints(shape, value, at)
    yield from _CHECKS.get(shape.type_name, _nothing)(shape, value, at)


def _nothing(shape: Any, value: Any, at: str) -> Iterator[str]:
    return iter(())


def _size_complaints(shape: Any, value: Any, at: str) -> Iterator[str]:
    size = value if isinstance(value, (int, float)) else len(value)
    if not shape.metadata.get("min", size) <= size <= shape.metadata.get("max", size):
        yield f"{at}: {size} is out of bounds"


def _structure(shape: Any, value: Any, at: str) -> Iterator[str]:
    yield from (f"{at}: {name} is missing" for name in shape.required_members if name not in value)
    if shape.is_tagged_union and len(value) != 1:
        yield f"{at}: has {list(value)} and must have exactly one"
    for name, member in value.items():
        if name in shape.members:
            yield from complaints(shape.members[name], member, f"{at}.{name}")
        else:
            yield f"{at}: {name} is not known"


def _list(shape: Any, value: Any, at: str) -> Iterator[str]:
    for position, item in enumerate(value):
        yield from complaints(shape.member, item, f"{at}[{position}]")


def _map(shape: Any, value: Any, at: str) -> Iterator[str]:
    for name, item in value.items():
        yield from complaints(shape.key, name, at)
        yield from complaints(shape.value, item, f"{at}.{name}")


def _string(shape: Any, value: str, at: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield f"{at}: {value!r} is none of {shape.enum}"
    if not re.fullmatch(shape.metadata.get("pattern", "(?s).*"), value):
        yield f"{at}: {value!r} does not match"


def _blob(shape: Any, value: str, at: str) -> Iterator[str]:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        yield f"{at}: no base64"


_KINDS: dict[str, Any] = {
    "structure": dict,
    "map": dict,
    "list": list,
    "string": str,
    "blob": str,
    "boolean": bool,
    "integer": int,
    "float": (int, float),
}
_CHECKS: dict[str, Callable[[Any, Any, str], Iterator[str]]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "blob": _blob,
}


@pytest.fixture(scope="module")
def service() -> Any:
    return session.Session().get_service_model("bedrock-runtime")


def refused(service: Any, request: HttpRequest) -> list[str]:
    """What the service would refuse in an encoded request."""
    _, _, model, call = request.url.rsplit("/", 3)
    shape = service.operation_model(OPERATIONS[call]).input_shape
    return list(complaints(shape, json.loads(request.body) | {"modelId": model.replace("%3A", ":")}, "body"))


# ── the requests ────────────────────────────────────────────────────────────────────────────────

CLAUDE = "anthropic.claude-sonnet-4-6"
NOVA = "us.amazon.nova-2-lite-v1:0"
LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"

CITY: dict[str, Any] = {
    "title": "City & size",
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}
CLOCK = ToolSpec("clock", "Tells the time.", CITY, cache="1h")
CALL = ToolCall("call|1 of ours", "clock", '{"zone": "UTC"}')
RESULT = ToolResult(
    CALL.id, "noon", is_error=True, blocks=(Image(b"x", "image/png"), Document(b"x", "text/csv", name="a_b.csv"))
)
TURN = (Message.user("time?"), Message.assistant(CALL), Message.tool(RESULT))


def ours(model: str, **data: Any) -> Opaque:
    return Opaque(resolve(f"bedrock:{model}", environ={}).issuer, data)


def every_part() -> Request:
    files = (
        Image(b"x", "image/webp", cache="5m"),
        Image(url="s3://shelf/picture.jpg"),
        Audio(b"x", "audio/wave"),
        Document(b"x", "application/pdf", name="päper.pdf", context="ours", citations=True, cache="1h"),
        Document(b"plain", "text/plain", citations=True),
        Document(url="s3://shelf/film.mp4"),
        OpaquePart("guardContent", ours(CLAUDE, guardContent={"text": {"text": "x", "qualifiers": ["query"]}})),
    )
    said = (
        Thinking("hm", ours(CLAUDE, signature="s")),
        Thinking("", ours(CLAUDE, redacted="AAEC")),
        Thinking("of another", None),
        Text("noon", ours(CLAUDE, citations=[{"title": "t", "location": {"web": {"url": "https://x.example"}}}])),
        CALL,
    )
    messages = (Message.system("rules"), Message.user(*files), Message.assistant(*said), Message.tool(RESULT))
    return Request(model=CLAUDE, messages=(*messages, Message.user("read", files[3])), tools=(CLOCK,))


def asked(model: str, *messages: Message, tools: Any = (), tool_choice: str = "auto", **options: Any) -> Request:
    given = messages or (Message.user("hi"),)
    return Request(model=model, messages=given, tools=tools, tool_choice=tool_choice, options=Options(**options))


REQUESTS = {
    "every part": every_part(),
    "every option": asked(
        CLAUDE,
        max_tokens=9000,
        top_p=0.5,
        stop="END",
        system="be brief",
        metadata={"team": "a"},
        service_tier="flex",
        cache="1h",
        effort="high",
        extra={"performanceConfig": {"latency": "optimized"}},
    ),
    "a schema with strict tools": asked(
        CLAUDE, tools=(ToolSpec("city", "", CITY, strict=True),), tool_choice="city", response_schema=CITY
    ),
    "one call at a time": asked(CLAUDE, *TURN, tools=(CLOCK,), tool_choice="required", parallel_tool_calls=False),
    "no calls any more": asked(CLAUDE, *TURN, tools=(CLOCK,), tool_choice="none"),
    "calls without tools": asked(NOVA, *TURN, Message.user("and now?")),
    "a tool of the provider": asked(NOVA, tools=(ProviderTool({"systemTool": {"name": "nova_grounding"}}), CLOCK)),
    "nothing but emptiness": asked(
        NOVA, Message.assistant(CALL), Message.tool(ToolResult(CALL.id)), tools=(ToolSpec("clock"),), metadata={}
    ),
    "marks without end": asked(CLAUDE, Message.user(*(Text(word, cache="5m") for word in "abcdef")), cache=True),
    "instructions in between": asked(LLAMA, Message.user("a"), Message.system("b"), *TURN, Message.user("c")),
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_service_would_take_it(service, name, stream):
    request = msgspec.structs.replace(REQUESTS[name], stream=stream)
    target = resolve(f"bedrock:{request.model}", environ={})

    assert refused(service, encode(request, target).http) == []


@pytest.mark.parametrize("name", REQUESTS)
def test_the_service_would_count_it(service, name):
    request = REQUESTS[name]
    target = resolve(f"bedrock:{request.model}", environ={})

    assert refused(service, encode_count(request, target).http) == []


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ({"surprise": 1}, "body: surprise is not known"),
        ({"system": [{"text": ""}]}, "body.system[0].text: 0 is out of bounds"),
        ({"serviceTier": {"type": "cheap"}}, "none of"),
        ({"toolConfig": {"tools": [{"systemTool": {}}]}}, "name is missing"),
        ({"messages": [{"role": "user", "content": [{"text": "a", "image": {}}]}]}, "exactly one"),
    ],
)
def test_the_validator_sees_what_is_wrong(service, extra, place):
    target = resolve(f"bedrock:{CLAUDE}", environ={})

    assert any(place in found for found in refused(service, encode(asked(CLAUDE, extra=extra), target).http))
