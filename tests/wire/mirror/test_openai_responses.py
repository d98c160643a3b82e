import json
from typing import Any

import pytest

from dragoman.errors import (
    ApiError,
    DragomanError,
    Filtered,
    IncompleteStream,
    InvalidOption,
    Misuse,
    Overloaded,
    RateLimited,
    Timeout,
    TooLong,
    Unauthorized,
)
from dragoman.events import Event, Failed, PartAdded, TextDelta, TextEnd, TextStart, fold
from dragoman.exchange import McpTool, Options, ProviderTool, Request, Response, ToolSpec
from dragoman.http import HttpResponse
from dragoman.messages import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    OpaquePart,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from dragoman.target import Family, Quirks, Target
from dragoman.usage import Usage
from dragoman.wire import openai_responses as codec
from dragoman.wire.mirror import openai_responses as mirror

Json = dict[str, Any]

TARGET = Target(
    provider="lyrebird",
    model="owl-2",
    wire="openai-responses",
    base_url="https://api.example/v1",
    family=Family(name="owl", thinking="effort", efforts=("none", "low", "medium", "high")),
    quirks=Quirks(cache_mark="prompt_cache_breakpoint"),
)
CLOSED = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def state(**data: Any) -> Opaque:
    return Opaque("lyrebird/owl@openai-responses", data)


def ask(*messages: Message, **more: Any) -> Request:
    return Request(model="owl-2", messages=messages or (Message.user("hi"),), **more)


def received(request: Request) -> Request:
    return mirror.decode_request(codec.encode_chat(request, TARGET, []).body, TARGET)


def decoded(**fields: Any) -> Request:
    return mirror.decode_request(json.dumps({"model": "owl-2", "input": "hi"} | fields).encode(), TARGET)


def rewritten(**fields: Any) -> Json:
    body: Json = json.loads(codec.encode_chat(decoded(**fields), TARGET, []).body)
    return body


# ── requests come back equal ────────────────────────────────────────────────────────────────────

RS = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
CITED = [{"type": "url_citation", "url": "https://o.example"}]
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}

TURN = Message.assistant(
    Thinking("", state(**RS)),
    Text("let me see", state(after="rs_1", message={"id": "msg_1", "status": "completed", "phase": "commentary"})),
    OpaquePart("web_search_call", state(**SEARCH)),
    Text("so", state(message={"id": "msg_2", "status": "completed"}, annotations=CITED)),
    Text("no", state(message={"id": "msg_2", "status": "completed"}, refusal=True)),
    ToolCall("call_1", "look", '{"a":1}', state(id="fc_1", status="completed", namespace="nest")),
    ToolCall("call_2", "run", "ls", state(id="ctc_1", custom=True, caller={"type": "program", "caller_id": "p"})),
)
SEARCHING = Message.assistant(
    Thinking("", state(**RS)),
    Thinking("", state(**RS | {"id": "rs_2"}, after="rs_1")),
    OpaquePart("web_search_call", state(**SEARCH, after="rs_2")),
    ToolCall("call_3", "look", "{}", state(id="fc_3")),
)
RESULTS = Message.tool(
    [
        ToolResult("call_1", "a chart:", blocks=(Image(file_id="file_1"), Text("and more"))),
        ToolResult("call_2", "done"),
    ]
)
MEDIA = Message.user(
    "see",
    Text("marked", cache="5m"),
    Text("marked for long", cache="1h"),
    Image(b"\x89PNG\r\n\x1a\n0000", detail="low"),
    Image(url="https://i.example/a.png"),
    Document(b"%PDF-1.4", name="a.pdf"),
    Document(b"words", media_type="text/plain"),
    Document(url="https://i.example/a.pdf", name="b.pdf"),
    Document(file_id="file_2"),
)
TOOLS = (
    ToolSpec("look", "Looks.", {"type": "object", "properties": {"a": {"type": "string"}}}),
    ToolSpec("hold", input_schema=CLOSED, strict=True),
    ToolSpec("late", deferred=True),
    McpTool("https://m.example", "nest", {"Authorization": "Bearer t", "X-A": "b"}, ("find",)),
    ProviderTool({"type": "custom", "name": "run"}),
    ProviderTool({"type": "web_search", "search_context_size": "low"}),
)
OPTIONS = Options(
    max_tokens=9,
    temperature=0.5,
    top_p=0.9,
    effort="low",
    metadata={"a": "b"},
    service_tier="flex",
    parallel_tool_calls=False,
    response_schema=CLOSED,
    extra={"truncation": "auto", "reasoning": {"mode": "pro"}, "text": {"verbosity": "low"}},
)


