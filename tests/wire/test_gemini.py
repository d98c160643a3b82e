import json

import pytest

from dragoman.errors import ApiError, IncompleteStream, InvalidResponse, Misuse, Overloaded, RateLimited, Unauthorized
from dragoman.events import Failed, Finished, TextDelta, UsageReported, fold
from dragoman.exchange import McpTool, Options, ProviderTool, Request, ToolSpec
from dragoman.http import HttpResponse
from dragoman.limits import Limits
from dragoman.messages import Audio, Image, Message, Opaque, OpaquePart, Text, Thinking, ToolCall
from dragoman.target import Family, Target
from dragoman.usage import Usage
from dragoman.wire.gemini import (
    chat_decoder,
    decode_chat,
    decode_count,
    decode_error,
    encode_chat,
    encode_count,
)
from dragoman.wire.gemini.answer import FINISH_REASONS


def target(model="owl-2", limits=None, headers=(), **family):
    return Target(
        provider="lyrebird",
        model=model,
        wire="gemini",
        base_url="https://api.lyrebird.example/v1beta",
        family=Family(name="owl", **family),
        limits=limits or Limits(),
        headers=headers,
    )


# ── requests ──


def encoded(request=None, to=None, notes=None, **fields):
    request = request or Request(**{"model": "owl-2", "messages": (Message.user("hi"),)} | fields)
    return json.loads(encode_chat(request, to or target(), [] if notes is None else notes).body)


def asked(**options):
    return encoded(options=Options(**options))


def test_the_method_is_named_after_the_model():
    request = Request(model="owl-2", messages=(Message.user("hi"),))
    sent = encode_chat(request, target(headers=(("x-team", "birds"),)), [])
    assert sent.url == "https://api.lyrebird.example/v1beta/models/owl-2:generateContent"
    assert sent.headers == (("content-type", "application/json"), ("x-team", "birds"))


def test_a_stream_is_another_method_and_asks_for_server_sent_events():
    request = Request(model="owl-2", messages=(Message.user("hi"),), stream=True)
    assert encode_chat(request, target(), []).url.endswith("/models/owl-2:streamGenerateContent?alt=sse")


@pytest.mark.parametrize(
    ("model", "path"),
    [("models/owl-2", "models/owl-2"), ("tuned/owl 2?", "tuned/owl%202%3F"), ("owl:2#x", "models/owl%3A2%23x")],
)
def test_a_model_may_be_a_resource_name_and_is_escaped(model, path):
    request = Request(model=model, messages=(Message.user("hi"),))
    assert encode_chat(request, target(model), []).url == f"https://api.lyrebird.example/v1beta/{path}:generateContent"


def test_options_go_into_the_generation_config():
    options = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "max_tokens": 99, "stop": ("END",), "seed": 7}
    assert asked(**options)["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 40,
        "maxOutputTokens": 99,
        "stopSequences": ["END"],
        "seed": 7,
    }


def test_what_is_not_asked_is_not_sent():
    assert encoded() == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_metadata_are_labels_and_the_tier_has_its_own_field():
    body = asked(metadata={"team": "birds"}, service_tier="flex")
    assert (body["labels"], body["serviceTier"]) == ({"team": "birds"}, "flex")


