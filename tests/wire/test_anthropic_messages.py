"""Anthropic Messages: what is sent, and what is made of the answer."""

import json

import pytest

from dragoman.errors import (
    ApiError,
    IncompleteStream,
    InvalidResponse,
    Misuse,
    Overloaded,
    RateLimited,
    TooLong,
    Unauthorized,
)
from dragoman.events import Failed, PartAdded, TextDelta, UsageReported, fold
from dragoman.exchange import McpTool, Note, Options, ProviderTool, Request, ToolSpec
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
from dragoman.resolve import resolve
from dragoman.target import Family, Quirks, Target
from dragoman.usage import Usage
from dragoman.wire import anthropic_messages as wire

PNG = b"\x89PNG\r\n\x1a\nsmall"
PDF = b"%PDF-1.4 small"
HELLO = (Message.user("hello"),)
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LOOK = ToolSpec("look", "Look at a city.", CITY)


def target_of(**rules):
    headers, quirks = rules.pop("headers", ()), rules.pop("quirks", Quirks())
    family = Family(name="owl", **rules)
    return Target(
        provider="lyrebird",
        model="owl-2",
        wire="anthropic-messages",
        base_url="https://x.example",
        family=family,
        quirks=quirks,
        headers=headers,
    )


TARGET = target_of()


def mine(data):
    return Opaque(TARGET.issuer, data)


def asked(*messages, tools=(), tool_choice="auto", stream=False, target=TARGET, notes=None, **options):
    request = Request(
        model="owl-2",
        messages=messages or HELLO,
        tools=tools,
        tool_choice=tool_choice,
        options=Options(**options),
        stream=stream,
    )
    return json.loads(wire.encode_chat(request, target, [] if notes is None else notes).body)


def turns(*messages, **more):
    return [(turn["role"], turn["content"]) for turn in asked(*messages, **more)["messages"]]


# ── where, and as what ──


def test_a_request_goes_to_messages_with_the_version_and_no_beta():
    request = wire.encode_chat(Request(model="owl-2", messages=HELLO), TARGET, [])

    assert request.url == "https://x.example/v1/messages"
    assert request.headers == (("content-type", "application/json"), ("anthropic-version", "2023-06-01"))


def test_the_version_follows_the_family_unless_the_row_names_one():
    later = wire.encode_chat(Request(model="owl-2", messages=HELLO), target_of(api_version="2026-10-21"), [])
    named = wire.encode_chat(
        Request(model="owl-2", messages=HELLO), target_of(headers=(("Anthropic-Version", "2030-01-01"),)), []
    )

    assert dict(later.headers)["anthropic-version"] == "2026-10-21"
    assert dict(named.headers)["anthropic-version"] == "2030-01-01"


@pytest.mark.parametrize(
    ("options", "most", "sent"), [({"max_tokens": 7}, 64_000, 7), ({}, 64_000, 64_000), ({}, None, 4_096)]
)
def test_a_limit_of_tokens_is_always_sent(options, most, sent):
    assert asked(target=target_of(max_output_tokens=most), **options)["max_tokens"] == sent


def test_options_have_their_own_names():
    body = asked(
        temperature=0.5, top_p=0.9, top_k=3, stop=["END"], service_tier="auto", stream=True, extra={"speed": "fast"}
    )

    assert (body["temperature"], body["top_p"], body["top_k"], body["stop_sequences"]) == (0.5, 0.9, 3, ["END"])
    assert (body["service_tier"], body["stream"], body["speed"]) == ("auto", True, "fast")


def test_metadata_carries_the_user_and_notes_the_rest():
    notes = []
    assert asked(metadata={"user_id": "u1", "team": "blue"}, notes=notes)["metadata"] == {"user_id": "u1"}
    assert notes == [Note("dropped", "metadata team", "this wire carries only user_id")]


# ── conversation ──


def test_the_opening_instruction_is_one_string():
    body = asked(Message.system("Be brief."), *HELLO)
    assert body["system"] == "Be brief."
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]


def test_several_or_marked_instructions_are_blocks():
    body = asked(
        Message.system("One."),
        Message.system(Text("Two.", cache="1h")),
        *HELLO,
        target=target_of(system_anywhere=False),
    )
    assert body["system"] == [
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ]


def test_a_later_instruction_keeps_its_place():
    conversation = (*HELLO, Message.assistant("hi"), Message.user("now"), Message.system("In French."))
    assert turns(*conversation)[-1] == ("system", [{"type": "text", "text": "In French."}])


def test_a_later_instruction_joins_the_user_where_the_model_takes_none():
    notes = []
    conversation = (*HELLO, Message.assistant("hi"), Message.user("now"), Message.system("In French."))

    last = turns(*conversation, target=target_of(system_anywhere=False), notes=notes)[-1]
    assert last == ("user", [{"type": "text", "text": "now"}, {"type": "text", "text": "In French."}])
    assert [note.act for note in notes] == ["changed"]


def test_an_instruction_before_the_users_turn_is_put_behind_it():
    notes = []
    conversation = (*HELLO, Message.assistant("hi"), Message.system("In French."), Message.user("now"))
    sent = turns(*conversation, notes=notes)
    assert sent[-2:] == [
        ("user", [{"type": "text", "text": "now"}]),
        ("system", [{"type": "text", "text": "In French."}]),
    ]
    assert [str(note) for note in notes] == [
        "changed a system message: it may only follow the user's turn; it was put behind it"
    ]