@pytest.mark.parametrize(
    "request_",
    [
        ask(),
        ask(Message.system("Be brief."), Message.user("hi"), Message.system("Now be long.")),
        ask(Message.system("a", "b"), Message.user("hi")),
        ask(Message.user("a"), Message.user("b"), Message.assistant("c", "d"), Message.user("e")),
        ask(MEDIA),
        ask(Message.user("hi"), TURN, RESULTS, Message.assistant("well"), Message.user("go on")),
        ask(Message.user("hi"), SEARCHING, Message.tool(ToolResult("call_3", "a", cache="5m")), Message.user("b")),
        ask(tools=TOOLS, options=OPTIONS, stream=True),
        ask(options=Options(effort="none")),
        *(ask(tools=TOOLS, tool_choice=name) for name in ("none", "required", "look", "nest", "run", "web_search")),
    ],
)
def test_a_request_comes_back_equal(request_):
    assert received(request_) == request_


# ── what others ask ─────────────────────────────────────────────────────────────────────────────


def test_a_plain_string_is_what_the_user_says():
    assert decoded() == ask()


def test_developers_are_the_system_and_both_forms_of_a_message_are_read():
    request = decoded(
        input=[
            {"role": "developer", "content": "a"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "b"}]},
            {"role": "assistant", "content": "c"},
        ]
    )

    assert request.messages == (Message.system("a"), Message.user("b"), Message.assistant("c"))


def test_what_we_have_no_word_for_is_passed_on():
    more = {"previous_response_id": "resp_1", "store": True, "include": ["file_search_call.results"], "user": "u"}

    assert decoded(**more).options.extra == more
    assert more.items() <= rewritten(**more).items()


def test_words_that_we_would_write_otherwise_are_kept_as_they_were():
    exact = {"effort": "minimal", "summary": "detailed"}
    loose = {"format": {"type": "json_schema", "name": "Owl", "schema": CLOSED, "strict": False}}
    request = decoded(reasoning=exact, text=loose)

    assert request.options.effort_level == 1
    assert request.options.response_schema == CLOSED
    assert rewritten(reasoning=exact, text=loose)["reasoning"] == exact
    assert rewritten(reasoning=exact, text=loose)["text"] == loose


def test_a_schema_that_no_strictness_can_carry_is_passed_on():
    anything = {"format": {"type": "json_schema", "name": "any", "schema": {"type": "object", "properties": {"x": {}}}}}

    assert rewritten(text=anything)["text"] == anything


def test_json_mode_is_passed_on_and_plain_text_is_the_default():
    assert rewritten(text={"format": {"type": "json_object"}})["text"] == {"format": {"type": "json_object"}}
    assert "text" not in rewritten(text={"format": {"type": "text"}})


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "name": "look", "parameters": CLOSED, "strict": True, "allowed_callers": ["direct"]},
        {"type": "function", "function": {"name": "look"}},
        {"type": "mcp", "server_label": "nest", "server_url": "https://m.example"},
        {"type": "mcp", "server_label": "nest", "connector_id": "connector_gmail", "require_approval": "never"},
        {"type": "tool_search"},
    ],
)
def test_a_tool_with_more_than_ours_have_is_passed_on(tool):
    assert decoded(tools=[tool]).tools == (ProviderTool(tool),)
    assert rewritten(tools=[tool])["tools"] == [tool]


def test_a_choice_among_some_tools_is_passed_on():
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]}
    tools = [{"type": "function", "name": "look", "parameters": CLOSED, "strict": False}]

    assert decoded(tools=tools, tool_choice=choice).tool_choice == "auto"
    assert rewritten(tools=tools, tool_choice=choice)["tool_choice"] == choice


def test_a_custom_result_without_its_call_is_still_custom():
    item = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "x"}

    assert rewritten(input=[item])["input"] == [item]


def test_how_closely_a_file_is_read_is_passed_on():
    said = [{"type": "input_file", "file_id": "file_1", "detail": "high"}]

    assert rewritten(input=[{"role": "user", "content": said}])["input"][0]["content"] == said


def test_parts_and_items_of_a_new_kind_are_kept_in_place():
    said = [{"type": "input_text", "text": "a"}, {"type": "input_song", "notes": "la"}]
    items = [{"role": "user", "content": said}, {"type": "item_reference", "id": "msg_1"}]

    assert rewritten(input=items)["input"] == items


@pytest.mark.parametrize(
    "fields",
    [
        {"input": 3},
        {"input": ["hi"]},
        {"input": [{"role": "tool", "content": "x"}]},
        {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "data:a/b;base64,%"}]}]},
        {"stream": "yes"},
        {"max_output_tokens": True},
        {"tools": {}},
        {"model": 3},
    ],
)
def test_a_bad_request_is_misuse(fields):
    with pytest.raises(Misuse):
        decoded(**fields)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"hi"'])
def test_a_body_that_is_no_request_is_misuse(body):
    with pytest.raises(Misuse):
        mirror.decode_request(body, TARGET)


# ── answers come back equal ─────────────────────────────────────────────────────────────────────


def reply(*parts: Part, reason: Any = "stop", raw: str = "completed", **more: Any) -> Response:
    facts: Json = {"id": "resp_1", "model": "owl-2-1", "provider": "lyrebird"}
    return Response(message=Message.assistant(*parts), finish_reason=reason, raw_finish_reason=raw, **(facts | more))