def test_a_response_schema_asks_for_json():
    schema = {"type": "object", "properties": {"bird": {"type": "string"}}, "required": ["bird"]}
    config = asked(response_schema=schema)["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["properties"]["bird"]["type"] == "string"


LEVELS = ("minimal", "low", "medium", "high")


@pytest.mark.parametrize(
    ("family", "effort", "config"),
    [
        ({"thinking": "budget", "budgets": (128, 8000)}, "high", {"includeThoughts": True, "thinkingBudget": 8000}),
        ({"thinking": "budget", "budgets": (0, 8000)}, "none", {"thinkingBudget": 0}),
        ({"thinking": "level", "efforts": LEVELS}, "low", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ({"thinking": "level", "efforts": LEVELS}, "ultra", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ({"thinking": "level", "efforts": LEVELS}, "none", {"thinkingLevel": "MINIMAL"}),
    ],
)
def test_effort_is_a_budget_or_a_level_by_family(family, effort, config):
    body = encoded(to=target(**family), options=Options(effort=effort))
    assert body["generationConfig"] == {"thinkingConfig": config}


def test_no_effort_is_the_weakest_word_where_there_is_none_for_it_and_that_is_noted():
    notes = []
    to = target(thinking="level", efforts=("minimal", "high"))
    body = encoded(to=to, options=Options(effort="none"), notes=notes)
    assert body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "MINIMAL"}
    assert [(note.act, note.what) for note in notes] == [("changed", "effort")]


def test_a_budget_leaves_room_for_the_answer():
    family = {"thinking": "budget", "budgets": (128, 32000)}
    body = encoded(to=target(**family), options=Options(effort="high", max_tokens=1000))
    assert body["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 749


def test_extra_is_merged_into_what_is_there():
    extra = {"safetySettings": [1], "generationConfig": {"topK": 3, "mediaResolution": "LOW"}}
    body = asked(top_k=40, seed=7, extra=extra)
    assert body["safetySettings"] == [1]
    assert body["generationConfig"] == {"topK": 3, "seed": 7, "mediaResolution": "LOW"}


@pytest.mark.parametrize(
    "marked",
    [
        {"options": Options(cache=True)},
        {"messages": (Message.user(Text("hi", cache="1h")),)},
        {"tools": (ToolSpec("fly", cache="5m"),)},
    ],
)
def test_cache_marks_cannot_be_carried_and_are_noted_once(marked):
    notes = []
    encoded(notes=notes, **marked)
    assert [note.what for note in notes] == ["cache marks"]


def test_functions_are_declared_together_and_the_providers_own_tools_go_verbatim():
    fly = ToolSpec("fly", "Go up.", {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]})
    tools = encoded(tools=(ProviderTool({"googleSearch": {}}), fly, ToolSpec("land")))["tools"]
    declared = tools[0]["functionDeclarations"]
    assert [(each["name"], each["description"]) for each in declared] == [("fly", "Go up."), ("land", "")]
    assert declared[0]["parametersJsonSchema"]["properties"] == {"to": {"type": "string"}}
    assert tools[1:] == [{"googleSearch": {}}]


@pytest.mark.parametrize(
    ("choice", "calling"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("fly", {"mode": "ANY", "allowedFunctionNames": ["fly"]}),
    ],
)
def test_a_tool_choice_is_a_calling_mode(choice, calling):
    body = encoded(tools=(ToolSpec("fly"),), tool_choice=choice)
    assert body["toolConfig"] == {"functionCallingConfig": calling}


def test_a_calling_mode_is_not_sent_without_functions_and_that_is_noted():
    notes = []
    body = encoded(tools=(ProviderTool({"codeExecution": {}}),), tool_choice="none", notes=notes)
    assert "toolConfig" not in body
    assert [(note.act, note.what) for note in notes] == [("dropped", "tool_choice")]


def test_a_tool_has_one_schema_its_own_older_kind_before_ours():
    own = {"parameters": {"type": "OBJECT"}}
    (tool,) = encoded(tools=(ToolSpec("fly", extra=own),))["tools"]
    assert tool["functionDeclarations"] == [{"name": "fly", "description": ""} | own]


def test_a_strict_tool_asks_for_calls_that_fit_their_schemas():
    body = encoded(tools=(ToolSpec("fly", strict=True),))
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_an_mcp_server_cannot_be_handed_over():
    with pytest.raises(Misuse, match="nest"):
        encoded(tools=(McpTool("https://nest.example", "nest"),))


def test_counting_wraps_the_whole_question():
    request = Request(model="owl-2", messages=(Message.system("Be brief."), Message.user("hi")))
    sent = encode_count(request, target(), [])
    assert sent.url.endswith("/models/owl-2:countTokens")
    assert json.loads(sent.body)["generateContentRequest"] == {"model": "models/owl-2"} | encoded(request)


def test_a_count_is_read():
    assert decode_count(b'{"totalTokens": 31, "promptTokensDetails": []}', target()) == 31


@pytest.mark.parametrize("body", [b"{}", b'{"totalTokens": "many"}', b"[]"])
def test_a_count_without_a_number_is_an_invalid_response(body):
    with pytest.raises(InvalidResponse):
        decode_count(body, target())


# ── answers ──


def answer(*parts, finish="STOP", usage=None, **candidate):
    content = {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    reason = {"finishReason": finish} if finish is not None else {}
    whole = {"candidates": [content | reason | candidate], "responseId": "turn-1", "modelVersion": "owl-2-001"}
    return whole | ({"usageMetadata": usage} if usage else {})


def decoded(*parts, **more):
    return decode_chat(json.dumps(answer(*parts, **more)).encode(), target())


def sse(*pieces):
    return b"".join(b"data: " + json.dumps(piece).encode() + b"\r\n\r\n" for piece in pieces)


def events(data, to=None):
    decoder = chat_decoder(to or target())
    return decoder.feed(data) + decoder.close()


def streamed(*pieces):
    return fold(events(sse(*pieces)))


def opaque(**data):
    return Opaque("lyrebird/owl@gemini", data)


def test_a_whole_answer_is_read():
    response = decoded({"text": "Hi"}, usage={"promptTokenCount": 3, "candidatesTokenCount": 2})
    assert (response.text, response.finish_reason, response.raw_finish_reason) == ("Hi", "stop", "STOP")
    assert (response.id, response.model, response.provider) == ("turn-1", "owl-2-001", "lyrebird")
    assert response.usage == Usage(input_tokens=3, output_tokens=2)


def test_fragments_of_one_kind_are_one_part():
    response = streamed(
        answer({"text": "h", "thought": True}, finish=None),
        answer({"text": "m", "thought": True}, {"text": "A"}, finish=None),
        answer({"text": "h!"}),
    )
    assert response.message.parts == (Thinking("hm"), Text("Ah!"))


def test_the_models_name_may_stand_in_any_piece():
    named, nameless = {"modelVersion": "owl-2-001"}, answer({"text": "Hi"})
    del nameless["responseId"], nameless["modelVersion"]
    assert streamed(named, nameless).model == "owl-2-001"


def test_a_signed_part_is_never_merged():
    parts = (
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s1"},
        {"text": "c", "thoughtSignature": "s2"},
        {"text": "d"},
    )
    expected = (
        Text("a"),
        Text("b", opaque(thoughtSignature="s1")),
        Text("c", opaque(thoughtSignature="s2")),
        Text("d"),
    )
    assert decoded(*parts).message.parts == expected
    assert streamed(*(answer(part) for part in parts)).message.parts == expected


def test_a_signature_may_come_on_a_last_part_without_words():
    response = streamed(answer({"text": "Hi"}, finish=None), answer({"text": "", "thoughtSignature": "s"}))
    assert response.message.parts == (Text("Hi"), Text("", opaque(thoughtSignature="s")))


def test_a_signed_thought_keeps_its_signature():
    response = decoded({"text": "hm", "thought": True, "thoughtSignature": "s"}, {"text": "Hi"})
    assert response.message.parts == (Thinking("hm", opaque(thoughtSignature="s")), Text("Hi"))


def test_a_side_field_that_is_null_is_no_state():
    response = decoded({"text": "a"}, {"text": "b", "thoughtSignature": None, "thought": False})
    assert response.message.parts == (Text("ab"),)


def test_a_part_that_only_carries_a_signature_is_kept_as_it_came():
    part = {"thoughtSignature": "s"}
    assert decoded(part).message.parts == (OpaquePart("thoughtSignature", Opaque("lyrebird/owl@gemini", part)),)


@pytest.mark.parametrize("part", [{"text": ""}, {}, {"text": None}, {"thought": True}])
def test_an_empty_part_is_nothing(part):
    assert decoded({"text": "Hi"}, part).message.parts == (Text("Hi"),)


def test_calls_come_whole_and_a_stop_after_one_means_tools():
    call = {"functionCall": {"id": "c1", "name": "fly", "args": {"to": "nest"}}, "thoughtSignature": "s"}
    response = decoded(call, {"functionCall": {"id": "c2", "name": "land"}})
    assert response.tool_calls == (
        ToolCall("c1", "fly", '{"to":"nest"}', opaque(thoughtSignature="s")),
        ToolCall("c2", "land", "{}"),
    )
    assert (response.finish_reason, response.raw_finish_reason) == ("tool_calls", "STOP")


def test_an_id_is_made_up_from_the_turn_and_marked_as_ours():
    call = {"functionCall": {"name": "fly", "args": {}}}
    made_up = opaque(made_up_id=True)
    expected = (ToolCall("turn-1_0", "fly", "{}", made_up), ToolCall("turn-1_1", "fly", "{}", made_up))
    assert decoded(call, call).tool_calls == expected


def test_an_id_is_made_up_also_where_the_turn_has_none():
    body = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "fly"}}]}, "finishReason": "STOP"}]}
    (call,) = decode_chat(json.dumps(body).encode(), target()).tool_calls
    assert (call.id, call.opaque) == ("call_0", opaque(made_up_id=True))


