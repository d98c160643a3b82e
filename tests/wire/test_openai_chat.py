import json
from base64 import b64encode
from typing import Any

import pytest

from dragoman.errors import (
    ApiError,
    Filtered,
    IncompleteStream,
    InvalidResponse,
    Misuse,
    Overloaded,
    RateLimited,
    TooLong,
    Unauthorized,
)
from dragoman.events import TextDelta, ToolInputDelta, fold
from dragoman.exchange import Note, Options, ProviderTool, Request, Response, ToolSpec
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
from dragoman.wire import encode
from dragoman.wire.openai_chat import chat_decoder, decode_chat, decode_error, encode_chat
from dragoman.wire.openai_chat.answer import read_usage


def target_with(family: Family | None = None, **quirks: Any) -> Target:
    return Target(
        provider="lyrebird",
        model="owl-2",
        wire="openai-chat",
        base_url="https://api.lyrebird.example/v1",
        family=family or Family(name="owl", thinking="effort", efforts=("low", "medium", "high")),
        quirks=Quirks(**quirks),
        headers=(("x-team", "birds"),),
    )


LYREBIRD = target_with()
ISSUER = LYREBIRD.issuer

# ── what is sent ────────────────────────────────────────────────────────────────────────────────


def sent(*messages: Message, target: Target = LYREBIRD, notes: list[Note] | None = None, **fields: Any) -> Any:
    request = Request(model="owl-2", messages=messages or (Message.user("hi"),), **fields)
    return json.loads(encode_chat(request, target, [] if notes is None else notes).body)


def test_a_plain_question_is_sent_as_its_owner_documents_it():
    http = encode_chat(Request(model="owl-2", messages=(Message.user("hi"),)), LYREBIRD, [])

    assert http.url == "https://api.lyrebird.example/v1/chat/completions"
    assert http.headers == (("content-type", "application/json"), ("x-team", "birds"))
    assert json.loads(http.body) == {"model": "owl-2", "messages": [{"role": "user", "content": "hi"}]}


def test_options_take_the_names_the_provider_has_for_them():
    options = Options(max_tokens=9, seed=4, stop=("end",), temperature=0.5, top_k=3, metadata={"a": "b"})

    body = sent(target=target_with(max_tokens_field="max_tokens", seed_field="random_seed"), options=options)

    assert body["max_tokens"] == 9
    assert body["random_seed"] == 4
    assert (body["stop"], body["temperature"], body["top_k"], body["metadata"]) == (["end"], 0.5, 3, {"a": "b"})


def test_what_is_extra_has_the_last_word():
    assert sent(options=Options(temperature=1, extra={"temperature": 0, "user": "ada"}))["temperature"] == 0


