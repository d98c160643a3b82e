import json
import struct
import zlib
from typing import Any

import pytest

from dragoman.errors import ApiError, IncompleteStream, InvalidResponse, Misuse, Overloaded, RateLimited, TooLong
from dragoman.events import Event, Failed, Finished, ThinkingEnd, UsageReported, fold
from dragoman.exchange import UNSET, McpTool, Note, Options, ProviderTool, Request, Response, ToolSpec
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
from dragoman.wire import bedrock_converse

Json = dict[str, Any]


def target(model: str = "lyre.owl-1:0", *, quirks: Quirks | None = None, **family: Any) -> Target:
    rules = Family(name="owl", **family)
    base = "https://runtime.example"
    return Target(
        provider="b", model=model, wire="bedrock-converse", base_url=base, family=rules, quirks=quirks or Quirks()
    )


CLAUDE: Json = {"body_style": "claude"}


def ask(*messages: Message, **more: Any) -> Request:
    return Request(model="b:owl", messages=messages or (Message.user("hi"),), **more)


def sent(request: Request, to: Target | None = None, notes: list[Note] | None = None) -> Json:
    wire = bedrock_converse.encode_chat(request, to or target(), [] if notes is None else notes)
    body: Json = json.loads(wire.body)
    return body


def with_options(**options: Any) -> Request:
    return ask(options=Options(**options))


# ── where and how it is asked ───────────────────────────────────────────────────────────────────


def test_the_model_id_is_one_percent_encoded_segment_of_the_path():
    arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.lyre.owl-1:0"

    url = bedrock_converse.encode_chat(ask(), target(arn), []).url

    segment = "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.lyre.owl-1%3A0"
    assert url == f"https://runtime.example/model/{segment}/converse"


def test_a_stream_is_another_call():
    assert bedrock_converse.encode_chat(ask(stream=True), target(), []).url.endswith("/converse-stream")


def test_a_plain_question_is_nothing_but_its_messages():
    assert sent(ask()) == {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}


def test_options_go_where_converse_has_them():
    body = sent(
        with_options(max_tokens=9, temperature=0.5, top_p=0.9, stop=("END",), metadata={"a": "b"}, service_tier="flex")
    )

    assert body["inferenceConfig"] == {"maxTokens": 9, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]}
    assert body["requestMetadata"] == {"a": "b"}
    assert body["serviceTier"] == {"type": "flex"}


def test_extra_fields_join_ours_inside_the_same_object():
    options = Options(max_tokens=9, top_k=3, extra={"additionalModelRequestFields": {"beta": 1}, "guardrailConfig": {}})

    body = sent(ask(options=options), target(**CLAUDE))

    assert body["additionalModelRequestFields"] == {"top_k": 3, "beta": 1}
    assert body["guardrailConfig"] == {}
    assert body["inferenceConfig"] == {"maxTokens": 9}


