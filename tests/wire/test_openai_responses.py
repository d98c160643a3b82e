import json
from typing import Any

import pytest

from dragoman.errors import (
    ApiError,
    Filtered,
    IncompleteStream,
    InvalidOption,
    InvalidResponse,
    Misuse,
    Overloaded,
    RateLimited,
    TooLong,
)
from dragoman.events import Event, TextDelta, ToolInputDelta, fold
from dragoman.exchange import McpTool, Note, Options, ProviderTool, Request, Response, ToolSpec
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
from dragoman.wire import encode, openai_responses

Json = dict[str, Any]

PNG = b"\x89PNG\r\n\x1a\n0000"
OWL = Family(name="owl", thinking="effort", efforts=("none", "low", "medium", "high"))


def target(family: Family = OWL, **quirks: Any) -> Target:
    return Target(
        provider="lyrebird",
        model="owl-2",
        wire="openai-responses",
        base_url="https://api.example/v1",
        family=family,
        quirks=Quirks(**quirks),
    )


def ask(*messages: Message, **more: Any) -> Request:
    return Request(model="lyrebird:owl-2", messages=messages or (Message.user("hi"),), **more)


def sent(request: Request, to: Target | None = None, notes: list[Note] | None = None) -> Json:
    body: Json = json.loads(openai_responses.encode_chat(request, to or target(), [] if notes is None else notes).body)
    return body


def said_back(*parts: Part, notes: list[Note] | None = None) -> list[Json]:
    """The items that what the model said becomes in the next request."""
    items: list[Json] = sent(ask(Message.user("hi"), Message.assistant(*parts), Message.user("go on")), notes=notes)[
        "input"
    ]
    return items[1:-1]


def state(**data: Any) -> Opaque:
    return Opaque("lyrebird/owl@openai-responses", data)


def answer(*output: Json, **more: Any) -> Json:
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "owl-2-1", "output": output, **more}


def read(body: Json) -> Response:
    return openai_responses.decode_chat(json.dumps(body).encode(), target())


def events_of(*payloads: Json | str) -> list[Event]:
    decoder = openai_responses.chat_decoder(target())
    data = "".join(f"data: {p if isinstance(p, str) else json.dumps(p)}\n\n" for p in payloads)
    return decoder.feed(data.encode()) + decoder.close()


def heard(*payloads: Json | str) -> Response:
    return fold(events_of(*payloads))


def event(kind: str, place: int | None = None, **fields: Any) -> Json:
    where = {} if place is None else {"output_index": place}
    return {"type": f"response.{kind}", **where, **fields}


def message(text: str = "hi", **more: Any) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **more}


def reasoning(*summary: str, **more: Any) -> Json:
    pieces = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": "rs_1", "summary": pieces, "encrypted_content": "sealed", **more}


def call(**more: Any) -> Json:
    facts = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": '{"a":1}'}
    return facts | {"status": "completed"} | more