def test_a_stream_asks_for_its_usage_where_the_provider_can_be_asked():
    assert sent(stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in sent(stream=True, target=target_with(accepts_stream_options=False))


@pytest.mark.parametrize(
    ("dialect", "effort", "fields"),
    [
        ("reasoning_effort", "high", {"reasoning_effort": "high"}),
        ("reasoning_effort", "ultra", {"reasoning_effort": "high"}),
        ("reasoning_object", "low", {"reasoning": {"effort": "low"}}),
        ("thinking_switch", "low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("thinking_switch", "none", {"thinking": {"type": "disabled"}}),
        ("template_switch", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("template_switch", "low", {"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "low"}),
        ("common_effort", "low", {"reasoning_effort": "low"}),
    ],
)
def test_effort_is_said_in_the_providers_dialect(dialect, effort, fields):
    body = sent(target=target_with(effort_dialect=dialect), options=Options(effort=effort))

    assert body.items() >= fields.items()


@pytest.mark.parametrize("dialect", ["reasoning_effort", "reasoning_object"])
@pytest.mark.parametrize("effort", ["none", "high"])
def test_a_model_whose_own_control_is_none_of_words_is_asked_in_common_ones(dialect, effort):
    counting = Family(name="owl", thinking="budget", budgets=(1_024, 32_000))
    body = sent(target=target_with(counting, effort_dialect=dialect), options=Options(effort=effort))

    assert body.get("reasoning_effort", body.get("reasoning")) in (effort, {"effort": effort})


SCHEMA = {"title": "A bird!", "type": "object", "properties": {"name": {"type": "string"}}}


STRONG = Family(name="owl", thinking="toggle", efforts=("low", "high", "max"))
SWITCHED = Family(name="owl", thinking="toggle")


@pytest.mark.parametrize(
    ("family", "dialect", "effort", "word", "noted"),
    [
        (STRONG, "thinking_switch", "ultra", "max", ""),
        (STRONG, "common_effort", "ultra", "high", "sent as 'high', the nearest this provider has"),
        (STRONG, "reasoning_switch", "ultra", "high", "sent as 'high', the nearest this provider has"),
        (SWITCHED, "common_effort", "none", "none", ""),
        (SWITCHED, "effort_or_default", "low", "default", "here the model can be told to think, but not how hard"),
        (SWITCHED, "thinking_switch", "low", None, "here the model can be told to think, but not how hard"),
        (SWITCHED, "thinking_switch", "none", None, ""),
    ],
)
def test_effort_that_can_only_be_said_in_part_is_noted(family, dialect, effort, word, noted):
    notes: list[Note] = []

    body = sent(target=target_with(family, effort_dialect=dialect), options=Options(effort=effort), notes=notes)

    assert body.get("reasoning_effort") == word
    assert [note.why for note in notes] == ([noted] if noted else [])


def test_a_schema_is_compiled_and_named_after_its_title():
    format = sent(options=Options(response_schema=SCHEMA))["response_format"]["json_schema"]

    assert format["name"] == "A_bird_"
    assert format["strict"] is True
    assert format["schema"]["required"] == ["name"]


def test_a_schema_without_a_title_has_a_name_all_the_same():
    schema = {"type": "object", "properties": {}}

    assert sent(options=Options(response_schema=schema))["response_format"]["json_schema"]["name"] == "response"


def test_a_schema_becomes_json_mode_where_there_is_no_other_and_that_is_noted():
    notes: list[Note] = []

    body = sent(target=target_with(accepts_json_schema=False), notes=notes, options=Options(response_schema=SCHEMA))

    assert body["response_format"] == {"type": "json_object"}
    assert notes[0].what == "response_schema"


LOOK = ToolSpec("look", "Look at a bird.", SCHEMA)


def test_a_tool_is_sent_with_its_schema_as_it_is():
    assert sent(tools=(LOOK,))["tools"] == [
        {"type": "function", "function": {"name": "look", "description": "Look at a bird.", "parameters": SCHEMA}}
    ]


@pytest.mark.parametrize("accepted", [True, False])
def test_a_strict_tool_is_compiled_where_strictness_is_known(accepted):
    tool = ToolSpec("look", "", SCHEMA, strict=True)

    notes: list[Note] = []
    function = sent(target=target_with(accepts_strict=accepted), tools=(tool,), notes=notes)["tools"][0]["function"]

    assert ("strict" in function) is accepted
    assert [note.what for note in notes] == ([] if accepted else ["strict of 'look'"])
    assert (function["parameters"].get("required") == ["name"]) is accepted


def test_references_in_a_tools_schema_are_followed_where_they_would_be_misread():
    nest = {"type": "object", "properties": {"eggs": {"type": "integer"}}, "required": ["eggs"]}
    schema = {"type": "object", "properties": {"nest": {"$ref": "#/$defs/nest"}}, "$defs": {"nest": nest}}
    notes: list[Note] = []

    tools = sent(target=target_with(inline_refs=True), tools=(ToolSpec("look", "", schema),), notes=notes)["tools"]

    assert tools[0]["function"]["parameters"] == {"type": "object", "properties": {"nest": nest}}
    assert notes == []
    assert sent(tools=(ToolSpec("look", "", schema),))["tools"][0]["function"]["parameters"] == schema


def test_a_tool_of_free_text_is_chosen_as_what_it_is():
    tools = (LOOK, ProviderTool({"type": "custom", "custom": {"name": "sql"}}))
    request = Request(model="owl-2", messages=(Message.user("hi"),), tools=tools, tool_choice="sql")

    body = json.loads(encode(request, LYREBIRD).http.body)

    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "sql"}}


def test_a_tool_of_the_providers_own_is_sent_verbatim():
    assert sent(tools=(ProviderTool({"type": "web_search"}),))["tools"] == [{"type": "web_search"}]


@pytest.mark.parametrize(
    ("choice", "wire"),
    [("none", "none"), ("required", "any"), ("look", {"type": "function", "function": {"name": "look"}})],
)
def test_a_choice_of_tool_is_said_in_the_providers_words(choice, wire):
    assert sent(target=target_with(required_choice="any"), tools=(LOOK,), tool_choice=choice)["tool_choice"] == wire


def test_without_tools_nothing_is_said_about_them():
    body = sent(options=Options(parallel_tool_calls=False), tool_choice="none")

    assert not body.keys() & {"tools", "tool_choice", "parallel_tool_calls"}


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (Image(b"\0\1", "image/png"), {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}}),
        (
            Image(url="https://p.example/a.png", detail="low"),
            {"type": "image_url", "image_url": {"url": "https://p.example/a.png", "detail": "low"}},
        ),
        (Audio(b"\0\1", "audio/mpeg"), {"type": "input_audio", "input_audio": {"data": "AAE=", "format": "mp3"}}),
        (Document(file_id="f1"), {"type": "file", "file": {"file_id": "f1"}}),
        (
            Document(b"\0\1", "application/pdf"),
            {"type": "file", "file": {"filename": "document", "file_data": "data:application/pdf;base64,AAE="}},
        ),
        (OpaquePart("video", Opaque(ISSUER, {"type": "video", "frames": 3})), {"type": "video", "frames": 3}),
    ],
)
def test_a_part_is_sent_in_this_wires_form(part, wire):
    assert sent(Message.user("see", part))["messages"][0]["content"] == [{"type": "text", "text": "see"}, wire]


@pytest.mark.parametrize(
    "part", [Audio(b"\0", "audio/ogg"), Image(file_id="f1"), Document(url="https://p.example/a.pdf"), Thinking("hm")]
)
def test_a_part_that_cannot_be_carried_is_refused_with_a_remedy(part):
    with pytest.raises(Misuse, match="send its bytes"):
        sent(Message.user(part))