def test_a_response_schema_is_sent_as_text():
    schema = {"title": "A City!", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

    wire = sent(with_options(response_schema=schema))["outputConfig"]["textFormat"]

    assert wire["type"] == "json_schema"
    definition = wire["structure"]["jsonSchema"]
    assert definition["name"] == "A_City_"
    assert json.loads(definition["schema"])["properties"] == {"name": {"type": "string"}}


# ── what the model's maker must be told ─────────────────────────────────────────────────────────


def fields(to: Target, **options: Any) -> Json:
    found: Json = sent(with_options(**options), to).get("additionalModelRequestFields", {})
    return found


WORDS: Json = {"efforts": ("none", "low", "medium", "high"), "thinking": "effort"}


@pytest.mark.parametrize(
    ("family", "effort", "told"),
    [
        (
            CLAUDE | {"thinking": "adaptive", "efforts": ("low", "high")},
            "high",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        (CLAUDE | {"thinking": "budget"}, "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        (CLAUDE | {"thinking": "adaptive"}, "none", {"thinking": {"type": "disabled"}}),
        (WORDS | {"body_style": "nova"}, "low", {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}),
        (WORDS | {"body_style": "nova"}, "none", {"reasoningConfig": {"type": "disabled"}}),
        (WORDS | {"body_style": "effort"}, "high", {"reasoning_effort": "high"}),
        (WORDS | {"body_style": "reasoning_object"}, "none", {"reasoning": {"effort": "none"}}),
        (WORDS | {"body_style": "reasoning_config"}, "ultra", {"reasoning_config": "high"}),
    ],
)
def test_effort_is_said_in_the_words_of_the_family(family, effort, told):
    assert fields(target(**family), effort=effort) == told


def test_a_budget_of_thought_stays_below_the_answer():
    told = fields(target(**CLAUDE, thinking="budget"), effort="high", max_tokens=3000)

    assert told["thinking"]["budget_tokens"] == 2249


def test_an_effort_that_has_no_field_is_noted():
    notes: list[Note] = []

    assert "additionalModelRequestFields" not in sent(with_options(effort="high"), target(), notes)
    assert [(note.act, note.what) for note in notes] == [("dropped", "effort")]


@pytest.mark.parametrize("style", ["effort", "reasoning_object", "reasoning_config"])
def test_an_effort_without_a_word_is_noted_and_not_sent_empty(style):
    notes: list[Note] = []

    body = sent(with_options(effort="none"), target(body_style=style, efforts=("low",)), notes)

    assert "additionalModelRequestFields" not in body
    assert [note.what for note in notes] == ["effort"]


def test_thought_that_would_leave_no_room_for_the_answer_is_not_asked_for():
    notes: list[Note] = []

    body = sent(with_options(effort="high", max_tokens=500), target(**CLAUDE, thinking="budget"), notes)

    assert "additionalModelRequestFields" not in body
    assert "leaves no room" in notes[0].why


def test_top_k_has_a_place_of_its_own_in_each_family():
    assert fields(target(**CLAUDE), top_k=5) == {"top_k": 5}
    assert fields(target(body_style="nova"), top_k=5) == {"inferenceConfig": {"topK": 5}}


# ── tools ───────────────────────────────────────────────────────────────────────────────────────

CLOCK = ToolSpec("clock", "Tells the time.", {"type": "object", "properties": {}})


def test_a_tool_is_a_specification():
    assert sent(ask(tools=[CLOCK]))["toolConfig"] == {
        "tools": [
            {
                "toolSpec": {
                    "name": "clock",
                    "description": "Tells the time.",
                    "inputSchema": {"json": {"type": "object", "properties": {}}},
                }
            }
        ]
    }


def test_an_empty_description_is_left_out():
    (tool,) = sent(ask(tools=[ToolSpec("clock")]))["toolConfig"]["tools"]

    assert "description" not in tool["toolSpec"]


def test_a_strict_tool_gets_a_closed_schema():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

    (tool,) = sent(ask(tools=[ToolSpec("clock", "", schema, strict=True)]))["toolConfig"]["tools"]

    assert tool["toolSpec"]["strict"] is True
    assert tool["toolSpec"]["inputSchema"]["json"]["additionalProperties"] is False


def test_a_family_without_schemas_is_not_asked_to_be_strict():
    notes: list[Note] = []

    (tool,) = sent(ask(tools=[ToolSpec("a", strict=True)]), target(schema_modes=("tool",)), notes)["toolConfig"][
        "tools"
    ]

    assert "strict" not in tool["toolSpec"]
    assert [note.what for note in notes] == ["strict of 'a'"]


def test_a_tool_of_the_provider_is_sent_verbatim():
    system_tool = {"systemTool": {"name": "grounding"}}

    assert sent(ask(tools=[ProviderTool(system_tool)]))["toolConfig"]["tools"] == [system_tool]


def test_an_mcp_server_cannot_be_called_from_there():
    with pytest.raises(Misuse, match="MCP"):
        sent(ask(tools=[McpTool("https://mcp.example", "files")]))


@pytest.mark.parametrize(("choice", "wire"), [("required", {"any": {}}), ("clock", {"tool": {"name": "clock"}})])
def test_a_forced_choice_is_converses_own(choice, wire):
    assert sent(ask(tools=[CLOCK], tool_choice=choice))["toolConfig"]["toolChoice"] == wire


def test_no_tools_now_means_no_tools_sent():
    assert "toolConfig" not in sent(ask(tools=[CLOCK], tool_choice="none"))


CALLED = (
    Message.user("time?"),
    Message.assistant(ToolCall("c1", "clock", "{}")),
    Message.tool(ToolResult("c1", "noon")),
)


def test_tools_that_the_history_used_cannot_be_forbidden_and_that_is_noted():
    notes: list[Note] = []

    body = sent(ask(*CALLED, tools=[CLOCK], tool_choice="none"), target(), notes)

    assert "toolChoice" not in body["toolConfig"]
    assert [note.what for note in notes] == ["tool_choice 'none'"]


def test_a_family_with_a_choice_of_its_own_forbids_tools_by_it():
    body = sent(ask(*CALLED, tools=[CLOCK], tool_choice="none"), target(**CLAUDE))

    assert "toolChoice" not in body["toolConfig"]
    assert body["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}


@pytest.mark.parametrize(
    ("choice", "word"),
    [("auto", {"type": "auto"}), ("required", {"type": "any"}), ("clock", {"type": "tool", "name": "clock"})],
)
def test_one_call_at_a_time_takes_the_choice_out_of_converses_hands(choice, word):
    request = ask(tools=[CLOCK], tool_choice=choice, options=Options(parallel_tool_calls=False))

    body = sent(request, target(**CLAUDE))

    assert "toolChoice" not in body["toolConfig"]
    assert body["additionalModelRequestFields"] == {"tool_choice": word | {"disable_parallel_tool_use": True}}


def test_no_calls_at_all_are_not_also_asked_to_come_one_at_a_time():
    request = ask(*CALLED, tools=[CLOCK], tool_choice="none", options=Options(parallel_tool_calls=False))

    assert sent(request, target(**CLAUDE))["additionalModelRequestFields"] == {"tool_choice": {"type": "none"}}


def test_a_history_with_calls_names_their_tools_even_when_none_are_offered():
    notes: list[Note] = []

    (tool,) = sent(ask(*CALLED), target(), notes)["toolConfig"]["tools"]

    assert tool["toolSpec"]["name"] == "clock"
    assert [(note.act, note.what) for note in notes] == [("repaired", "tools")]


# ── messages ────────────────────────────────────────────────────────────────────────────────────


def content(*parts: Any, to: Target | None = None, role: str = "user", notes: list[Note] | None = None) -> list[Json]:
    message = Message(role, tuple(Text(part) if isinstance(part, str) else part for part in parts))  # type: ignore[arg-type]
    *_, turn = sent(ask(Message.user("hi"), message), to, notes)["messages"]
    found: list[Json] = turn["content"]
    return found[1:] if turn["role"] == "user" else found


def test_leading_instructions_stand_apart_and_later_ones_in_their_place():
    body = sent(ask(Message.system("be brief"), Message.user("hi"), Message.assistant("yes?"), Message.system("sing")))

    assert body["system"] == [{"text": "be brief"}]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "system"]


def test_instructions_in_between_become_the_users_where_they_must_come_first():
    notes: list[Note] = []
    request = ask(Message.user("hi"), Message.assistant("yes?"), Message.system("sing"), Message.user("now"))

    *_, last = sent(request, target(system_anywhere=False), notes)["messages"]

    assert last == {"role": "user", "content": [{"text": "sing"}, {"text": "now"}]}
    assert [note.what for note in notes] == ["a system message"]


def test_instructions_are_words_only():
    with pytest.raises(Misuse, match="system message"):
        sent(ask(Message.system(Image(b"x", "image/png")), Message.user("hi")))


def turns_after_results(beside: str, *next_question: Any) -> list[str]:
    to = target(**CLAUDE, beside_results=beside)
    *_, results, model, user = [{}, {}, {}, *sent(ask(*CALLED, Message.user(*next_question)), to)["messages"]]
    return [kind for turn in (results, model, user) for block in turn.get("content", []) for kind in block]


def test_what_may_not_stand_beside_results_gets_a_turn_of_its_own():
    file = Document(b"x", "application/pdf")

    assert turns_after_results("nothing", "and?") == ["toolResult", "text", "text"]
    assert turns_after_results("no files", "read", file) == ["toolResult", "text", "text", "document"]
    assert turns_after_results("no files", "and?") == ["text", "toolUse", "toolResult", "text"]
    assert turns_after_results("anything", "read", file) == ["text", "toolUse", "toolResult", "text", "document"]


def test_results_and_the_next_question_are_one_turn_of_the_user():
    *_, last = sent(ask(*CALLED, Message.user("and now?"), tools=[CLOCK]))["messages"]

    assert last == {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "noon"}]}}, {"text": "and now?"}],
    }


