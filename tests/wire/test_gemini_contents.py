import pytest

from dragoman.errors import Misuse
from dragoman.messages import Audio, Document, Image, Message, Opaque, OpaquePart, Text, Thinking, ToolCall, ToolResult
from dragoman.target import Family, Target
from dragoman.wire.gemini.contents import STAND_IN_SIGNATURE, conversation


def target(**family):
    base_url = "https://api.lyrebird.example/v1beta"
    return Target(
        provider="lyrebird", model="owl-2", wire="gemini", base_url=base_url, family=Family(name="owl", **family)
    )


def contents(*messages, to=None, notes=None):
    return conversation(messages, to or target(), [] if notes is None else notes)["contents"]


def parts(*given, role="assistant", **more):
    (content,) = contents(Message(role, given), **more)
    return content["parts"]


def opaque(**data):
    return Opaque("lyrebird/owl@gemini", data)


def test_the_first_system_messages_stand_apart():
    body = conversation((Message.system("Be brief."), Message.system("Be kind."), Message.user("hi")), target(), [])
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


def test_instructions_alone_are_said_by_the_user_and_noted():
    notes = []
    body = conversation((Message.system("Tell a joke."),), target(), notes)
    assert body == {"contents": [{"role": "user", "parts": [{"text": "Tell a joke."}]}]}
    assert [note.act for note in notes] == ["changed"]


def test_a_later_system_message_is_said_by_the_user_and_noted():
    notes = []
    said = contents(Message.user("hi"), Message.assistant("Hello"), Message.system("Now rhyme."), notes=notes)
    assert [content["role"] for content in said] == ["user", "model", "user"]
    assert [note.act for note in notes] == ["changed"]


def test_a_message_with_nothing_to_say_is_left_out():
    assert [content["role"] for content in contents(Message.user("hi"), Message.assistant(""), Message.user("?"))] == [
        "user"
    ] * 2


def test_signatures_go_back_on_their_own_parts():
    signed = opaque(thoughtSignature="s")
    assert parts(Text("a"), Text("b", signed), Text("", signed), ToolCall("c1", "fly", "{}", signed)) == [
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s"},
        {"text": "", "thoughtSignature": "s"},
        {"functionCall": {"id": "c1", "name": "fly", "args": {}}, "thoughtSignature": "s"},
    ]


def test_thoughts_go_back_only_with_a_signature():
    thoughts = (Thinking("hm"), Thinking("so", opaque(thoughtSignature="s")), Text("Hi"))
    assert parts(*thoughts) == [{"text": "so", "thought": True, "thoughtSignature": "s"}, {"text": "Hi"}]


def test_a_made_up_id_is_shown_to_nobody():
    call = ToolCall("turn-1_0", "fly", '{"to": "nest"}', opaque(made_up_id=True, thoughtSignature="s"))
    said = contents(Message.assistant(call), Message.tool(ToolResult("turn-1_0", "flown")))
    assert said[0]["parts"] == [{"functionCall": {"name": "fly", "args": {"to": "nest"}}, "thoughtSignature": "s"}]
    assert said[1]["parts"] == [{"functionResponse": {"name": "fly", "response": {"output": "flown"}}}]


def test_arguments_that_are_no_object_travel_inside_one():
    notes = []
    assert parts(ToolCall("c1", "fly", "{broken"), notes=notes)[0]["functionCall"]["args"] == {"arguments": "{broken"}
    assert [note.act for note in notes] == ["changed"]


def test_the_first_call_without_a_signature_gets_the_stand_in_where_one_is_needed():
    notes, family = [], target(needs_call_signature=True)
    calls = (ToolCall("c1", "fly"), ToolCall("c2", "land"))
    first, second = parts(*calls, to=family, notes=notes)
    assert (first["thoughtSignature"], "thoughtSignature" in second) == (STAND_IN_SIGNATURE, False)
    assert [note.act for note in notes] == ["repaired"]
    assert "thoughtSignature" not in parts(*calls)[0]


def test_a_signature_that_is_there_is_left_alone():
    call = ToolCall("c1", "fly", "{}", opaque(thoughtSignature="s"))
    assert parts(call, to=target(needs_call_signature=True))[0]["thoughtSignature"] == "s"