def test_a_document_is_sent_by_its_address_where_that_is_taken():
    paper = Document(url="https://p.example/a.pdf", name="a")

    body = sent(Message.user("read", paper), target=target_with(accepts_file_urls=True))

    assert body["messages"][0]["content"][1]["file"] == {"filename": "a", "file_data": "https://p.example/a.pdf"}


def test_cache_marks_are_sent_where_the_provider_takes_them():
    messages = (
        Message.user(Text("long", cache="1h")),
        Message.assistant(ToolCall("a", "look", cache="5m")),
        Message.tool(ToolResult("a", "a bird", cache="5m")),
    )
    tools = (ToolSpec("look", cache="5m"),)

    body = sent(*messages, target=target_with(cache_mark="cache_control"), tools=tools)
    bare = json.dumps(sent(*messages, tools=tools))

    assert body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert body["messages"][2]["content"] == [
        {"type": "text", "text": "a bird", "cache_control": {"type": "ephemeral"}}
    ]
    assert body["messages"][1]["tool_calls"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["tools"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in bare


@pytest.mark.parametrize(("cache", "ttl"), [(True, {}), ("5m", {}), ("1h", {"ttl": "1h"})])
def test_the_end_of_the_prompt_is_marked_when_asked_for(cache, ttl):
    mark = {"cache_control": {"type": "ephemeral"} | ttl}
    question = (Message.user("a long book"), Message.user("and", Image(url="https://p.example/a.png")))
    marking = target_with(cache_mark="cache_control")

    first, last = sent(*question, target=marking, options=Options(cache=cache))["messages"]
    (alone,) = sent(Message.user("hi"), target=marking, options=Options(cache=cache))["messages"]
    (own,) = sent(Message.user(Text("hi", cache="1h")), target=marking, options=Options(cache=cache))["messages"]

    assert first["content"] == "a long book"
    assert last["content"][-1].items() > mark.items()
    assert alone["content"] == [{"type": "text", "text": "hi"} | mark]
    assert own["content"][0]["cache_control"]["ttl"] == "1h"
    assert "cache_control" not in json.dumps(sent(*question, options=Options(cache=cache)))


def test_what_the_model_said_may_be_marked_too():
    said = Message.assistant("short", Text("long", cache="5m"))

    (message,) = sent(said, target=target_with(cache_mark="cache_control"))["messages"]

    assert message["content"] == [
        {"type": "text", "text": "short"},
        {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}},
    ]
    assert sent(said)["messages"][0]["content"] == "shortlong"


def test_breakpoints_stand_on_parts_alone_and_other_marks_are_noted():
    said = Message.assistant(ToolCall("a", "look", cache="5m"))
    notes: list[Note] = []

    body = sent(
        Message.user(Text("long", cache="5m")),
        said,
        target=target_with(cache_mark="prompt_cache_breakpoint"),
        tools=(ToolSpec("look", cache="5m"),),
        notes=notes,
    )

    assert json.dumps(body).count("prompt_cache_breakpoint") == 1
    assert [note.what for note in notes] == ["cache mark of a tool or a call"] * 2


def test_pictures_and_foreign_sounds_of_the_model_are_sent_in_words_and_that_is_noted():
    notes: list[Note] = []
    sound, silent = Audio(b"ID3", "audio/mpeg", transcript="tweet"), Audio(b"ID3", "audio/mpeg")

    body = sent(Message.assistant("see: ", Image(b"\0\1", "image/png"), sound, silent), notes=notes)

    assert body["messages"][0]["content"] == "see: [Image: image/png, 2B]tweet[Audio of type 'audio/mpeg']"
    assert [note.act for note in notes] == ["changed"] * 3


def test_the_system_speaks_in_words_only():
    with pytest.raises(Misuse, match="only text from the system"):
        sent(Message.system(Image(b"\0\1", "image/png")))


def test_what_is_said_about_a_document_is_noted_as_lost():
    notes: list[Note] = []

    sent(Message.user(Document(b"%PDF-1", "application/pdf", context="an old book", citations=True)), notes=notes)

    assert [note.what for note in notes] == ["context and citations of a document"]


def test_each_result_is_sent_as_a_message_of_its_own():
    results = Message.tool([ToolResult("a", "one"), ToolResult("b", "two")])

    assert sent(results)["messages"] == [
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
    ]


def test_a_picture_in_a_result_becomes_its_description_and_that_is_noted():
    notes: list[Note] = []
    result = ToolResult("a", "see:", blocks=(Image(b"\0\1", "image/png"),))

    body = sent(Message.tool(result), notes=notes)

    assert body["messages"][0]["content"] == "see:\n[Image: image/png, 2B]"
    assert notes[0].what == "result of 'a'"


def test_an_answer_of_calls_alone_goes_back_with_null_for_content():
    (message,) = sent(Message.assistant(ToolCall("a", "look", '{"at": 1}')))["messages"]

    assert message["content"] is None
    assert message["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 1}'}


THOUGHT = Thinking("hm", Opaque(ISSUER, {"field": "reasoning"}))


@pytest.mark.parametrize(
    ("echo", "calls", "goes_back"),
    [("never", True, False), ("tool turns", True, True), ("tool turns", False, False), ("always", False, True)],
)
def test_reasoning_goes_back_to_those_who_want_it(echo, calls, goes_back):
    said = Message.assistant(THOUGHT, "yes", *([ToolCall("a", "look")] if calls else []))

    (message,) = sent(said, target=target_with(reasoning_echo=echo))["messages"]

    assert (message.get("reasoning") == "hm") is goes_back


def test_a_family_that_wants_no_reasoning_back_gets_none():
    family = Family(name="old owl", takes_reasoning_back=False)

    (message,) = sent(Message.assistant(THOUGHT), target=target_with(family, reasoning_echo="always"))["messages"]

    assert "reasoning" not in message


@pytest.mark.parametrize("echo", ["never", "tool turns", "always"])
def test_reasoning_details_go_back_alone_and_unchanged(echo):
    details = [{"type": "reasoning.encrypted", "data": "xyz", "index": 0}]
    said = Message.assistant(Thinking("hm", Opaque(ISSUER, {"field": "reasoning", "reasoning_details": details})))

    (message,) = sent(said, target=target_with(reasoning_echo=echo))["messages"]

    assert message["reasoning_details"] == details
    assert "reasoning" not in message


def test_state_goes_back_beside_what_it_came_with():
    said = Message.assistant(
        Text("yes", Opaque(ISSUER, {"extra_content": {"signature": "s1"}})),
        Audio(b"ID3", "audio/mpeg", opaque=Opaque(ISSUER, {"id": "sound1"})),
        ToolCall("a", "look", "{}", Opaque(ISSUER, {"extra_content": {"signature": "s2"}})),
        ToolCall("b", "sql", "select 1", Opaque(ISSUER, {"custom": True})),
    )

    (message,) = sent(said)["messages"]

    assert message["extra_content"] == {"signature": "s1"}
    assert message["audio"] == {"id": "sound1"}
    assert message["tool_calls"][0]["extra_content"] == {"signature": "s2"}
    assert message["tool_calls"][1] == {"id": "b", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}


def test_a_refusal_goes_back_as_one():
    (message,) = sent(Message.assistant(Text("no", Opaque(ISSUER, {"refusal": True}))))["messages"]

    assert (message["refusal"], message["content"]) == ("no", None)


# ── what is answered ────────────────────────────────────────────────────────────────────────────


def whole(message: Any = None, *, finish: Any = "stop", target: Target = LYREBIRD, **fields: Any) -> Response:
    choice = {"index": 0, "message": {"role": "assistant"} | (message or {}), "finish_reason": finish}
    return decode_chat(json.dumps({"id": "c1", "model": "owl-2", "choices": [choice]} | fields).encode(), target)


def stream_of(*deltas: Any, finish: Any = "stop", end: str = "data: [DONE]\n\n", **fields: Any) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish}]
    chunks = [{"id": "c1", "choices": [choice]} for choice in choices]
    chunks[-1] |= fields
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + end.encode()