def test_arguments_in_pieces_become_one_call():
    def piece(will_continue, **fields):
        return answer({"functionCall": fields | ({"willContinue": True} if will_continue else {})}, finish=None)

    def words(text, **more):
        return {"jsonPath": "$.to", "stringValue": text} | more

    response = streamed(
        piece(True, name="fly", id="c1"),
        piece(True, partialArgs=[words("ne", willContinue=True)]),
        piece(True, partialArgs=[words("st"), {"jsonPath": "$.height", "numberValue": 3}]),
        piece(False),
        answer({"functionCall": {"name": "land", "id": "c2", "args": {}}}),
    )
    assert response.tool_calls == (ToolCall("c1", "fly", '{"to":"nest","height":3}'), ToolCall("c2", "land", "{}"))


def test_a_call_in_pieces_ends_where_the_next_begins_or_the_answer_does():
    def begun(name):
        piece = {
            "name": name,
            "id": name,
            "willContinue": True,
            "partialArgs": [{"jsonPath": "$.to", "stringValue": "nest"}],
        }
        return {"functionCall": piece}

    response = streamed(answer(begun("fly"), finish=None), answer(begun("land")))
    assert [(call.id, call.arguments) for call in response.tool_calls] == [
        ("fly", '{"to":"nest"}'),
        ("land", '{"to":"nest"}'),
    ]


