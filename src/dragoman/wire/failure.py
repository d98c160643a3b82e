"""What a provider's no means: one table of words and statuses for every wire.

A codec digs the facts out of its own kind of error body; this module decides which error they are,
by code first, then by what the sentence says, then by status.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ..errors import (
    ApiError,
    DragomanError,
    Filtered,
    InvalidResponse,
    Overloaded,
    RateLimited,
    TooLong,
    Unauthorized,
)
from ..http import HttpResponse
from ..target import Target
from ..usage import token_count
from .reading import ANYTHING, mapping, read_json, string

__all__ = ["Complaint", "api_error", "complaint_in", "read_count", "refusal", "retry_after", "stray_text"]

SHOWN_CHARACTERS = 500

# Words that providers use as `code` or `type`, lower case.
_BY_WORD: dict[str, type[ApiError]] = {
    "authentication_error": Unauthorized,
    "invalid_api_key": Unauthorized,
    "permission_error": Unauthorized,
    "unauthenticated": Unauthorized,
    "permission_denied": Unauthorized,
    "api_key_invalid": Unauthorized,
    "accessdeniedexception": Unauthorized,
    "unrecognizedclientexception": Unauthorized,
    "expiredtokenexception": Unauthorized,
    "invalidsignatureexception": Unauthorized,
    "rate_limit_error": RateLimited,
    "rate_limit_exceeded": RateLimited,
    "rate_limit": RateLimited,
    "resource_exhausted": RateLimited,
    "throttlingexception": RateLimited,
    "1302": RateLimited,
    "overloaded_error": Overloaded,
    "1305": Overloaded,
    "server_is_overloaded": Overloaded,
    "slow_down": Overloaded,
    "service_unavailable": Overloaded,
    "unavailable": Overloaded,
    "serviceunavailableexception": Overloaded,
    "modelnotreadyexception": Overloaded,
    "mpagreementbeingcreated": Overloaded,
    "context_length_exceeded": TooLong,
    "request_too_large": TooLong,
    "content_filter": Filtered,
    "content_policy_violation": Filtered,
    "image_content_policy_violation": Filtered,
    "bio_policy": Filtered,
    "misalignment_policy_violation": Filtered,
}

# Out of money or of a fixed allowance: waiting does not help, whatever the status says.
_OUT_OF_CREDIT = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_error",
        "billing_not_active",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "servicequotaexceededexception",
        "insufficient_balance",
        # Some number their quota errors.
        "1113",
        *(str(number) for number in range(1308, 1322)),
    }
)
_OUT_OF_CREDIT_SENTENCES = re.compile(r"credit balance is too low|insufficient (balance|credit)", re.I)

_TOO_LONG = re.compile(
    r"maximum context length|context (length|window|limit)|prompt is too long|input is too long"
    r"|too many (input )?tokens|input tokens? exceed|input token count.{0,40}exceeds|reduce the length of the messages",
    re.I,
)

_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Unauthorized,
    413: TooLong,
    429: RateLimited,
    503: Overloaded,
    529: Overloaded,
}

# Statuses that mean "try again" though no class of its own says so.
_RETRYABLE = frozenset({408, 409, 424, 500, 502, 503, 504, 529})

# Words that stand for a status where an error came inside a 200.
_STATUS_BY_WORD = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "throttlingexception": 429,
    "validationexception": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "resource_exhausted": 429,
    "internal": 500,
    "unavailable": 503,
    "deadline_exceeded": 504,
    "api_error": 500,
    "server_error": 500,
    "internalserverexception": 500,
    "modeltimeoutexception": 408,
    "modelerrorexception": 424,
    "modelstreamerrorexception": 424,
    "serviceunavailableexception": 503,
    "request_too_large": 413,
    "timeout_error": 504,
    "vector_store_timeout": 504,
    "overloaded_error": 529,
}


class Complaint(Struct, frozen=True, kw_only=True):
    """The facts of an error, as a codec found them."""

    message: str = ""
    type: str = ""
    code: str = ""
    status: int | None = None
    retry_after: float | None = None
    request_id: str = ""


def refusal(answer: HttpResponse, target: Target, facts: Callable[[Any], Complaint] | None = None) -> ApiError:
    """The error that a refused request means. `facts` finds them in a body of the wire's own kind."""
    try:
        complaint = (facts or complaint_in)(read_json(ANYTHING, answer.body, target.limits))
    except InvalidResponse:
        complaint = Complaint(message=answer.body.decode("utf-8", "replace")[:SHOWN_CHARACTERS].strip())
    return api_error(target, complaint, answer)


def read_count(body: bytes, field: str, target: Target) -> int:
    """The number of tokens in the answer to a count; the error in it where it holds one instead."""
    answer = mapping(read_json(ANYTHING, body, target.limits))
    if answer.get("error"):
        raise api_error(target, complaint_in(answer))
    count = token_count(answer.get(field))
    if count is None:
        facts = {"provider": target.provider, "model": target.model}
        raise InvalidResponse("the answer has no count of tokens", body=body, **facts)
    return count


