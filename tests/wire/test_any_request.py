"""Whatever is asked of whomever: a request that can be sent, or an error that says what is wrong with it."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import Misuse
from dragoman.exchange import McpTool, Options, ProviderTool, Request, ToolSpec
from dragoman.messages import Document, Message, Opaque, OpaquePart, Thinking, ToolCall, ToolResult
from dragoman.resolve import resolve
from dragoman.wire import encode, encode_count
from tests.strategies import (
    OPTIONS,
    cache_marks,
    documents,
    images,
    json_objects,
    sounds,
    strict_schemas,
    text_parts,
    texts,
    words,
)

MODELS = [
    "openai:gpt-5.6",
    "openai:gpt-4o",
    "anthropic:claude-sonnet-4-5",
    "anthropic:claude-opus-5-5",
    "gemini:gemini-2.5-flash",
    "gemini:gemini-3-pro",
    "bedrock:anthropic.claude-sonnet-4-6",
    "bedrock:meta.llama3-1-8b-instruct-v1:0",
    "bedrock:amazon.nova-pro-v1:0",
    "ollama:qwen3",
    "ollama:gpt-oss:20b",
    "deepseek:deepseek-v4-pro",
    "mistral:mistral-large-latest",
    "openrouter:anthropic/claude-sonnet-4.6",
    "moonshot:kimi-k3",
    "llamacpp:any",
]
TARGETS = {model: resolve(model, environ={}) for model in MODELS} | {
    "openai:gpt-5.6 on chat": resolve("openai:gpt-5.6", wire="openai-chat", environ={}),
}

state = st.none() | st.builds(Opaque, st.sampled_from([target.issuer for target in TARGETS.values()]), json_objects)
places = st.sampled_from(["https://x.example/a.png", "files/abc", "http://x.example/b"])
linked = st.builds(Document, url=places, media_type=st.sampled_from(["", "application/pdf", "video/mp4", "text/plain"]))
blocks = st.lists(text_parts(cache_marks) | images() | documents() | linked, max_size=2).map(tuple)
arguments = json_objects.map(json.dumps) | st.sampled_from(["", "null", "[1]", "{", '{"a":1,"a":2}', "NaN"])
ids = words | st.sampled_from(["functions.x:0", "a b", "", "é" * 80])
parts = st.one_of(
    text_parts(cache_marks),
    images(cache_marks),
    documents(cache_marks),
    sounds(),
    linked,
    st.builds(Thinking, texts | st.just(""), state),
    st.builds(ToolCall, ids, words | st.just(""), arguments, state),
    st.builds(ToolResult, ids, texts | st.just(""), st.booleans(), blocks, state, cache_marks),
    st.builds(OpaquePart, words, st.builds(Opaque, st.just("openai/gpt-5.6@openai-responses"), json_objects)),
)
messages = st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.lists(parts, max_size=3).map(tuple)
)
anything_goes: st.SearchStrategy[dict] = json_objects | st.sampled_from(
    [{"type": "object"}, {"$ref": "#"}, {"type": "array", "items": {"type": "string"}}, {"type": "nonsense"}]
)
tools = st.one_of(
    st.builds(
        ToolSpec, words, texts, strict_schemas | anything_goes, st.sampled_from([None, True, False]), st.booleans()
    ),
    st.builds(McpTool, st.just("https://mcp.example"), words, st.dictionaries(words, texts, max_size=1)),
    st.builds(ProviderTool, json_objects),
)
more_options = {
    "parallel_tool_calls": st.booleans(),
    "cache": st.sampled_from([True, False, "5m", "1h"]),
    "extra": json_objects,
    "system": texts,
    "response_schema": strict_schemas | anything_goes,
}
options = st.fixed_dictionaries({}, optional=OPTIONS | more_options)


@pytest.mark.parametrize("model", TARGETS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(data=st.data())
def test_a_request_is_written_or_refused_with_a_reason(model, data):
    offered = data.draw(st.lists(tools, max_size=2))
    names = [tool.name for tool in offered if isinstance(tool, ToolSpec)]
    request = Request(
        model=TARGETS[model].model,
        messages=tuple(data.draw(st.lists(messages, max_size=4))),
        tools=tuple(offered),
        tool_choice=data.draw(st.sampled_from(["auto", "none", "required", *names])),
        options=Options(**data.draw(options), ignore_invalid_options=data.draw(st.booleans())),
        stream=data.draw(st.booleans()),
    )
    for write in (encode, encode_count):
        try:
            written = write(request, TARGETS[model])
        except Misuse:
            continue
        assert isinstance(json.loads(written.http.body), dict)
