"""Keys: where they come from, where they may go, and how each provider wants to be shown one.

The environment comes in as a mapping: nothing here reads it by itself.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from .detection import provider_row
from .errors import Misuse
from .http import HttpRequest
from .providers import Auth, Provider
from .secrets import Secret

__all__ = ["find_key", "sign"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def find_key(
    provider_name: str, *, api_key: str | None = None, base_url: str | None = None, environ: Mapping[str, str]
) -> Secret | None:
    """The key to use, or None where none is needed; Misuse that names the variable where one is missing.

    A key from the environment belongs to the provider's own address, or to the one the environment
    itself names: with an address given by argument the key must be given too.
    """
    provider = provider_row(provider_name)
    if api_key:
        return Secret(api_key)
    if base_url and not _is_loopback(base_url):
        raise Misuse(
            f"base_url was given by argument, so the key must be too: pass api_key= "
            f"(a key from the environment goes only to {provider.name}'s own address)"
        )
    if not base_url:
        for variable in provider.keys:
            if value := environ.get(variable):
                return Secret(value)
    if base_url or provider.is_local or provider.auth in ("none", "aws"):
        return None
    raise Misuse(f"no key for {provider.name}: set {' or '.join(provider.keys)}, or pass api_key=")


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK


_AUTH_HEADERS: dict[Auth, tuple[str, str]] = {
    "bearer": ("authorization", "Bearer {}"),
    "aws": ("authorization", "Bearer {}"),  # a Bedrock API key; signed requests are made elsewhere
    "x-api-key": ("x-api-key", "{}"),
    "x-goog-api-key": ("x-goog-api-key", "{}"),
    "api-key": ("api-key", "{}"),
}


def sign(request: HttpRequest, provider: Provider, key: Secret | None) -> HttpRequest:
    """The request with the key shown as this provider wants it."""
    if key is None or provider.auth == "none":
        return request
    name, form = _AUTH_HEADERS[provider.auth]
    return request.with_headers((name, form.format(key.reveal())))