def stray_text(data: bytes, event: str, target: Target) -> DragomanError:
    """What a frame means that should be JSON and is not: an error in plain words, or damage."""
    if event == "error":
        return api_error(target, Complaint(message=data.decode("utf-8", "replace")[:SHOWN_CHARACTERS]))
    return InvalidResponse("an event of the stream is not JSON", body=data)


def api_error(target: Target, complaint: Complaint, answer: HttpResponse | None = None) -> ApiError:
    """The error that a provider's complaint is. `answer` is None where it came inside a stream."""
    words = [word.lower() for word in (complaint.code, complaint.type) if word]
    status = _status(complaint, words, answer)
    kind = _kind(words, complaint.message, status)
    facts: dict[str, Any] = {
        "code": complaint.code,
        "type": complaint.type,
        "status": status,
        "provider": target.provider,
        "model": target.model,
        "request_id": complaint.request_id,
    }
    told = complaint.retry_after
    if answer is not None:
        facts["body"] = answer.body
        facts["request_id"] = complaint.request_id or _request_id(answer)
        told = retry_after(answer) if told is None else told
    if kind in (RateLimited, Overloaded):
        facts["retry_after"] = told
        if answer is not None and answer.header("x-should-retry") == "false":
            facts["retryable"] = False
    elif kind is ApiError:
        facts["retryable"] = _retryable(words, complaint.message, status, answer)
    return kind(_sentence(target, complaint, status), **facts)


def _status(complaint: Complaint, words: list[str], answer: HttpResponse | None) -> int | None:
    if answer is not None and not answer.ok:
        return answer.status
    if complaint.status is not None:
        return complaint.status
    # Gateways put the HTTP status itself in `code`.
    if complaint.code.isdigit() and 400 <= int(complaint.code) < 600:
        return int(complaint.code)
    return next((_STATUS_BY_WORD[word] for word in words if word in _STATUS_BY_WORD), None)


def _kind(words: list[str], message: str, status: int | None) -> type[ApiError]:
    if _out_of_credit(words, message):
        return ApiError
    for word in words:
        if word in _BY_WORD:
            return _BY_WORD[word]
    if (status is None or status in (400, 413, 422)) and _TOO_LONG.search(message):
        return TooLong
    return _BY_STATUS.get(status or 0, ApiError)


def _out_of_credit(words: list[str], message: str) -> bool:
    return any(word in _OUT_OF_CREDIT for word in words) or bool(_OUT_OF_CREDIT_SENTENCES.search(message))


def _retryable(words: list[str], message: str, status: int | None, answer: HttpResponse | None) -> bool:
    if _out_of_credit(words, message):
        return False
    advice = answer.header("x-should-retry") if answer is not None else None
    if advice in ("true", "false"):
        return advice == "true"
    return status in _RETRYABLE or (status is not None and status >= 500)


def _sentence(target: Target, complaint: Complaint, status: int | None) -> str:
    where = f"{target.provider} http {status}" if status is not None else target.provider
    details = [f"{name}={value}" for name, value in (("type", complaint.type), ("code", complaint.code)) if value]
    return f"{where}: {complaint.message or 'no reason given'}" + (f" ({', '.join(details)})" if details else "")


_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id", "cf-ray")


def _request_id(answer: HttpResponse) -> str:
    return next((value for name in _REQUEST_ID_HEADERS if (value := answer.header(name))), "")


def retry_after(answer: HttpResponse) -> float | None:
    """How long the server asks us to wait, in seconds, whatever form it says that in; None if it does not say."""
    milliseconds = _number(answer.header("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = answer.header("retry-after")
    seconds = _number(value)
    return seconds if seconds is not None else _seconds_until(value, answer)


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _seconds_until(value: str | None, answer: HttpResponse) -> float | None:
    """A dated Retry-After, counted from when the answer was received (or from the server's own Date)."""
    from email.utils import parsedate_to_datetime  # slow to import, rarely needed

    try:
        then = parsedate_to_datetime(value or "").timestamp()
        now = answer.received_at
        if now is None:
            now = parsedate_to_datetime(answer.header("date") or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, then - now)


def complaint_in(body: Any) -> Complaint:
    """The facts in the error bodies that OpenAI's format and its many imitators send."""
    whole = mapping(body[0] if isinstance(body, list) and body else body)
    error = whole.get("error", whole)
    if isinstance(error, str):
        return Complaint(message=error, type=string(whole.get("type")), code=_word(whole.get("code")))
    error = mapping(error)
    metadata = mapping(error.get("metadata"))
    flagged = "content_policy_violation" if "flagged_input" in metadata else ""
    message = error.get("message") or error.get("detail") or whole.get("message") or whole.get("detail") or ""
    return Complaint(
        message=message if isinstance(message, str) else str(message)[:1000],
        type=string(error.get("type")) or string(whole.get("type")) or string(metadata.get("error_type")) or flagged,
        code=_word(error.get("code")),
        status=_http_status(error.get("status_code") or error.get("status")),
        request_id=string(whole.get("request_id")),
    )


def _word(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if type(value) is int else ""


def _http_status(value: Any) -> int | None:
    return value if type(value) is int and 400 <= value < 600 else None
