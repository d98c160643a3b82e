import json
from typing import Any

import pytest

from dragoman.errors import ApiError, IncompleteStream, InvalidResponse, Misuse, Overloaded
from dragoman.events import Event, Failed, Finished, TextDelta, fold
from dragoman.exchange import McpTool, Note, Options, ProviderTool, Request, Response, ToolSpec
from dragoman.http import HttpResponse
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
from dragoman.target import Family, Quirks, Target
from dragoman.usage import Usage
from dragoman.wire import ollama

Json = dict[str, Any]


def target(*, echo: Any = "never", **family: Any) -> Target:
    rules, quirks = Family(name="owl", **family), Quirks(reasoning_echo=echo)
    return Target(
        provider="o", model="owl:1b", wire="ollama", base_url="http://here.example", family=rules, quirks=quirks
    )


def ask(*messages: Message, **more: Any) -> Request:
    return Request(model="o:owl", messages=messages or (Message.user("hi"),), **more)


def sent(request: Request, to: Target | None = None, notes: list[Note] | None = None) -> Json:
    body: Json = json.loads(ollama.encode_chat(request, to or target(), [] if notes is None else notes).body)
    return body


# ── asking ──────────────────────────────────────────────────────────────────────────────────────


def test_whether_to_stream_is_always_said():
    assert sent(ask()) == {"model": "owl:1b", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    assert sent(ask(stream=True))["stream"] is True
    assert ollama.encode_chat(ask(), target(), []).url == "http://here.example/api/chat"


def test_options_have_an_object_of_their_own_and_the_servers_names():
    options = Options(temperature=0.5, top_p=0.9, top_k=4, max_tokens=9, stop=("END",), seed=7)

    assert sent(ask(options=options))["options"] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 4,
        "num_predict": 9,
        "stop": ["END"],
        "seed": 7,
    }


def test_extra_options_join_ours():
    body = sent(ask(options=Options(seed=7, extra={"keep_alive": "5m", "options": {"num_ctx": 8192}})))

    assert body["options"] == {"seed": 7, "num_ctx": 8192}
    assert body["keep_alive"] == "5m"


@pytest.mark.parametrize(
    ("thinking", "effort", "think"),
    [("toggle", "high", True), ("toggle", "none", False), ("effort", "high", "high"), ("effort", "none", False)],
)
def test_thinking_is_a_switch_or_a_word(thinking, effort, think):
    family = target(thinking=thinking, efforts=("low", "medium", "high"))

    assert sent(ask(options=Options(effort=effort)), family)["think"] == think
    assert "think" not in sent(ask(), family)


def test_a_switch_cannot_say_how_hard_to_think_and_that_is_noted():
    notes: list[Note] = []
    sent(ask(options=Options(effort="high")), target(thinking="toggle"), notes)

    assert [(note.act, note.what) for note in notes] == [("changed", "effort")]


def test_a_response_schema_is_the_format():
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

    assert sent(ask(options=Options(response_schema=schema)))["format"]["properties"] == {"name": {"type": "string"}}


def test_tools_are_functions():
    schema = {"type": "object", "properties": {}}

    assert sent(ask(tools=[ToolSpec("clock", "Tells the time.", schema), ProviderTool({"type": "x"})]))["tools"] == [
        {"type": "function", "function": {"name": "clock", "description": "Tells the time.", "parameters": schema}},
        {"type": "x"},
    ]


def test_what_the_server_would_drop_from_a_tools_schema_is_said_in_words():
    schema = {
        "type": "object",
        "properties": {"hour": {"type": "integer", "minimum": 1}, "zone": {"const": "UTC"}},
    }

    (tool,) = sent(ask(tools=[ToolSpec("clock", "", schema)]))["tools"]

    assert tool["function"]["parameters"]["properties"] == {
        "hour": {"type": "integer", "description": "minimum 1"},
        "zone": {"type": "string", "enum": ["UTC"]},
    }


def test_strictness_is_not_asked_for_and_noted():
    notes: list[Note] = []
    (tool,) = sent(ask(tools=[ToolSpec("clock", strict=True)]), notes=notes)["tools"]

    assert "strict" not in tool["function"]
    assert [(note.act, note.what) for note in notes] == [("dropped", "strict of 'clock'")]


def test_a_call_is_forbidden_by_showing_no_tools():
    notes: list[Note] = []

    assert "tools" not in sent(ask(tools=[ToolSpec("clock")], tool_choice="none"), notes=notes)
    assert [(note.act, note.what) for note in notes] == [("changed", "tools")]


def test_an_mcp_server_cannot_be_called_from_there():
    with pytest.raises(Misuse, match="MCP"):
        sent(ask(tools=[McpTool("https://mcp.example", "files")]))