def test_an_instruction_between_two_turns_of_the_user_follows_both():
    assert [role for role, _ in turns(*HELLO, Message.system("S"), Message.user("b"))] == ["user", "system"]


def test_an_instruction_that_no_user_precedes_becomes_the_users():
    notes = []
    sent = turns(*HELLO, Message.assistant("hi"), Message.system("In French."), notes=notes)
    assert sent[-1] == ("user", [{"type": "text", "text": "In French."}])
    assert [note.act for note in notes] == ["changed"]


def test_an_instruction_may_follow_the_servers_own_tools():
    search = OpaquePart("server_tool_use", mine({"type": "server_tool_use", "id": "s1", "name": "n", "input": {}}))
    sent = turns(*HELLO, Message.assistant(search), Message.system("Hurry."))
    assert [role for role, _ in sent] == ["user", "assistant", "system"]


def test_a_sentence_parts_results_from_an_instruction_where_the_model_confuses_them():
    notes = []
    conversation = (
        *HELLO,
        Message.assistant(ToolCall("t1", "look")),
        Message.tool(ToolResult("t1", "fog")),
        Message.system("Hurry."),
    )
    plain = turns(*conversation)
    parted = turns(*conversation, target=target_of(system_after_results=False), notes=notes)

    assert [block["type"] for block in plain[2][1]] == ["tool_result"]
    assert [block["type"] for block in parted[2][1]] == ["tool_result", "text"]
    assert parted[3][0] == "system"
    assert [note.what for note in notes] == ["the end of the results"]


def test_changes_of_the_tools_are_never_the_users():
    change = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}}
    message = Message("system", (OpaquePart("tool_removal", mine(change)),))
    assert turns(*HELLO, message, target=target_of(system_anywhere=False))[-1] == ("system", [change])


def test_instructions_alone_are_nothing_to_answer():
    with pytest.raises(Misuse, match="nothing to answer"):
        asked(Message.system("Be brief."))


def test_turns_of_one_role_become_one():
    assert [
        role for role, _ in turns(Message.user("a"), Message.user("b"), Message.assistant("c"), Message.assistant("d"))
    ] == ["user", "assistant"]


def test_results_come_first_in_the_turn_after_the_calls():
    calls = Message.assistant(ToolCall("t1", "look", '{"city":"Oslo"}'), ToolCall("t2", "look", ""))
    results = Message.tool([ToolResult("t1", "fog"), ToolResult("t2")])

    sent = turns(*HELLO, calls, results, Message.user("and?"))
    assert sent[1][1] == [
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
    ]
    assert sent[2] == (
        "user",
        [
            {"type": "tool_result", "tool_use_id": "t1", "content": "fog"},
            {"type": "tool_result", "tool_use_id": "t2"},
            {"type": "text", "text": "and?"},
        ],
    )


def test_a_failure_without_words_is_given_some():
    notes = []
    results = Message.tool([ToolResult("t1", is_error=True), ToolResult("t2", "no fog", is_error=True)])
    calls = Message.assistant(ToolCall("t1", "look"), ToolCall("t2", "look"))
    silent, told = turns(*HELLO, calls, results, notes=notes)[-1][1]

    assert (silent["content"], silent["is_error"]) == ("The tool failed and said nothing.", True)
    assert told["content"] == "no fog"
    assert [note.what for note in notes] == ["result of 't1'"]


def test_an_instruction_folded_before_results_comes_after_them():
    calls = Message.assistant(ToolCall("t1", "look"))
    sent = turns(
        *HELLO,
        calls,
        Message.system("Hurry."),
        Message.tool(ToolResult("t1", "fog")),
        target=target_of(system_anywhere=False),
    )
    assert [block["type"] for block in sent[-1][1]] == ["tool_result", "text"]


def test_arguments_that_are_no_object_travel_inside_one():
    notes = []
    sent = turns(*HELLO, Message.assistant(ToolCall("t1", "look", '{"city": ')), notes=notes)
    assert sent[1][1][0]["input"] == {"arguments": '{"city": '}
    assert notes[0].act == "changed"


def test_blank_text_is_not_sent_and_an_empty_turn_is_no_turn():
    notes = []
    assert [role for role, _ in turns(*HELLO, Message.assistant("", " \n"), Message.user("b"), notes=notes)] == ["user"]
    assert [note.what for note in notes] == ["a blank text"]


