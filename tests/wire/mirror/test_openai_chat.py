import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.effort import HIGH, LOW, MEDIUM, OFF, ULTRA
from dragoman.errors import (
    ApiError,
    DragomanError,
    Filtered,
    Interrupted,
    InvalidResponse,
    Misuse,
    Overloaded,
    RateLimited,
    Timeout,
    TooLong,
    Unauthorized,
    Unreachable,
)
from dragoman.events import (
    Event,
    Failed,
    Finished,
    PartAdded,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallEnd,
    ToolCallStart,
    ToolInputDelta,
    UsageReported,
    fold,
)
from dragoman.exchange import UNSET, Options, ProviderTool, Request, Response, ToolSpec
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
from dragoman.wire.mirror.openai_chat import StreamEncoder, decode_request, encode_error, encode_reply
from dragoman.wire.openai_chat import chat_decoder, decode_chat, decode_error, encode_chat
from tests import strategies as some

OWL = Family(
    name="owl",
    thinking="effort",
    efforts=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    thinks_unasked=True,
)


def target_with(**quirks: Any) -> Target:
    return Target(
        provider="lyrebird",
        model="owl-2",
        wire="openai-chat",
        base_url="https://api.lyrebird.example/v1",
        family=OWL,
        quirks=Quirks(**quirks),
    )


LYREBIRD = target_with()
# As much as the format can carry: marks, reasoning sent back, names of its own for fields.
MAGPIE = target_with(
    cache_mark="cache_control",
    accepts_file_urls=True,
    reasoning_echo="always",
    max_tokens_field="max_tokens",
    seed_field="random_seed",
)
ISSUER = LYREBIRD.issuer


def decoded(target: Target = LYREBIRD, **fields: Any) -> Request:
    body = {"model": "owl-2", "messages": [{"role": "user", "content": "hi"}]} | fields
    return decode_request(json.dumps(body).encode(), target)


def message(**fields: Any) -> Message:
    return decoded(messages=[fields]).messages[0]


def opaque(**data: Any) -> Opaque:
    return Opaque(ISSUER, data)


# ── requests: what goes out comes back ──────────────────────────────────────────────────────────

PLAIN_OPTIONS = ("temperature", "top_p", "top_k", "max_tokens", "stop", "seed", "effort", "metadata", "service_tier")
details = st.lists(st.builds(lambda text: {"type": "reasoning.text", "text": text}, some.texts), min_size=1, max_size=2)


def thoughts() -> st.SearchStrategy[Thinking]:
    plain = st.builds(
        lambda text, field: Thinking(text, opaque(field=field)),
        some.texts,
        st.sampled_from(["reasoning_content", "reasoning"]),
    )
    detailed = details.map(
        lambda details: Thinking("".join(detail["text"] for detail in details), opaque(reasoning_details=details))
    )
    return plain | detailed


def call_state() -> st.SearchStrategy[Opaque | None]:
    return (
        st.none() | st.just(opaque(custom=True)) | some.json_objects.filter(bool).map(lambda o: opaque(extra_content=o))
    )


def said() -> st.SearchStrategy[Part | None]:
    sound = some.words.map(lambda id: Audio(file_id=id, opaque=opaque(id=id)))
    refusal = some.texts.map(lambda text: Text(text, opaque(refusal=True)))
    signed = some.texts.map(lambda text: Text(text, opaque(extra_content={"signature": text})))
    return st.none() | some.text_parts() | refusal | sound | signed | st.just(Text("", opaque(extra_content={"s": 1})))