def test_pictures_travel_beside_the_words_as_plain_base64():
    message = Message.user("what is", Image(b"png", "image/png"), "this?")

    assert sent(ask(message))["messages"] == [{"role": "user", "content": "what is\nthis?", "images": ["cG5n"]}]


def test_the_detail_of_a_picture_is_dropped_and_noted():
    notes: list[Note] = []
    sent(ask(Message.user(Image(b"png", "image/png", detail="high"))), notes=notes)

    assert [(note.act, note.what) for note in notes] == [("dropped", "detail of an Image")]


@pytest.mark.parametrize(
    "part", [Image(url="https://pictures.example/a.png"), Audio(b"x", "audio/wav"), Document(b"x", "application/pdf")]
)
def test_what_cannot_be_carried_is_misuse(part):
    with pytest.raises(Misuse, match="Ollama"):
        sent(ask(Message.user("look", part)))


CALLS = (
    Message.user("time?"),
    Message.assistant(Thinking("hm"), "let me see", ToolCall("c1", "clock", '{"zone": "UTC"}')),
    Message.tool([ToolResult("c1", "noon")]),
)


def test_calls_go_back_as_objects_and_results_name_their_tool():
    _, said, result = sent(ask(*CALLS))["messages"]

    assert said == {
        "role": "assistant",
        "content": "let me see",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "clock", "arguments": {"zone": "UTC"}}}],
    }
    assert result == {"role": "tool", "tool_name": "clock", "tool_call_id": "c1", "content": "noon"}


def test_a_result_names_the_tool_that_its_own_turn_called():
    again = (Message.assistant(ToolCall("c1", "map")), Message.tool([ToolResult("c1", "here")]))

    messages = sent(ask(*CALLS, *again))["messages"]

    assert [message["tool_name"] for message in messages if message["role"] == "tool"] == ["clock", "map"]


def test_arguments_that_are_no_object_go_back_inside_one():
    notes: list[Note] = []

    (said,) = sent(ask(Message.assistant(ToolCall("c1", "clock", "[1]"))), target(), notes)["messages"]

    assert said["tool_calls"][0]["function"]["arguments"] == {"arguments": "[1]"}
    assert [note.act for note in notes] == ["changed"]


def test_pictures_in_a_result_are_described():
    notes: list[Note] = []
    result = ToolResult("c1", "a chart:", blocks=(Image(b"1234", "image/png"),))

    (wire,) = sent(ask(Message.tool([result])), target(), notes)["messages"]

    assert wire["content"] == "a chart:\n[Image: image/png, 4B]"
    assert [note.act for note in notes] == ["changed"]


@pytest.mark.parametrize(
    ("echo", "thinking"), [("never", [None, None]), ("tool turns", [None, "hm"]), ("always", ["ah", "hm"])]
)
def test_reasoning_goes_back_where_it_is_wanted(echo, thinking):
    history = (Message.user("a"), Message.assistant(Thinking("ah"), "b"), *CALLS)

    said = [m for m in sent(ask(*history), target(echo=echo))["messages"] if m["role"] == "assistant"]

    assert [message.get("thinking") for message in said] == thinking


def test_reasoning_does_not_go_back_to_a_family_that_refuses_it():
    _, said, _ = sent(ask(*CALLS), target(echo="always", takes_reasoning_back=False))["messages"]

    assert "thinking" not in said


def test_what_an_answer_cannot_hold_here_is_left_out_and_noted():
    notes: list[Note] = []
    odd = OpaquePart("web_search", Opaque("o/owl", {}))

    assert sent(ask(Message.assistant("a", odd)), target(), notes)["messages"] == [
        {"role": "assistant", "content": "a"}
    ]
    assert [(note.act, note.what) for note in notes] == [("dropped", "web_search in an assistant message")]


# ── answers ─────────────────────────────────────────────────────────────────────────────────────