def read(stream: bytes) -> Response:
    decoder = chat_decoder(LYREBIRD)
    return fold(decoder.feed(stream) + decoder.close())


def streamed(*deltas: Any, **more: Any) -> Response:
    return read(stream_of(*deltas, **more))


def call(index: Any = None, id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> Any:
    """A fragment of a call, with only what is given."""
    function = {"name": name, "arguments": arguments}
    fields = {
        "index": index,
        "id": id,
        "function": {key: value for key, value in function.items() if value is not None},
    }
    return {"tool_calls": [{key: value for key, value in fields.items() if value is not None} | more]}


def test_an_answer_says_what_it_is():
    response = whole({"content": "hi"}, service_tier="flex", system_fingerprint="fp1")

    assert (response.text, response.id, response.model, response.provider) == ("hi", "c1", "owl-2", "lyrebird")
    assert response.metadata == {"service_tier": "flex", "system_fingerprint": "fp1"}


def test_a_gateway_says_who_really_answered_and_why_that_ended():
    choice = {"index": 0, "message": {"content": "hi"}, "finish_reason": "stop", "native_finish_reason": "end_turn"}
    body = {"id": "c1", "provider": "Magpie", "choices": [choice]}

    assert decode_chat(json.dumps(body).encode(), LYREBIRD).metadata == {
        "provider": "Magpie",
        "native_finish_reason": "end_turn",
    }


def test_what_the_provider_ran_by_itself_is_kept_beside_the_text():
    ran = [{"index": 0, "type": "python", "output": "4"}]

    (text,) = whole({"content": "four", "executed_tools": ran}).message.parts

    assert (text.text, text.opaque.data) == ("four", {"executed_tools": ran})


def test_deltas_add_up():
    assert streamed({"role": "assistant", "content": ""}, {"content": "h"}, {"content": "i"}).text == "hi"


def test_the_last_words_may_come_with_the_finish_reason():
    chunk = {"choices": [{"index": 0, "delta": {"content": "bye"}, "finish_reason": "length"}]}

    response = read(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    assert (response.text, response.finish_reason) == ("bye", "length")


def test_a_server_that_does_not_stream_may_send_its_message_in_one_chunk():
    chunk = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}

    assert read(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()).text == "hi"


def test_a_whole_body_may_call_its_message_a_delta():
    assert whole(choices=[{"delta": {"content": "hi"}, "finish_reason": "stop"}]).text == "hi"


def test_only_the_first_of_several_choices_is_read_and_that_is_noted():
    choices = [
        {"index": index, "message": {"content": word}, "finish_reason": "stop"} for index, word in enumerate("ab")
    ]

    response = whole(choices=choices)

    assert response.text == "a"
    assert response.notes[0].what == "other choices"


# ── reasoning ──


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_read_from_either_field_and_remembers_which(field):
    for response in (whole({field: "hm", "content": "yes"}), streamed({field: "h"}, {field: "m"}, {"content": "yes"})):
        assert response.message.parts == (Thinking("hm", Opaque(ISSUER, {"field": field})), Text("yes"))


def test_reasoning_said_twice_is_read_once():
    assert whole({"reasoning": "hm", "reasoning_content": "hm"}).thinking == "hm"


def test_reasoning_that_is_no_text_is_not_read():
    assert whole({"content": "yes", "reasoning": {"steps": 3}}).message.parts == (Text("yes"),)


def detail(**fields: Any) -> Any:
    return {"reasoning_details": [{"type": "reasoning.text", "index": 0} | fields]}


def test_details_alone_are_the_reasoning():
    response = whole(detail(text="hm", signature="s1") | {"content": "yes"})

    assert response.thinking == "hm"
    assert response.message.parts[0].opaque.data == detail(text="hm", signature="s1")


def test_a_summary_is_reasoning_too():
    assert whole({"reasoning_details": [{"type": "reasoning.summary", "summary": "short"}]}).thinking == "short"


def test_fragments_of_a_detail_become_one_again():
    response = streamed(
        {"reasoning": "h"} | detail(text="h", signature=None),
        {"reasoning": "m"} | detail(text="m"),
        detail(signature="s1"),
        detail(signature=None),
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "xyz"}]},
    )

    (thought,) = response.message.parts
    assert thought.text == "hm"
    assert thought.opaque.data["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "hm", "signature": "s1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "xyz"},
    ]


