"""Our errors in the envelope that both of OpenAI's formats send: `{"error": {message, type, param, code}}`."""

from typing import Any

from ...errors import (
    ApiError,
    DragomanError,
    Filtered,
    InvalidOption,
    InvalidResponse,
    Misuse,
    Overloaded,
    RateLimited,
    Timeout,
    TooLong,
    Unauthorized,
    Unreachable,
)
from ..reading import write_json

__all__ = ["complaint", "encode_error"]

# What each of our errors is: status, type, code. The narrower class stands first.
_ERRORS: tuple[tuple[type[DragomanError], int, str, str], ...] = (
    (Misuse, 400, "invalid_request_error", "invalid_value"),
    (Unauthorized, 401, "authentication_error", "invalid_api_key"),
    (RateLimited, 429, "rate_limit_error", "rate_limit_exceeded"),
    (Overloaded, 503, "server_error", "server_is_overloaded"),
    (TooLong, 400, "invalid_request_error", "context_length_exceeded"),
    (Filtered, 400, "invalid_request_error", "content_filter"),
    (ApiError, 502, "api_error", ""),
    (Timeout, 504, "server_error", "timeout"),
    (Unreachable, 502, "server_error", "unreachable"),
    (InvalidResponse, 502, "server_error", "invalid_response"),
    (DragomanError, 500, "server_error", ""),
)


def encode_error(error: DragomanError) -> tuple[int, bytes]:
    """Status and body of an error in this envelope."""
    status, _, _ = _words(error)
    return status, write_json({"error": complaint(error)})


def complaint(error: DragomanError) -> dict[str, Any]:
    """What stands inside the envelope."""
    _, kind, code = _words(error)
    param = error.option if isinstance(error, InvalidOption) else None
    return {"message": error.message, "type": kind, "param": param, "code": code or None}


def _words(error: DragomanError) -> tuple[int, str, str]:
    status, kind, code = next(row[1:] for row in _ERRORS if isinstance(error, row[0]))
    if type(error) is ApiError:
        kind, code = error.type or kind, error.code or code
    if isinstance(error, ApiError) and error.status is not None and 400 <= error.status < 600:
        status = error.status
    return status, kind, code