# ── asking ──────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_stored_and_reasoning_travels_encrypted():
    assert sent(ask()) == {
        "model": "owl-2",
        "input": [{"role": "user", "content": "hi"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    assert openai_responses.encode_chat(ask(), target(), []).url == "https://api.example/v1/responses"


def test_a_family_that_does_not_think_is_not_asked_for_its_reasoning():
    assert "include" not in sent(ask(), target(Family(name="owl")))


def test_a_leading_system_message_is_the_instructions_and_a_later_one_an_item():
    body = sent(ask(Message.system("Be brief."), Message.user("hi"), Message.system("Now be long.")))

    assert body["instructions"] == "Be brief."
    assert [item["role"] for item in body["input"]] == ["user", "system"]


def test_a_system_message_of_several_parts_or_alone_is_an_item():
    assert "instructions" not in sent(ask(Message.system("a", "b"), Message.user("hi")))
    assert sent(ask(Message.system("a")))["input"] == [{"role": "system", "content": "a"}]


def test_options_have_the_names_of_this_api():
    options = Options(
        max_tokens=9, temperature=0.5, top_p=0.9, metadata={"a": "b"}, service_tier="flex", parallel_tool_calls=False
    )
    body = sent(ask(options=options, stream=True))

    given = ("max_output_tokens", "temperature", "top_p", "metadata", "service_tier", "parallel_tool_calls", "stream")
    assert [body[name] for name in given] == [9, 0.5, 0.9, {"a": "b"}, "flex", False, True]


def test_an_option_that_only_some_servers_have_is_sent_to_them():
    asked = ask(options=Options(top_k=5))

    assert json.loads(encode(asked, target(also_accepts=frozenset({"top_k"}))).http.body)["top_k"] == 5
    with pytest.raises(InvalidOption):
        encode(asked, target())


def test_effort_asks_for_a_summary_unless_it_is_off():
    assert sent(ask(options=Options(effort="ultra")))["reasoning"] == {"effort": "high", "summary": "auto"}
    assert sent(ask(options=Options(effort="none")))["reasoning"] == {"effort": "none"}
    assert "reasoning" not in sent(ask())


@pytest.mark.parametrize("level", ["none", "high"])
def test_an_effort_that_the_family_has_no_word_for_is_noted(level):
    notes: list[Note] = []
    body = sent(ask(options=Options(effort=level)), target(Family(name="wren", thinking="toggle")), notes)

    assert "effort" not in body.get("reasoning", {})
    assert body.get("reasoning") != {}
    assert [note.what for note in notes] == ["effort"]


def test_extra_objects_join_ours():
    body = sent(ask(options=Options(effort="low", extra={"reasoning": {"mode": "pro"}, "truncation": "auto"})))

    assert body["reasoning"] == {"effort": "low", "summary": "auto", "mode": "pro"}
    assert body["truncation"] == "auto"


def test_a_response_schema_is_flat_strict_and_named_in_plain_letters():
    schema = {"title": "A bird!", "type": "object", "properties": {}, "required": [], "additionalProperties": False}
    form = sent(ask(options=Options(response_schema=schema)))["text"]["format"]

    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "A_bird_", True)
    assert form["schema"]["type"] == "object"


def test_a_provider_with_json_mode_only_gets_that_and_a_note():
    notes: list[Note] = []
    body = sent(ask(options=Options(response_schema={"type": "object"})), target(accepts_json_schema=False), notes)

    assert body["text"] == {"format": {"type": "json_object"}}
    assert notes[0].what == "response_schema"


# ── tools ──


def test_tools_are_flat_and_say_that_they_are_not_strict():
    tool = ToolSpec("look", "Looks.", {"type": "object", "properties": {"a": {"type": "string"}}})

    assert sent(ask(tools=(tool,)))["tools"] == [
        {
            "type": "function",
            "name": "look",
            "description": "Looks.",
            "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
            "strict": False,
        }
    ]


def test_a_strict_tool_has_its_schema_compiled():
    tool = ToolSpec("look", input_schema={"type": "object", "properties": {"a": {"type": "string"}}}, strict=True)
    wire = sent(ask(tools=(tool,)))["tools"][0]

    assert wire["strict"] is True
    assert wire["parameters"]["additionalProperties"] is False


def test_a_server_that_knows_no_strictness_is_not_told_of_it():
    notes: list[Note] = []
    asked = ask(tools=(ToolSpec("look"), ToolSpec("see", strict=True)))

    assert all("strict" not in tool for tool in sent(asked, target(accepts_strict=False), notes)["tools"])
    assert [note.what for note in notes] == ["strict of 'see'"]


def test_deferred_tools_bring_the_search_for_them():
    tools = sent(ask(tools=(ToolSpec("look", deferred=True), ToolSpec("fly"))))["tools"]

    assert [tool.get("defer_loading") for tool in tools] == [True, None, None]
    assert tools[-1] == {"type": "tool_search"}


def test_a_search_tool_of_the_callers_own_is_not_doubled():
    search = {"type": "tool_search", "execution": "client", "description": "Finds."}
    tools = sent(ask(tools=(ToolSpec("look", deferred=True), ProviderTool(search))))["tools"]

    assert [tool["type"] for tool in tools] == ["function", "tool_search"]


def test_an_mcp_server_is_called_by_the_provider_without_asking():
    server = McpTool("https://m.example", "nest", {"Authorization": "Bearer t0p", "X-A": "b"}, ("find",), deferred=True)

    assert sent(ask(tools=(server,)))["tools"][0] == {
        "type": "mcp",
        "server_label": "nest",
        "server_url": "https://m.example",
        "require_approval": "never",
        "authorization": "t0p",
        "headers": {"X-A": "b"},
        "allowed_tools": ["find"],
        "defer_loading": True,
    }


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("none", "none"),
        ("required", "required"),
        ("look", {"type": "function", "name": "look"}),
        ("nest", {"type": "mcp", "server_label": "nest"}),
        ("run", {"type": "custom", "name": "run"}),
        ("web_search", {"type": "web_search"}),
    ],
)
def test_a_choice_has_the_form_of_what_it_chooses(choice, wire):
    own = (ProviderTool({"type": "custom", "name": "run"}), ProviderTool({"type": "web_search"}))
    tools = (ToolSpec("look"), McpTool("https://m.example", "nest"), *own)

    assert sent(ask(tools=tools, tool_choice=choice))["tool_choice"] == wire
    assert "tool_choice" not in sent(ask(tools=tools))


@pytest.mark.parametrize("choice", ["nest", "run", "web_search"])
def test_a_tool_that_is_not_ours_can_be_chosen_beside_one_that_is(choice):
    own = (ProviderTool({"type": "custom", "name": "run"}), ProviderTool({"type": "web_search"}))
    tools = (ToolSpec("look"), McpTool("https://m.example", "nest"), *own)

    assert json.loads(encode(ask(tools=tools, tool_choice=choice), target()).http.body)["tool_choice"]
    with pytest.raises(Misuse, match="no tool of this request"):
        encode(ask(tools=tools, tool_choice="fly"), target())


# ── what users and tools say ──


