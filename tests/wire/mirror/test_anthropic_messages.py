"""Anthropic Messages from the server's side."""

import json

import pytest

from dragoman.errors import (
    ApiError,
    DragomanError,
    Filtered,
    IncompleteStream,
    Misuse,
    Overloaded,
    RateLimited,
    Timeout,
    TooLong,
    Unauthorized,
)
from dragoman.events import Failed, Finished, TextDelta, TextEnd, TextStart, UsageReported, fold
from dragoman.exchange import McpTool, Options, ProviderTool, Request, Response, ToolSpec
from dragoman.http import HttpResponse
from dragoman.messages import (
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
from dragoman.target import Family, Target
from dragoman.usage import Usage
from dragoman.wire import anthropic_messages as codec
from dragoman.wire.anthropic_messages.request import SEARCH_TOOL
from dragoman.wire.mirror import anthropic_messages as mirror

PNG = b"\x89PNG\r\n\x1a\nsmall"
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
EFFORTS = ("low", "medium", "high", "max")


def target_of(**rules):
    rules = {"thinking": "adaptive", "efforts": EFFORTS, "defer_loading": True} | rules
    return Target(
        provider="lyrebird",
        model="owl-2",
        wire="anthropic-messages",
        base_url="https://x.example",
        family=Family(name="owl", **rules),
    )


TARGET = target_of()


def mine(data):
    return Opaque(TARGET.issuer, data)


def asked(*messages, tools=(), tool_choice="auto", stream=False, **options):
    return Request(
        model="owl-2",
        messages=messages or (Message.user("hello"),),
        tools=tools,
        tool_choice=tool_choice,
        options=Options(**{"max_tokens": 50_000} | options),
        stream=stream,
    )


def read(target=TARGET, **body):
    whole = {"model": "owl-2", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]} | body
    return mirror.decode_request(json.dumps(whole).encode(), target)


def sent(request, target=TARGET):
    return json.loads(codec.encode_chat(request, target, []).body)


# ── the round trip of requests ──

CALLS = Message.assistant(
    Thinking("hm", mine({"signature": "s=="})),
    Thinking("", mine({"redacted": "xyz"})),
    OpaquePart("server_tool_use", mine({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}})),
    Text("Looking.", mine({"citations": [{"url": "https://x.example"}]})),
    ToolCall("t1", "look", '{"city":"Oslo"}', mine({"caller": {"type": "direct"}}), "5m"),
    ToolCall("t2", "look"),
)
RESULTS = Message.tool(
    [
        ToolResult("t1", "fog", blocks=(Image(PNG, "image/png"), Text("and rain")), cache="1h"),
        ToolResult("t2", is_error=True, blocks=(Document(url="https://x.example/a.pdf"),)),
    ]
)

REQUESTS = {
    "text": asked(Message.system("Be brief."), Message.user("hello")),
    "marked instructions": asked(
        Message.system("One.", Text("Two.", cache="1h")), Message.user(Text("hello", cache="5m"))
    ),
    "files": asked(
        Message.user(
            Image(PNG, "image/png"),
            Image(url="https://x.example/a.png"),
            Image(file_id="f1", cache="5m"),
            Document(b"plain", "text/plain", name="N", context="C", citations=True),
            Document(b"%PDF-1", "application/pdf"),
        )
    ),
    "calls and results": asked(Message.user("go"), CALLS, RESULTS, Message.user("and?"), Message.system("Hurry.")),
    "tools": asked(
        tools=(
            ToolSpec("look", "Look.", CITY, strict=True, cache="1h"),
            ToolSpec("see", "", {"type": "object"}, strict=False),
            ToolSpec("find", "", CITY, deferred=True),
            ProviderTool({"type": "web_search_20250305", "name": "web_search"}),
            McpTool("https://m.example", "maps", {"Authorization": "Bearer tok"}, ("route",), deferred=True),
            McpTool("https://n.example", "news"),
        ),
        tool_choice="look",
        parallel_tool_calls=False,
    ),
    "options": asked(
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        stop=("END",),
        effort="high",
        response_schema=CITY,
        cache=True,
        metadata={"user_id": "u"},
        service_tier="auto",
        stream=True,
    ),
    "more options": asked(
        effort="none",
        cache="1h",
        parallel_tool_calls=True,
        tools=(ToolSpec("see", "", CITY),),
        extra={"container": "c1", "speed": "fast"},
    ),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_request_comes_back_as_it_was_sent(request_):
    assert mirror.decode_request(codec.encode_chat(request_, TARGET, []).body, TARGET) == request_


@pytest.mark.parametrize("effort", ["none", "low", "medium", "high", "ultra"])
@pytest.mark.parametrize(
    "rules", [{}, {"thinking": "budget", "efforts": ()}, {"thinking": "budget", "efforts": ("low", "medium", "high")}]
)
def test_every_level_of_effort_comes_back(effort, rules):
    request = asked(effort=effort)
    assert mirror.decode_request(codec.encode_chat(request, target_of(**rules), []).body, target_of(**rules)) == request


# ── requests of others ──


def test_a_plain_string_is_a_text():
    assert read(system="Be brief.").messages == (Message.system("Be brief."), Message.user("hello"))


def test_results_are_a_message_of_their_own():
    content = [
        {"type": "text", "text": "and?"},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "fog"}]},
    ]
    messages = read(messages=[{"role": "user", "content": content}]).messages
    assert messages == (Message.tool(ToolResult("t1", blocks=(Text("fog"),))), Message.user("and?"))