def test_a_call_goes_back_as_an_object():
    call = ToolCall("c1", "clock", '{"zone": "UTC"}')

    assert content(call, role="assistant") == [
        {"toolUse": {"toolUseId": "c1", "name": "clock", "input": {"zone": "UTC"}}}
    ]


def test_arguments_that_are_no_object_go_back_inside_one():
    notes: list[Note] = []

    (block,) = content(ToolCall("c1", "clock", '{"zone": '), role="assistant", notes=notes)

    assert block["toolUse"]["input"] == {"arguments": '{"zone": '}
    assert "arguments of 'clock'" in [note.what for note in notes]


def test_the_name_of_a_call_made_elsewhere_is_fitted():
    notes: list[Note] = []
    request = ask(Message.user("hi"), Message.assistant(ToolCall("c1", "files.read")), Message.tool(ToolResult("c1")))

    body = sent(request, target(), notes)

    assert body["messages"][1]["content"][0]["toolUse"]["name"] == "files_read"
    assert body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "files_read"
    assert "name of the call 'files.read'" in [note.what for note in notes]


def test_a_result_carries_its_failure_and_its_pictures():
    picture = Image(b"png", "image/png")

    (block,) = content(ToolResult("c1", "broken", is_error=True, blocks=(picture,)), role="tool")

    image = {"image": {"format": "png", "source": {"bytes": "cG5n"}}}
    assert block == {"toolResult": {"toolUseId": "c1", "content": [{"text": "broken"}, image], "status": "error"}}


def test_an_empty_result_is_filled():
    (block,) = content(ToolResult("c1"), role="tool")

    assert block["toolResult"]["content"] == [{"text": "."}]


def test_empty_text_is_not_sent_but_blank_text_is():
    assert content("", "\n") == [{"text": "\n"}]


def test_a_family_that_wants_the_user_first_hears_one():
    notes: list[Note] = []

    first, _ = sent(ask(Message.assistant("hello")), target(), notes)["messages"]

    assert first == {"role": "user", "content": [{"text": "."}]}
    assert notes[0].what == "the history"
    assert len(sent(ask(Message.assistant("hello")), target(opens_with_user=False))["messages"]) == 1


def test_instructions_alone_are_no_conversation():
    notes: list[Note] = []

    body = sent(ask(Message.system("sing")), target(opens_with_user=False), notes)

    assert body["messages"] == [{"role": "user", "content": [{"text": "."}]}]
    assert notes[0].what == "the history"


def mine(**data: Any) -> Opaque:
    return Opaque("b/owl@bedrock-converse", data)