REPLIES = [
    reply(Text("hi")),
    reply(Text("hi"), id=""),
    reply(Thinking("hm"), Text("hi"), ToolCall("call_1", "look", '{"a":1}'), reason="tool_calls"),
    reply(*TURN.parts, reason="content_filter"),
    reply(*SEARCHING.parts, reason="tool_calls"),
    reply(OpaquePart("mcp_approval_request", state(type="mcp_approval_request", id="a_1")), reason="tool_calls"),
    reply(Text("h"), reason="length", raw="max_output_tokens"),
    reply(reason="pause", raw="queued"),
    reply(Text("h"), reason="error", raw="cancelled"),
    reply(
        Text("hi"),
        usage=Usage(input_tokens=9, output_tokens=7, cache_read_tokens=4, reasoning_tokens=0),
        metadata={
            "service_tier": "flex",
            "prompt_cache_diagnostics": '{"type":"cache_hit"}',
            "provider_cost": "0.25",
        },
    ),
]


@pytest.mark.parametrize("response", REPLIES)
def test_a_reply_comes_back_equal(response):
    assert codec.decode_chat(mirror.encode_reply(response, created=7), TARGET) == response


def events_of(data: bytes) -> list[Event]:
    decoder = codec.chat_decoder(TARGET)
    return decoder.feed(data) + decoder.close()


def written(events: list[Event]) -> bytes:
    encoder = mirror.StreamEncoder(created=7)
    return b"".join(encoder.feed(event) for event in events)


@pytest.mark.parametrize("response", REPLIES)
def test_a_stream_comes_back_equal(response):
    events = events_of(mirror.encode_reply(response))

    assert fold(events_of(written(events))) == response


def test_the_last_event_holds_the_whole_answer():
    last = written(events_of(mirror.encode_reply(REPLIES[3]))).strip().rsplit(b"\ndata: ", 1)[1]

    assert codec.decode_chat(json.dumps(json.loads(last)["response"]).encode(), TARGET) == REPLIES[3]


def test_clients_get_ids_and_numbered_events():
    encoder = mirror.StreamEncoder(id="resp_9", model="owl-2")
    frames = (encoder.feed(TextStart(0)) + encoder.feed(TextDelta(0, "hi")) + encoder.feed(TextEnd(0))).split(b"\n\n")
    payloads = [json.loads(frame.split(b"data: ", 1)[1]) for frame in frames if frame]

    assert payloads[0]["response"]["id"] == "resp_9"
    assert [payload["sequence_number"] for payload in payloads] == list(range(len(payloads)))
    assert all(payload["item"]["id"] for payload in payloads if "item" in payload)


def test_a_part_that_comes_late_keeps_its_place():
    late = OpaquePart("mcp_list_tools", state(type="mcp_list_tools", id="mcpl_1"))
    events = events_of(mirror.encode_reply(reply(late, Text("hi"))))
    added = next(event for event in events if isinstance(event, PartAdded))
    events.remove(added)

    assert fold(events_of(written([*events[:-1], added, events[-1]]))) == reply(late, Text("hi"))


def test_an_answer_of_another_wire_ends_in_words_of_this_one():
    ended = {"end_turn": "stop", "max_tokens": "length", "pause_turn": "pause"}
    for raw, reason in ended.items():
        body = mirror.encode_reply(reply(Text("hi"), reason=reason, raw=raw))
        assert codec.decode_chat(body, TARGET).finish_reason == reason


def test_pictures_and_sound_are_said_as_this_wire_can():
    body = json.loads(
        mirror.encode_reply(
            reply(Image(b"1234", media_type="image/png"), Audio(b"1", media_type="a/b", transcript="la"))
        )
    )

    assert [item["type"] for item in body["output"]] == ["image_generation_call", "message"]
    assert body["output"][0]["result"] == "MTIzNA=="
    assert body["output"][1]["content"][0]["text"] == "la"


# ── errors ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [TooLong, Filtered, Unauthorized, RateLimited, Overloaded])
def test_an_error_comes_back_as_the_same_kind(kind):
    status, body = mirror.encode_error(kind("no"))
    error = codec.decode_error(HttpResponse(status=status, body=body), TARGET)

    assert type(error) is kind
    with pytest.raises(kind, match="no"):
        fold(events_of(written([Failed(kind("no"))])))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Misuse("no"), 400),
        (ApiError("no", status=404, code="gone"), 404),
        (Unauthorized("no", status=403), 403),
        (Timeout("no"), 504),
        (IncompleteStream("no"), 502),
        (DragomanError("no"), 500),
    ],
)
def test_an_error_has_the_status_that_says_who_is_to_act(error, status):
    found, body = mirror.encode_error(error)

    assert found == status
    assert json.loads(body)["error"]["message"] == "no"


def test_a_refused_option_is_named():
    _, body = mirror.encode_error(InvalidOption("top_k", model="owl-2", reason="no such thing", remedy="leave it out"))

    assert json.loads(body)["error"]["param"] == "top_k"