def test_a_result_may_hold_pictures_and_documents():
    result = ToolResult("t1", "two files", blocks=(Image(PNG), Document(file_id="f1")), cache="5m")
    (block,) = turns(*HELLO, Message.assistant(ToolCall("t1", "look")), Message.tool(result))[-1][1]

    assert [inner["type"] for inner in block["content"]] == ["text", "image", "document"]
    assert block["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("part", "source"),
    [
        (Image(PNG), {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgpzbWFsbA=="}),
        (Image(url="https://x.example/a.png"), {"type": "url", "url": "https://x.example/a.png"}),
        (Image(file_id="f1"), {"type": "file", "file_id": "f1"}),
        (Document(PDF), {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQgc21hbGw="}),
        (Document(b"plain", "text/plain"), {"type": "text", "media_type": "text/plain", "data": "plain"}),
    ],
)
def test_files_go_as_bytes_address_or_id(part, source):
    assert turns(Message.user(part))[0][1][0]["source"] == source


def test_a_document_has_a_title_a_context_and_citations():
    block = turns(Message.user(Document(PDF, name="Report", context="Draft.", citations=True)))[0][1][0]
    assert (block["title"], block["context"], block["citations"]) == ("Report", "Draft.", {"enabled": True})


def test_other_kinds_of_text_are_sent_as_plain_text():
    notes = []
    assert (
        turns(Message.user(Document(b"a,b", "text/csv")), notes=notes)[0][1][0]["source"]["media_type"] == "text/plain"
    )
    assert notes[0].act == "changed"


@pytest.mark.parametrize(
    "part",
    [
        Audio(b"RIFF", "audio/wav"),
        Image(b"BM", "image/bmp"),
        Document(b"PK", "application/zip"),
        Document(b"\xff", "text/plain"),
    ],
)
def test_a_file_the_wire_cannot_carry_is_misuse(part):
    with pytest.raises(Misuse):
        asked(Message.user(part))


def test_a_sound_with_its_words_is_sent_as_them():
    notes = []
    sound = Audio(b"RIFF", "audio/wav", transcript="good day")
    assert turns(*HELLO, Message.assistant(sound), notes=notes)[1][1] == [{"type": "text", "text": "good day"}]
    assert notes[0].act == "changed"


def test_a_picture_of_the_assistants_is_described():
    notes = []
    sent = turns(*HELLO, Message.assistant(Image(PNG)), notes=notes)
    assert sent[1][1] == [{"type": "text", "text": "[Image: image/png, 13B]"}]
    assert [note.what for note in notes] == ["an image of the assistant"]


STRICTER = target_of(api_version="2026-10-21")


def test_a_document_of_the_assistants_is_described_where_only_users_send_one():
    notes = []
    conversation = (*HELLO, Message.assistant(Document(PDF)), Message.user(Document(PDF)))
    sent = turns(*conversation, target=STRICTER, notes=notes)

    assert sent[1][1] == [{"type": "text", "text": "[Document: application/pdf, 14B]"}]
    assert sent[2][1][0]["type"] == "document"
    assert [note.what for note in notes] == ["a document of the assistant"]
    assert turns(*conversation)[1][1][0]["type"] == "document"


def test_citations_of_the_user_are_left_out_where_only_the_assistant_cites():
    notes = []
    cited = Text("fog", mine({"citations": [{"cited_text": "fog"}], "tone": "warm"}))
    sent = turns(Message.user(cited), Message.assistant(cited), target=STRICTER, notes=notes)

    assert sent[0][1] == [{"type": "text", "text": "fog", "tone": "warm"}]
    assert sent[1][1][0]["citations"] == [{"cited_text": "fog"}]
    assert [note.what for note in notes] == ["citations of a text"]
    assert "citations" in turns(Message.user(cited))[0][1][0]


# ── what goes back as it came ──


def test_signed_and_sealed_thinking_goes_back_and_unsigned_does_not():
    thoughts = (
        Thinking("hm", mine({"signature": "sig=="})),
        Thinking("", mine({"redacted": "xyz"})),
        Thinking("no proof"),
    )
    assert turns(*HELLO, Message.assistant(*thoughts, "so"))[1][1] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "so"},
    ]


def test_citations_callers_and_whole_blocks_go_back_verbatim():
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "fog"}}
    parts = (
        OpaquePart("server_tool_use", mine(search)),
        Text("fog", mine({"citations": [{"url": "https://x.example"}]})),
        ToolCall("t1", "look", "{}", mine({"caller": {"type": "direct"}})),
    )
    assert turns(*HELLO, Message.assistant(*parts))[1][1] == [
        search,
        {"type": "text", "text": "fog", "citations": [{"url": "https://x.example"}]},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "caller": {"type": "direct"}},
    ]


def test_the_toolset_of_a_call_is_named_again_on_its_result():
    call = ToolCall("t1", "click", "{}", mine({"toolset_name": "browser"}))
    sent = turns(*HELLO, Message.assistant(call), Message.tool(ToolResult("t1", "done")))
    assert sent[2][1][0]["toolset_name"] == "browser"


# ── thinking ──

EFFORTS = ("low", "medium", "high", "max")


def test_adaptive_thinking_is_asked_for_with_its_summary_and_an_effort():
    body = asked(target=target_of(thinking="adaptive", efforts=EFFORTS), effort="ultra")
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "max"}


def test_a_budget_stays_below_the_limit_of_tokens():
    family = target_of(thinking="budget", budgets=(1_024, 32_000))
    assert asked(target=family, effort="medium", max_tokens=20_000)["thinking"] == {
        "type": "enabled",
        "budget_tokens": 8_192,
    }
    assert asked(target=family, effort="medium", max_tokens=2_000)["thinking"]["budget_tokens"] == 1_499


def test_thinking_that_does_not_fit_is_left_out_and_noted():
    notes = []
    assert "thinking" not in asked(target=target_of(thinking="budget"), effort="low", max_tokens=1_000, notes=notes)
    assert notes[0].what == "thinking"