def test_signed_and_sealed_reasoning_go_back_as_they_came():
    signed, sealed = Thinking("hm", mine(signature="s1")), Thinking("", mine(redacted="AAEC"))

    assert content(signed, sealed, "so", role="assistant") == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s1"}}},
        {"reasoningContent": {"redactedContent": "AAEC"}},
        {"text": "so"},
    ]


def test_unsigned_reasoning_goes_back_only_where_it_is_wanted():
    wanted = target(quirks=Quirks(reasoning_echo="always"))
    refused = target(quirks=Quirks(reasoning_echo="always"), takes_reasoning_back=False)

    assert content(Thinking("hm"), "so", role="assistant") == [{"text": "so"}]
    assert content(Thinking("hm"), "so", role="assistant", to=refused) == [{"text": "so"}]
    assert content(Thinking("hm"), "so", role="assistant", to=wanted)[0] == {
        "reasoningContent": {"reasoningText": {"text": "hm"}}
    }


def test_cited_text_goes_back_with_its_citations():
    cited = Text("noon", mine(citations=[{"title": "log"}]))

    assert content(cited, role="assistant", to=target(**CLAUDE)) == [
        {"citationsContent": {"content": [{"text": "noon"}], "citations": [{"title": "log"}]}}
    ]


def test_a_family_that_takes_no_citations_back_gets_the_text():
    notes: list[Note] = []

    assert content(Text("noon", mine(citations=[{}])), role="assistant", notes=notes) == [{"text": "noon"}]
    assert [note.what for note in notes] == ["citations"]


def test_a_block_that_only_its_issuer_knows_goes_back_verbatim():
    guard = {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}

    assert content(OpaquePart("guardContent", mine(**guard))) == [guard]


# ── files ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("part", "kind", "format"),
    [
        (Image(b"x", "image/jpeg"), "image", "jpeg"),
        (Audio(b"x", "audio/mpeg"), "audio", "mp3"),
        (Document(b"x", "video/quicktime"), "video", "mov"),
        (Document(b"x", "text/x-python", name="main"), "document", "txt"),
    ],
)
def test_a_file_is_named_by_its_format(part, kind, format):
    block = content("look", part)[1][kind]

    assert (block["format"], block["source"]) == (format, {"bytes": "eA=="})


def test_a_file_in_s3_is_only_pointed_at():
    block = content("look", Document(url="s3://shelf/report.pdf", name="report"))[1]["document"]

    assert block == {"format": "pdf", "source": {"s3Location": {"uri": "s3://shelf/report.pdf"}}, "name": "report"}


@pytest.mark.parametrize(
    ("part", "kind", "format"),
    [
        (Image(url="s3://shelf/a.JPG"), "image", "jpeg"),
        (Document(url="s3://shelf/a.3gp"), "video", "three_gp"),
        (Document(url="s3://shelf/a.htm"), "document", "html"),
    ],
)
def test_the_end_of_a_name_tells_the_format(part, kind, format):
    assert content("look", part)[1][kind]["format"] == format


@pytest.mark.parametrize(
    "part",
    [
        Image(url="https://pictures.example/a.png", media_type="image/png"),
        Image(file_id="f1", media_type="image/png"),
        Image(b"x", "image/tiff"),
    ],
)
def test_a_file_that_converse_cannot_carry_is_misuse(part):
    with pytest.raises(Misuse, match="Converse cannot"):
        content("look", part)


def names(*given: str, notes: list[Note] | None = None) -> list[str]:
    documents = [Document(b"x", "application/pdf", name=name) for name in given]
    return [block["document"]["name"] for block in content("read", *documents, notes=notes)[1:]]


def test_document_names_keep_to_the_allowed_letters_and_are_unique():
    notes: list[Note] = []

    assert names("my_report: final.pdf", "a   b", "plan", "plan", "", notes=notes) == [
        "my-report- final",
        "a b",
        "plan",
        "plan 2",
        "document",
    ]
    assert len(notes) == 3
    assert len(names("n" * 500)[0]) <= 200


def test_a_document_is_never_without_a_word():
    assert content(Document(b"x", "application/pdf"))[1:] == [{"text": "."}]


def test_text_that_is_to_be_cited_goes_as_text():
    part = Document("Café".encode(), "text/plain", name="menu", context="ours", citations=True)

    assert content("read", part)[1]["document"] == {
        "format": "txt",
        "source": {"text": "Café"},
        "name": "menu",
        "context": "ours",
        "citations": {"enabled": True},
    }


def test_cited_text_in_another_encoding_goes_as_bytes():
    part = Document(b"caf\xe9", "text/plain", citations=True)

    assert content("read", part)[1]["document"]["source"] == {"bytes": "Y2Fm6Q=="}


# ── caching ─────────────────────────────────────────────────────────────────────────────────────

POINT = {"cachePoint": {"type": "default"}}


def test_a_mark_is_a_point_after_its_part():
    assert content(Text("long", cache="5m"), Text("longer", cache="1h"), "short", to=target(**CLAUDE)) == [
        {"text": "long"},
        POINT,
        {"text": "longer"},
        {"cachePoint": {"type": "default", "ttl": "1h"}},
        {"text": "short"},
    ]