def test_pictures_and_files_are_parts_of_what_a_user_says():
    body = sent(
        ask(
            Message.user(
                "see",
                Image(PNG, detail="low"),
                Image(url="https://i.example/a.png"),
                Image(file_id="file_1"),
                Document(b"%PDF-1.4", name="a.pdf"),
                Document(b"words", media_type="text/plain"),
                Document(url="https://i.example/a.pdf"),
                Document(file_id="file_2"),
            )
        )
    )

    assert body["input"][0]["content"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgowMDAw", "detail": "low"},
        {"type": "input_image", "image_url": "https://i.example/a.png"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQ="},
        {"type": "input_file", "filename": "document", "file_data": "data:text/plain;base64,d29yZHM="},
        {"type": "input_file", "file_url": "https://i.example/a.pdf"},
        {"type": "input_file", "file_id": "file_2"},
    ]


def test_audio_is_refused_with_a_remedy():
    with pytest.raises(Misuse, match="does not take audio"):
        sent(ask(Message.user(Audio(b"RIFF", media_type="audio/wav"))))


def test_what_a_document_cannot_say_here_is_noted():
    notes: list[Note] = []
    sent(ask(Message.user(Document(file_id="f", context="old", citations=True))), notes=notes)

    assert [note.what for note in notes] == ["context of a document", "citations of a document"]


def test_cache_marks_go_where_they_are_taken():
    marked = ask(Message.user(Text("long", cache="5m")))

    assert sent(marked)["input"][0]["content"] == "long"
    assert sent(marked, target(cache_mark="prompt_cache_breakpoint"))["input"][0]["content"] == [
        {"type": "input_text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]


def test_a_mark_that_should_hold_for_an_hour_takes_the_longer_step():
    body = sent(ask(Message.user(Text("long", cache="1h"))), target(cache_mark="prompt_cache_breakpoint"))

    assert body["input"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit", "ttl": "12h"}


def test_a_marked_system_message_is_an_item_because_instructions_take_no_mark():
    marked = ask(Message.system(Text("long", cache="1h")), Message.user("hi"))

    assert sent(marked)["instructions"] == "long"
    assert "instructions" not in sent(marked, target(cache_mark="prompt_cache_breakpoint"))


def test_a_mark_on_a_result_stands_on_its_last_part():
    marks = target(cache_mark="prompt_cache_breakpoint")
    plain = ToolResult("call_1", "a", cache="5m")
    chart = ToolResult("call_2", "b", blocks=(Image(file_id="file_1"),), cache="5m")
    calls = Message.assistant(ToolCall("call_1", "draw"), ToolCall("call_2", "draw"))
    asked = ask(Message.user("hi"), calls, Message.tool([plain, chart]))
    first, second = (item["output"] for item in sent(asked, marks)["input"][-2:])
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}

    assert first == [{"type": "input_text", "text": "a"} | mark]
    assert second == [{"type": "input_text", "text": "b"}, {"type": "input_image", "file_id": "file_1"} | mark]
    assert sent(asked)["input"][-2]["output"] == "a"


def test_marks_that_have_no_place_are_noted():
    marks = target(cache_mark="prompt_cache_breakpoint")
    for request in (
        ask(tools=(ToolSpec("look", cache="5m"),)),
        ask(Message.user("hi"), Message.assistant(Text("a", cache="5m")), Message.user("go on")),
    ):
        notes: list[Note] = []
        sent(request, marks, notes)
        assert [note.what for note in notes] == ["cache marks on tools and on what the model said"]


def test_a_result_may_hold_pictures():
    result = ToolResult("call_1", "a chart:", blocks=(Image(file_id="file_1"),))
    items = sent(ask(Message.user("hi"), Message.assistant(ToolCall("call_1", "draw")), Message.tool(result)))["input"]

    assert items[-1] == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_text", "text": "a chart:"}, {"type": "input_image", "file_id": "file_1"}],
    }


def test_the_result_of_a_custom_call_is_a_custom_result_and_a_program_gets_its_own_back():
    caller = {"type": "program", "caller_id": "prog_1"}
    calls = (
        ToolCall("call_1", "run", "ls", state(custom=True)),
        ToolCall("call_2", "look", "{}", state(caller=caller)),
    )
    results = Message.tool([ToolResult("call_1", "a"), ToolResult("call_2", "b")])
    custom, called = sent(ask(Message.user("hi"), Message.assistant(*calls), results))["input"][-2:]

    assert custom == {"type": "custom_tool_call_output", "call_id": "call_1", "output": "a"}
    assert called == {"type": "function_call_output", "call_id": "call_2", "output": "b", "caller": caller}


# ── what the model said goes back ────────────────────────────────────────────────────────────────


EVERY_KIND = [
    reasoning("one", "two"),
    message("hi", phase="commentary"),
    reasoning(id="rs_2"),
    call(namespace="nest", caller={"type": "direct"}),
    {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_2",
        "name": "run",
        "input": "ls",
        "status": "completed",
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "owls", "more": None}},
    {"type": "brand_new", "id": "bn_1", "what": [1, {"deep": None}]},
    message("bye", id="msg_2", phase="final_answer"),
]


def test_every_item_comes_back_verbatim_and_in_order():
    assert said_back(*read(answer(*EVERY_KIND)).message.parts) == EVERY_KIND


def test_content_parts_of_one_message_stay_together_and_messages_apart():
    cited = {"type": "output_text", "text": "b", "annotations": [{"type": "url_citation", "url": "https://o.example"}]}
    two = message("a", content=[*message("a")["content"], cited])
    response = read(answer(two, message("c", id="msg_2")))

    assert [part.text for part in response.message.parts if isinstance(part, Text)] == ["a", "b", "c"]
    assert said_back(*response.message.parts) == [two, message("c", id="msg_2")]


def test_what_a_caller_wrote_is_one_message_without_an_id():
    assert said_back(Text("a"), Text("b")) == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}],
        }
    ]