def test_details_that_repeat_the_reasoning_are_not_read_twice():
    assert streamed({"reasoning": "hm"}, detail(text="hm", signature="s1")).thinking == "hm"


def test_two_encrypted_details_are_not_joined():
    details = [{"type": "reasoning.encrypted", "id": id, "data": id} for id in ("r1", "r2")]

    assert whole({"reasoning_details": details}).message.parts[0].opaque.data["reasoning_details"] == details


def test_inline_reasoning_is_no_part_of_the_answer():
    response = streamed({"content": "<thi"}, {"content": "nk>hm</think>yes"})

    assert (response.thinking, response.text) == ("hm", "yes")


# ── content that is no string ──


@pytest.mark.parametrize("thinking", ["hm", [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]])
def test_content_may_be_a_list_with_thinking_in_it(thinking):
    content = [{"type": "thinking", "thinking": thinking}, {"type": "text", "text": "yes"}]

    for response in (whole({"content": content}), streamed(*({"content": [chunk]} for chunk in content))):
        assert response.message.parts == (Thinking("hm", Opaque(ISSUER, {"chunk": True})), Text("yes"))


def test_a_chunk_of_an_unknown_type_is_kept_and_sent_back_in_its_place():
    response = whole({"content": [{"type": "text", "text": "a"}, {"type": "hologram", "x": 1}]})

    assert response.text == "a"
    assert response.message.parts[1].kind == "hologram"
    back = sent(Message.user("hi"), response.message)["messages"][1]
    assert back["content"] == [{"type": "text", "text": "a"}, {"type": "hologram", "x": 1}]


def test_structured_output_may_come_parsed():
    assert json.loads(whole({"content": {"name": "owl"}}).text) == {"name": "owl"}


def test_annotations_stay_with_the_text_they_are_about():
    cited = [{"type": "url_citation", "url_citation": {"url": "https://p.example"}}]
    calls = call(0, "a", "look", "{}")

    response = whole({"content": "yes", "annotations": cited} | calls)

    assert response.message.parts == (Text("yes", Opaque(ISSUER, {"annotations": cited})), ToolCall("a", "look", "{}"))


def test_annotations_of_a_stream_are_gathered():
    response = streamed({"content": "yes", "annotations": [{"n": 1}]}, {"annotations": [{"n": 2}]})

    assert response.message.parts == (Text("yes", Opaque(ISSUER, {"annotations": [{"n": 1}, {"n": 2}]})),)


def test_extra_content_is_kept_on_the_text_or_the_call_it_came_with():
    signed = {"extra_content": {"signature": "s1"}}

    assert whole({"content": "yes"} | signed).message.parts[0].opaque.data == signed
    assert whole(call(0, "a", "look", "{}", **signed)).tool_calls[0].opaque.data == signed


def test_a_refusal_is_text_that_says_it_is_one():
    for response in (whole({"content": None, "refusal": "no"}), streamed({"refusal": "n"}, {"refusal": "o"})):
        assert response.message.parts == (Text("no", Opaque(ISSUER, {"refusal": True})),)
        assert (response.finish_reason, response.raw_finish_reason) == ("content_filter", "stop")


