import re

import pytest

from dragoman.exchange import Options, Request
from dragoman.messages import Image, Message, Opaque, OpaquePart, Text, Thinking, ToolCall, ToolResult
from dragoman.resolve import resolve
from dragoman.wire import prepare
from dragoman.wire.history import NO_RESULT, fit_history
from dragoman.wire.ids import CALL_ID_SHAPES, fit_id

CLAUDE = resolve("anthropic:claude-sonnet-4-5", environ={})
MISTRAL = resolve("mistral:mistral-large-latest", environ={})
OPENAI = resolve("openai:gpt-5", environ={})


def fitted(*messages, target=CLAUDE):
    notes = []
    return fit_history(messages, target, notes), [str(note) for note in notes]


def test_a_history_in_order_is_left_alone():
    history = (
        Message.system("be brief"),
        Message.user("hi"),
        Message.assistant(Thinking("hm", Opaque(CLAUDE.issuer, {"signature": "s"})), ToolCall("c1", "f")),
        Message.tool(ToolResult("c1", "ok")),
        Message.assistant("done"),
    )
    assert fitted(*history) == (history, [])


def test_a_call_without_a_result_gets_one_that_says_so():
    history, notes = fitted(
        Message.assistant(ToolCall("c1", "f"), ToolCall("c2", "g")),
        Message.tool(ToolResult("c2", "ok")),
        Message.user("so?"),
    )

    assert history[1].tool_results == (ToolResult("c1", NO_RESULT, is_error=True), ToolResult("c2", "ok"))
    assert notes == ["repaired call 'c1': it had no result; one that says so was added"]


def test_a_call_at_the_very_end_is_answered_too():
    history, _ = fitted(Message.user("x"), Message.assistant(ToolCall("c1", "f")))
    assert history[-1].tool_results[0].is_error


def test_a_result_that_nobody_asked_for_becomes_quoted_text():
    history, notes = fitted(Message.user("x"), Message.tool(ToolResult("c9", "42 degrees")))

    assert history[-1] == Message.user("[Result of an earlier tool call]\n42 degrees")
    assert "no call asks for it" in notes[0]


def test_a_result_that_nobody_asked_for_keeps_its_blocks():
    picture = Image(url="https://lyrebird.example/nest.png")
    history, _ = fitted(Message.user("x"), Message.tool(ToolResult("c9", blocks=(Text("a nest:"), picture))))

    assert history[-1] == Message.user("[Result of an earlier tool call]\n", "a nest:", picture)


def test_a_result_of_a_call_that_the_provider_holds_is_left_alone():
    request = Request(
        model="gpt-5",
        messages=(Message.tool(ToolResult("c9", "42 degrees")),),
        options=Options(extra={"previous_response_id": "resp_1"}),
    )
    notes = []
    assert prepare(request, OPENAI, notes).messages == request.messages
    assert notes == []


def test_nothing_said_between_a_call_and_its_result_does_not_part_them():
    call, result = Message.assistant(ToolCall("a", "f")), Message.tool(ToolResult("a", "1"))
    history, notes = fitted(call, Message.user(""), result)

    assert history == (call, result)
    assert notes == ["dropped an empty user message: no provider accepts one"]


def test_what_a_wire_takes_as_an_id_counts_for_more_than_its_provider_s_habit():
    long = "call_" + "x" * 50
    history, notes = fitted(Message.assistant(ToolCall(long, "f")), Message.tool(ToolResult(long, "1")), target=OPENAI)

    assert OPENAI.wire == "openai-responses"
    assert (history[0].tool_calls[0].id, notes) == (long, [])


def test_foreign_state_inside_a_result_is_dropped_too():
    quoted = Text("hoot", Opaque("someone/else", {"citations": []}))
    history, notes = fitted(Message.assistant(ToolCall("a", "f")), Message.tool(ToolResult("a", blocks=(quoted,))))

    assert history[1].tool_results[0].blocks == (Text("hoot"),)
    assert notes == ["dropped 1 × state of a Text: issued by someone/else, which alone can read it"]


def test_results_in_several_messages_are_one_turn_in_the_order_of_the_calls():
    history, notes = fitted(
        Message.assistant(ToolCall("a", "f"), ToolCall("b", "g")),
        Message.tool(ToolResult("b", "2")),
        Message.tool(ToolResult("a", "1")),
    )
    assert [result.content for result in history[1].tool_results] == ["1", "2"]
    assert (len(history), notes) == (2, [])


def test_a_second_result_of_one_call_is_dropped_and_noted():
    history, notes = fitted(
        Message.assistant(ToolCall("a", "f")), Message.tool([ToolResult("a", "1"), ToolResult("a", "2")])
    )
    assert [result.content for result in history[1].tool_results] == ["1"]
    assert "a call has one result" in notes[0]


def test_results_inside_a_user_message_are_taken_out_of_it():
    history, _ = fitted(Message.assistant(ToolCall("a", "f")), Message("user", (ToolResult("a", "1"), Text("go on"))))
    assert [message.role for message in history] == ["assistant", "tool", "user"]