def test_media_go_as_bytes_or_by_where_they_lie():
    said = parts(
        Image(b"\x01\x02\x03", media_type="image/png"),
        Audio(url="https://nest.example/hoot.mp3", media_type="audio/mpeg"),
        Document(url="https://www.youtube.com/watch?v=owl"),
        Document(file_id="files/egg", media_type="application/pdf"),
        Document(file_id="gs://nest/egg.pdf"),
        role="user",
    )
    assert said == [
        {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
        {"fileData": {"fileUri": "https://nest.example/hoot.mp3", "mimeType": "audio/mpeg"}},
        {"fileData": {"fileUri": "https://www.youtube.com/watch?v=owl"}},
        {"fileData": {"fileUri": "https://api.lyrebird.example/v1beta/files/egg", "mimeType": "application/pdf"}},
        {"fileData": {"fileUri": "gs://nest/egg.pdf"}},
    ]


def test_what_media_cannot_say_here_is_noted():
    notes = []
    parts(Image(b"\x01", media_type="image/png", detail="high"), role="user", notes=notes)
    parts(Audio(b"a", media_type="audio/wav", transcript="hoot"), role="user", notes=notes)
    parts(Document(b"a", media_type="text/plain", context="a nest", citations=True), role="user", notes=notes)
    assert [note.what for note in notes] == [
        "detail of a Image",
        "transcript of a Audio",
        "context of a Document",
        "citations of a Document",
    ]


def test_a_kept_part_goes_back_verbatim_and_its_sources_do_not():
    code = {"executableCode": {"code": "1+1"}, "thoughtSignature": "s"}
    sources = OpaquePart("grounding", opaque(groundingMetadata={"webSearchQueries": ["owls"]}))
    assert parts(OpaquePart("executableCode", Opaque("lyrebird/owl@gemini", code)), sources) == [code]


def test_a_result_outside_a_tool_message_is_misuse():
    with pytest.raises(Misuse):
        parts(ToolResult("c1", "flown"), role="user")


# ── results ──

CALLS = Message.assistant(ToolCall("c1", "fly"), ToolCall("c2", "land"))
PICTURE = Image(b"\x01\x02\x03", media_type="image/png")
PNG = {"inlineData": {"mimeType": "image/png", "data": "AQID"}}


def test_all_results_of_a_turn_are_one_content_under_the_names_of_their_calls():
    results = (ToolResult("c1", "flown"), ToolResult("c2", "no ground", is_error=True))
    _, said = contents(CALLS, Message.tool(results))
    assert said == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "c1", "name": "fly", "response": {"output": "flown"}}},
            {"functionResponse": {"id": "c2", "name": "land", "response": {"error": "no ground"}}},
        ],
    }


def test_an_id_used_again_means_the_latest_call():
    later = Message.assistant(ToolCall("c1", "hoot"))
    said = contents(CALLS, Message.tool(ToolResult("c1")), later, Message.tool(ToolResult("c1")))
    assert [content["parts"][0]["functionResponse"]["name"] for content in said[1::2]] == ["fly", "hoot"]


def test_media_of_a_result_come_after_all_results_and_are_described_in_their_own():
    results = (ToolResult("c1", "seen:", blocks=(Text("a tree"), PICTURE)), ToolResult("c2", "landed"))
    first, second, picture = contents(CALLS, Message.tool(results))[1]["parts"]
    assert first["functionResponse"]["response"] == {"output": "seen:\na tree\n[Image: image/png, 3B]"}
    assert (second["functionResponse"]["name"], picture) == ("land", PNG)


def test_a_family_that_takes_media_in_results_gets_them_there():
    gif = Image(b"GIF89a", media_type="image/gif")
    result = ToolResult("c1", "seen:", blocks=(PICTURE, gif))
    first, beside = contents(CALLS, Message.tool(result), to=target(media_in_results=True))[1]["parts"]
    assert first["functionResponse"]["parts"] == [PNG]
    assert first["functionResponse"]["response"] == {"output": "seen:\n[Image: image/gif, 6B]"}
    assert beside["inlineData"]["mimeType"] == "image/gif"
