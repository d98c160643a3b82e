import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.inline import InlineReader


def read(*deltas, has_channel=False):
    """Thinking, text and calls of a text that came in these pieces."""
    reader = InlineReader()
    reader.has_channel = has_channel
    pieces = [piece for delta in deltas for piece in reader.feed(delta)] + reader.flush()
    thinking = "".join(text for is_thinking, text in pieces if is_thinking)
    text = "".join(text for is_thinking, text in pieces if not is_thinking)
    return thinking, text, [(call.id, call.name, call.arguments) for call in reader.calls]


CASES = {
    "no tag": ("Hello <b>you</b>", ("", "Hello <b>you</b>", [])),
    "think": ("<think>hm</think>\n\nHello", ("hm", "Hello", [])),
    "thinking": ("\n<thinking>hm</thinking>Hello", ("hm", "Hello", [])),
    "never closed": ("<think>hm and so on", ("hm and so on", "", [])),
    "closed by another tag": ("<think>hm</thinking> so", ("hm</thinking> so", "", [])),
    "not at the start": ("I <think>hm</think>", ("", "I <think>hm</think>", [])),
    "only a beginning": ("  <thi", ("", "  <thi", [])),
    "a second stretch": ("<think>a</think>b<think>c</think>", ("a", "b<think>c</think>", [])),
    "a call": (
        'On it.<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"a":1}'
        "<|tool_call_end|><|tool_calls_section_end|>",
        ("", "On it.", [("functions.look:0", "look", '{"a":1}')]),
    ),
    "two calls, never closed": (
        "<|tool_calls_section_begin|><|tool_call_begin|>a<|tool_call_argument_begin|>{}<|tool_call_end|>"
        "<|tool_call_begin|>b:1<|tool_call_argument_begin|>{}",
        ("", "", [("a", "a", "{}"), ("b:1", "b", "{}")]),
    ),
    "a section that is none": (
        "<|tool_calls_section_begin|>just words<|tool_calls_section_end|>!",
        ("", "<|tool_calls_section_begin|>just words!", []),
    ),
    "thinking is never read for calls": (
        "<think><|tool_calls_section_begin|><|tool_call_begin|>a<|tool_call_argument_begin|>{}</think>x",
        ("<|tool_calls_section_begin|><|tool_call_begin|>a<|tool_call_argument_begin|>{}", "x", []),
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_tags_are_found_wherever_the_text_is_cut(text, expected):
    assert read(text) == expected
    assert read(*text) == expected
    for at in range(len(text)):
        assert read(text[:at], text[at:]) == expected


def test_a_reasoning_field_of_its_own_leaves_tags_alone():
    assert read("<think>hm</think>", has_channel=True) == ("", "<think>hm</think>", [])


@given(
    st.lists(
        st.sampled_from(
            ["<think>", "</think>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<", "x", " ", "|>"]
        )
    )
)
def test_any_cut_reads_the_same(pieces):
    text = "".join(pieces)
    assert read(*pieces) == read(text) == read(*text)


def test_endless_space_before_the_first_word_is_not_held_for_ever():
    reader = InlineReader()
    given_out = "".join(text for _ in range(1_000) for _, text in reader.feed("  "))
    assert len(given_out) > 1_000
