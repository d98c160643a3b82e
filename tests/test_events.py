import pytest

from dragoman.errors import IncompleteStream, Overloaded
from dragoman.events import (
    DISCARD,
    Failed,
    Finished,
    Fold,
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
from dragoman.messages import Image, Opaque, Text, Thinking, ToolCall
from dragoman.usage import Usage

SEAL = Opaque("lyrebird/owl", {"signature": "s"})


def test_events_add_up_to_the_response():
    picture = Image(b"..", media_type="image/png")
    response = fold(
        [
            ThinkingStart(0),
            ThinkingDelta(0, "let me "),
            ThinkingDelta(0, "see"),
            ThinkingEnd(0, SEAL),
            TextStart(1),
            TextDelta(1, "Hi"),
            TextEnd(1),
            ToolCallStart(2, "c1", "look"),
            ToolInputDelta(2, "c1", '{"a"'),
            ToolInputDelta(2, "c1", ":1}"),
            ToolCallEnd(2, "c1", SEAL),
            PartAdded(3, picture),
            UsageReported(Usage(input_tokens=3)),
            UsageReported(Usage(input_tokens=3, output_tokens=5)),
            Finished(reason="tool_calls", raw_reason="tool_use", id="r1", model="owl-2", provider="lyrebird"),
        ]
    )

    assert response.message.parts == (
        Thinking("let me see", SEAL),
        Text("Hi"),
        ToolCall("c1", "look", '{"a":1}', SEAL),
        picture,
    )
    assert (response.text, response.thinking, response.finish_reason) == ("Hi", "let me see", "tool_calls")
    assert response.usage == Usage(input_tokens=3, output_tokens=5)
    assert (response.id, response.model, response.provider) == ("r1", "owl-2", "lyrebird")


def test_parts_may_grow_side_by_side_and_keep_their_places():
    response = fold(
        [
            ToolCallStart(0, "a", "f"),
            ToolCallStart(1, "b", "g"),
            ToolInputDelta(1, "b", "{}"),
            ToolInputDelta(0, "a", '{"x":1}'),
            ToolCallEnd(1, "b"),
            ToolCallEnd(0, "a"),
            Finished(reason="tool_calls"),
        ]
    )
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", '{"x":1}'), ("g", "{}")]


def test_a_call_without_arguments_has_the_empty_object():
    response = fold([ToolCallStart(0, "a", "f"), ToolCallEnd(0, "a"), Finished(reason="tool_calls")])
    assert response.tool_calls[0].parse_arguments() == {}


def test_a_failure_is_raised_with_what_came_before_it():
    gathered = Fold()
    for event in (TextStart(0), TextDelta(0, "half a"), ToolCallStart(1, "c", "f"), Failed(IncompleteStream("cut"))):
        gathered.add(event)

    with pytest.raises(IncompleteStream) as caught:
        _ = gathered.response
    assert caught.value.partial.text == "half a"
    assert caught.value.partial.tool_calls == ()
    assert "cut off" in str(caught.value.partial.notes[0])


def test_an_error_of_the_provider_is_raised_as_it_is():
    with pytest.raises(Overloaded):
        fold([Failed(Overloaded("busy"))])


def test_a_stream_that_has_not_ended_is_no_response():
    with pytest.raises(IncompleteStream):
        fold([TextStart(0)])


def test_the_sink_that_drops_everything_drops_everything():
    assert DISCARD(TextStart(0)) is None