def test_a_family_may_take_a_budget_and_a_word_or_only_a_word():
    both = asked(
        target=target_of(thinking="budget", efforts=("low", "medium", "high")), effort="high", max_tokens=50_000
    )
    word = asked(target=target_of(thinking="effort", efforts=EFFORTS), effort="high")

    assert (both["thinking"]["budget_tokens"], both["output_config"]) == (16_384, {"effort": "high"})
    assert ("thinking" in word, word["output_config"]) == (False, {"effort": "high"})


@pytest.mark.parametrize("off", ["disabled", "between_tools"])
def test_thinking_is_switched_off_by_the_familys_word(off):
    body = asked(target=target_of(thinking="adaptive", efforts=EFFORTS, thinking_off=off), effort="none")
    assert body["thinking"] == {"type": off}
    assert "output_config" not in body


def test_thinking_that_goes_on_between_calls_is_noted():
    notes = []
    asked(target=target_of(thinking="adaptive", thinking_off="between_tools"), effort="none", notes=notes)
    assert [(note.act, note.what) for note in notes] == [("changed", "effort")]


@pytest.mark.parametrize(
    ("models", "off", "ultra"),
    [
        (("haiku-4-5", "sonnet-4-5"), "disabled", {"type": "enabled", "budget_tokens": 32_768}),
        (("sonnet-4-6", "opus-4-6", "opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5-5"), "disabled", "max"),
        (("sonnet-5-5",), "between_tools", "max"),
        (("opus-5-5", "fable-5", "fable-5-1", "mythos-5", "mythos-5-2", "mythos-preview"), None, "max"),
    ],
)
def test_the_rows_of_the_makers_families_say_how_each_is_told(models, off, ultra):
    for model in models:
        target = resolve(f"claude-{model}", environ={})
        assert (target.family.thinking_off if target.family.can_stop_thinking else None) == off
        body = asked(target=target, effort="ultra")
        assert ultra in (body["thinking"], body.get("output_config", {}).get("effort"))


def test_a_schema_stands_beside_the_effort():
    body = asked(target=target_of(thinking="adaptive", efforts=EFFORTS), effort="low", response_schema=CITY)
    assert body["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": CITY}}


def test_a_schema_is_compiled_and_the_change_noted():
    notes = []
    schema = CITY | {"properties": {"city": {"type": "string", "maxLength": 9}}}
    form = asked(response_schema=schema, notes=notes)["output_config"]["format"]
    assert "maxLength" not in form["schema"]["properties"]["city"]
    assert notes


# ── caching ──


@pytest.mark.parametrize(
    ("cache", "control"),
    [
        (True, {"type": "ephemeral"}),
        ("5m", {"type": "ephemeral", "ttl": "5m"}),
        ("1h", {"type": "ephemeral", "ttl": "1h"}),
    ],
)
def test_the_whole_prompt_can_be_marked(cache, control):
    assert asked(cache=cache)["cache_control"] == control


def test_two_marks_for_different_times_do_not_meet_on_the_last_block():
    notes = []
    last = Message.user(Text("hello", cache="1h"))
    assert asked(last, cache="1h")["cache_control"]["ttl"] == "1h"
    assert "cache_control" not in asked(last, cache=True, notes=notes)
    assert [note.what for note in notes] == ["cache"]


def test_no_mark_is_made_where_none_is_wanted():
    assert "cache_control" not in asked(cache=False)


def test_a_deferred_tool_cannot_be_marked():
    notes = []
    tools = asked(tools=(ToolSpec("a", cache="5m"), ToolSpec("b", cache="5m", deferred=True)), notes=notes)["tools"]
    assert ["cache_control" in tool for tool in tools] == [True, False, False]
    assert notes[0].what == "cache mark of 'b'"


# ── tools ──


def test_a_tool_has_a_schema_and_strictness_when_asked():
    plain, strict = asked(tools=(LOOK, ToolSpec("see", input_schema=CITY, strict=True)))["tools"]
    assert plain == {"name": "look", "description": "Look at a city.", "input_schema": CITY}
    assert strict == {"name": "see", "input_schema": CITY, "strict": True}


def test_strictness_is_left_out_where_the_server_does_not_know_it():
    notes = []
    see = ToolSpec("see", input_schema=CITY, strict=True)
    (tool,) = asked(tools=(see,), target=target_of(quirks=Quirks(accepts_strict=False)), notes=notes)["tools"]
    assert "strict" not in tool
    assert str(notes[0]) == "dropped strict of 'see': calls are not held to a schema here"


def test_strictness_is_left_out_where_the_model_does_not_know_it():
    notes = []
    see, hear = ToolSpec("see", input_schema=CITY, strict=True), ToolSpec("hear", input_schema=CITY, strict=False)
    tools = asked(tools=(see, hear), target=target_of(schema_modes=("tool", "prompted")), notes=notes)["tools"]
    assert [tool.get("strict") for tool in tools] == [None, False]
    assert [note.what for note in notes] == ["strict of 'see'"]


def test_a_schema_without_a_type_is_given_one():
    notes = []
    (tool,) = asked(tools=(ToolSpec("see", input_schema={"properties": {}}),), notes=notes)["tools"]
    assert tool["input_schema"]["type"] == "object"
    assert notes[0].act == "changed"


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        ("required", {}, {"type": "any"}),
        ("none", {"parallel_tool_calls": False}, {"type": "none"}),
        ("look", {}, {"type": "tool", "name": "look"}),
        ("auto", {"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", {"parallel_tool_calls": True}, {"type": "any", "disable_parallel_tool_use": False}),
    ],
)
def test_choice_and_parallel_calls_share_a_field(choice, parallel, sent):
    assert asked(tools=(LOOK,), tool_choice=choice, **parallel)["tool_choice"] == sent