def test_sound_is_gathered_with_its_words():
    data = [b64encode(b"ID3" + b"x" * 3).decode(), b64encode(b"yyy").decode()]
    deltas = [{"id": "s1", "data": data[0], "transcript": "h"}, {"data": data[1], "transcript": "i"}, {"expires_at": 9}]

    response = streamed(*({"audio": delta} for delta in deltas))

    sound = Audio(b"ID3xxxyyy", "audio/mpeg", transcript="hi", opaque=Opaque(ISSUER, {"id": "s1"}))
    assert response.message.parts == (sound,)


def test_sound_that_is_not_base64_is_an_error():
    with pytest.raises(InvalidResponse, match="base64"):
        whole({"audio": {"id": "s1", "data": "abc"}})


# ── calls ──


def test_a_call_grows_by_fragments():
    response = streamed(
        call(0, "a", "look", ""), call(0, arguments='{"at"'), call(0, arguments=":1}"), finish="tool_calls"
    )

    assert response.tool_calls == (ToolCall("a", "look", '{"at":1}'),)
    assert response.finish_reason == "tool_calls"


def test_calls_may_grow_side_by_side():
    response = streamed(
        call(0, "a", "look", ""), call(1, "b", "hear", ""), call(1, arguments="[2]"), call(0, arguments="[1]")
    )

    assert response.tool_calls == (ToolCall("a", "look", "[1]"), ToolCall("b", "hear", "[2]"))


def test_calls_without_an_index_are_told_apart_by_their_names():
    fragments = [call(id=id, name="look", arguments="") for id in "ab"]

    response = streamed(fragments[0], call(arguments="[1]"), fragments[1], call(arguments="[2]"))

    assert response.tool_calls == (ToolCall("a", "look", "[1]"), ToolCall("b", "look", "[2]"))


def test_whole_calls_without_an_index_are_each_their_own():
    calls = [call(id=id, name="look", arguments="{}")["tool_calls"][0] for id in "ab"]

    assert [made.id for made in whole({"tool_calls": calls}).tool_calls] == ["a", "b"]


def test_calls_that_are_all_numbered_zero_are_told_apart_by_id_and_name():
    response = streamed(call(0, "a", "look", "[1]"), call(0, "b", "look", "[2]"))

    assert response.tool_calls == (ToolCall("a", "look", "[1]"), ToolCall("b", "look", "[2]"))


def test_an_id_repeated_on_each_fragment_is_one_call():
    response = streamed(call(0, "a", "look", '{"at"'), call(0, "a", arguments=":1}"), call(0, "a", "look", ""))

    assert response.tool_calls == (ToolCall("a", "look", '{"at":1}'),)


def test_an_id_given_to_two_calls_is_made_unique_and_noted():
    response = streamed(call(0, "a", "look", "{}"), call(1, "a", "hear", "{}"))

    assert [made.id for made in response.tool_calls] == ["a", "a_2"]
    assert response.notes[0].act == "repaired"


@pytest.mark.parametrize("id", [None, "", 7])
def test_a_call_without_an_id_gets_one(id):
    response = whole(call(0, id, "look", "{}"))

    assert response.tool_calls == (ToolCall("call_0", "look", "{}"),)
    assert response.notes[0].act == "repaired"


@pytest.mark.parametrize(("arguments", "text"), [({"at": 1}, '{"at":1}'), (None, "{}"), ("", "{}"), ({}, "{}")])
def test_arguments_may_be_an_object_or_nothing(arguments, text):
    made = {"id": "a", "function": {"name": "look", "arguments": arguments}}

    assert whole({"tool_calls": [made]}).tool_calls == (ToolCall("a", "look", text),)


def test_a_custom_call_keeps_its_words_as_they_are():
    made = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "select"}}
    more = {"index": 0, "custom": {"input": " 1"}}

    response = streamed({"tool_calls": [made]}, {"tool_calls": [more]})

    assert response.tool_calls == (ToolCall("a", "sql", "select 1", Opaque(ISSUER, {"custom": True})),)


def test_an_empty_custom_field_does_not_make_a_call_custom():
    made = call(0, "a", "look", "{}", custom={"name": "", "input": ""})

    assert whole(made).tool_calls == (ToolCall("a", "look", "{}"),)


def test_a_call_of_the_older_kind_is_a_call():
    response = streamed(
        {"function_call": {"name": "look", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
        finish="function_call",
    )

    assert response.tool_calls == (ToolCall("call_0", "look", "{}"),)
    assert response.finish_reason == "tool_calls"


def test_an_empty_call_of_the_older_kind_is_none():
    response = streamed(call(None, "a", "look", "{}") | {"function_call": {"name": "", "arguments": ""}})

    assert response.tool_calls == (ToolCall("a", "look", "{}"),)


@pytest.mark.parametrize("finish", ["stop", "", "end_turn"])
def test_a_call_counts_more_than_the_word_stop(finish):
    assert streamed(call(0, "a", "look", "{}"), finish=finish).finish_reason == "tool_calls"


def test_calls_that_leaked_into_the_text_are_rescued():
    leaked = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>"
        '{"at":1}<|tool_call_end|><|tool_calls_section_end|>'
    )

    assert streamed({"content": leaked}).tool_calls[0].name == "look"


# ── finish reasons and usage ──


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("insufficient_system_resource", "error"),
        ("error", "error"),
    ],
)
def test_every_word_for_the_end_means_one_of_ours(word, reason):
    response = whole({"content": "hi"}, finish=word)

    assert (response.finish_reason, response.raw_finish_reason) == (reason, word)