DONE: Json = {"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 7}


def line(content: str = "", **more: Any) -> bytes:
    said = {name: more.pop(name) for name in ("thinking", "tool_calls", "images") if name in more}
    message = {"role": "assistant", "content": content} | said
    return json.dumps({"model": "owl:1b", "message": message, "done": False} | more).encode() + b"\n"


def events(*lines: bytes) -> list[Event]:
    decoder = ollama.chat_decoder(target())
    return decoder.feed(b"".join(lines)) + decoder.close()


def decoded(content: str = "", **more: Any) -> Response:
    return ollama.decode_chat(line(content, **DONE | more), target())


CALL: Json = {"id": "c1", "function": {"index": 0, "name": "clock", "arguments": {"zone": "UTC"}}}


def test_an_answer_has_words_reason_and_usage():
    response = decoded("noon", total_duration=12, remote_host="far.example", created_at="2026-11-15")

    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("noon", "stop", "stop")
    assert response.usage == Usage(input_tokens=5, output_tokens=7)
    assert response.metadata == {"created_at": "2026-11-15", "total_duration": "12", "remote_host": "far.example"}


def test_lines_add_up_to_the_whole_answer():
    whole = decoded("It is noon", thinking="hm so", tool_calls=[CALL])

    lines = [
        line(thinking="hm "),
        line(thinking="so"),
        line("It is"),
        line(" noon"),
        line(tool_calls=[CALL]),
        line(**DONE),
    ]

    assert fold(events(*lines)) == whole
    assert whole.message.parts == (Thinking("hm so"), Text("It is noon"), ToolCall("c1", "clock", '{"zone":"UTC"}'))
    assert whole.finish_reason == "tool_calls"


def test_log_probabilities_are_gathered_over_a_stream():
    lines = line("It", logprobs=[{"token": "It"}]), line(" is", logprobs=[{"token": " is"}]), line(**DONE)

    assert fold(events(*lines)).metadata["logprobs"] == '[{"token":"It"},{"token":" is"}]'


def test_a_last_line_without_its_end_still_counts():
    assert fold(events(line("noon"), line(**DONE).rstrip())).text == "noon"


def test_a_stream_is_given_out_line_by_line():
    decoder = ollama.chat_decoder(target())

    assert decoder.feed(line("no"))[1:] == [TextDelta(0, "no")]
    assert decoder.feed(line("on")) == [TextDelta(0, "on")]


def test_calls_without_ids_get_them():
    bare = {"function": {"name": "clock", "arguments": {}}}

    response = fold(events(line(tool_calls=[bare]), line(tool_calls=[bare]), line(**DONE)))

    assert [call.id for call in response.tool_calls] == ["call_0", "call_1"]
    assert {note.act for note in response.notes} == {"repaired"}


def test_a_prefix_before_a_tools_name_is_taken_off():
    response = decoded(tool_calls=[{"id": "c1", "function": {"name": "tool.clock", "arguments": {}}}])

    assert response.tool_calls[0].name == "clock"


def test_reasoning_inside_the_text_is_reasoning():
    response = fold(events(line("<thi"), line("nk>hm</think>"), line("\nnoon"), line(**DONE)))

    assert (response.thinking, response.text) == ("hm", "noon")


@pytest.mark.parametrize(
    ("raw", "reason"), [("length", "length"), ("load", "stop"), ("unload", "stop"), ("", "error"), ("tired", "stop")]
)
def test_every_reason_to_be_done_has_a_meaning(raw, reason):
    response = decoded("x", done_reason=raw)

    assert (response.finish_reason, response.raw_finish_reason) == (reason, raw)
    assert bool(response.notes) == (raw == "tired")


def test_a_count_that_is_missing_stays_unknown():
    response = ollama.decode_chat(line("x", done=True, done_reason="stop", eval_count=3), target())

    assert response.usage == Usage(output_tokens=3)
    assert not ollama.decode_chat(line("x", done=True, done_reason="stop"), target()).usage


def test_a_stream_that_is_never_done_is_incomplete():
    *_, end = events(line("half an ans"))

    assert isinstance(end, Failed)
    assert isinstance(end.error, IncompleteStream)


def test_an_error_in_the_middle_of_a_stream_is_its_end():
    *_, end = events(line("half"), b'{"error": "the runner has stopped"}\n')

    assert isinstance(end, Failed)
    assert type(end.error) is ApiError
    assert "the runner has stopped" in str(end.error)


def test_pictures_in_an_answer_are_noted():
    assert [note.what for note in decoded("x", images=["cG5n"]).notes] == ["pictures in the answer"]


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b"<html>", b'{"message": 3}', b'{"message": {"content": "x"}, "done": "yes"}']
)
def test_a_body_that_is_no_answer_is_an_invalid_response(body):
    with pytest.raises(InvalidResponse):
        ollama.decode_chat(body, target())


@pytest.mark.parametrize("said", [{"tool_calls": 3}, {"tool_calls": [3]}, {"thinking": 3}, {"done_reason": 3}])
def test_wrong_types_never_break_an_answer(said):
    *_, end = events(line("x", **said), line(**DONE))

    assert isinstance(end, Finished)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (404, b'{"error": "model \'owl\' not found"}', ApiError),
        (503, b'{"error": "server busy, please try again."}', Overloaded),
        (502, b"bad gateway", ApiError),
    ],
)
def test_a_refusal_is_read_from_its_sentence(status, body, error):
    found = ollama.decode_error(HttpResponse(status=status, body=body), target())

    assert type(found) is error
    assert found.status == status