def test_a_call_cut_off_in_its_arguments_is_left_out_of_what_there_is():
    begun = answer({"functionCall": {"name": "fly", "id": "c1", "willContinue": True}}, finish=None)
    with pytest.raises(IncompleteStream) as caught:
        streamed(begun)
    assert caught.value.partial.tool_calls == ()
    assert "fly" in caught.value.partial.notes[0].what


def test_pictures_and_sound_are_media():
    picture = {"inlineData": {"mimeType": "image/png", "data": "AQID"}, "thoughtSignature": "s"}
    sound = {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "BAUG"}}
    assert decoded(picture, sound).message.parts == (
        Image(b"\x01\x02\x03", "image/png", opaque=opaque(thoughtSignature="s")),
        Audio(b"\x04\x05\x06", "audio/L16;rate=24000"),
    )


@pytest.mark.parametrize(
    "part",
    [
        {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "s"},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"toolCall": {"id": "t", "toolType": "WEB", "args": {}}},
        {"toolResponse": {"id": "t", "toolType": "WEB", "response": {}}},
        {"fileData": {"fileUri": "gs://nest/egg.png"}},
        {"thoughtSignature": "s", "somethingNew": [1, {"deep": True}]},
        {"inlineData": {"mimeType": "image/png", "data": "AQID"}, "thought": True},
        {"inlineData": {"mimeType": "image/png", "data": "not base64"}},
        {"inlineData": {"mimeType": "", "data": "AQID"}},
        {"functionCall": {"args": {"to": "nobody"}}},
        {"text": ["not", "text"]},
    ],
)
def test_a_part_of_another_kind_is_kept_and_goes_back_verbatim(part):
    response = decoded({"text": "a"}, part, {"text": "b"})
    first, kept, last = response.message.parts
    assert (first, kept.opaque, last) == (Text("a"), Opaque("lyrebird/owl@gemini", part), Text("b"))
    history = encoded(messages=(Message.user("hi"), response.message))
    assert history["contents"][1]["parts"] == [{"text": "a"}, part, {"text": "b"}]