def test_a_tool_may_be_marked():
    marked = ToolSpec("clock", cache="5m")

    assert sent(ask(tools=[marked]))["toolConfig"]["tools"][1] == POINT
    assert len(sent(ask(tools=[marked]), target(caches=False))["toolConfig"]["tools"]) == 1


def test_a_mark_on_a_tool_that_cannot_be_heeded_is_noted():
    notes: list[Note] = []
    sent(ask(tools=[ToolSpec("clock", cache="5m")]), target(caches=False), notes)

    assert [note.what for note in notes] == ["cache mark"]


def test_a_mark_inside_a_result_is_the_results():
    result = ToolResult("c1", blocks=(Text("long", cache="5m"), Text("longer", cache="1h")))

    assert content(result, role="tool", to=target(**CLAUDE))[1] == {"cachePoint": {"type": "default", "ttl": "1h"}}


def test_an_hour_is_asked_only_of_those_who_have_it():
    notes: list[Note] = []

    assert content(Text("long", cache="1h"), notes=notes)[1] == POINT
    assert [(note.act, note.what) for note in notes] == [("changed", "cache mark")]


def test_of_too_many_points_the_last_are_kept():
    notes: list[Note] = []
    marked = [Text(word, cache="5m") for word in "abcd"]
    request = ask(Message.system(Text("rules", cache="5m")), Message.user(*marked), tools=[ToolSpec("t", cache="5m")])

    body = sent(request, target(), notes)

    assert (len(body["toolConfig"]["tools"]), len(body["system"])) == (1, 1)
    assert body["messages"][0]["content"].count(POINT) == 4
    assert [note.what for note in notes] == ["2 × cache mark"]


def test_a_prompt_marked_as_a_whole_has_points_at_its_ends():
    body = sent(ask(Message.system("rules"), Message.user("hi"), options=Options(cache=True)))

    assert body["system"] == [{"text": "rules"}, POINT]
    assert body["messages"][-1]["content"] == [{"text": "hi"}, POINT]


def test_a_marked_end_has_one_point():
    body = sent(ask(Message.user(Text("hi", cache="1h")), options=Options(cache=True)))

    assert len(body["messages"][-1]["content"]) == 2


def test_a_family_that_does_not_cache_sees_no_points():
    notes: list[Note] = []

    assert content(Text("long", cache="5m"), Text("x", cache="5m"), to=target(caches=False), notes=notes) == [
        {"text": "long"},
        {"text": "x"},
    ]
    assert [note.what for note in notes] == ["cache mark"]


def test_no_point_follows_a_document_that_may_not_be_followed():
    page = Document(b"x", "text/html", name="page", cache="5m")
    paper = Document(b"x", "application/pdf", name="paper", cache="5m")

    film = Document(b"x", "video/mp4", cache="5m")

    assert content("read", page)[1] == POINT
    assert content("see", film)[1] == POINT
    assert content("read", paper)[1] == POINT
    assert content("read", paper, to=target(**CLAUDE))[2] == POINT


# ── counting ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "model", ["us.lyre.owl-1:0", "lyre.owl-1:0", "arn:aws:bedrock:us-east-1:1:inference-profile/us.lyre.owl-1:0"]
)
def test_tokens_are_counted_for_the_model_behind_a_profile(model):
    request = ask(Message.system("rules"), Message.user("hi"), options=Options(max_tokens=5))

    wire = bedrock_converse.encode_count(request, target(model), [])

    assert wire.url == "https://runtime.example/model/lyre.owl-1%3A0/count-tokens"
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    assert json.loads(wire.body) == {"input": {"converse": {"messages": messages, "system": [{"text": "rules"}]}}}


def test_a_count_is_told_those_extra_fields_that_it_has():
    extra = {"additionalModelRequestFields": {"anthropic_beta": ["x"]}, "guardrailConfig": {}}

    wire = bedrock_converse.encode_count(with_options(top_k=3, extra=extra), target(**CLAUDE), [])

    counted = json.loads(wire.body)["input"]["converse"]
    assert counted.keys() == {"messages", "additionalModelRequestFields"}
    assert counted["additionalModelRequestFields"] == {"top_k": 3, "anthropic_beta": ["x"]}


def test_a_count_is_a_number_or_an_error():
    assert bedrock_converse.decode_count(b'{"inputTokens": 11}', target()) == 11
    with pytest.raises(InvalidResponse):
        bedrock_converse.decode_count(b'{"inputTokens": "many"}', target())


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def answer(*blocks: Json, stop: str = "end_turn", **more: Any) -> bytes:
    message = {"role": "assistant", "content": list(blocks)}
    return json.dumps({"output": {"message": message}, "stopReason": stop} | more).encode()


def decoded(*blocks: Json, stop: str = "end_turn", **more: Any) -> Response:
    return bedrock_converse.decode_chat(answer(*blocks, stop=stop, **more), target())


def header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()


def framed(name: str, payload: Json, kind: str = "event") -> bytes:
    headers = header(f":{kind}-type", name) + header(":message-type", kind)
    data = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(data), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + data
    return message + struct.pack("!I", zlib.crc32(message))


def delta(index: int, **said: Any) -> bytes:
    return framed("contentBlockDelta", {"contentBlockIndex": index, "delta": said, "p": "abcdef"})