def test_ids_that_come_again_in_a_later_turn_are_told_apart():
    turn = (Message.assistant(ToolCall("call_0", "f")), Message.tool(ToolResult("call_0", "x")))
    history, _ = fitted(*turn, *turn)

    ids = [call.id for message in history for call in message.tool_calls]
    assert len(set(ids)) == 2
    assert [result.id for message in history for result in message.tool_results] == ids


def test_two_calls_of_one_turn_may_share_an_id():
    history, _ = fitted(
        Message.assistant(ToolCall("x", "f"), ToolCall("x", "g")),
        Message.tool([ToolResult("x", "1"), ToolResult("x", "2")]),
    )
    calls, results = history[0].tool_calls, history[1].tool_results
    assert [call.id for call in calls] == [result.id for result in results]
    assert [result.content for result in results] == ["1", "2"]


def test_ids_are_mapped_to_the_alphabet_of_the_next_provider():
    history, notes = fitted(
        Message.assistant(ToolCall("functions.look:0", "look")), Message.tool(ToolResult("functions.look:0", "x"))
    )

    id = history[0].tool_calls[0].id
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id)
    assert history[1].tool_results[0].id == id
    assert "sent as" in notes[0]


def test_ids_of_exactly_nine_letters_where_that_is_the_rule():
    history, _ = fitted(
        Message.assistant(ToolCall("toolu_01ABC", "f")), Message.tool(ToolResult("toolu_01ABC", "x")), target=MISTRAL
    )
    assert re.fullmatch(r"[A-Za-z0-9]{9}", history[0].tool_calls[0].id)


@pytest.mark.parametrize("shape", CALL_ID_SHAPES)
def test_a_fitted_id_fits_and_stays_the_same(shape):
    for id in ("functions.x:0", "a" * 100, "ünï", "call_1"):
        assert CALL_ID_SHAPES[shape].fullmatch(fit_id(id, shape))
        assert fit_id(id, shape) == fit_id(id, shape)
        assert fit_id(id, shape, salt=1) != fit_id(id, shape, salt=2)


def test_what_another_provider_issued_is_dropped_and_noted():
    foreign = Opaque("openai/gpt-5", {"encrypted_content": "x"})
    history, notes = fitted(
        Message.user("hi"),
        Message.assistant(
            Thinking("hm", foreign),
            Thinking("", foreign),
            OpaquePart("web_search_call", foreign),
            Text("Hello", foreign),
            ToolCall("c", "f", "{}", foreign),
        ),
        Message.tool(ToolResult("c", "x", opaque=foreign)),
    )
    assert history[1].parts == (Text("Hello"), ToolCall("c", "f"))
    assert history[2].parts == (ToolResult("c", "x"),)
    assert notes[0] == "dropped 2 × thinking: issued by openai/gpt-5, which alone can read it"
    assert len(notes) == 5


def test_what_the_same_provider_issued_goes_back_untouched():
    own = Opaque(OPENAI.issuer, {"encrypted_content": "x"})
    history, notes = fitted(
        Message.user("hi"), Message.assistant(Thinking("hm", own), OpaquePart("x", own), "a"), target=OPENAI
    )
    assert (history[1].parts, notes) == ((Thinking("hm", own), OpaquePart("x", own), Text("a")), [])


def test_another_family_of_the_same_provider_is_foreign():
    _, notes = fitted(
        Message.assistant(Thinking("hm", Opaque("openai/gpt-4@openai-responses", {})), "a"), target=OPENAI
    )
    assert "dropped" in notes[0]


def test_a_message_of_which_nothing_is_left_is_not_sent():
    history, notes = fitted(Message.user("hi"), Message.assistant(Thinking("hm", Opaque("x/y", {}))), Message.user(""))
    assert history == (Message.user("hi"),)
    assert len([note for note in notes if "empty" in note]) == 2


def test_a_call_in_the_providers_own_words_may_have_a_result():
    search = OpaquePart("tool_search_call", Opaque(OPENAI.issuer, {"call_id": "s1"}))
    history, notes = fitted(Message.assistant(search), Message.tool(ToolResult("s1", "found")), target=OPENAI)
    assert (history[1].tool_results, notes) == ((ToolResult("s1", "found"),), [])


def test_a_failure_that_cannot_be_marked_is_noted():
    turn = (Message.assistant(ToolCall("c1", "f")), Message.tool(ToolResult("c1", "no such file", is_error=True)))
    assert fitted(*turn)[1] == []
    assert fitted(*turn, target=OPENAI)[1] == [
        "dropped is_error of a result: this wire has no such mark; its text must say so"
    ]


def test_words_beside_a_result_are_the_users():
    history, _ = fitted(Message.assistant(ToolCall("a", "f")), Message("tool", (ToolResult("a", "1"), Text("note"))))
    assert history[1:] == (Message.tool(ToolResult("a", "1")), Message.user("note"))