def test_side_fields_we_do_not_know_stay_with_their_text():
    part = {"text": "Hi", "partMetadata": {"speaker": "owl"}}
    response = decoded(part)
    assert response.message.parts == (Text("Hi", opaque(partMetadata={"speaker": "owl"})),)
    assert encoded(messages=(response.message,))["contents"][0]["parts"] == [part]


def test_sources_are_kept_behind_the_answer_and_not_sent_back():
    grounding = {"groundingChunks": [{"web": {"uri": "https://nest.example"}}], "webSearchQueries": ["owls"]}
    response = decoded({"text": "Hi"}, groundingMetadata=grounding, urlContextMetadata={"urlMetadata": [1]})
    sources = opaque(groundingMetadata=grounding, urlContextMetadata={"urlMetadata": [1]})
    assert response.message.parts == (Text("Hi"), OpaquePart("grounding", sources))
    assert encoded(messages=(response.message,))["contents"][0]["parts"] == [{"text": "Hi"}]


def test_sources_gather_over_a_stream_whether_pieces_repeat_or_go_on():
    response = streamed(
        answer({"text": "a"}, finish=None, groundingMetadata={}, citationMetadata={"citations": [1]}),
        answer({"text": "b"}, finish=None, citationMetadata={"citations": [1, 2]}),
        answer({"text": "c"}, citationMetadata={"citations": [3]}, groundingMetadata={"webSearchQueries": ["owls"]}),
    )
    kept = {"citationMetadata": {"citations": [1, 2, 3]}, "groundingMetadata": {"webSearchQueries": ["owls"]}}
    assert response.message.parts == (Text("abc"), OpaquePart("grounding", Opaque("lyrebird/owl@gemini", kept)))


def test_sources_are_not_lost_to_an_empty_piece():
    response = streamed(
        answer({"text": "a"}, finish=None, groundingMetadata={"searchEntryPoint": {"renderedContent": "owls"}}),
        answer({"text": "b"}, groundingMetadata={"searchEntryPoint": {}}),
    )
    kept = {"groundingMetadata": {"searchEntryPoint": {"renderedContent": "owls"}}}
    assert response.message.parts[1].opaque.data == kept


def test_only_the_first_candidate_is_read_and_the_others_noted():
    body = answer({"text": "first"}, index=0)
    body["candidates"].insert(0, {"content": {"parts": [{"text": "second"}]}, "index": 1, "finishReason": "STOP"})
    response = streamed(body, answer({"text": "more"}, index=1))
    assert response.text == "first"
    assert [note.what for note in response.notes] == ["other candidates"]


# ── the end ──


@pytest.mark.parametrize(("raw", "reason"), FINISH_REASONS.items())
def test_every_finish_reason_has_its_class(raw, reason):
    token = {"continuationToken": "t"} if raw == "CONTINUATION" else {}
    response = decoded({"text": "Hi"}, finish=raw, **token)
    assert (response.finish_reason, response.raw_finish_reason) == (reason, raw)