def test_ids_are_left_out_where_reasoning_was_taken_away():
    parts = read(answer(reasoning(), message(), call())).message.parts
    items = said_back(*parts[1:])

    assert [item["type"] for item in items] == ["message", "function_call"]
    assert not any("id" in item for item in items)


def test_ids_are_left_out_where_what_reasoning_led_to_was_replaced():
    parts = read(answer(reasoning(), message())).message.parts
    items = said_back(parts[0], Text("something else"))

    assert [item["type"] for item in items] == ["reasoning", "message"]
    assert items[0]["encrypted_content"] == "sealed"
    assert not any("id" in item for item in items)


def test_ids_stay_where_another_item_was_taken_away():
    parts = read(answer(reasoning(), message(), call())).message.parts

    assert [item["id"] for item in said_back(*parts[:2])] == ["rs_1", "msg_1"]


def test_reasoning_that_led_to_nothing_is_not_sent():
    notes: list[Note] = []
    parts = read(answer(message(), reasoning())).message.parts

    assert [item["type"] for item in said_back(*parts, notes=notes)] == ["message"]
    assert notes[0].what == "reasoning at the end of a message"


def test_reasoning_that_was_not_encrypted_is_not_sent_and_takes_its_ids_along():
    parts = read(answer(reasoning("thought", encrypted_content=None), message())).message.parts

    assert said_back(*parts) == [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}
    ]


SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "owls"}}


def test_what_a_tool_of_the_providers_did_goes_with_the_reasoning_that_led_to_it():
    notes: list[Note] = []
    stored = read(answer(reasoning(encrypted_content=None), SEARCHED, message())).message.parts

    assert [item["type"] for item in said_back(*stored, notes=notes)] == ["message"]
    assert [note.what for note in notes] == ["reasoning without its content", "web_search_call after reasoning"]

    sealed = read(answer(reasoning(), SEARCHED, message())).message.parts
    assert said_back(*sealed) == [reasoning(), SEARCHED, message()]
    assert [item["type"] for item in said_back(*sealed[1:])] == ["message"]


def test_what_followed_no_reasoning_keeps_its_id_where_others_lose_theirs():
    parts = read(answer(SEARCHED, reasoning(), message())).message.parts

    assert said_back(parts[0], parts[2])[0] == SEARCHED


def test_a_client_side_item_loses_only_its_id_with_its_reasoning():
    shell = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "completed", "action": {}}
    parts = read(answer(reasoning(), shell)).message.parts

    assert said_back(*parts) == [reasoning(), shell]
    assert said_back(parts[1]) == [{name: value for name, value in shell.items() if name != "id"}]


def test_reasoning_is_not_left_at_the_end_when_what_it_led_to_is_dropped():
    parts = read(answer(reasoning(), message(), reasoning(id="rs_2"), SEARCHED)).message.parts
    items = said_back(parts[0], Text("edited"), *parts[2:])

    assert [item["type"] for item in items] == ["reasoning", "message"]


def test_reasoning_that_lost_what_it_led_to_does_not_borrow_the_reasoning_after_it():
    parts = read(answer(reasoning(), message(), reasoning(id="rs_2"), call())).message.parts
    items = said_back(parts[0], *parts[2:])

    assert [item["type"] for item in items] == ["reasoning", "reasoning", "function_call"]
    assert not any("id" in item for item in items)


def test_reasoning_in_two_items_goes_back_as_it_came():
    items = [reasoning(), reasoning(id="rs_2"), message()]

    assert said_back(*read(answer(*items)).message.parts) == items


def test_calls_come_last_where_only_that_is_accepted():
    notes: list[Note] = []
    asked = ask(Message.user("hi"), Message.assistant(ToolCall("call_1", "look"), Text("a")), Message.user("go on"))
    items = sent(asked, target(calls_last=True), notes)["input"][1:-1]

    assert [item["type"] for item in items] == ["message", "function_call"]
    assert [note.act for note in notes] == ["changed"]
    assert [item["type"] for item in sent(asked)["input"][1:-1]] == ["function_call", "message"]