def test_a_result_of_blocks_we_cannot_hold_goes_back_as_it_came():
    found = [{"type": "text", "text": "found"}, {"type": "tool_reference", "tool_name": "look"}]
    content = (
        [{"type": "tool_use", "id": "t1", "name": "search", "input": {}}],
        [{"type": "tool_result", "tool_use_id": "t1", "content": found}],
    )
    request = read(messages=[{"role": "assistant", "content": content[0]}, {"role": "user", "content": content[1]}])

    assert request.messages[1].tool_results[0].content == "found"
    assert sent(request)["messages"][1]["content"][0]["content"] == found


@pytest.mark.parametrize(
    "block",
    [
        {"type": "container_upload", "file_id": "f1"},
        {"type": "search_result", "source": "s", "title": "t", "content": []},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "scope": "global"}},
    ],
)
def test_what_has_no_word_of_ours_goes_back_as_it_came(block):
    request = read(messages=[{"role": "user", "content": [block]}])
    assert sent(request)["messages"][0]["content"] == [block]


def test_changes_of_the_tools_stay_between_the_turns():
    change = {
        "role": "system",
        "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "look"}}],
    }
    assert sent(read(messages=[change, {"role": "user", "content": "go"}]))["messages"][0] == change


def test_unsigned_thinking_has_no_state():
    turn = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": ""}]}
    assert read(messages=[turn]).messages[0].parts == (Thinking("hm"),)


def test_unknown_fields_are_extra():
    assert read(context_management={"edits": []}, temperature=None).options == Options(
        max_tokens=9, extra={"context_management": {"edits": []}}
    )


def test_a_request_that_only_warms_the_cache_stays_one():
    request = read(max_tokens=0)
    assert request.options == Options(extra={"max_tokens": 0})
    assert sent(request)["max_tokens"] == 0


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, 1),
        ({"thinking": {"type": "adaptive"}}, 3),
        (
            {
                "thinking": {"type": "adaptive", "display": "omitted"},
                "output_config": {"effort": "xhigh", "task_budget": {"total": 9}},
            },
            4,
        ),
        ({"thinking": {"type": "novel"}}, None),
    ],
)
def test_thinking_we_would_ask_for_otherwise_is_asked_for_in_the_same_words(body, level):
    request = read(**body)
    assert request.options.effort_level == (level or 0)
    written = sent(request)
    assert written["thinking"] == body["thinking"]
    assert written.get("output_config", {}) == body.get("output_config", {})


def test_the_field_that_schemas_had_at_first_is_understood():
    request = read(output_format={"type": "json_schema", "schema": CITY})
    assert request.options.response_schema == CITY
    assert sent(request)["output_config"]["format"]["schema"] == CITY


def test_a_tool_with_conditions_stays_as_it_is_and_hints_are_extra():
    bound = {"name": "look", "input_schema": CITY, "allowed_callers": ["code_execution_20250825"]}
    hinted = {
        "name": "see",
        "input_schema": CITY,
        "type": "custom",
        "eager_input_streaming": True,
        "input_examples": [{"city": "Oslo"}],
    }
    hints = {"eager_input_streaming": True, "input_examples": [{"city": "Oslo"}]}
    assert read(tools=[bound, hinted]).tools == (ProviderTool(bound), ToolSpec("see", "", CITY, extra=hints))