def test_a_pause_comes_with_the_token_to_go_on_with():
    response = decoded({"text": "Once"}, finish="CONTINUATION", continuationToken="t")
    assert (response.finish_reason, response.metadata["continuation_token"]) == ("pause", "t")


def test_the_token_may_come_before_the_reason():
    pieces = answer({"text": "Once"}, finish=None, continuationToken="t"), answer(finish="CONTINUATION")
    assert streamed(*pieces).finish_reason == "pause"


def test_a_pause_without_a_token_is_an_end_for_length():
    assert decoded({"text": "Once"}, finish="CONTINUATION").finish_reason == "length"


def test_a_finish_reason_may_be_a_number():
    response = decoded({"text": "Hi"}, finish=2)
    assert (response.finish_reason, response.raw_finish_reason) == ("length", "MAX_TOKENS")


@pytest.mark.parametrize(("raw", "kept"), [("SLEEPY", "SLEEPY"), (77, "77")])
def test_an_unknown_finish_reason_is_an_end_with_a_note(raw, kept):
    response = decoded({"text": "Hi"}, finish=raw)
    assert (response.finish_reason, response.raw_finish_reason) == ("stop", kept)
    assert kept in response.notes[0].what


def test_what_the_candidate_says_of_itself_is_metadata():
    response = decoded(finish="SAFETY", finishMessage="Too wild.", safetyRatings=[{"category": 8}], avgLogprobs=-0.5)
    assert response.message.parts == ()
    assert response.metadata == {
        "finish_message": "Too wild.",
        "safety_ratings": '[{"category":8}]',
        "avg_logprobs": "-0.5",
    }


@pytest.mark.parametrize(
    "read", [lambda body: decode_chat(body, target()), lambda body: fold(events(b"data: " + body))]
)
def test_a_blocked_prompt_has_no_candidates_and_is_filtered(read):
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No.", "safetyRatings": [{"category": 8}]}
    response = read(json.dumps({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 4}}).encode())
    assert (response.finish_reason, response.raw_finish_reason) == ("content_filter", "PROHIBITED_CONTENT")
    assert response.metadata == {"finish_message": "No.", "safety_ratings": '[{"category":8}]'}
    assert response.usage.input_tokens == 4


def test_what_is_said_of_the_model_is_metadata():
    response = streamed(answer({"text": "Hi"}) | {"modelStatus": {"modelStage": "DEPRECATED"}})
    assert response.metadata["model_status"] == '{"modelStage":"DEPRECATED"}'


def test_feedback_that_blocks_nothing_changes_nothing():
    response = streamed({"promptFeedback": {"safetyRatings": []}} | answer({"text": "Hi"}))
    assert response.finish_reason == "stop"


def test_an_answer_without_candidates_is_invalid():
    with pytest.raises(InvalidResponse, match="no candidates"):
        decode_chat(b'{"usageMetadata": {"promptTokenCount": 3}}', target())


def test_usage_counts_tools_as_input_and_thoughts_as_output():
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 20,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 7,
        "serviceTier": "standard",
    }
    response = decoded({"text": "Hi"}, usage=usage)
    assert response.usage == Usage(input_tokens=120, output_tokens=37, cache_read_tokens=60, reasoning_tokens=7)
    assert response.metadata == {"service_tier": "standard"}