def carried(
    target: Target, cache: st.SearchStrategy[Any], thinking: st.SearchStrategy[Any]
) -> st.SearchStrategy[Request]:
    address = some.words.map(lambda word: f"https://papers.example/{word}.pdf")
    linked = st.builds(Document, url=address, name=some.words) if target.quirks.accepts_file_urls else st.nothing()
    unknown = some.words.map(lambda word: OpaquePart(f"x_{word}", opaque(type=f"x_{word}", size=3)))
    user = (
        some.text_parts(cache)
        | some.images(cache, detail=st.sampled_from(["", "low", "high"]))
        | some.documents(cache)
        | some.sounds(cache)
        | st.builds(Document, file_id=some.words, cache=cache)
        | linked
        | unknown
    )
    results = st.builds(ToolResult, st.just(""), st.text(some.letters, max_size=10), cache=cache)
    turns = some.answered(thinking, said(), some.tool_calls(call_state(), cache), results)
    provider_tool = some.words.map(lambda word: ProviderTool({"type": f"x_{word}"}))
    extra = st.fixed_dictionaries({"user": some.words, "logit_bias": some.json_objects})
    return some.requests(
        target.model,
        some.conversations(user, turns, some.text_parts(cache)),
        some.tools(cache, strict=st.none() | st.just(True)) | provider_tool,
        some.options(*PLAIN_OPTIONS, "response_schema", extra=extra),
    )


@pytest.mark.parametrize(
    ("target", "cache", "thinking"),
    [(LYREBIRD, st.none(), st.none()), (MAGPIE, some.cache_marks, st.none() | thoughts())],
    ids=["as the owner does it", "with everything"],
)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_request_that_was_written_is_read_as_it_was(target, cache, thinking, data):
    request = data.draw(carried(target, cache, thinking))

    assert decode_request(encode_chat(request, target, []).body, target) == request


@pytest.mark.parametrize("dialect", ["reasoning_effort", "reasoning_object", "thinking_switch", "reasoning_switch"])
@pytest.mark.parametrize("effort", ["none", "low", "medium", "high", "ultra"])
def test_every_dialect_of_effort_is_understood(dialect, effort):
    target = target_with(effort_dialect=dialect)
    request = Request(model="owl-2", messages=(Message.user("hi"),), options=Options(effort=effort))
    weakened = dialect == "reasoning_switch" and effort == "ultra"  # which has no word for it

    understood = decode_request(encode_chat(request, target, []).body, target)

    assert understood.options == Options(effort="high" if weakened else effort)


def test_a_mere_switch_means_a_middle_effort():
    switched = Family(name="owl", thinking="toggle", thinks_unasked=True)
    target = msgspec.structs.replace(target_with(effort_dialect="template_switch"), family=switched)

    assert decoded(target, chat_template_kwargs={"enable_thinking": True}).options == Options(effort=MEDIUM)
    assert decoded(target, chat_template_kwargs={"enable_thinking": False}).options == Options(effort=OFF)


# ── requests: what other clients send ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_either_name_of_the_limit_is_understood(field):
    assert decoded(**{field: 50}).options == Options(max_tokens=50)


@pytest.mark.parametrize(("stop", "words"), [("end", ("end",)), (["a", "b"], ("a", "b"))])
def test_stop_is_a_word_or_a_list_of_them(stop, words):
    assert decoded(stop=stop).options.stop == words


@pytest.mark.parametrize(("word", "level"), [("low", LOW), ("high", HIGH), ("max", ULTRA), ("none", OFF)])
def test_a_word_of_effort_becomes_a_level(word, level):
    assert decoded(reasoning_effort=word).options == Options(effort=level)


@pytest.mark.parametrize(("word", "level"), [("minimal", LOW), ("xhigh", ULTRA)])
@pytest.mark.parametrize("dialect", ["reasoning_effort", "reasoning_object", "template_switch"])
def test_a_word_of_effort_that_we_would_say_otherwise_is_kept(dialect, word, level):
    request = decoded(target_with(effort_dialect=dialect), reasoning_effort=word)
    body = json.loads(encode_chat(request, target_with(effort_dialect=dialect), []).body)

    assert request.options.effort == level
    assert word in (body.get("reasoning_effort"), body.get("reasoning", {}).get("effort"))


def test_a_word_of_effort_that_nobody_knows_is_passed_on():
    assert decoded(reasoning_effort="heroic").options == Options(extra={"reasoning_effort": "heroic"})