def test_reasoning_goes_back_by_reference_where_the_caller_has_answers_stored():
    items = [reasoning(encrypted_content=None), SEARCHED, message()]
    said = Message.assistant(*read(answer(*items)).message.parts)
    asked = ask(Message.user("hi"), said, Message.user("go on"), options=Options(extra={"store": True}))

    assert [item.get("id") for item in sent(asked)["input"][1:-1]] == ["rs_1", "ws_1", "msg_1"]


def test_open_reasoning_goes_back_as_it_came():
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}

    assert said_back(*read(answer(item, message())).message.parts) == [item, message()]


def test_thinking_of_nobody_is_not_sent():
    assert [item["type"] for item in said_back(Thinking("hm"), Text("a"))] == ["message"]


def test_pictures_and_sounds_of_another_model_are_said_back_in_words():
    notes: list[Note] = []
    (item,) = said_back(Image(PNG), Audio(b"RIFF", media_type="audio/wav", transcript="hoo"), notes=notes)

    picture, sound = (part["text"] for part in item["content"])
    assert "image" in picture
    assert sound == "hoo"
    assert [note.what for note in notes] == ["Image of the model", "Audio of the model"]


# ── reading whole answers ───────────────────────────────────────────────────────────────────────


def test_a_body_is_parts_in_the_order_of_its_items():
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 16,
        "cost": 0.25,
    }
    response = read(answer(reasoning("a", "b"), message(), call(), usage=usage, service_tier="flex"))

    thought, text, wish = response.message.parts
    assert isinstance(thought, Thinking)
    assert thought.text == "a\n\nb"
    assert isinstance(text, Text)
    assert text.text == response.text == "hi"
    assert isinstance(wish, ToolCall)
    assert (wish.id, wish.name, wish.arguments) == ("call_1", "look", '{"a":1}')
    assert response.finish_reason == "tool_calls"
    assert response.raw_finish_reason == "completed"
    assert response.usage == Usage(
        input_tokens=9, output_tokens=7, cache_read_tokens=4, cache_creation_tokens=2, reasoning_tokens=3
    )
    assert (response.id, response.model) == ("resp_1", "owl-2-1")
    assert response.metadata == {"service_tier": "flex", "provider_cost": "0.25"}


def test_what_a_response_was_asked_to_say_of_itself_is_among_its_facts():
    response = read(answer(message(), prompt_cache_diagnostics={"type": "cache_hit"}, moderation=None))

    assert response.metadata == {"prompt_cache_diagnostics": '{"type":"cache_hit"}'}


def test_a_cost_that_is_no_number_is_none():
    assert read(answer(message(), usage={"input_tokens": 1, "cost": True, "cost_in_usd_ticks": "x"})).metadata == {}


def test_a_call_without_a_call_id_goes_by_its_own():
    assert read(answer(call(call_id=None))).tool_calls[0].id == "fc_1"


@pytest.mark.parametrize(
    ("status", "details", "reason", "raw"),
    [
        ("completed", None, "stop", "completed"),
        ("incomplete", {"reason": "max_output_tokens"}, "length", "max_output_tokens"),
        ("incomplete", {"reason": "content_filter"}, "content_filter", "content_filter"),
        ("incomplete", {"reason": "steered"}, "pause", "steered"),
        ("incomplete", None, "length", "incomplete"),
        ("cancelled", None, "error", "cancelled"),
        ("queued", None, "pause", "queued"),
        ("in_progress", None, "pause", "in_progress"),
    ],
)
def test_how_an_answer_ended(status, details, reason, raw):
    response = read(answer(message(), status=status, incomplete_details=details))

    assert (response.finish_reason, response.raw_finish_reason) == (reason, raw)


def test_a_status_nobody_knows_is_noted():
    response = read(answer(message(), status="dreaming"))

    assert response.finish_reason == "stop"
    assert "'dreaming'" in response.notes[0].what


def test_a_refusal_is_text_and_a_filtered_end():
    refusal = message(content=[{"type": "refusal", "refusal": "I will not."}])
    response = read(answer(refusal))

    assert (response.text, response.finish_reason) == ("I will not.", "content_filter")
    assert said_back(*response.message.parts) == [refusal]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "mcp_approval_request", "id": "a_1"},
        {"type": "apply_patch_call", "id": "a_1", "call_id": "call_1"},
        {"type": "tool_search_call", "execution": "client", "call_id": "call_1"},
    ],
)
def test_an_item_that_waits_for_us_is_a_call(item):
    assert read(answer(item)).finish_reason == "tool_calls"


def test_an_item_that_was_answered_by_the_server_waits_for_nobody():
    shell = {"type": "shell_call", "call_id": "call_1"}

    assert read(answer({"type": "tool_search_call", "execution": "server"})).finish_reason == "stop"
    assert read(answer(shell, {"type": "shell_call_output", "call_id": "call_1"})).finish_reason == "stop"


def test_what_an_answer_quotes_of_the_user_is_not_its_text():
    quoted = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "my secret"}]}
    response = read(answer(quoted))

    assert response.text == ""
    assert response.message.parts == (OpaquePart("message", state(**quoted)),)