def start(index: int, **block: Any) -> bytes:
    return framed("contentBlockStart", {"contentBlockIndex": index, "start": block})


def stop(index: int) -> bytes:
    return framed("contentBlockStop", {"contentBlockIndex": index})


BEGIN = framed("messageStart", {"role": "assistant"})


def ending(reason: str = "end_turn", **facts: Any) -> bytes:
    return framed("messageStop", {"stopReason": reason}) + framed("metadata", facts)


def events(*frames: bytes) -> list[Event]:
    decoder = bedrock_converse.chat_decoder(target())
    return decoder.feed(BEGIN + b"".join(frames)) + decoder.close()


COUNTS = {
    "inputTokens": 5,
    "outputTokens": 7,
    "totalTokens": 32,
    "cacheReadInputTokens": 20,
    "cacheWriteInputTokens": 0,
}


def test_an_answer_has_words_reason_and_usage():
    response = decoded({"text": "noon"}, usage=COUNTS, metrics={"latencyMs": 31}, serviceTier={"type": "flex"})

    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("noon", "stop", "end_turn")
    assert response.usage == Usage(input_tokens=25, output_tokens=7, cache_read_tokens=20, cache_creation_tokens=0)
    assert response.metadata == {"provider_latency_ms": "31", "service_tier": "flex"}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("malformed_tool_use", "error"),
        ("wandered_off", "stop"),
    ],
)
def test_every_stop_reason_has_a_meaning(raw, reason):
    response = decoded({"text": "x"}, stop=raw)

    assert (response.finish_reason, response.raw_finish_reason) == (reason, raw)
    assert bool(response.notes) == (raw == "wandered_off")


def test_a_call_counts_more_than_the_stop_reason():
    response = decoded({"toolUse": {"toolUseId": "c1", "name": "clock", "input": {"zone": 1}, "type": "tool_use"}})

    assert response.finish_reason == "tool_calls"
    assert response.tool_calls == (ToolCall("c1", "clock", '{"zone":1}'),)


def test_each_block_is_a_part_of_its_own():
    response = decoded({"type": "text", "text": "one"}, {"text": ""}, {"text": "two"})

    assert response.message.parts == (Text("one"), Text("two"))


def test_guardrail_findings_are_kept_beside_the_answer():
    trace = {"guardrail": {"modelOutput": ["x"]}}

    assert json.loads(decoded({"text": "x"}, trace=trace).metadata["trace"]) == trace


def test_reasoning_inside_the_text_is_reasoning():
    response = decoded({"text": "<thinking> hm </thinking>\n\nnoon"})

    assert (response.thinking, response.text) == (" hm ", "noon")


WHOLE_AND_STREAMED: list[tuple[str, Json, list[bytes]]] = [
    ("text", {"text": "It is noon"}, [delta(0, text="It is"), delta(0, text=" noon"), stop(0)]),
    (
        "inline thinking",
        {"text": "<thinking>a</thinking>b"},
        [delta(0, text="<thin"), delta(0, text="king>a</thinking>b")],
    ),
    (
        "signed reasoning",
        {"reasoningContent": {"reasoningText": {"text": "hm so", "signature": "s1s2"}}},
        [
            delta(0, reasoningContent={"text": "hm "}),
            delta(0, reasoningContent={"text": "so"}),
            delta(0, reasoningContent={"signature": "s1"}),
            delta(0, reasoningContent={"signature": "s2"}),
            stop(0),
        ],
    ),
    (
        "sealed reasoning",
        {"reasoningContent": {"redactedContent": "AAECAwQ="}},
        [
            delta(0, reasoningContent={"redactedContent": "AAE="}),
            delta(0, reasoningContent={"redactedContent": "AgME"}),
            stop(0),
        ],
    ),
    (
        "a call",
        {"toolUse": {"toolUseId": "c1", "name": "clock", "input": {"zone": "UTC"}}},
        [
            start(0, toolUse={"toolUseId": "c1", "name": "clock"}),
            delta(0, toolUse={"input": '{"zone":'}),
            delta(0, toolUse={"input": '"UTC"}'}),
            stop(0),
        ],
    ),
    (
        "a call without arguments",
        {"toolUse": {"toolUseId": "c1", "name": "clock", "input": {}}},
        [start(0, toolUse={"toolUseId": "c1", "name": "clock"}), delta(0, toolUse={"input": ""}), stop(0)],
    ),
    (
        "citations",
        {"citationsContent": {"content": [{"text": "noon"}], "citations": [{"title": "a"}, {"title": "b"}]}},
        [delta(0, text="noon"), delta(0, citation={"title": "a"}), delta(0, citation={"title": "b"}), stop(0)],
    ),
    (
        "citations alone",
        {"citationsContent": {"citations": [{"title": "a"}]}},
        [delta(0, citation={"title": "a"}), stop(0)],
    ),
    (
        "a call of the provider's own",
        {"toolUse": {"toolUseId": "c1", "name": "look_up", "type": "server_tool_use", "input": {"q": 1}}},
        [
            start(0, toolUse={"toolUseId": "c1", "name": "look_up", "type": "server_tool_use"}),
            delta(0, toolUse={"input": '{"q"'}),
            delta(0, toolUse={"input": ": 1}"}),
            stop(0),
        ],
    ),
    (
        "a result of the provider's own",
        {
            "toolResult": {
                "toolUseId": "c1",
                "status": "success",
                "content": [{"text": "ab"}, {"json": [1]}, {"text": "c"}],
            }
        },
        [
            start(0, toolResult={"toolUseId": "c1", "status": "success"}),
            delta(0, toolResult=[{"text": "a"}, {"text": "b"}]),
            delta(0, toolResult=[{"json": [1]}, {"text": "c"}]),
            stop(0),
        ],
    ),
    (
        "a picture",
        {"image": {"format": "png", "source": {"bytes": "AAECAwQ="}}},
        [
            start(0, image={"format": "png"}),
            delta(0, image={"source": {"bytes": "AAE="}}),
            delta(0, image={"source": {"bytes": "AgME"}}),
        ],
    ),
    (
        "a picture that lies elsewhere",
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://shelf/a"}}}},
        [
            start(0, image={"format": "png"}),
            delta(0, image={"source": {"s3Location": {"uri": "s3://shelf/a"}}}),
            stop(0),
        ],
    ),
]