def test_a_word_of_effort_means_its_own_level_where_the_family_has_no_other():
    target = msgspec.structs.replace(LYREBIRD, family=Family(name="keen owl", thinking="effort", efforts=("high",)))

    assert decoded(target, reasoning_effort="high").options == Options(effort=HIGH)


def test_effort_is_understood_where_the_target_has_another_dialect_for_it():
    assert decoded(target_with(effort_dialect="thinking_switch"), reasoning_effort="low").options == Options(effort=1)


def test_a_field_we_have_no_word_for_is_passed_on_and_null_is_nothing():
    assert decoded(n=2, user="ada", logprobs=None).options == Options(extra={"n": 2, "user": "ada"})


def test_the_name_of_a_schema_becomes_its_title():
    schema = {"type": "object", "properties": {}}
    format = {"type": "json_schema", "json_schema": {"name": "city", "description": "a place", "schema": schema}}

    assert (
        decoded(response_format=format).options.response_schema == {"title": "city", "description": "a place"} | schema
    )


def test_a_title_that_the_name_was_made_of_stays():
    schema = {"type": "object", "properties": {}, "title": "A city!"}
    format = {"type": "json_schema", "json_schema": {"name": "A_city_", "schema": schema}}

    assert decoded(response_format=format).options.response_schema == schema


@pytest.mark.parametrize("strict", [{}, {"strict": False}])
def test_a_schema_that_is_not_enforced_stays_so(strict):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    format = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema} | strict}
    request = decoded(response_format=format)

    assert request.options.response_schema == schema | {"title": "place"}
    assert json.loads(encode_chat(request, LYREBIRD, []).body)["response_format"] == format


def test_a_schema_that_cannot_be_enforced_is_passed_on_as_it_is():
    anything = {"type": "object", "properties": {"notes": {}}}
    format = {"type": "json_schema", "json_schema": {"name": "place", "schema": anything}}

    assert decoded(response_format=format).options == Options(extra={"response_format": format})


def test_json_mode_is_passed_on():
    assert decoded(response_format={"type": "json_object"}).options.extra == {
        "response_format": {"type": "json_object"}
    }


def test_asking_for_usage_in_a_stream_goes_without_saying():
    assert decoded(stream=True, stream_options={"include_usage": True}).options == Options()
    assert decoded(stream=True, stream_options={"include_usage": False}).options.extra is not UNSET


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
        ({"type": "function", "function": {"name": "look"}}, "look"),
    ],
)
def test_a_choice_of_tool_is_a_word_or_a_name(choice, meant):
    assert decoded(tool_choice=choice).tool_choice == meant


def test_a_choice_we_have_no_word_for_is_passed_on():
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}

    request = decoded(tool_choice=choice)

    assert request.tool_choice == "auto"
    assert request.options.extra == {"tool_choice": choice}


def test_a_tool_without_parameters_takes_no_arguments():
    tools = decoded(tools=[{"type": "function", "function": {"name": "now"}}]).tools

    assert tools == (ToolSpec("now", input_schema={"type": "object", "properties": {}}),)


def test_a_tool_that_is_no_function_is_kept_whole():
    tool = {"type": "custom", "custom": {"name": "sql"}}

    assert decoded(tools=[tool]).tools == (ProviderTool(tool),)


def test_a_request_without_a_model_is_for_the_targets_own():
    assert decoded(model=None).model == "owl-2"