def test_two_items_of_one_id_are_two_items():
    first, second = reasoning("a"), reasoning("b")

    assert read(answer(first, message(), second, message(id="msg_2"))).thinking == "ab"


def test_content_of_a_new_kind_stays_in_its_message():
    song = message(content=[{"type": "song", "notes": "la"}, {"type": "output_text", "text": "x", "annotations": []}])
    response = read(answer(song))

    assert response.text == "x"
    assert said_back(*response.message.parts) == [song]


def test_reasoning_written_into_the_text_is_thinking():
    response = read(answer(message("<think>hm</think>\n\nhi")))

    assert (response.thinking, response.text) == ("hm", "hi")


def test_a_tag_after_reasoning_of_its_own_channel_is_just_text():
    assert read(answer(reasoning("hm"), message("<think>is a tag"))).text == "<think>is a tag"


def test_a_failed_response_is_an_error():
    with pytest.raises(ApiError, match="it broke") as caught:
        read(answer(status="failed", error={"code": "server_error", "message": "it broke"}))
    assert caught.value.code == "server_error"
    assert caught.value.retryable


@pytest.mark.parametrize("body", [{"error": {"message": "no", "code": "invalid_prompt"}}, {"code": "x", "error": "no"}])
def test_an_error_sent_with_status_200_is_an_error(body):
    with pytest.raises(ApiError, match="no"):
        read(body)


def test_a_body_without_output_is_no_answer():
    with pytest.raises(InvalidResponse, match="no output"):
        read({"id": "resp_1", "status": "completed"})


# ── reading streams ─────────────────────────────────────────────────────────────────────────────


def stream_of(*items: Json, deltas: list[Json] | None = None, **more: Any) -> list[Json]:
    """A stream that announces its items, says the deltas, and ends each item."""
    bare = [{**item, "content": []} if item["type"] == "message" else item | {"arguments": ""} for item in items]
    added = [event("output_item.added", place, item=item) for place, item in enumerate(bare)]
    done = [event("output_item.done", place, item=item) for place, item in enumerate(items)]
    return [*added, *(deltas or []), *done, event("completed", response=answer(*items, **more))]


def test_deltas_are_told_as_they_come():
    events = events_of(
        *stream_of(
            message("hello"),
            call(),
            deltas=[
                event("output_text.delta", 0, content_index=0, delta="hel"),
                event("output_text.delta", 0, content_index=0, delta="lo"),
                event("function_call_arguments.delta", 1, delta='{"a"'),
                event("function_call_arguments.delta", 1, delta=":1}"),
            ],
        )
    )

    assert [e.text for e in events if isinstance(e, TextDelta)] == ["hel", "lo"]
    assert [e.delta for e in events if isinstance(e, ToolInputDelta)] == ['{"a"', ":1}"]
    assert fold(events) == read(answer(message("hello"), call()))


def test_summaries_are_parted_by_a_blank_line_as_in_a_body():
    item = reasoning("one", "two")
    deltas = [
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="on"),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="e"),
        event("reasoning_summary_text.delta", 0, summary_index=1, delta="two"),
    ]

    assert heard(*stream_of(item, message(), deltas=deltas)) == read(answer(item, message()))


def test_the_seal_is_that_of_the_items_end():
    early = event("output_item.added", 0, item=reasoning(encrypted_content="half"))
    late = event("completed", response=answer(reasoning(encrypted_content="sealed anew")))
    response = heard(early, event("output_item.done", 0, item=reasoning("x")), late)

    assert response.message.parts == (Thinking("x", state(**reasoning("x"))),)


def test_a_seal_that_was_never_finished_is_not_kept():
    begun = event("output_item.added", 0, item=reasoning(encrypted_content="half"))
    response = heard(begun, event("incomplete", response={"status": "incomplete"}))

    (thought,) = response.message.parts
    assert isinstance(thought, Thinking)
    assert thought.opaque is None or "encrypted_content" not in thought.opaque.data


def test_custom_input_and_refusals_stream_too():
    custom = {"type": "custom_tool_call", "id": "c", "call_id": "call_1", "name": "run", "input": "ls"}
    refusal = message(content=[{"type": "refusal", "refusal": "I will not."}])
    deltas = [
        event("refusal.delta", 0, content_index=0, delta="I will "),
        event("custom_tool_call_input.delta", 1, delta="l"),
        event("refusal.delta", 0, content_index=0, delta="not."),
    ]

    assert heard(*stream_of(refusal, custom, deltas=deltas)) == read(answer(refusal, custom))


def test_a_stream_without_deltas_gives_the_whole_text():
    items = (reasoning("why"), message("hello"), call())
    done = [event("output_item.done", place, item=item) for place, item in enumerate(items)]

    assert heard(*done, event("completed", response=answer(*items))) == read(answer(*items))


def test_a_piece_that_came_only_whole_is_heard():
    response = heard(
        event("output_item.added", 0, item=message("", content=[])),
        event("output_text.done", 0, content_index=0, text="hello"),
        event("completed", response=answer()),
    )

    assert response.text == "hello"