def test_the_default_choice_is_not_sent():
    assert "tool_choice" not in asked(tools=(LOOK,))
    assert "tool_choice" not in asked(tool_choice="required")


def test_deferred_tools_come_with_a_search():
    tools = asked(tools=(ToolSpec("a", deferred=True),))["tools"]
    assert tools[0]["defer_loading"] is True
    assert tools[1] == {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


def test_a_search_of_the_callers_own_is_enough():
    search = ProviderTool({"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"})
    assert len(asked(tools=(ToolSpec("a", deferred=True), search))["tools"]) == 2


def test_an_mcp_server_is_named_twice_and_needs_the_beta():
    tool = McpTool("https://m.example/mcp", "maps", {"authorization": "Bearer tok"}, ("find", "route"), deferred=True)
    request = wire.encode_chat(
        Request(model="owl-2", messages=HELLO, tools=(tool,)), target_of(headers=(("anthropic-beta", "mine-1"),)), []
    )
    body = json.loads(request.body)

    assert body["mcp_servers"] == [
        {"type": "url", "name": "maps", "url": "https://m.example/mcp", "authorization_token": "tok"}
    ]
    assert body["tools"][0] == {
        "type": "mcp_toolset",
        "mcp_server_name": "maps",
        "default_config": {"defer_loading": True, "enabled": False},
        "configs": {"find": {"enabled": True}, "route": {"enabled": True}},
    }
    assert dict(request.headers)["anthropic-beta"] == "mine-1,mcp-client-2025-11-20"


def test_a_release_of_the_connector_that_the_caller_names_is_not_named_again():
    headers = (("anthropic-beta", "mcp-client-2026-09-15"),)
    tool = McpTool("https://m.example/mcp", "maps")
    request = wire.encode_chat(Request(model="owl-2", messages=HELLO, tools=(tool,)), target_of(headers=headers), [])
    assert dict(request.headers)["anthropic-beta"] == "mcp-client-2026-09-15"


@pytest.mark.parametrize(
    ("extra", "beta"),
    [
        ({"context_management": {}}, "context-management-2025-06-27"),
        ({"compaction": {}}, "compact-2026-09-04"),
        ({"fallbacks": "default"}, "server-side-fallback-2026-07-01"),
        ({"thread": {"type": "create"}}, "message-threads-2026-08-12"),
        ({"output_config": {"task_budget": {"total": 9}}}, "task-budgets-2026-03-13"),
        ({"thinking": {"block_binding": {}}}, "thinking-binding-controls-2026-08-01"),
        ({"tools": [{"type": "advisor_20260301"}]}, "advisor-tool-2026-03-01"),
    ],
    ids=str,
)
def test_a_field_in_beta_names_its_beta(extra, beta):
    request = Request(model="owl-2", messages=HELLO, options=Options(extra=extra))
    named = target_of(headers=(("anthropic-beta", f"{beta[:-10]}2030-01-01"),))

    assert dict(wire.encode_chat(request, TARGET, []).headers)["anthropic-beta"] == beta
    assert dict(wire.encode_chat(request, named, []).headers)["anthropic-beta"] == f"{beta[:-10]}2030-01-01"


def test_an_edit_in_beta_names_its_own_beside_that_of_editing():
    extra = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    request = wire.encode_chat(Request(model="owl-2", messages=HELLO, options=Options(extra=extra)), TARGET, [])
    assert dict(request.headers)["anthropic-beta"] == "context-management-2025-06-27,compact-2026-01-12"


def test_headers_an_mcp_server_cannot_be_given_are_noted_without_their_value():
    notes = []
    tool = McpTool("https://m.example/mcp", "maps", {"X-Team": "secret-blue", "Authorization": "Basic c2VjcmV0"})
    assert "authorization_token" not in asked(tools=(tool,), notes=notes)["mcp_servers"][0]
    assert [note.what for note in notes] == ["header 'X-Team' of 'maps'", "header 'Authorization' of 'maps'"]
    assert "secret" not in str(notes)


# ── counting ──


def test_counting_sends_the_prompt_and_nothing_else():
    notes = []
    options = Options(temperature=1.0, max_tokens=5, stop=("x",), metadata={"user_id": "u"}, extra={"container": "c"})
    tools = (LOOK, McpTool("https://m.example", "maps"))
    request = Request(model="owl-2", messages=(Message.system("S"), *HELLO), tools=tools, options=options, stream=True)
    counted = wire.encode_count(request, TARGET, notes)

    assert counted.url == "https://x.example/v1/messages/count_tokens"
    assert json.loads(counted.body).keys() == {"model", "messages", "system", "tools"}
    assert [note.what for note in notes] == ["MCP servers"]


def test_a_toolset_in_the_providers_words_is_not_counted_either():
    notes = []
    toolset = ProviderTool({"type": "mcp_toolset", "mcp_server_name": "maps"})
    extra = {"mcp_servers": [{"type": "url", "name": "maps", "url": "https://m.example"}]}
    request = Request(model="owl-2", messages=HELLO, tools=(toolset,), options=Options(extra=extra))

    assert json.loads(wire.encode_count(request, TARGET, notes).body).keys() == {"model", "messages"}
    assert [note.what for note in notes] == ["MCP servers"]


def test_what_will_be_cleared_is_not_counted():
    extra = {"context_management": {"edits": []}}
    counted = wire.encode_count(Request(model="owl-2", messages=HELLO, options=Options(extra=extra)), TARGET, [])
    assert json.loads(counted.body)["context_management"] == {"edits": []}
    assert dict(counted.headers)["anthropic-beta"] == "context-management-2025-06-27"


def test_the_count_is_read():
    assert wire.decode_count(b'{"input_tokens": 14}', TARGET) == 14
    with pytest.raises(InvalidResponse):
        wire.decode_count(b'{"input_tokens": "many"}', TARGET)


# ── answers ──


def message_of(*blocks, stop="end_turn", usage=None, **more):
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "owl-2-7",
        "content": blocks,
        "stop_reason": stop,
    }
    return json.dumps(whole | {"usage": usage or {"input_tokens": 3, "output_tokens": 2}} | more).encode()


