import pytest

from dragoman.errors import InvalidResponse
from dragoman.events import Failed, Finished, TextStart, ThinkingStart, fold
from dragoman.exchange import Note
from dragoman.limits import Limits
from dragoman.messages import Image, Text, Thinking, ToolCall
from dragoman.target import Family, Target
from dragoman.wire.scribe import Scribe


def scribe(**more):
    limits = Limits(tool_calls=3, nesting=8)
    target = Target(
        provider="lyrebird", model="owl-2", wire="openai-chat", base_url="", family=Family(name="owl"), limits=limits
    )
    return Scribe(target, **more)


def finished(writer, reason="stop"):
    writer.finish(reason)
    return fold(writer.take())


def test_prose_of_another_kind_closes_what_was_open():
    writer = scribe()
    writer.thinking("hm ")
    writer.thinking("so")
    writer.text("Hi")
    writer.thinking("wait")
    assert finished(writer).message.parts == (Thinking("hm so"), Text("Hi"), Thinking("wait"))


def test_state_goes_to_the_prose_it_was_said_of():
    writer = scribe()
    writer.thinking("hm")
    writer.mark(ThinkingStart, {"signature": "s"})
    writer.text("Hi")
    writer.gather(TextStart, "annotations", [1])
    writer.gather(TextStart, "annotations", [2])
    thought, text = finished(writer).message.parts

    assert (thought.opaque.issuer, thought.opaque.data) == ("lyrebird/owl@openai-chat", {"signature": "s"})
    assert text.opaque.data == {"annotations": [1, 2]}


def test_state_goes_to_words_that_were_still_held_back():
    writer = scribe(inline=True)
    writer.text(" <thin")
    writer.mark(TextStart, {"a": 1})
    (text,) = finished(writer).message.parts
    assert (text.text, text.opaque.data) == (" <thin", {"a": 1})


def test_state_without_words_opens_a_part_of_its_own():
    writer = scribe()
    writer.text("Hi")
    writer.mark(ThinkingStart, {"signature": "s"})
    assert [type(part) for part in finished(writer).message.parts] == [Text, Thinking]


def test_state_is_sealed_when_its_part_closes():
    writer = scribe(seal=lambda data: {"sealed": sorted(data)})
    writer.thinking("hm")
    writer.mark(ThinkingStart, {"b": 1, "a": 2})
    assert finished(writer).message.parts[0].opaque.data == {"sealed": ["a", "b"]}


def test_state_nested_too_deep_is_refused():
    deep = {}
    for _ in range(10):
        deep = {"x": [deep]}
    with pytest.raises(InvalidResponse, match="nested deeper than 8"):
        scribe().opaque(deep)


def test_a_missing_id_is_made_up_and_a_repeated_one_made_unique():
    writer = scribe()
    writer.whole_call("", "f", "{}")
    writer.whole_call("x", "f", "{}")
    writer.whole_call("x", "g", "{}")
    response = finished(writer)

    assert [call.id for call in response.tool_calls] == ["call_0", "x", "x_2"]
    assert [note.act for note in response.notes] == ["repaired", "repaired"]


def test_calls_are_bounded():
    writer = scribe()
    for n in range(3):
        writer.whole_call(str(n), "f", "{}")
    with pytest.raises(InvalidResponse, match="more than 3 tool calls"):
        writer.whole_call("4", "f", "{}")


def test_stop_after_a_call_means_the_call():
    writer = scribe()
    writer.whole_call("x", "f", "{}")
    assert finished(writer).finish_reason == "tool_calls"
    writer = scribe()
    writer.whole_call("x", "f", "{}")
    assert finished(writer, "length").finish_reason == "length"


@pytest.mark.parametrize("name", ["tool.look", "tools.look", "functions.look"])
def test_a_prefix_before_a_tools_name_is_taken_off(name):
    writer = scribe(inline=True)
    writer.whole_call("x", name, "{}")
    response = finished(writer)
    assert response.tool_calls[0].name == "look"
    assert response.notes


def test_leaked_calls_are_rescued_only_when_no_call_came():
    leaked = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    )
    writer = scribe(inline=True)
    writer.text(f"Let me see.{leaked}")
    response = finished(writer)
    assert response.message.parts == (Text("Let me see."), ToolCall("functions.look:0", "look", "{}"))
    assert response.finish_reason == "tool_calls"

    writer = scribe(inline=True)
    writer.text(leaked)
    writer.whole_call("c1", "look", "{}")
    response = finished(writer)
    assert [call.id for call in response.tool_calls] == ["c1"]
    assert "written into the text" in str(response.notes[0])


def test_an_emoji_cut_in_two_is_whole_again():
    writer = scribe()
    writer.text("a\ud83d")
    writer.text("\ude00b")
    assert finished(writer).text == "a😀b"


def test_half_a_character_that_stays_alone_is_replaced():
    writer = scribe()
    writer.text("a\ud83d")
    writer.thinking("\ude00b")
    call = object()
    writer.call(call, "c", "f")
    writer.call_input(call, '"\ud83d')
    response = finished(writer)
    assert (response.text, response.thinking, response.tool_calls[0].arguments) == ("a�", "�b", '"�')


def test_keyed_parts_grow_side_by_side():
    writer = scribe()
    first, second = writer.start_text(), writer.start_thinking()
    writer.add_text(first, "a\ud83d")
    writer.add_thinking(second, "x")
    writer.add_text(first, "\ude00")
    writer.end(second, {"signature": "s"})
    writer.end(first)
    writer.end(first)
    assert finished(writer).text == "a😀"


def test_a_part_that_came_whole_keeps_its_place():
    writer = scribe()
    writer.text("a")
    writer.part(Image(b"x", media_type="image/png"))
    writer.text("b")
    assert [type(part) for part in finished(writer).message.parts] == [Text, Image, Text]


def test_there_is_one_terminal_event():
    writer = scribe()
    writer.finish("stop")
    writer.finish("length")
    writer.fail(InvalidResponse("x"))
    assert [type(event) for event in writer.take()] == [Finished]


def test_a_failure_says_who_failed():
    writer = scribe()
    writer.fail(InvalidResponse("x"))
    (failed,) = writer.take()
    assert isinstance(failed, Failed)
    assert (failed.error.provider, failed.error.model) == ("lyrebird", "owl-2")


def test_a_note_is_said_once():
    writer = scribe()
    writer.note(Note("ignored", "x", "y"))
    writer.note(Note("ignored", "x", "y"))
    assert len(finished(writer).notes) == 1


def test_an_empty_piece_says_nothing():
    writer = scribe()
    index = writer.start_text()
    writer.add_text(index, "")
    writer.text("")
    writer.thinking("")
    assert len(writer.take()) == 1


def test_an_answer_without_a_model_is_of_the_model_asked():
    assert finished(scribe()).model == "owl-2"
    writer = scribe()
    writer.model = "owl-2-0101"
    assert finished(writer).model == "owl-2-0101"


def test_notes_are_bounded():
    writer = scribe()
    for n in range(1_000):
        writer.note(Note("ignored", str(n), "flood"))
    assert len(finished(writer).notes) == 256