def test_the_end_of_a_text_whose_last_delta_was_lost_is_heard():
    assert heard(*stream_of(message("hello"), deltas=[event("output_text.delta", 0, delta="hel")])).text == "hello"


def test_items_that_only_the_end_tells_of_are_not_lost():
    items = (message(), call(), {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"})
    streamed = event("output_item.done", 0, item=items[0])

    assert heard(streamed, event("completed", response=answer(*items))) == read(answer(*items))


def test_an_item_announced_early_and_told_late_keeps_its_place():
    tools = {"type": "mcp_list_tools", "id": "mcpl_1", "tools": []}
    response = heard(
        event("output_item.added", 0, item=tools),
        event("output_item.added", 1, item=message("", content=[])),
        event("output_text.delta", 1, delta="hi"),
        event("output_item.done", 1, item=message()),
        event("completed", response=answer(tools, message())),
    )

    assert response == read(answer(tools, message()))


def test_a_last_snapshot_without_output_takes_nothing_away():
    *stream, _ = stream_of(message("hello"), call())

    assert heard(*stream, event("completed", response=answer())) == read(answer(message("hello"), call()))


def test_items_that_were_never_ended_stand_as_far_as_they_came():
    response = heard(
        event("output_item.added", 0, item=message("", content=[], status="in_progress")),
        event("output_text.delta", 0, delta="hel"),
        event("output_item.added", 1, item=call(arguments="")),
        event("function_call_arguments.delta", 1, delta="{}"),
        event("incomplete", response=answer(status="incomplete")),
    )

    assert response.text == "hel"
    assert response.tool_calls[0].arguments == "{}"
    assert [item["id"] for item in said_back(*response.message.parts)] == ["msg_1", "fc_1"]


def test_ids_that_change_on_the_way_do_not_matter():
    response = heard(
        event("output_item.added", 0, item=message("", content=[], id="a")),
        event("output_text.delta", 0, item_id="b", delta="hi"),
        event("output_item.done", 0, item=message(id="c")),
        event("completed", response=answer(message(id="d"))),
    )

    assert response == read(answer(message(id="c")))


def test_places_that_the_last_snapshot_counts_otherwise_do_not_double_an_item():
    response = heard(event("output_item.done", 5, item=message()), event("completed", response=answer(message())))

    assert response.text == "hi"


def test_content_counted_on_from_item_to_item_is_not_doubled():
    deltas = [event("output_text.delta", 0, content_index=1, delta="hi")]

    assert heard(*stream_of(message(), deltas=deltas)) == read(answer(message()))


def test_events_without_places_belong_to_the_latest_item():
    events = events_of(
        event("output_item.added", item=message("", content=[])),
        event("output_text.delta", delta="hi"),
        event("output_item.done", item=message()),
        event("output_item.added", item=call(arguments="")),
        event("function_call_arguments.delta", delta='{"a":'),
        event("function_call_arguments.delta", delta="1}"),
        event("output_item.done", item=call()),
        event("completed", response=answer(message(), call())),
    )

    assert fold(events) == read(answer(message(), call()))
    assert sum(isinstance(e, ToolInputDelta) for e in events) == 2


def test_the_first_item_needs_no_place():
    nameless = message(id=None)

    assert heard(event("output_text.delta", delta="h"), event("completed", response=answer(nameless))).text == "hi"


def test_what_comes_after_the_end_of_an_item_is_not_heard():
    *stream, end = stream_of(message())
    again = [event("output_text.delta", 0, delta="more"), event("output_item.done", 0, item=message("other"))]

    assert heard(*stream, *again, end) == read(answer(message()))


def test_open_reasoning_counts_before_its_summary():
    both = reasoning("short", content=[{"type": "reasoning_text", "text": "long"}])
    deltas = [
        event("reasoning_text.delta", 0, content_index=0, delta="long"),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="short"),
        event("reasoning_summary_text.done", 0, summary_index=0, text="short"),
    ]

    assert heard(*stream_of(both, message(), deltas=deltas)) == read(answer(both, message()))
    assert read(answer(both, message())).thinking == "long"


def test_deltas_nobody_announced_open_their_item():
    response = heard(
        event("output_text.delta", 0, delta="h"),
        event("output_item.done", 0, item=message()),
        event("completed", response=answer(message())),
    )

    assert response == read(answer(message()))


def test_a_call_whose_name_comes_late_is_told_whole():
    response = heard(
        event("output_item.added", 0, item={"type": "function_call", "id": "fc_1"}),
        event("function_call_arguments.delta", 0, delta='{"a":1}'),
        event("output_item.done", 0, item=call()),
        event("completed", response=answer(call())),
    )

    assert response == read(answer(call()))


def test_reasoning_in_the_text_is_found_when_its_tag_is_cut():
    deltas = [event("output_text.delta", 0, delta=piece) for piece in ("<th", "ink>h", "m</thi", "nk>\nhi")]

    assert heard(*stream_of(message("<think>hm</think>\nhi"), deltas=deltas)) == read(
        answer(message("<think>hm</think>\nhi"))
    )


def test_a_call_that_leaked_into_the_text_is_rescued():
    leaked = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )

    assert [wish.name for wish in read(answer(message(leaked))).tool_calls] == ["look"]


