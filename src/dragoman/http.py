"""HTTP requests and responses as data; no socket is near."""

from msgspec import Struct

__all__ = ["Headers", "HttpRequest", "HttpResponse", "find_header"]

Headers = tuple[tuple[str, str], ...]

# Headers whose value is a key, or may carry one.
SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "x-amz-security-token"}
)


def find_header(headers: Headers, name: str) -> str | None:
    """The first value of a header, whatever its case."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)


def _masked(headers: Headers) -> Headers:
    return tuple((name, "***" if name.lower() in SECRET_HEADERS else value) for name, value in headers)


class HttpRequest(Struct, frozen=True, kw_only=True):
    """A request, complete but for its credentials until someone signs it."""

    url: str
    body: bytes = b""
    method: str = "POST"
    headers: Headers = ()

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.url}, headers={_masked(self.headers)!r}, {len(self.body)} bytes)"

    def masked(self) -> "HttpRequest":
        """The same request with every credential replaced, fit to be shown."""
        return HttpRequest(url=self.url, body=self.body, method=self.method, headers=_masked(self.headers))

    def with_headers(self, *extra: tuple[str, str]) -> "HttpRequest":
        """The same request with more headers."""
        return HttpRequest(url=self.url, body=self.body, method=self.method, headers=self.headers + extra)


class HttpResponse(Struct, frozen=True, kw_only=True):
    """A whole answer. `received_at` (seconds since 1970) lets a dated Retry-After be read without a clock."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    received_at: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the server says it did what was asked."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever its case."""
        return find_header(self.headers, name)
