import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InvalidResponse, Misuse
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
    dump_messages,
    load_messages,
    render_blocks_as_text,
)

from .strategies import cache_marks, documents, images, json_objects, sounds, text_parts, texts, tool_calls, words

opaques = st.none() | st.builds(Opaque, words, json_objects)
blocks = st.lists(text_parts() | images() | documents(), max_size=2).map(tuple)
parts = st.one_of(
    text_parts(cache_marks),
    images(cache_marks),
    documents(),
    sounds(),
    st.builds(Thinking, texts, opaques),
    tool_calls(opaques),
    st.builds(ToolResult, words, texts, st.booleans(), blocks, opaques),
    st.builds(OpaquePart, words, st.builds(Opaque, words, json_objects)),
)
messages = st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.lists(parts, max_size=4).map(tuple)
)

PNG = b"\x89PNG\r\n\x1a\n...."


def test_views_keep_thinking_out_of_the_text():
    message = Message.assistant(Thinking("hm"), "Hello ", ToolCall("c", "f"), "there")

    assert message.text == "Hello there"
    assert message.thinking == "hm"
    assert [call.id for call in message.tool_calls] == ["c"]


def test_one_tool_message_carries_every_result():
    results = [ToolResult("a", "1"), ToolResult("b", "2", is_error=True)]
    assert Message.tool(results).tool_results == tuple(results)
    assert Message.tool(results[0]).tool_results == (results[0],)


def test_an_unknown_role_is_named():
    with pytest.raises(Misuse, match="unknown role 'robot': use one of system, user"):
        Message("robot", ())


def test_an_image_is_known_by_its_bytes():
    assert Image(PNG).media_type == "image/png"


@pytest.mark.parametrize("beginning", [b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"])
def test_mp3_is_known_by_each_of_its_beginnings(beginning):
    assert Audio(beginning + b"rest").media_type == "audio/mpeg"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Image(b"????"), "no kind we can recognise: give media_type"),
        (lambda: Image(), "exactly one of data, url and file_id; it was given 0"),
        (lambda: Document(b"x", "text/plain", url="https://x"), "it was given 2"),
    ],
)
def test_media_that_cannot_be_read_says_what_to_give(make, says):
    with pytest.raises(Misuse, match=says):
        make()


def test_a_data_url_is_the_bytes_it_holds():
    assert Image(url="data:image/png;base64,YWJj") == Image(b"abc", "image/png")
    assert Document(url="data:text/plain,a%20b") == Document(b"a b", "text/plain")
    assert Image(PNG[:8] + b"x").media_type == Image(url="data:;base64,iVBORw0KGgp4").media_type == "image/png"
    for broken in ("data:", "data:image/png;base64,", "data:image/png;base64,%%%"):
        with pytest.raises(Misuse, match="Image has a data: URL without readable data"):
            Image(url=broken)


def test_blocks_become_text_where_only_text_is_taken():
    blocks = (Text("see:"), Image(PNG), Document(url="https://x/y.pdf", media_type="application/pdf"))
    assert (
        render_blocks_as_text(blocks)
        == f"see:\n[Image: image/png, {len(PNG)}B]\n[Document: application/pdf, https://x/y.pdf]"
    )


@given(st.lists(messages, max_size=4).map(tuple))
def test_a_conversation_survives_json(conversation):
    assert load_messages(dump_messages(conversation)) == conversation


def test_half_a_character_is_replaced_before_it_reaches_a_store():
    stored = dump_messages([Message.user("a\ud83db", ToolCall("c", "f", '"\ude00"'))])
    assert load_messages(stored)[0].text == "a�b"


def test_what_is_no_conversation_is_refused():
    with pytest.raises(Misuse, match="not a stored conversation"):
        load_messages(b'[{"role":"robot","parts":[]}]')


def test_opaque_state_is_kept_to_the_letter():
    part = Thinking("hm", Opaque("lyrebird/owl", {"signature": "AA==", "deep": {"list": [1, None, True]}}))
    assert load_messages(dump_messages([Message.assistant(part)]))[0].parts == (part,)


# ── arguments ──


@pytest.mark.parametrize(("text", "value"), [('{"a": 1}', {"a": 1}), ("", {}), ("null", {}), (" {} ", {})])
def test_arguments_are_read(text, value):
    assert ToolCall("c", "f", text).parse_arguments() == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":2}', "key 'a' is given twice"),
        ('{"o":{"a":1,"a":2}}', "given twice"),
        ('{"a":NaN}', "NaN is not a JSON number"),
        ('{"a":-Infinity}', "-Infinity is not a JSON number"),
        ('{"a":1e999}', "out of range"),
        ('{"a":1', "not valid JSON"),
        ("[1]", "a list, not an object"),
        ('"x"', "a string, not an object"),
        ("3", "a number, not an object"),
        ("[" * 100 + "]" * 100, "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        ('{"n":' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_arguments_that_could_mean_two_things_are_refused(text, says):
    with pytest.raises(InvalidResponse, match=says):
        ToolCall("c", "f", text).parse_arguments()