def test_a_breakpoint_of_the_cache_is_a_mark():
    content = [{"type": "text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}]

    assert message(role="user", content=content) == Message.user(Text("hi", cache="5m"))


def test_a_mark_on_a_whole_message_is_one_on_its_last_part():
    marked = {"cache_control": {"type": "ephemeral"}}

    assert message(role="user", content="hi", **marked) == Message.user(Text("hi", cache="5m"))
    assert message(role="tool", tool_call_id="a", content="x", **marked).tool_results[0].cache == "5m"


def test_a_result_without_an_id_answers_the_next_call():
    calls = [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id in "abc"]
    results = [{"role": "tool", "tool_call_id": "b", "content": "B"}] + [{"role": "tool", "content": "?"}] * 2

    said = decoded(messages=[{"role": "assistant", "tool_calls": calls}, *results]).messages[1]

    assert [result.id for result in said.tool_results] == ["b", "a", "c"]


def test_the_developer_speaks_as_the_system():
    assert message(role="developer", content="be brief") == Message.system("be brief")


def test_results_that_follow_each_other_become_one_message():
    results = [{"role": "tool", "tool_call_id": id, "content": id.upper()} for id in ("a", "b")]

    (fanned_in,) = decoded(messages=results).messages

    assert fanned_in == Message.tool([ToolResult("a", "A"), ToolResult("b", "B")])


def test_a_result_may_be_a_list_of_texts():
    content = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]

    assert message(role="tool", tool_call_id="a", content=content) == Message.tool(ToolResult("a", "one two"))


def test_a_result_may_hold_a_picture():
    content = [{"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}}]

    (result,) = message(role="tool", tool_call_id="a", content=content).tool_results

    assert result.blocks == (Image(url="https://pictures.example/a.png"),)


@pytest.mark.parametrize(
    ("part", "meant"),
    [
        ({"type": "image_url", "image_url": "https://p.example/a.png"}, Image(url="https://p.example/a.png")),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}}, Image(b"\0\1", "image/png")),
        ({"type": "image_url", "image_url": {"url": "data:;base64,/9j/"}}, Image(b"\xff\xd8\xff", "image/jpeg")),
        ({"type": "input_audio", "input_audio": {"data": "AAE=", "format": "mp3"}}, Audio(b"\0\1", "audio/mpeg")),
        ({"type": "input_audio", "input_audio": {"data": "AAE=", "format": "flac"}}, Audio(b"\0\1", "audio/flac")),
        ({"type": "input_audio", "input_audio": "SUQz"}, Audio(b"ID3", "audio/mpeg")),
        ({"type": "file", "file": {"file_id": "f1"}}, Document(file_id="f1")),
        ({"type": "file", "file": {"file_data": "https://p.example/a.pdf"}}, Document(url="https://p.example/a.pdf")),
        ({"type": "video", "frames": 3}, OpaquePart("video", opaque(type="video", frames=3))),
    ],
)
def test_a_part_of_a_question_is_understood(part, meant):
    assert message(role="user", content=[part]) == Message.user(meant)


def test_thinking_may_come_back_as_a_chunk_of_the_content():
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

    said = message(role="assistant", content=[chunk, {"type": "text", "text": "yes"}])

    assert said == Message.assistant(Thinking("hm", opaque(chunk=True)), "yes")


def test_reasoning_is_understood_in_a_field_that_the_target_does_not_use():
    target = target_with(reasoning_fields=("reasoning",))
    wire = {"role": "assistant", "content": "yes", "reasoning_content": "hm"}

    thought, _ = decoded(target, messages=[wire]).messages[0].parts

    assert (thought.text, thought.opaque.data) == ("hm", {"field": "reasoning_content"})


def test_a_refusal_may_come_back_as_a_part_or_as_a_field():
    refusal = Message.assistant(Text("no", opaque(refusal=True)))

    assert message(role="assistant", content=None, refusal="no") == refusal
    assert message(role="assistant", content=[{"type": "refusal", "refusal": "no"}]) == refusal


def test_arguments_may_come_back_as_an_object():
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": {"at": 1}}}

    assert message(role="assistant", tool_calls=[call]).tool_calls == (ToolCall("a", "look", '{"at":1}'),)


def test_calls_of_the_older_kind_get_ids_that_meet():
    asked = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    answer = {"role": "function", "name": "look", "content": "a bird"}

    first, second = decoded(messages=[asked, answer]).messages

    assert first.tool_calls[0].id == second.tool_results[0].id