def test_a_count_that_vanishes_from_a_later_piece_still_stands():
    response = streamed(
        answer(
            {"text": "a"},
            finish=None,
            usage={"promptTokenCount": 9, "thoughtsTokenCount": 5, "candidatesTokenCount": 2},
        ),
        answer({"text": "b"}, usage={"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 0}),
    )
    assert response.usage == Usage(input_tokens=9, output_tokens=9, reasoning_tokens=5)


def test_usage_is_reported_when_it_changes():
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2}
    said = events(sse(*(answer({"text": "a"}, finish=None, usage=usage) for _ in range(3))))
    assert len([event for event in said if isinstance(event, UsageReported)]) == 1


@pytest.mark.parametrize("usage", ["lots", [1], 7, True, {"promptTokenCount": "many", "candidatesTokenCount": -1}])
def test_usage_that_is_none_is_unknown(usage):
    assert decoded({"text": "Hi"}, usage=usage).usage == Usage()


def test_a_stream_is_complete_only_with_a_finish_reason():
    with pytest.raises(IncompleteStream) as caught:
        streamed(answer({"text": "Hi"}, finish=None), answer({"text": "!"}, finish="FINISH_REASON_UNSPECIFIED"))
    assert caught.value.partial.text == "Hi!"


def test_usage_may_follow_the_finish_reason():
    response = streamed(
        answer({"text": "Hi"}), {"usageMetadata": {"promptTokenCount": 3}}, answer({"text": "!"}, finish=None)
    )
    assert (response.text, response.finish_reason, response.usage.input_tokens) == ("Hi!", "stop", 3)


def test_the_end_mark_of_another_wire_is_ignored():
    assert fold(events(sse(answer({"text": "Hi"})) + b"data: [DONE]\n\n")).text == "Hi"


# ── the shapes of a stream ──

PIECES = (
    answer({"text": "naïve "}, finish=None, usage={"promptTokenCount": 2}),
    answer({"text": '[{"owl"}] ☃ '}, {"functionCall": {"name": "fly", "args": {"to": "}]"}}}),
)


@pytest.mark.parametrize(
    "data",
    [sse(*PIECES), json.dumps(PIECES, indent=1).encode(), b"\n\n" + json.dumps(PIECES, ensure_ascii=False).encode()],
)
def test_every_shape_and_cut_of_a_stream_says_the_same(data):
    expected = events(sse(*PIECES))
    for size in (1, 7, len(data)):
        decoder = chat_decoder(target())
        said = [event for at in range(0, len(data), size) for event in decoder.feed(data[at : at + size])]
        assert said + decoder.close() == expected


def test_an_array_gives_its_pieces_before_it_is_closed():
    decoder = chat_decoder(target())
    assert TextDelta(0, "Hi") in decoder.feed(b"[" + json.dumps(answer({"text": "Hi"}, finish=None)).encode())


def test_a_whole_body_may_be_an_array_too():
    assert decode_chat(json.dumps(PIECES).encode(), target()) == fold(events(sse(*PIECES)))


def test_a_server_that_does_not_stream_is_understood():
    assert fold(events(json.dumps(answer({"text": "Hi"})).encode())) == decoded({"text": "Hi"})


# ── errors ──


def refusal(code, status, message="No.", *details):
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def failed(body, status=None):
    answer = HttpResponse(status=status or body["error"]["code"], body=json.dumps(body).encode())
    return decode_error(answer, target())


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (401, "UNAUTHENTICATED", Unauthorized),
        (403, "PERMISSION_DENIED", Unauthorized),
        (429, "RESOURCE_EXHAUSTED", RateLimited),
        (503, "UNAVAILABLE", Overloaded),
        (404, "NOT_FOUND", ApiError),
    ],
)
def test_the_status_word_says_what_went_wrong(code, status, kind):
    error = failed(refusal(code, status))
    assert type(error) is kind
    assert (error.status, error.type, error.code) == (code, status, "")


def test_a_bad_key_is_found_in_the_details():
    error = failed(refusal(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}))
    assert type(error) is Unauthorized
    assert error.code == "API_KEY_INVALID"


def test_the_time_to_wait_is_in_the_details():
    error = failed(refusal(429, "RESOURCE_EXHAUSTED", "Slow.", {"links": []}, {"retryDelay": "48.5s"}))
    assert (error.retry_after, error.told) == (48.5, True)