def answer(*blocks, **more):
    return wire.decode_chat(message_of(*blocks, **more), TARGET)


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def started(index, **block):
    return event("content_block_start", index=index, content_block=block)


def grown(index, kind, **delta):
    return event("content_block_delta", index=index, delta={"type": kind, **delta})


def stopped(index):
    return event("content_block_stop", index=index)


START = event(
    "message_start",
    message={"id": "msg_1", "model": "owl-2-7", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}},
)
END = event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 2})
STOP = event("message_stop")


def heard(*frames):
    decoder = wire.chat_decoder(TARGET)
    return decoder.feed(b"".join(frames)) + decoder.close()


def streamed(*frames):
    return fold(heard(START, *frames, END, STOP))


def test_a_stream_of_every_kind_of_block_is_the_body_that_says_the_same():
    blocks = (
        {"type": "thinking", "thinking": "Hm, fog.", "signature": "sig=="},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "fog"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "url": "https://x.example"}],
        },
        {"type": "text", "text": "It is foggy.", "citations": [{"url": "https://x.example"}]},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"city": "Oslo"}, "caller": {"type": "direct"}},
    )
    stream = streamed(
        *(started(0, type="thinking", thinking="", signature=""), grown(0, "thinking_delta", thinking="Hm, ")),
        *(grown(0, "thinking_delta", thinking="fog."), grown(0, "signature_delta", signature="sig=="), stopped(0)),
        *(started(1, **blocks[1]), event("ping"), stopped(1)),
        *(
            started(2, type="server_tool_use", id="s1", name="web_search", input={}),
            grown(2, "input_json_delta", partial_json=""),
        ),
        *(
            grown(2, "input_json_delta", partial_json='{"query": '),
            grown(2, "input_json_delta", partial_json='"fog"}'),
            stopped(2),
        ),
        *(started(3, **blocks[3]), stopped(3)),
        *(
            started(4, type="text", text="", citations=[]),
            grown(4, "citations_delta", citation={"url": "https://x.example"}),
        ),
        *(grown(4, "text_delta", text="It is "), grown(4, "text_delta", text="foggy."), stopped(4)),
        *(
            started(5, type="tool_use", id="t1", name="look", input={}, caller={"type": "direct"}),
            grown(5, "input_json_delta", partial_json=""),
        ),
        *(
            grown(5, "input_json_delta", partial_json='{"city":'),
            grown(5, "input_json_delta", partial_json='"Oslo"}'),
            stopped(5),
        ),
    )
    assert stream == answer(*blocks)
    assert stream.message.parts == (
        Thinking("Hm, fog.", mine({"signature": "sig=="})),
        Thinking("", mine({"redacted": "xyz"})),
        OpaquePart("server_tool_use", mine(blocks[2])),
        OpaquePart("web_search_tool_result", mine(blocks[3])),
        Text("It is foggy.", mine({"citations": [{"url": "https://x.example"}]})),
        ToolCall("t1", "look", '{"city":"Oslo"}', mine({"caller": {"type": "direct"}})),
    )


def test_an_answer_sent_back_is_the_answer_that_came():
    blocks = [
        {"type": "thinking", "thinking": "", "signature": "sig=="},
        {"type": "compaction", "content": "so far", "signature": "c=="},
        {"type": "fallback", "from": {"model": "owl-3"}, "to": {"model": "owl-2"}},
        {"type": "text", "text": "fog", "citations": [{"cited_text": "fog"}]},
        {"type": "mcp_tool_use", "id": "m1", "name": "find", "server_name": "maps", "input": {}},
        {
            "type": "tool_use",
            "id": "t1",
            "name": "look",
            "input": {},
            "caller": {"type": "direct"},
            "toolset_name": "eyes",
        },
    ]
    assert turns(*HELLO, answer(*blocks).message)[1][1] == blocks


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("compaction", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause"),
    ],
)
def test_stop_reasons_have_one_meaning_each(raw, reason):
    response = answer({"type": "text", "text": "x"}, stop=raw)
    assert (response.finish_reason, response.raw_finish_reason, response.notes) == (reason, raw, ())


def test_an_unknown_stop_reason_is_noted():
    response = answer({"type": "text", "text": "x"}, stop="bored")
    assert (response.finish_reason, response.raw_finish_reason) == ("stop", "bored")
    assert "bored" in str(response.notes[0])