# ── requests that are none ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"model": 3}, "model must be a string"),
        ({"messages": None}, "messages is missing"),
        ({"messages": []}, "messages is missing"),
        ({"messages": "hi"}, "messages must be a list"),
        ({"messages": ["hi"]}, "messages[0] must be an object"),
        ({"messages": [{"role": "bird", "content": "hi"}]}, "messages[0].role must be"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role must be"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content must be a list"),
        ({"messages": [{"role": "user", "content": [3]}]}, "messages[0].content[0] must be an object"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type must be"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text must be"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id must be"),
        ({"messages": [{"role": "assistant", "tool_calls": {}}]}, None),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}, "messages[0].tool_calls[0].function must"),
        ({"tools": [{"type": "function"}]}, "tools[0].function must be"),
        ({"tools": [{"function": {"name": "x", "parameters": 3}}]}, "tools[0].function.parameters must be"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"temperature": True}, "temperature must be a number"),
        ({"max_tokens": 1.5}, "max_tokens must be a whole number"),
        ({"stop": [1]}, "stop[0] must be a string"),
        ({"metadata": {"a": 1}}, "metadata.a must be a string"),
        ({"stream": "yes"}, "stream must be true or false"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema must be"),
    ],
)
def test_a_bad_request_is_refused_with_its_place(fields, place):
    if place is None:
        decoded(**fields)
        return
    with pytest.raises(Misuse) as caught:
        decoded(**fields)

    assert place in str(caught.value)


@pytest.mark.parametrize("url", ["data:image/png,xyz", "data:image/png;base64,AA%E=", "data:image/png;base64,"])
def test_a_picture_that_cannot_be_read_is_refused(url):
    with pytest.raises(Misuse, match=r"messages\[0\].content\[0\].image_url.url"):
        message(role="user", content=[{"type": "image_url", "image_url": {"url": url}}])


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"\xff", b'{"a":' * 100 + b"1" + b"}" * 100])
def test_a_body_that_is_no_request_is_misuse(body):
    with pytest.raises(Misuse):
        decode_request(body, LYREBIRD)


KNOWN = [
    "model",
    "messages",
    "role",
    "content",
    "type",
    "text",
    "tools",
    "function",
    "name",
    "tool_calls",
    "id",
    "stop",
]
KNOWN += [
    "user",
    "assistant",
    "image_url",
    "url",
    "reasoning_effort",
    "response_format",
    "json_schema",
    "refusal",
    "audio",
]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(KNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KNOWN), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=100, deadline=None)
@given(fields=st.dictionaries(st.sampled_from(KNOWN), junk, max_size=6), content=junk)
def test_whatever_is_sent_is_a_request_or_misuse(fields, content):
    body = {"model": "owl-2", "messages": [{"role": "assistant", "content": content}]} | fields
    with suppress(Misuse):
        decode_request(json.dumps(body).encode(), LYREBIRD)


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


@st.composite
def answers(draw: st.DrawFn) -> Response:
    thinking = st.none() | some.texts.map(lambda text: Thinking(text, opaque(field="reasoning_content")))
    text = st.none() | some.text_parts()
    annotated = st.builds(lambda text, notes: Text(text, opaque(annotations=notes)), some.texts, details)
    state = st.none() | some.json_objects.filter(bool).map(lambda extra: opaque(extra_content=extra))
    calls = draw(st.lists(some.tool_calls(state), max_size=3, unique_by=lambda call: call.id))
    parts = [part for part in (draw(thinking), draw(text | annotated), *calls) if part is not None]
    reason = draw(st.sampled_from(["length", "content_filter", "tool_calls" if calls else "stop"]))
    return Response(
        message=Message("assistant", tuple(parts)),
        finish_reason=reason,
        raw_finish_reason=reason,
        usage=draw(st.just(Usage()) | some.usages()),
        id=draw(some.words),
        model=draw(some.words),
        provider="lyrebird",
        metadata=draw(st.dictionaries(st.sampled_from(["service_tier", "system_fingerprint"]), some.words)),
    )


