"""The small words: usage, effort, secrets, HTTP as data, errors, nesting."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dragoman
from dragoman import errors
from dragoman.effort import EFFORT_NAMES, effort_name, parse_effort
from dragoman.errors import ApiError, DragomanError, InvalidOption, Misuse, RateLimited
from dragoman.exchange import UNSET, McpTool, Options, Request
from dragoman.http import HttpRequest, HttpResponse
from dragoman.messages import Message
from dragoman.nesting import too_deep
from dragoman.secrets import Secret
from dragoman.usage import Usage, token_count
from dragoman.wire.thinking import budget_level, effort_level

# ── usage ──


def test_unknown_adds_as_zero_without_becoming_zero():
    total = Usage(input_tokens=3) + Usage(input_tokens=4, cache_read_tokens=2)

    assert total == Usage(input_tokens=7, cache_read_tokens=2)
    assert total.output_tokens is None
    assert (total.total, Usage().total) == (7, None)
    assert (bool(Usage()), bool(total)) == (False, True)


@pytest.mark.parametrize(
    ("claim", "count"), [(3, 3), (3.0, 3), (0, 0), (-1, None), (2.5, None), ("3", None), (True, None), (10**15, None)]
)
def test_a_count_that_is_not_sane_is_unknown(claim, count):
    assert token_count(claim) == count


# ── effort ──


def test_efforts_have_names_and_levels():
    assert EFFORT_NAMES == ("low", "medium", "high", "ultra")
    assert [parse_effort(name) for name in EFFORT_NAMES] == [1, 2, 3, 4]
    assert (parse_effort("med"), parse_effort("none"), parse_effort("nonsense")) == (2, -1, 0)
    assert (effort_name(1), effort_name(99)) == ("low", "medium")


def test_options_take_effort_by_name_or_level():
    assert Options(effort="high") == Options(effort=3)
    assert Options().effort_level == 0
    with pytest.raises(Misuse, match="unknown effort 'huge': use none, low"):
        Options(effort="huge")


def test_options_not_given_and_unset_are_the_same():
    assert Options(temperature=UNSET) == Options()
    assert Options(stop="x") == Options(stop=("x",)) == Options(stop=["x"])


def test_a_request_goes_on_from_itself():
    request = Request(model="m", messages=[Message.user("a")])
    assert request.then(Message.assistant("b")).messages == (Message.user("a"), Message.assistant("b"))


# ── secrets ──


@pytest.mark.parametrize("show", [str, repr, "{}".format, "{:>30}".format, lambda s: f"{s!r:>9}", lambda s: str([s])])
def test_a_secret_is_never_shown(show):
    assert "hunter2" not in show(Secret("hunter2"))


def test_a_secret_does_not_pickle():
    with pytest.raises(TypeError):
        pickle.dumps(Secret("hunter2"))


def test_a_request_shows_no_credential():
    request = HttpRequest(
        url="https://x", headers=(("Authorization", "Bearer hunter2"), ("x-api-key", "hunter2"), ("a", "b"))
    )

    assert "hunter2" not in repr(request) + repr(request.masked())
    assert dict(request.masked().headers)["a"] == "b"


def test_an_mcp_tool_shows_no_header():
    assert "hunter2" not in repr(McpTool("https://x", "x", headers={"Authorization": "hunter2"}))


def test_headers_are_found_whatever_their_case():
    answer = HttpResponse(status=204, headers=(("Retry-After", "3"),))
    assert (answer.header("retry-AFTER"), answer.header("date"), answer.ok) == ("3", None, True)


# ── errors ──

ERRORS = [getattr(errors, name) for name in errors.__all__ if name != "InvalidOption"]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_keeps_its_facts_through_a_pickle(kind):
    error = kind("what happened", provider="lyrebird", model="owl-2", status=500, request_id="r1")
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is kind
    assert again.__dict__ == error.__dict__
    assert str(again) == "what happened"
    assert str(copy.copy(error)) == "what happened"


def test_an_option_error_names_option_model_and_remedy():
    error = InvalidOption("top_k", model="owl-2", reason="no such thing", remedy="leave it out")
    assert str(error) == "'top_k' is not accepted by 'owl-2': no such thing; leave it out"
    assert isinstance(error, Misuse)
    assert pickle.loads(pickle.dumps(error)).option == "top_k"


def test_retry_after_is_sixty_where_nobody_said():
    assert (RateLimited("x").retry_after, RateLimited("x").told) == (60, False)
    assert (RateLimited("x", retry_after=2).retry_after, RateLimited("x", retry_after=2).told) == (2, True)


def test_only_some_errors_are_worth_another_try():
    worth = {kind.__name__ for kind in ERRORS if kind("x").retryable}
    assert worth == {"RateLimited", "Overloaded", "Unreachable", "Timeout", "IncompleteStream"}
    assert ApiError("x", retryable=True).retryable


def test_an_error_keeps_only_the_beginning_of_a_body():
    assert len(ApiError("x", body=b"x" * 100_000).body) == 16 * 1024


def test_one_tree():
    assert all(issubclass(kind, DragomanError) for kind in ERRORS)
    assert dragoman.DragomanError is DragomanError


# ── nesting ──


@given(st.integers(0, 200))
def test_depth_is_found_exactly(depth):
    text = b'{"a":' * depth + b'"[[[["' + b"}" * depth
    assert too_deep(text, 64) == (depth > 64)


def test_a_wide_text_is_not_deep():
    assert not too_deep(b"[" + b"[[],{}]," * 10_000 + b"0]", 64)


def test_an_unclosed_text_counts_what_is_open():
    assert too_deep(b"[" * 65, 64)
    assert too_deep(b"[[],[]," * 65, 64)


# ── effort, back from a provider's words ──


def test_budgets_and_words_come_back_as_levels():
    assert [budget_level(tokens) for tokens in (0, 1_024, 8_000, 20_000, 60_000)] == [-1, 1, 2, 3, 4]
    assert [effort_level(word) for word in ("none", "minimal", "low", "medium", "high", "xhigh", "max")] == [
        -1,
        1,
        1,
        2,
        3,
        4,
        4,
    ]
    assert effort_level("nonsense") == effort_level(None) == 0