@pytest.mark.parametrize(
    ("block", "frames"), [row[1:] for row in WHOLE_AND_STREAMED], ids=[r[0] for r in WHOLE_AND_STREAMED]
)
def test_a_stream_says_what_the_whole_answer_says(block, frames):
    whole = decoded(block, stop="end_turn", usage=COUNTS)

    assert fold(events(*frames, ending(usage=COUNTS))) == whole
    assert whole.message.parts


def test_the_providers_own_traffic_is_kept_in_place_and_calls_nobody():
    use = {"toolUse": {"toolUseId": "c1", "name": "look_up", "type": "server_tool_use", "input": {}}}

    response = decoded({"text": "let me see"}, use)

    assert response.finish_reason == "stop"
    assert response.message.parts[1] == OpaquePart("toolUse", mine(**use))


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"image": {"format": "jpeg", "source": {"bytes": "eA=="}}}, Image(b"x", "image/jpeg")),
        ({"audio": {"format": "mp3", "source": {"bytes": "eA=="}}}, Audio(b"x", "audio/mpeg")),
        ({"video": {"format": "mov", "source": {"bytes": "eA=="}}}, Document(b"x", "video/quicktime")),
        (
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://shelf/a"}}}},
            Image(url="s3://shelf/a", media_type="image/png"),
        ),
    ],
)
def test_a_file_that_comes_back_can_go_back(block, part):
    assert decoded(block).message.parts == (part,)
    assert content(part, role="assistant") == [block]


def test_a_file_in_somebody_elses_bucket_is_kept_as_it_is():
    image = {"format": "png", "source": {"s3Location": {"uri": "s3://shelf/a", "bucketOwner": "1"}}}

    assert decoded({"image": image}).message.parts == (OpaquePart("image", mine(image=image)),)


def test_a_block_of_an_unknown_kind_is_kept():
    assert decoded({"hologram": {"x": 1}}).message.parts == (OpaquePart("hologram", mine(hologram={"x": 1})),)


def test_a_stream_ends_with_its_usage_which_comes_after_the_stop():
    *_, usage, end = events(delta(0, text="x"), stop(0), ending(usage=COUNTS))

    assert isinstance(usage, UsageReported)
    assert isinstance(end, Finished)


def test_a_stream_without_usage_ends_at_its_close():
    *_, end = events(delta(0, text="x"), framed("messageStop", {"stopReason": "max_tokens"}))

    assert isinstance(end, Finished)
    assert end.reason == "length"


def test_usage_that_comes_before_the_stop_is_as_good():
    *_, end = events(framed("metadata", {"usage": COUNTS}), framed("messageStop", {"stopReason": "end_turn"}))

    assert isinstance(end, Finished)


def test_a_stream_without_its_stop_is_incomplete():
    *_, end = events(delta(0, text="half an ans"))

    assert isinstance(end, Failed)
    assert isinstance(end.error, IncompleteStream)


def test_prose_that_was_never_closed_ends_where_the_next_block_begins():
    response = fold(events(delta(0, text="one"), delta(1, text="two"), ending()))

    assert response.message.parts == (Text("one"), Text("two"))


def test_a_signature_comes_back_on_its_own_block():
    frames = [
        delta(0, reasoningContent={"text": "a"}),
        delta(0, reasoningContent={"signature": "s0"}),
        delta(1, reasoningContent={"signature": "s1"}),
    ]

    ends = [event for event in events(*frames, ending()) if isinstance(event, ThinkingEnd)]

    assert [end.opaque for end in ends] == [mine(signature="s0"), mine(signature="s1")]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("throttlingException", RateLimited),
        ("serviceUnavailableException", Overloaded),
        ("validationException", ApiError),
        ("internalServerException", ApiError),
        ("modelTimeoutException", ApiError),
    ],
)
def test_an_exception_in_a_stream_is_its_end(name, kind):
    *_, end = events(delta(0, text="x"), framed(name, {"message": "no"}, kind="exception"))

    assert isinstance(end, Failed)
    assert type(end.error) is kind
    assert end.error.retryable == (name != "validationException")