def events_of(response: Response) -> list[Event]:
    """The events that a response would have come in."""
    events: list[Event] = []
    for index, part in enumerate(response.message.parts):
        match part:
            case Thinking(text, state):
                events += [ThinkingStart(index), *(ThinkingDelta(index, letter) for letter in text)]
                events += [ThinkingEnd(index, state)]
            case Text(text, state):
                events += [TextStart(index), *(TextDelta(index, letter) for letter in text), TextEnd(index, state)]
            case ToolCall(id, name, arguments, state):
                events += [ToolCallStart(index, id, name), ToolInputDelta(index, id, arguments)]
                events += [ToolCallEnd(index, id, state)]
            case other:
                events += [PartAdded(index, other)]
    end = Finished(
        reason=response.finish_reason,
        raw_reason=response.raw_finish_reason,
        id=response.id,
        model=response.model,
        provider=response.provider,
        metadata=response.metadata,
    )
    return [*events, UsageReported(response.usage), end]


def streamed(events: list[Event]) -> bytes:
    encoder = StreamEncoder(created=7)
    return b"".join(encoder.feed(event) for event in events)


def reread(stream: bytes) -> Response:
    decoder = chat_decoder(LYREBIRD)
    return fold(decoder.feed(stream) + decoder.close())


@settings(max_examples=60, deadline=None)
@given(response=answers())
def test_an_answer_that_was_written_is_read_as_it_was(response):
    assert decode_chat(encode_reply(response), LYREBIRD) == response


@settings(max_examples=60, deadline=None)
@given(response=answers())
def test_a_stream_that_was_written_is_read_as_it_was(response):
    assert reread(streamed(events_of(response))) == response


def answer(*parts: Part | str, reason: Any = "stop") -> Response:
    return Response(message=Message.assistant(*parts), finish_reason=reason, id="c1", model="owl-2")


def body_of(response: Response) -> Any:
    return json.loads(encode_reply(response, created=7))


def test_a_body_has_the_shape_its_owner_gives_it():
    assert body_of(answer("hi")) == {
        "id": "c1",
        "object": "chat.completion",
        "created": 7,
        "model": "owl-2",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop", "logprobs": None}
        ],
    }


def test_an_answer_of_calls_alone_has_null_for_content():
    assert body_of(answer(ToolCall("a", "look")))["choices"][0]["message"]["content"] is None


def test_a_refusal_goes_to_its_own_field_and_ends_as_an_answer_does():
    choice = body_of(answer(Text("no", opaque(refusal=True)), reason="content_filter"))["choices"][0]

    assert (choice["message"]["refusal"], choice["message"]["content"]) == ("no", None)
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "part",
    [
        Text("no", opaque(refusal=True)),
        Thinking("hm", opaque(field="reasoning_content", reasoning_details=[{"type": "reasoning.text", "text": "hm"}])),
        ToolCall("a", "sql", "select 1", opaque(custom=True)),
        Audio(b"ID3xx", "audio/mpeg", transcript="hi", opaque=opaque(id="s1")),
    ],
)
def test_a_rare_part_comes_back_from_a_body(part):
    assert decode_chat(encode_reply(answer(part)), LYREBIRD).message.parts == (part,)


@pytest.mark.parametrize(
    "part",
    [
        Thinking("hm", opaque(field="reasoning_content", reasoning_details=[{"type": "reasoning.text", "text": "hm"}])),
        Audio(b"ID3xx", "audio/mpeg", transcript="hi", opaque=opaque(id="s1")),
    ],
)
def test_a_rare_part_comes_back_from_a_stream(part):
    assert reread(streamed(events_of(answer(part)))).message.parts == (part,)


@pytest.mark.parametrize(("reason", "word"), [("pause", "stop"), ("error", "error"), ("length", "length")])
def test_a_finish_reason_is_said_in_this_wires_words(reason, word):
    assert body_of(answer("hi", reason=reason))["choices"][0]["finish_reason"] == word


# ── streams ─────────────────────────────────────────────────────────────────────────────────────


def chunks(stream: bytes) -> list[Any]:
    frames = [frame.removeprefix("data: ") for frame in stream.decode().split("\n\n")[:-1]]
    return [frame if frame == "[DONE]" else json.loads(frame) for frame in frames]