@pytest.mark.parametrize("delay", ["soon", "-3s", 7, None, "1e9s"])
def test_a_time_to_wait_that_is_none_is_not_told(delay):
    assert not failed(refusal(429, "RESOURCE_EXHAUSTED", "Slow.", {"retryDelay": delay})).told


def test_a_quota_that_says_when_to_come_back_is_a_rate_limit():
    error = failed(refusal(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", {"retryDelay": "48s"}))
    assert type(error) is RateLimited


def test_an_error_may_be_wrapped_in_an_array():
    answer = HttpResponse(status=503, body=json.dumps([refusal(503, "UNAVAILABLE")]).encode())
    assert type(decode_error(answer, target())) is Overloaded


@pytest.mark.parametrize(
    "body", [b"<html>bad gateway</html>", b"", b'"no"', b'{"error": "no"}', b'{"error": {"details": 3}}']
)
def test_an_error_in_no_known_shape_is_still_an_error(body):
    error = decode_error(HttpResponse(status=502, body=body), target())
    assert (type(error), error.status, error.retryable) == (ApiError, 502, True)


@pytest.mark.parametrize(
    "data",
    [
        sse(answer({"text": "Hi"}, finish=None), refusal(503, "UNAVAILABLE")),
        sse(answer({"text": "Hi"}, finish=None), [refusal(503, "UNAVAILABLE")]),
        json.dumps([answer({"text": "Hi"}, finish=None), refusal(503, "UNAVAILABLE")]).encode(),
        json.dumps(refusal(503, "UNAVAILABLE")).encode(),
    ],
)
def test_an_error_inside_a_stream_ends_it(data):
    end = events(data)[-1]
    assert isinstance(end, Failed)
    assert (type(end.error), end.error.status) == (Overloaded, 503)


@pytest.mark.parametrize(
    ("word", "status", "retryable"),
    [
        ("INVALID_ARGUMENT", 400, False),
        ("FAILED_PRECONDITION", 400, False),
        ("UNAUTHENTICATED", 401, False),
        ("PERMISSION_DENIED", 403, False),
        ("NOT_FOUND", 404, False),
        ("RESOURCE_EXHAUSTED", 429, True),
        ("INTERNAL", 500, True),
        ("UNAVAILABLE", 503, True),
        ("DEADLINE_EXCEEDED", 504, True),
    ],
)
def test_an_error_inside_a_stream_may_have_only_its_word(word, status, retryable):
    end = events(sse({"error": {"status": word, "message": "No."}}))[-1]
    assert (end.error.status, end.error.retryable) == (status, retryable)


def test_nothing_is_said_after_an_error_in_an_array():
    *before, end = events(sse([refusal(503, "UNAVAILABLE"), answer({"text": "Hi"})]))
    assert (before, type(end)) == ([], Failed)


@pytest.mark.parametrize(
    "body",
    [
        b'{"candidates": "none"}',
        b'{"candidates": [{"content": "Hi"}]}',
        b'{"candidates": [{"content": {"parts": [3]}}]}',
        b"not JSON",
        b"[1]",
        b"",
    ],
)
def test_what_cannot_be_read_is_an_invalid_response(body):
    with pytest.raises(InvalidResponse):
        decode_chat(body, target())


def test_a_stream_with_something_else_in_it_fails_after_what_was_good():
    *_, end = said = events(sse(answer({"text": "Hi"}, finish=None)) + b"data: hello\n\n")
    assert TextDelta(0, "Hi") in said
    assert isinstance(end.error, InvalidResponse)


def test_a_number_of_calls_is_enough():
    calls = [{"functionCall": {"name": "fly"}}] * 4
    with pytest.raises(InvalidResponse, match="more than 3"):
        decode_chat(json.dumps(answer(*calls)).encode(), target(limits=Limits(tool_calls=3)))


def test_a_terminal_event_comes_once():
    data = sse(answer({"text": "Hi"}), refusal(500, "INTERNAL"), answer({"text": "again"}))
    assert [type(event) for event in events(data) if isinstance(event, (Finished, Failed))] == [Failed]