def test_a_models_own_failure_is_told_and_may_be_tried_again():
    payload = {"message": "it failed", "originalStatusCode": 500, "originalMessage": "out of ink"}

    *_, end = events(framed("modelStreamErrorException", payload, kind="exception"))

    assert isinstance(end, Failed)
    assert "it failed: out of ink" in str(end.error)
    assert end.error.retryable


def test_an_exception_without_json_is_told_in_its_own_words():
    headers = header(":exception-type", "throttlingException") + header(":message-type", "exception")
    prelude = struct.pack("!II", 16 + len(headers) + 4, len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + b"slow"

    *_, end = events(message + struct.pack("!I", zlib.crc32(message)))

    assert isinstance(end, Failed)
    assert isinstance(end.error, RateLimited)
    assert "slow" in str(end.error)


def test_a_picture_that_failed_is_kept_with_its_failure():
    frames = [start(0, image={"format": "png"}), delta(0, image={"error": {"message": "blurred"}}), stop(0)]

    (part,) = fold(events(*frames, ending())).message.parts

    assert isinstance(part, OpaquePart)
    assert part.opaque.data["image"]["error"] == {"message": "blurred"}


def test_input_of_the_providers_own_tool_that_is_no_json_is_kept_as_text():
    use = {"toolUseId": "c1", "name": "look_up", "type": "server_tool_use"}

    (part,) = fold(events(start(0, toolUse=use), delta(0, toolUse={"input": "{"}), stop(0), ending())).message.parts

    assert part == OpaquePart("toolUse", mine(toolUse=use | {"input": "{"}))


def test_sealed_reasoning_in_one_piece_stays_as_it_is_to_the_letter():
    (part,) = decoded({"reasoningContent": {"redactedContent": "AAF="}}).message.parts

    assert part == Thinking("", mine(redacted="AAF="))


def test_sealed_reasoning_that_is_no_base64_is_joined_as_it_stands():
    frames = [delta(0, reasoningContent={"redactedContent": piece}) for piece in ("a", "b")]

    (part,) = fold(events(*frames, ending())).message.parts

    assert part == Thinking("", mine(redacted="ab"))


def test_unknown_events_deltas_and_starts_are_noted_and_harmless():
    frames = [framed("weather", {"x": 1}), delta(0, hologram={}), start(1, hologram={}), delta(2, text="x")]

    response = fold(events(*frames, ending()))

    assert response.text == "x"
    assert len(response.notes) == 3


@pytest.mark.parametrize(
    "frames",
    [
        [framed("contentBlockDelta", {"contentBlockIndex": "zero", "delta": {"text": "x"}})],
        [framed("contentBlockStop", {"contentBlockIndex": []})],
        [delta(3, toolUse={"input": "{}"})],
        [framed("messageStop", {"stopReason": 7}), framed("metadata", {"usage": [1], "metrics": 3})],
    ],
)
def test_wrong_types_in_a_stream_end_it_properly(frames):
    *_, end = events(*frames)

    assert isinstance(end, (Failed, Finished))
    assert not isinstance(end, Failed) or isinstance(end.error, InvalidResponse)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"output": 3}', b"<html>", b'{"output": {"message": []}}'])
def test_a_body_without_a_message_is_an_invalid_response(body):
    with pytest.raises(InvalidResponse):
        bedrock_converse.decode_chat(body, target())


def test_an_error_in_place_of_an_answer_is_an_error():
    with pytest.raises(RateLimited):
        bedrock_converse.decode_chat(b'{"__type": "com.x#ThrottlingException", "message": "slow"}', target())


@pytest.mark.parametrize(
    ("status", "kind", "body", "error"),
    [
        (400, "ValidationException:http://x/", b'{"message": "input is too long"}', TooLong),
        (400, "ValidationException", b'{"message": "input length and max_tokens exceed context limit"}', TooLong),
        (429, "ThrottlingException", b'{"Message": "slow down"}', RateLimited),
        (400, "", b'{"message": "the model identifier is invalid"}', ApiError),
        (502, "", b"<html>", ApiError),
    ],
)
def test_a_refusal_is_named_by_its_header_or_its_words(status, kind, body, error):
    headers = (("x-amzn-errortype", kind), ("x-amzn-requestid", "r1"))

    found = bedrock_converse.decode_error(HttpResponse(status=status, headers=headers, body=body), target())

    assert type(found) is error
    assert (found.status, found.request_id, found.code) == (status, "r1", kind.partition(":")[0])


def test_an_unset_cache_marks_nothing():
    assert sent(with_options(cache=UNSET)) == sent(with_options(cache=False))


def test_access_that_is_still_being_granted_is_worth_waiting_for():
    body = b'{"message": "Access denied: MPAgreementBeingCreated, try again later"}'
    headers = (("x-amzn-errortype", "AccessDeniedException"),)

    found = bedrock_converse.decode_error(HttpResponse(status=403, headers=headers, body=body), target())

    assert type(found) is Overloaded


def test_metadata_without_entries_is_left_out():
    assert sent(with_options(metadata={})) == sent(ask())