def test_the_search_we_would_add_again_is_taken_away_and_another_is_kept():
    deferred = {"name": "see", "input_schema": CITY, "defer_loading": True}
    regex = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    assert read(tools=[SEARCH_TOOL, deferred]).tools == (ToolSpec("see", "", CITY, deferred=True),)
    assert read(tools=[regex, deferred]).tools == (ProviderTool(regex), ToolSpec("see", "", CITY, deferred=True))
    assert read(tools=[SEARCH_TOOL]).tools == (ProviderTool(SEARCH_TOOL),)


def test_the_first_form_of_the_mcp_connector_is_understood():
    server = {
        "type": "url",
        "url": "https://m.example",
        "name": "maps",
        "tool_configuration": {"enabled": True, "allowed_tools": ["route"]},
    }
    assert read(mcp_servers=[server]).tools == (McpTool("https://m.example", "maps", allowed_tools=("route",)),)


def test_an_mcp_server_of_which_more_is_said_stays_as_it_is():
    servers = [{"type": "url", "url": "https://m.example", "name": "maps"}]
    toolset = {"type": "mcp_toolset", "mcp_server_name": "maps", "configs": {"route": {"defer_loading": True}}}
    request = read(mcp_servers=servers, tools=[toolset])

    assert request.tools == (ProviderTool(toolset),)
    assert (sent(request)["mcp_servers"], sent(request)["tools"]) == (servers, [toolset])
    assert dict(codec.encode_chat(request, TARGET, []).headers)["anthropic-beta"].startswith("mcp-client-")


@pytest.mark.parametrize(
    "body",
    [
        {"messages": None},
        {"messages": "hello"},
        {"messages": ["hello"]},
        {"messages": [{"role": "robot", "content": "x"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [{"role": "user", "content": [5]}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}
                    ],
                }
            ]
        },
        {"system": 5},
        {"max_tokens": "many"},
        {"max_tokens": True},
        {"temperature": "hot"},
        {"stream": "yes"},
        {"tools": [5]},
        {"tools": [{"name": "look"}]},
        {"tool_choice": {"type": "perhaps"}},
    ],
    ids=str,
)
def test_a_bad_request_is_misuse(body):
    with pytest.raises(Misuse):
        read(**body)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"messages":' + b"[" * 5000])
def test_a_body_that_is_no_request_is_misuse(body):
    with pytest.raises(Misuse):
        mirror.decode_request(body, TARGET)


# ── answers ──

RESPONSES = {
    "text": Response(
        message=Message.assistant("hi"),
        finish_reason="stop",
        raw_finish_reason="end_turn",
        usage=Usage(input_tokens=3, output_tokens=2),
    ),
    "everything": Response(
        message=Message.assistant(
            Thinking("hm", mine({"signature": "s=="})),
            Thinking("", mine({"redacted": "xyz"})),
            OpaquePart("fallback", mine({"type": "fallback", "to": {"model": "owl-1"}})),
            Text("fog", mine({"citations": [{"url": "https://x.example"}], "tone": "warm"})),
            ToolCall("t1", "look", '{"city":"Oslo"}', mine({"caller": {"type": "direct"}})),
            ToolCall("t2", "look"),
        ),
        finish_reason="tool_calls",
        raw_finish_reason="tool_use",
        usage=Usage(
            input_tokens=1110, output_tokens=7, cache_read_tokens=100, cache_creation_tokens=1000, reasoning_tokens=5
        ),
        metadata={
            "stop_details": '{"type":"refusal"}',
            "diagnostics": '{"cache_miss_reason":"x"}',
            "service_tier": "standard",
            "iterations": '[{"type":"message"}]',
        },
    ),
    "nothing counted": Response(message=Message.assistant("hi"), finish_reason="pause", raw_finish_reason="pause_turn"),
    "a stop that was a call": Response(
        message=Message.assistant(ToolCall("t1", "look")), finish_reason="tool_calls", raw_finish_reason="end_turn"
    ),
    "a stop sequence": Response(
        message=Message.assistant("hi"),
        finish_reason="stop",
        raw_finish_reason="stop_sequence",
        metadata={"stop_sequence": "END"},
    ),
}