def test_a_word_for_the_end_that_nobody_knows_is_noted():
    response = whole({"content": "hi"}, finish="tired")

    assert response.finish_reason == "stop"
    assert "'tired'" in response.notes[0].what


def test_a_finish_reason_of_the_wrong_type_is_an_end():
    response = whole({"content": "hi"}, finish=3)

    assert (response.finish_reason, response.raw_finish_reason) == ("stop", "")


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4}, Usage(input_tokens=9, output_tokens=4)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(input_tokens=9, output_tokens=4, cache_read_tokens=5, cache_creation_tokens=2, reasoning_tokens=3),
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 5}, Usage(input_tokens=9, cache_read_tokens=5)),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 5}, Usage(input_tokens=9, cache_read_tokens=5)),
        ({"prompt_tokens": 9, "cached_tokens": 5}, Usage(input_tokens=9, cache_read_tokens=5)),
        ({"prompt_tokens": 9, "num_cached_tokens": 5}, Usage(input_tokens=9, cache_read_tokens=5)),
        ({"prompt_tokens": 9, "cache_creation_input_tokens": 5}, Usage(input_tokens=9, cache_creation_tokens=5)),
        ({"completion_tokens": 9, "reasoning_tokens": 5}, Usage(output_tokens=9, reasoning_tokens=5)),
        ({"prompt_tokens": 9, "completion_tokens": None}, Usage(input_tokens=9)),
        ({"prompt_tokens": "9", "completion_tokens": -4}, Usage()),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, Usage(input_tokens=9)),
        ({"prompt_tokens": 9, "prompt_tokens_details": [1]}, Usage(input_tokens=9)),
    ],
)
def test_usage_is_read_in_the_words_of_every_imitator(counts, usage):
    assert read_usage(counts) == usage


def test_a_cache_that_gave_more_than_the_prompt_was_counted_beside_it():
    usage = read_usage({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 30}})

    assert usage == Usage(input_tokens=40, cache_read_tokens=30)


@pytest.mark.parametrize(("total", "output"), [(19, 9), (14, 4)])
def test_reasoning_counted_beside_the_completion_is_added_to_it(total, output):
    counts = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": total}

    usage = read_usage(counts | {"completion_tokens_details": {"reasoning_tokens": 5}})

    assert (usage.output_tokens, usage.reasoning_tokens) == (output, 5)


def usage_chunk(**fields: Any) -> str:
    return f"data: {json.dumps({'choices': []} | fields)}\n\ndata: [DONE]\n\n"


COUNTS = {"prompt_tokens": 9, "completion_tokens": 4}


@pytest.mark.parametrize(
    "end",
    [
        usage_chunk(usage=COUNTS),
        usage_chunk(x_groq={"usage": COUNTS}),
        usage_chunk(usage=None, x_groq={"usage": COUNTS}),
    ],
)
def test_usage_may_come_after_the_end_in_a_chunk_of_its_own(end):
    assert streamed({"content": "hi"}, end=end).usage == Usage(input_tokens=9, output_tokens=4)


def test_usage_may_come_with_the_last_choice():
    assert streamed({"content": "hi"}, usage=COUNTS).usage == Usage(input_tokens=9, output_tokens=4)


def test_usage_said_twice_is_not_added_up():
    assert streamed({"content": "hi"}, usage=COUNTS, end=usage_chunk(usage=COUNTS)).usage.input_tokens == 9


def test_what_the_provider_says_it_cost_is_kept():
    assert whole({"content": "hi"}, usage=COUNTS | {"cost": 0.25}).metadata["provider_cost"] == "0.25"


# ── ends of streams ──


def test_a_stream_may_leave_out_its_last_marker():
    assert streamed({"content": "hi"}, end="").text == "hi"


def test_a_stream_without_a_finish_reason_or_a_marker_is_incomplete():
    with pytest.raises(IncompleteStream) as caught:
        streamed({"content": "hi"}, finish=None, end="")

    assert caught.value.partial.text == "hi"


def test_the_marker_is_end_enough():
    assert streamed({"content": "hi"}, finish=None).finish_reason == "stop"


@pytest.mark.parametrize("marker", ["data: [DONE] \n\n", "data:[DONE]\n\n", "data:   [DONE]\n\n", "data: [DONE]"])
def test_the_marker_may_have_spaces_around_it_or_nothing_after_it(marker):
    assert streamed({"content": "hi"}, finish=None, end=marker).text == "hi"


def test_comments_and_empty_data_mean_nothing():
    stream = b": keep-alive\n\n" + b"data:\n\n" + stream_of({"content": "hi"})

    assert read(stream).text == "hi"


