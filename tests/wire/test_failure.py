import pytest

from dragoman.errors import ApiError, Filtered, InvalidResponse, Overloaded, RateLimited, TooLong, Unauthorized
from dragoman.http import HttpResponse
from dragoman.target import Family, Target
from dragoman.wire.failure import Complaint, api_error, complaint_in, read_count, retry_after

FIREWORKS = Target(
    provider="fireworks", model="owl-2", wire="openai-chat", base_url="https://x", family=Family(name="owl")
)


def error(status=None, headers=(), **facts):
    answer = HttpResponse(status=status, headers=headers) if status else None
    return api_error(FIREWORKS, Complaint(**facts), answer)


def test_the_sentence_says_who_what_and_why():
    assert (
        str(error(429, message="Rate limit exceeded", type="rate_limit"))
        == "fireworks http 429: Rate limit exceeded (type=rate_limit)"
    )


KINDS = [
    (401, {}, Unauthorized, False),
    (403, {}, Unauthorized, False),
    (400, {"code": "invalid_api_key"}, Unauthorized, False),
    (400, {"message": "This model's maximum context length is 8192 tokens"}, TooLong, False),
    (400, {"message": "prompt is too long: 9 > 8"}, TooLong, False),
    (400, {"code": "context_length_exceeded"}, TooLong, False),
    (413, {}, TooLong, False),
    (400, {"code": "content_filter"}, Filtered, False),
    (400, {"message": "bad"}, ApiError, False),
    (404, {}, ApiError, False),
    (402, {}, ApiError, False),
    (408, {}, ApiError, True),
    (409, {}, ApiError, True),
    (422, {}, ApiError, False),
    (429, {}, RateLimited, True),
    (429, {"code": "insufficient_quota"}, ApiError, False),
    (429, {"code": "1113"}, ApiError, False),
    (429, {"message": "You exceeded your current quota. Please retry in 48s."}, RateLimited, True),
    (400, {"message": "Your credit balance is too low"}, ApiError, False),
    (500, {}, ApiError, True),
    (502, {}, ApiError, True),
    (503, {}, Overloaded, True),
    (529, {}, Overloaded, True),
    (599, {}, ApiError, True),
]


@pytest.mark.parametrize(("status", "facts", "kind", "retryable"), KINDS)
def test_a_no_is_what_it_says_then_what_its_status_says(status, facts, kind, retryable):
    found = error(status, **facts)
    assert (type(found), found.retryable, found.status) == (kind, retryable, status)


def test_the_server_may_decide_about_another_try():
    assert not error(500, (("x-should-retry", "false"),)).retryable
    assert error(404, (("x-should-retry", "true"),)).retryable


@pytest.mark.parametrize(
    ("facts", "status", "kind"),
    [
        ({"type": "overloaded_error"}, 529, Overloaded),
        ({"code": "502"}, 502, ApiError),
        ({"type": "rate_limit_error"}, 429, RateLimited),
        ({}, None, ApiError),
    ],
)
def test_an_error_inside_a_200_has_the_status_its_words_stand_for(facts, status, kind):
    found = error(**facts)
    assert (found.status, type(found)) == (status, kind)


DATE = ("date", "Sun, 15 Nov 2026 10:00:00 GMT")
LATER = ("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("retry-after", "7"),), 7),
        ((("Retry-After", "1.5"),), 1.5),
        ((("retry-after-ms", "250"), ("retry-after", "7")), 0.25),
        ((DATE, LATER), 30),
        ((LATER,), None),
        ((("retry-after", "-3"),), None),
        ((("retry-after", "inf"),), None),
        ((("retry-after", "nan"),), None),
        ((("retry-after", "soon"),), None),
        ((), None),
    ],
)
def test_retry_after_is_read_in_every_form(headers, seconds):
    assert retry_after(HttpResponse(status=429, headers=headers)) == seconds


def test_a_date_is_counted_from_when_the_answer_came():
    assert retry_after(HttpResponse(status=429, headers=(LATER,), received_at=1_794_736_810.0)) == 20
    assert retry_after(HttpResponse(status=429, headers=(LATER,), received_at=1_894_736_810.0)) == 0


def test_what_the_body_says_about_waiting_wins():
    assert error(429, (("retry-after", "7"),), retry_after=34.0).retry_after == 34


def test_the_request_id_is_kept():
    assert error(500, (("X-Request-Id", "r1"),)).request_id == "r1"


BODIES = [
    ({"error": {"message": "m", "type": "t", "code": "c"}}, ("m", "t", "c")),
    ({"error": {"message": "m", "code": 400}}, ("m", "", "400")),
    ({"error": "m"}, ("m", "", "")),
    ({"message": "m", "type": "t"}, ("m", "t", "")),
    ({"detail": "m"}, ("m", "", "")),
    ({"detail": [{"loc": ["x"], "msg": "bad"}]}, ("[{'loc': ['x'], 'msg': 'bad'}]", "", "")),
    ({"object": "error", "message": "m"}, ("m", "", "")),
    ([{"error": {"message": "m"}}], ("m", "", "")),
    ("text", ("", "", "")),
    ({"error": None}, ("", "", "")),
]


@pytest.mark.parametrize(("body", "facts"), BODIES)
def test_the_facts_are_found_in_every_shape_of_body(body, facts):
    found = complaint_in(body)
    assert (found.message, found.type, found.code) == facts


@pytest.mark.parametrize(("code", "status"), [("399", None), ("400", 400), ("599", 599), ("600", None), ("x", None)])
def test_a_code_is_a_status_only_where_it_could_be_one(code, status):
    assert error(code=code).status == status


@pytest.mark.parametrize(
    ("claim", "status"), [(399, None), (400, 400), (599, 599), (600, None), ("400", None), (True, None)]
)
def test_a_status_in_a_body_is_looked_at(claim, status):
    assert complaint_in({"error": {"message": "m", "status_code": claim}}).status == status
    assert complaint_in({"error": {"message": "m", "status": claim}}).status == status


def test_no_wait_at_all_may_be_asked_for():
    assert retry_after(HttpResponse(status=429, headers=(("retry-after", "0"),))) == 0


def test_a_count_is_read_and_an_error_in_its_place_is_raised():
    assert read_count(b'{"input_tokens":7}', "input_tokens", FIREWORKS) == 7
    with pytest.raises(ApiError, match="fireworks: no"):
        read_count(b'{"error":{"message":"no"}}', "input_tokens", FIREWORKS)
    with pytest.raises(InvalidResponse, match="no count of tokens"):
        read_count(b'{"input_tokens":-7}', "input_tokens", FIREWORKS)