def complete(response):
    return Response(
        **{name: getattr(response, name) for name in response.__struct_fields__}
        | {"id": "msg_1", "model": "owl-2-7", "provider": "lyrebird"}
    )


@pytest.mark.parametrize("response", [complete(response) for response in RESPONSES.values()], ids=RESPONSES)
def test_a_reply_comes_back_as_it_was(response):
    assert codec.decode_chat(mirror.encode_reply(response), TARGET) == response


def heard(data):
    decoder = codec.chat_decoder(TARGET)
    return decoder.feed(data) + decoder.close()


def restreamed(events, **head):
    encoder = mirror.StreamEncoder(**head)
    return b"".join(encoder.feed(event) for event in events)


@pytest.mark.parametrize("response", [complete(response) for response in RESPONSES.values()], ids=RESPONSES)
@pytest.mark.parametrize("head", [{}, {"id": "msg_1", "model": "owl-2-7"}], ids=["learned late", "known"])
def test_a_stream_comes_back_as_it_was(response, head):
    events = heard(mirror.encode_reply(response))
    assert fold(heard(restreamed(events, **head))) == response


def test_a_stream_has_the_events_that_clients_expect_in_their_order():
    events = [
        TextStart(0),
        TextDelta(0, "hi"),
        TextEnd(0),
        UsageReported(Usage(output_tokens=2)),
        Finished(reason="stop", id="m", model="o"),
    ]
    names = [
        line.removeprefix("event: ")
        for line in restreamed(events, id="m", model="o").decode().splitlines()
        if line.startswith("event: ")
    ]
    assert names == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_a_first_event_without_counts_shows_zeros():
    first = json.loads(restreamed([TextStart(0)]).split(b"\n")[1].removeprefix(b"data: "))
    assert first["message"]["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_the_words_of_other_wires_become_this_ones():
    for reason, word in (
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
    ):
        response = Response(message=Message.assistant("x"), finish_reason=reason, raw_finish_reason="SOMETHING")
        assert json.loads(mirror.encode_reply(response))["stop_reason"] == word


def test_a_picture_in_an_answer_is_described():
    response = Response(message=Message.assistant(Image(PNG, "image/png")), finish_reason="stop")
    assert codec.decode_chat(mirror.encode_reply(response), TARGET).text == "[Image: image/png, 13B]"


# ── errors ──


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (Misuse("no such role"), 400, "invalid_request_error"),
        (Unauthorized("bad key", status=401), 401, "authentication_error"),
        (Unauthorized("not yours", status=403), 403, "permission_error"),
        (RateLimited("slow down", status=429), 429, "rate_limit_error"),
        (Overloaded("full", status=503), 529, "overloaded_error"),
        (TooLong("too long", status=400), 413, "request_too_large"),
        (Timeout("no byte in 60 s"), 504, "timeout_error"),
        (IncompleteStream("cut"), 502, "api_error"),
        (ApiError("gone", status=404), 404, "not_found_error"),
        (ApiError("no funds", status=402), 402, "billing_error"),
        (ApiError("odd", status=418), 418, "invalid_request_error"),
        (ApiError("allowance used up", status=429), 402, "billing_error"),
        (Filtered("not that"), 400, "invalid_request_error"),
        (DragomanError("who knows"), 500, "api_error"),
    ],
)
def test_errors_have_the_envelope_and_status_of_this_wire(error, status, kind):
    error.request_id = "req_1"
    code, body = mirror.encode_error(error)
    assert code == status
    assert json.loads(body) == {
        "type": "error",
        "error": {"type": kind, "message": error.message},
        "request_id": "req_1",
    }


def test_an_error_read_again_is_of_the_same_kind():
    for error in (
        Unauthorized("k", status=401),
        RateLimited("r", status=429),
        Overloaded("o", status=529),
        TooLong("t", status=400),
    ):
        status, body = mirror.encode_error(error)
        assert type(codec.decode_error(HttpResponse(status=status, body=body), TARGET)) is type(error)


def test_a_failed_stream_ends_in_an_error_event():
    events = heard(restreamed([TextStart(0), TextDelta(0, "hi"), Failed(Overloaded("full", status=529))]))
    assert isinstance(events[-1].error, Overloaded)