def test_nothing_after_the_marker_is_read():
    assert read(stream_of({"content": "hi"}) + stream_of({"content": "again"})).text == "hi"


@pytest.mark.parametrize("stream", [b"data: [DONE]\n\n", b'data: {"choices": []}\n\ndata: [DONE]\n\n'])
def test_a_stream_that_never_answered_is_an_error(stream):
    with pytest.raises(InvalidResponse, match="choice"):
        read(stream)


def test_a_first_chunk_without_choices_is_no_answer_yet():
    filtered = b'data: {"choices": [], "prompt_filter_results": [{}]}\n\n'

    assert read(filtered + stream_of({"content": "hi"})).text == "hi"


def test_a_stream_that_is_not_json_is_an_error():
    with pytest.raises(InvalidResponse, match="not JSON"):
        read(b"data: hello\n\n")


def test_a_whole_body_in_place_of_a_stream_is_read():
    body = json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}).encode()

    assert read(body).text == "hi"


def test_blank_lines_may_come_before_a_body():
    body = b'\n\n  \n{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}'

    assert decode_chat(body, LYREBIRD).text == "hi"
    assert read(body).text == "hi"


def test_a_body_without_choices_is_an_error():
    with pytest.raises(InvalidResponse, match="no choices"):
        decode_chat(b'{"choices": []}', LYREBIRD)


# ── errors ──


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "slow down", "type": "rate_limit_error"}, RateLimited),
        ({"message": "slow down", "code": 429}, RateLimited),
        ({"message": "too long", "code": "context_length_exceeded"}, TooLong),
        ({"message": "no", "metadata": {"error_type": "content_filter"}}, Filtered),
        ({"message": "no", "code": 403, "metadata": {"flagged_input": "a bad word"}}, Filtered),
        ({"message": "slow", "code": "1302"}, RateLimited),
        ({"message": "busy", "code": "1305"}, Overloaded),
        ("something broke", ApiError),
    ],
)
def test_an_error_inside_a_200_is_an_error(error, kind):
    body = json.dumps({"error": error}).encode()

    for attempt in (lambda: decode_chat(body, LYREBIRD), lambda: read(body), lambda: read(b"data: " + body + b"\n\n")):
        with pytest.raises(kind) as caught:
            attempt()
        assert type(caught.value) is kind
        assert caught.value.provider == "lyrebird"


@pytest.mark.parametrize("event", ["", "event: error\n"])
def test_an_error_may_come_without_a_field_around_it(event):
    error = {"object": "" if event else "error", "message": "the prompt is too long", "code": 400}
    begun = stream_of({"content": "hi"}, end="").split(b"\n\n")[0] + b"\n\n"

    with pytest.raises(TooLong):
        read(begun + f"{event}data: {json.dumps(error)}\n\ndata: [DONE]\n\n".encode())
    if not event:
        with pytest.raises(TooLong):
            decode_chat(json.dumps(error).encode(), LYREBIRD)


def test_a_stream_that_was_stopped_early_says_why():
    chunk = {"id": "c1", "choices": [], "x_groq": {"error": "out of memory"}}

    with pytest.raises(ApiError, match="out of memory"):
        read(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())


def test_an_error_in_the_middle_of_a_stream_keeps_what_came_before():
    decoder = chat_decoder(LYREBIRD)
    first = stream_of({"content": "hi"}, end="").split(b"\n\n")[0] + b"\n\n"

    events = decoder.feed(first + b'data: {"error": {"message": "full", "code": "server_is_overloaded"}}\n\n')

    assert events[1] == TextDelta(0, "hi")
    assert isinstance(events[-1].error, Overloaded)


@pytest.mark.parametrize("data", ["out of memory", '{"error": {"message": "out of memory"}}'])
def test_an_event_that_is_named_error_is_one(data):
    with pytest.raises(ApiError, match="out of memory"):
        read(f"event: error\ndata: {data}\n\n".encode())


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "key", "code": "invalid_api_key"}}, Unauthorized),
        (429, {"error": {"message": "slow"}}, RateLimited),
        (400, {"error": {"message": "maximum context length is 10 tokens"}}, TooLong),
        (503, {"message": "full"}, Overloaded),
        (422, {"detail": [{"msg": "bad field"}]}, ApiError),
        (500, [{"error": {"message": "broke"}}], ApiError),
        (400, {"object": "error", "message": "bad"}, ApiError),
    ],
)
def test_a_refused_request_is_the_error_it_means(status, body, kind):
    error = decode_error(HttpResponse(status=status, body=json.dumps(body).encode()), LYREBIRD)

    assert type(error) is kind
    assert error.status == status


def test_a_refusal_that_is_no_json_is_told_in_its_own_words():
    error = decode_error(HttpResponse(status=502, body=b"<h1>Bad Gateway</h1>"), LYREBIRD)

    assert "Bad Gateway" in str(error)
    assert error.retryable


def test_many_fragments_of_one_argument_stay_fragments():
    decoder = chat_decoder(LYREBIRD)
    events = decoder.feed(stream_of(call(0, "a", "look", ""), *(call(0, arguments="x") for _ in range(50))))

    assert sum(isinstance(event, ToolInputDelta) for event in events) == 50