def test_items_may_grow_side_by_side():
    response = heard(
        event("output_item.added", 0, item=message("", content=[])),
        event("output_text.delta", 0, delta="1 <"),
        event("output_item.added", 1, item=call(arguments="")),
        event("output_text.delta", 0, delta=" 2"),
        event("output_item.done", 1, item=call()),
        event("output_item.done", 0, item=message("1 < 2")),
        event("completed", response=answer(message("1 < 2"), call())),
    )

    assert response == read(answer(message("1 < 2"), call()))


def test_content_of_a_new_kind_does_not_double_the_text_beside_it():
    song = message(content=[{"type": "song", "notes": "la"}, {"type": "output_text", "text": "x", "annotations": []}])

    assert heard(*stream_of(song, deltas=[event("output_text.delta", 0, content_index=1, delta="x")])).text == "x"


def test_unknown_events_and_done_markers_are_passed_over():
    response = heard(
        event("rate_limits.updated", limits=[]), *stream_of(message())[:-1], "[DONE]", stream_of(message())[-1]
    )

    assert response == read(answer(message()))


def test_an_end_by_another_name_is_an_end():
    response = heard(event("output_item.done", 0, item=message()), event("done", response={"id": "resp_1"}))

    assert (response.text, response.finish_reason, response.id) == ("hi", "stop", "resp_1")


def test_a_type_told_only_by_the_framing_is_enough():
    decoder = openai_responses.chat_decoder(target())
    end = json.dumps({"response": answer(message())})

    assert fold(decoder.feed(f"event: response.completed\ndata: {end}\n\n".encode())).text == "hi"


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "context_length_exceeded", "message": "too much", "param": None},
        {"type": "error", "error": {"type": "x", "code": "context_length_exceeded", "message": "too much"}},
        {
            "type": "response.failed",
            "response": {"status": "failed", "error": {"code": "context_length_exceeded", "message": "too much"}},
        },
    ],
)
def test_an_error_in_a_stream_is_its_end_flat_or_nested(error):
    with pytest.raises(TooLong, match="too much"):
        heard(event("created", response={"id": "resp_1"}), error)


def test_an_error_whose_frame_has_no_type_is_an_error():
    with pytest.raises(TooLong, match="too much"):
        heard(*stream_of(message())[:-1], {"error": {"code": "context_length_exceeded", "message": "too much"}})


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("slow_down", Overloaded, True),
        ("server_error", ApiError, True),
        ("vector_store_timeout", ApiError, True),
        ("rate_limit_exceeded", RateLimited, True),
        ("insufficient_quota", ApiError, False),
        ("invalid_prompt", ApiError, False),
        ("bio_policy", Filtered, False),
        ("image_content_policy_violation", Filtered, False),
    ],
)
def test_a_failure_is_what_its_code_says(code, kind, retryable):
    with pytest.raises(ApiError, match="no") as caught:
        heard(event("failed", response={"status": "failed", "error": {"code": code, "message": "no"}}))
    assert type(caught.value) is kind
    assert caught.value.retryable is retryable


def test_an_error_in_plain_words_is_an_error():
    decoder = openai_responses.chat_decoder(target())

    with pytest.raises(ApiError, match="out of breath"):
        fold(decoder.feed(b"event: error\ndata: out of breath\n\n"))


def test_a_stream_without_its_last_event_is_incomplete():
    with pytest.raises(IncompleteStream) as caught:
        heard(*stream_of(message())[:-1], "[DONE]")
    assert caught.value.partial.text == "hi"


# ── errors and counting ─────────────────────────────────────────────────────────────────────────


def test_a_refused_request_is_a_typed_error():
    body = json.dumps(
        {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}
    )
    error = openai_responses.decode_error(HttpResponse(status=400, body=body.encode()), target())

    assert isinstance(error, TooLong)
    assert str(error).startswith("lyrebird http 400: too long")


def test_counting_asks_with_what_the_model_would_read():
    options = Options(max_tokens=9, temperature=1.0, extra={"truncation": "auto", "user": "u"})
    request = ask(Message.system("s"), Message.user("hi"), tools=(ToolSpec("look"),), options=options)
    http = openai_responses.encode_count(request, target(), [])

    assert http.url == "https://api.example/v1/responses/input_tokens"
    assert sorted(json.loads(http.body)) == ["input", "instructions", "model", "tools", "truncation"]


def test_counting_takes_a_choice_in_the_apis_own_words():
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]}
    request = ask(tools=(ToolSpec("look"),), options=Options(extra={"tool_choice": choice}))

    assert json.loads(openai_responses.encode_count(request, target(), []).body)["tool_choice"] == choice


def test_a_count_is_a_number():
    assert openai_responses.decode_count(b'{"object":"response.input_tokens","input_tokens":60}', target()) == 60
    with pytest.raises(InvalidResponse, match="no count of tokens"):
        openai_responses.decode_count(b"{}", target())
