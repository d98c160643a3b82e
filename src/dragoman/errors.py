"""Every error dragoman raises, in one tree, divided by what the caller will do next.

DragomanError
├── Misuse                fix the program: bad arguments, unknown model, missing key
│   └── InvalidOption     this model does not take that option
├── ApiError              the provider said no; carries status, code and body
│   ├── Unauthorized      fix the key
│   ├── RateLimited       wait; `retry_after` when they told us
│   ├── Overloaded        wait a little
│   ├── TooLong           shorten the conversation
│   └── Filtered          change the content
├── Unreachable           no answer: connection, DNS, TLS
│   └── Timeout           which of our limits ran out
├── InvalidResponse       an answer we cannot read; carries the bytes
│   └── IncompleteStream  it stopped early; carries the partial response
└── Interrupted           the caller said stop; carries the partial response

Each knows `retryable` and the facts of its call (`provider`, `model`, `status`, `request_id`);
the sentence is for people, the fields are for programs. No key is ever in either.
"""

from typing import Any

__all__ = [
    "ApiError",
    "DragomanError",
    "Filtered",
    "IncompleteStream",
    "Interrupted",
    "InvalidOption",
    "InvalidResponse",
    "Misuse",
    "Overloaded",
    "RateLimited",
    "Timeout",
    "TooLong",
    "Unauthorized",
    "Unreachable",
]

DEFAULT_RETRY_AFTER_SECONDS = 60.0
KEPT_BODY_BYTES = 16 * 1024


class DragomanError(Exception):
    """Whatever went wrong, as one family to catch."""

    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.model = model
        self.status = status
        self.request_id = request_id

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions pickle by calling their class with `args`; ours take keywords, so the fields
        # travel as state instead.
        return _rebuild, (type(self), self.message), dict(self.__dict__)


def _rebuild(kind: type[DragomanError], message: str) -> DragomanError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    return error


class Misuse(DragomanError, ValueError):
    """The program asked for something that cannot be: the remedy is in the sentence."""


class InvalidOption(Misuse):
    """A model that does not take this option, found before anything was sent."""

    def __init__(self, option: str, *, model: str, reason: str, remedy: str, provider: str = "") -> None:
        super().__init__(f"{option!r} is not accepted by {model!r}: {reason}; {remedy}", provider=provider, model=model)
        self.option = option
        self.reason = reason
        self.remedy = remedy


class ApiError(DragomanError):
    """The provider answered, and the answer was no."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        type: str = "",
        status: int | None = None,
        body: bytes = b"",
        retryable: bool | None = None,
        provider: str = "",
        model: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(message, provider=provider, model=model, status=status, request_id=request_id)
        self.code = code
        self.type = type
        self.body = body[:KEPT_BODY_BYTES]
        if retryable is not None:
            self.retryable = retryable


class Unauthorized(ApiError):
    """The key is missing, wrong, expired, or not allowed to do this."""


class RateLimited(ApiError):
    """Too many requests or tokens for now.

    `retry_after` is what the provider said, in seconds, and 60 when it said nothing;
    `told` tells the two apart, so that back-off and not our guess decides the wait.
    """

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.told = retry_after is not None
        self.retry_after = DEFAULT_RETRY_AFTER_SECONDS if retry_after is None else retry_after


class Overloaded(ApiError):
    """The provider has no room at the moment; a little later it may."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.retry_after = retry_after


class TooLong(ApiError):
    """The conversation does not fit the model's context window."""


class Filtered(ApiError):
    """The provider refused the content."""


class Unreachable(DragomanError):
    """No answer at all: connection, name, TLS."""

    retryable = True


class Timeout(Unreachable):
    """One of our limits on waiting ran out; the sentence says which."""


class InvalidResponse(DragomanError):
    """An answer that cannot be read as what it claims to be; `body` holds its beginning."""

    def __init__(self, message: str, *, body: bytes = b"", **facts: Any) -> None:
        super().__init__(message, **facts)
        self.body = body[:KEPT_BODY_BYTES]


class IncompleteStream(InvalidResponse):
    """A stream without its end. `partial` is the Response as far as it got, never a success."""

    retryable = True

    def __init__(self, message: str, *, partial: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.partial = partial


class Interrupted(DragomanError):
    """The caller said stop. `partial` is the Response as far as it got."""

    def __init__(self, message: str = "interrupted", *, partial: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.partial = partial