def test_what_an_answer_says_beside_its_content_is_metadata():
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    usage = {
        "input_tokens": 3,
        "output_tokens": 0,
        "service_tier": "standard",
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "server_tool_use": {"web_search_requests": 2},
        "fallback_credit": {"tokens": 4},
    }
    response = answer(stop="refusal", stop_sequence="END", stop_details=details, usage=usage, diagnostics=None)
    assert response.metadata == {
        "stop_sequence": "END",
        "stop_details": '{"type":"refusal","category":"cyber","explanation":null}',
        "service_tier": "standard",
        "server_tool_use": '{"web_search_requests":2}',
        "fallback_credit": '{"tokens":4}',
    }


def test_a_stream_tells_the_same_facts():
    end = event(
        "message_delta",
        delta={"stop_reason": "stop_sequence", "stop_sequence": "END", "container": {"id": "c1"}},
        usage={"output_tokens": 2},
    )
    assert fold(heard(START, end, STOP)).metadata == {"stop_sequence": "END", "container": '{"id":"c1"}'}


# ── usage ──


def test_the_caches_share_is_inside_the_input_and_reasoning_inside_the_output():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 1000,
        "output_tokens": 7,
    }
    response = answer(usage=usage | {"output_tokens_details": {"thinking_tokens": 5}})
    assert response.usage == Usage(
        input_tokens=1110, output_tokens=7, cache_read_tokens=100, cache_creation_tokens=1000, reasoning_tokens=5
    )


def test_later_counts_replace_only_what_they_name():
    start = event(
        "message_start",
        message={"id": "m", "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}},
    )
    end = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"input_tokens": None, "output_tokens": 9})
    assert fold(heard(start, end, STOP)).usage == Usage(input_tokens=7, output_tokens=9, cache_read_tokens=4)


def test_nothing_but_zeros_at_the_start_is_not_a_count():
    start = event("message_start", message={"id": "m", "usage": {"input_tokens": 0, "output_tokens": 0}})
    assert not any(isinstance(event, UsageReported) for event in heard(start))


# ── what servers get wrong ──


def test_an_error_in_the_stream_is_its_end():
    events = heard(
        START, event("error", error={"type": "overloaded_error", "message": "Overloaded"}, request_id="req_9")
    )
    assert isinstance(events[-1], Failed)
    error = events[-1].error
    assert isinstance(error, Overloaded)
    assert (error.status, error.request_id, error.retryable, error.provider) == (529, "req_9", True, "lyrebird")


@pytest.mark.parametrize("data", [b'{"error":{"message":"gone"}}', b'{"type":"error","message":"gone"}'])
def test_an_error_without_its_envelope_is_an_error(data):
    assert isinstance(heard(START, b"data: " + data + b"\n\n")[-1].error, ApiError)


def test_the_name_of_an_event_stands_for_a_missing_type():
    assert "gone" in str(heard(START, b'event: error\ndata: {"message":"gone"}\n\n')[-1].error)


def test_an_error_in_a_200_is_an_error():
    with pytest.raises(ApiError, match="not today"):
        wire.decode_chat(b'{"type":"error","error":{"type":"api_error","message":"not today"}}', TARGET)


def test_an_error_event_that_is_no_json_is_an_error():
    assert "upstream gone" in str(heard(START, b"event: error\ndata: upstream gone\n\n")[-1].error)


def test_only_the_last_event_ends_a_stream():
    """A stop reason is not the end: counts may follow it, and every server sends `message_stop`."""
    events = heard(START, started(0, type="text", text="so"), stopped(0), END)
    assert isinstance(events[-1].error, IncompleteStream)
    with pytest.raises(IncompleteStream) as caught:
        fold(events)
    assert caught.value.partial.text == "so"


def test_a_stream_of_nothing_but_its_end_is_an_error():
    assert isinstance(heard(STOP)[-1].error, InvalidResponse)


def test_a_body_without_content_is_an_error():
    with pytest.raises(InvalidResponse):
        wire.decode_chat(b'{"id":"msg_1","type":"message"}', TARGET)


def test_blocks_may_grow_side_by_side():
    response = streamed(
        started(0, type="text", text=""),
        started(1, type="tool_use", id="t1", name="look", input={}),
        grown(1, "input_json_delta", partial_json="{"),
        grown(0, "text_delta", text="a"),
        grown(1, "input_json_delta", partial_json="}"),
        stopped(1),
        grown(0, "text_delta", text="b"),
        stopped(0),
    )
    assert (response.text, response.tool_calls[0].arguments) == ("ab", "{}")


def test_a_block_that_was_never_closed_is_closed_by_the_next_of_its_number_or_the_end():
    response = streamed(started(0, type="fallback"), started(0, type="text", text="a"), started(0, type="hologram"))
    assert [type(part) for part in response.message.parts] == [OpaquePart, Text, OpaquePart]


def test_an_input_that_came_whole_is_used_when_no_fragment_comes():
    assert (
        streamed(started(0, type="tool_use", id="t", name="n", input={"a": 1}), stopped(0)).tool_calls[0].arguments
        == '{"a":1}'
    )
    twice = streamed(
        started(0, type="tool_use", id="t", name="n", input={"a": 1}),
        grown(0, "input_json_delta", partial_json='{"a": 1}'),
        stopped(0),
    )
    assert twice.tool_calls[0].arguments == '{"a": 1}'


