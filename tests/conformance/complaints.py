"""What a refused request should become: the error's class by status and by the words of its body."""

import json
import re
from collections.abc import Iterator
from typing import Any

from .corpus import Exchange

__all__ = ["expected_class", "expected_status", "expected_wait", "message_in"]

_BAD_REQUEST = {400, 413, 422}
_OUT_OF_CREDIT = r"insufficient_quota|credit balance is too low|insufficient (balance|credit)"
_TOO_LONG = (
    r"context_length_exceeded|max(imum)? context length|(prompt|input) (is )?too long|input token count .* exceeds"
)

# Statuses (None: any), what the body says, the class. The first that fits wins.
_RULES: list[tuple[set[int] | None, str, str]] = [
    (None, _OUT_OF_CREDIT, "ApiError"),
    (None, r"API_KEY_INVALID|invalid_api_key", "Unauthorized"),
    ({401, 403}, "", "Unauthorized"),
    ({429}, "", "RateLimited"),
    ({503, 529}, "", "Overloaded"),
    ({413}, "", "TooLong"),
    (None, r'"content_filter"|content_policy_violation', "Filtered"),
    (_BAD_REQUEST, _TOO_LONG, "TooLong"),
    (None, "", "ApiError"),
]


def expected_class(exchange: Exchange) -> str:
    """The name of the error's class."""
    status, body = expected_status(exchange), _text(exchange)
    return next(
        name
        for statuses, words, name in _RULES
        if (statuses is None or status in statuses) and re.search(words, body, re.I)
    )


def expected_status(exchange: Exchange) -> int | None:
    """The status of the answer; inside a 200, the one that the error itself names."""
    if not exchange.ok:
        return exchange.status
    named = re.search(r'"(?:status_code|status|code)":\s*"?([45]\d\d)\b', _text(exchange))
    return int(named[1]) if named else None


def expected_wait(exchange: Exchange) -> float | None:
    """How many seconds the answer asks to wait, in a header or in the body."""
    headers = {name.lower(): value for name, value in exchange.headers}
    if headers.get("retry-after", "").isdigit():
        return float(headers["retry-after"])
    told = re.search(r'"retryDelay":\s*"([\d.]+)s"', _text(exchange))
    return float(told[1]) if told else None


def _text(exchange: Exchange) -> str:
    return exchange.body.decode("utf-8", "replace")


def message_in(exchange: Exchange) -> str:
    """The first sentence of the body that says what is wrong, or nothing where it is not JSON."""
    try:
        return next(_messages(json.loads(exchange.body)), "")
    except ValueError:
        return ""


def _messages(value: Any) -> Iterator[str]:
    match value:
        case {"error": str(text)} | {"message": str(text)} | {"Message": str(text)} | {"detail": str(text)}:
            yield text
        case dict():
            for inner in value.values():
                yield from _messages(inner)
        case list():
            for inner in value:
                yield from _messages(inner)