def test_a_stream_has_the_shape_its_owner_gives_it():
    usage = Usage(input_tokens=3, output_tokens=2, reasoning_tokens=1)
    events = [TextStart(0), TextDelta(0, "hi"), TextEnd(0), UsageReported(usage), Finished(reason="stop", id="c1")]

    first, text, end, counted, done = chunks(streamed(events))

    assert first["choices"] == [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
    assert text["object"] == "chat.completion.chunk"
    assert text["created"] == 7
    assert text["choices"][0]["delta"] == {"content": "hi"}
    assert end["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert counted["choices"] == []
    assert counted["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "completion_tokens_details": {"reasoning_tokens": 1},
    }
    assert done == "[DONE]"


def test_calls_are_numbered_among_themselves():
    events = [TextStart(0), TextDelta(0, "x"), ToolCallStart(1, "a", "look"), ToolCallStart(2, "b", "look")]
    events += [ToolInputDelta(2, "b", "{}"), ToolInputDelta(1, "a", "{}")]

    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(streamed(events))]
    numbers = [call["index"] for delta in deltas for call in delta.get("tool_calls", ())]

    assert numbers == [0, 1, 1, 0]


def test_an_empty_answer_still_says_who_speaks():
    first, *_ = chunks(streamed([Finished(reason="stop")]))

    assert first["choices"][0]["delta"]["role"] == "assistant"


def test_every_chunk_carries_what_is_known_of_the_answer():
    encoder = StreamEncoder(id="c1", model="owl-2")

    first, text = chunks(encoder.feed(TextDelta(0, "hi")))
    end, _ = chunks(encoder.feed(Finished(reason="stop")))

    assert (first["id"], text["id"], text["model"], end["id"]) == ("c1", "c1", "owl-2", "c1")


def test_usage_that_nobody_reported_is_not_written():
    assert b"usage" not in streamed([TextDelta(0, "hi"), UsageReported(Usage()), Finished(reason="stop")])


def test_a_stream_that_fails_at_once_says_only_that():
    (error,) = chunks(streamed([Failed(RateLimited("slow down"))]))

    assert error["error"]["code"] == "rate_limit_exceeded"


def test_a_part_this_wire_cannot_show_writes_nothing():
    assert StreamEncoder().feed(PartAdded(0, Image(url="https://p.example/a.png"))) == b""


def test_a_stream_that_fails_says_why_and_does_not_claim_to_be_done():
    stream = streamed([TextStart(0), TextDelta(0, "hi"), Failed(RateLimited("slow down"))])

    assert b"[DONE]" not in stream
    with pytest.raises(RateLimited):
        reread(stream)


# ── errors ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (Misuse("bad"), 400, ApiError),
        (Unauthorized("who"), 401, Unauthorized),
        (RateLimited("slow"), 429, RateLimited),
        (Overloaded("full", status=529), 529, Overloaded),
        (TooLong("long"), 400, TooLong),
        (Filtered("no"), 400, Filtered),
        (ApiError("odd", status=418, code="teapot"), 418, ApiError),
        (ApiError("no money", status=429, code="insufficient_quota"), 429, ApiError),
        (ApiError("odd"), 502, ApiError),
        (Unreachable("gone"), 502, ApiError),
        (Timeout("late"), 504, ApiError),
        (InvalidResponse("what"), 502, ApiError),
        (Interrupted(), 500, ApiError),
        (DragomanError("?"), 500, ApiError),
    ],
)
def test_an_error_that_was_written_is_read_as_its_kind(error, status, kind):
    told, body = encode_error(error)
    again = decode_error(HttpResponse(status=told, body=body), LYREBIRD)

    assert told == status
    assert type(again) is kind
    assert error.message in again.message


def test_fields_of_a_message_that_we_have_no_word_for_go_back_with_it():
    wires = [
        {"role": "user", "name": "ada", "content": "hi"},
        {"role": "assistant", "content": "well", "prefix": True, "name": None},
    ]
    request = decoded(messages=wires)
    assert request.messages[0].text == "hi"
    body = json.loads(encode_chat(request, LYREBIRD, []).body)
    assert body["messages"] == [wires[0], {"role": "assistant", "content": "well", "prefix": True}]