def test_no_input_at_all_is_the_empty_object():
    call = streamed(
        started(0, type="tool_use", id="t", name="n", input={}),
        grown(0, "input_json_delta", partial_json=""),
        stopped(0),
    ).tool_calls[0]
    assert call.arguments == "{}"


def test_an_empty_fragment_says_nothing_of_the_input():
    block = {"type": "server_tool_use", "id": "s1", "name": "n", "input": {"a": 1}}
    assert streamed(started(0, **block), grown(0, "input_json_delta", partial_json=""), stopped(0)) == answer(block)


def test_an_empty_signature_is_none():
    response = streamed(
        started(0, type="thinking", thinking="hm"), grown(0, "signature_delta", signature=""), stopped(0)
    )
    assert response.message.parts == (Thinking("hm"),)


def test_unknown_blocks_are_kept_with_all_that_grew_in_them():
    response = streamed(
        started(0, type="hologram", size=3),
        grown(0, "hologram_delta", light="ab"),
        grown(0, "hologram_delta", light="cd"),
        stopped(0),
    )
    assert response.message.parts == (OpaquePart("hologram", mine({"type": "hologram", "size": 3, "light": "abcd"})),)


def test_a_compaction_comes_in_a_delta_of_its_own():
    delta = grown(0, "compaction_delta", content="so far", encrypted_content="e==")
    response = streamed(started(0, type="compaction", content=None), delta, stopped(0))
    assert response.message.parts[0].opaque.data == {
        "type": "compaction",
        "content": "so far",
        "encrypted_content": "e==",
    }


def test_a_piece_of_a_kept_block_that_is_no_text_is_noted():
    response = streamed(started(0, type="hologram"), grown(0, "depth_delta", depth=3, light=None), stopped(0))
    assert [note.what for note in response.notes] == ["delta of type 'depth_delta'"]


def test_a_kept_block_comes_as_one_event():
    events = heard(START, started(0, type="fallback", to={"model": "owl-1"}), stopped(0))
    assert any(isinstance(event, PartAdded) for event in events)


def test_unknown_deltas_and_events_are_noted_and_nothing_is_lost():
    response = streamed(
        event("weather", sky="grey"),
        started(0, type="text", text=""),
        grown(0, "sparkle_delta", sparkle=1),
        grown(0, "text_delta", text="a"),
        stopped(0),
    )
    assert response.text == "a"
    assert [note.what for note in response.notes] == ["event of type 'weather'", "delta of type 'sparkle_delta'"]


def test_unknown_fields_of_a_block_are_kept_with_it():
    assert answer({"type": "text", "text": "a", "tone": "warm", "citations": None}).message.parts == (
        Text("a", mine({"tone": "warm"})),
    )


def test_half_a_character_waits_for_its_other_half():
    events = heard(
        START,
        started(0, type="text", text=""),
        grown(0, "text_delta", text="\ud83e"),
        grown(0, "text_delta", text="\udd89"),
        stopped(0),
    )
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "🦉"


# ── errors ──


def refused(status, kind, message, **more):
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}} | more).encode()
    return wire.decode_error(HttpResponse(status=status, body=body, headers=(("request-id", "req_header"),)), TARGET)


@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "retryable"),
    [
        (401, "authentication_error", "invalid x-api-key", Unauthorized, False),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", TooLong, False),
        (400, "invalid_request_error", "Your credit balance is too low", ApiError, False),
        (402, "billing_error", "Pay first", ApiError, False),
        (403, "permission_error", "Not yours", Unauthorized, False),
        (404, "not_found_error", "model: owl-9", ApiError, False),
        (413, "request_too_large", "Request exceeds the maximum size", TooLong, False),
        (429, "rate_limit_error", "Slow down", RateLimited, True),
        (500, "api_error", "Internal server error", ApiError, True),
        (504, "timeout_error", "Timed out", ApiError, True),
        (529, "overloaded_error", "Overloaded", Overloaded, True),
    ],
)
def test_errors_are_told_apart(status, kind, message, error, retryable):
    found = refused(status, kind, message)
    assert (type(found), found.status, found.type, found.retryable) == (error, status, kind, retryable)
    assert message in str(found)
    inside = heard(START, event("error", error={"type": kind, "message": message}))[-1].error
    assert (type(inside), inside.status, inside.type, inside.retryable) == (error, status, kind, retryable)


@pytest.mark.parametrize(("status", "retryable"), [(409, True), (412, False)])
def test_other_statuses_are_told_apart_by_themselves(status, retryable):
    assert refused(status, "invalid_request_error", "conflict").retryable is retryable


@pytest.mark.parametrize("status", [429, 500, 529])
def test_a_server_that_advises_against_it_is_not_asked_again(status):
    answer = HttpResponse(status=status, body=b"{}", headers=(("x-should-retry", "false"),))
    assert not wire.decode_error(answer, TARGET).retryable


def test_the_request_id_in_the_body_wins_over_the_header():
    assert refused(404, "not_found_error", "model", request_id="req_body").request_id == "req_body"
    assert refused(404, "not_found_error", "model", request_id=None).request_id == "req_header"


def test_an_error_that_is_no_json_is_quoted():
    assert "bad gateway" in str(wire.decode_error(HttpResponse(status=502, body=b"bad gateway"), TARGET))
