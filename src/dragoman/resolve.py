"""A model's name, an address and an environment made into a Target and a key.

The environment comes in as a mapping: nothing here reads it by itself.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from .detection import detect, provider_row
from .errors import Misuse
from .families import family_of, plain_name
from .http import HttpRequest
from .limits import DEFAULT_LIMITS, Limits
from .providers import PROVIDERS, Auth, Provider
from .secrets import Secret
from .target import Family, Target

__all__ = ["Address", "find_key", "resolve", "resolve_embeddings", "sign"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})
_DEFAULT_REGION = "us-east-1"


class Address(Struct, frozen=True):
    """Where a request goes, and whose word that is: the row's own, the environment's, or the caller's."""

    url: str
    source: str


def resolve(
    model: str,
    *,
    wire: str | None = None,
    base_url: str | None = None,
    environ: Mapping[str, str],
    limits: Limits = DEFAULT_LIMITS,
) -> Target:
    """The Target for a model string; Misuse where the name, the wire or the address cannot be."""
    name, own = detect(model, environ)
    provider = provider_row(name)
    address = _address(provider, base_url, environ)
    wire = _wire(provider, own, wire, address)
    url = _on_that_wire(provider, wire, address) or _filled(provider.wires[wire], environ)
    return Target(
        provider=name,
        model=own,
        wire=wire,
        base_url=url.rstrip("/"),
        family=_on_wire(family_of(own, wire), wire),
        quirks=provider.quirks,
        limits=limits,
        headers=provider.headers,
    )


def _wire(provider: Provider, model: str, wanted: str | None, address: Address) -> str:
    if not provider.wires:
        raise Misuse(f"{provider.name} serves only embeddings here; ask another provider to chat")
    if wanted is not None:
        if wanted not in provider.wires:
            raise Misuse(f"{provider.name} does not speak {wanted!r}: use one of {', '.join(provider.wires)}")
        return wanted
    if address.url and provider.wire_elsewhere and not _same_host(provider, address.url):
        return provider.wire_elsewhere
    for beginnings, wire in provider.routes:
        if plain_name(model).startswith(beginnings):
            return wire
    return next(iter(provider.wires))


def _same_host(provider: Provider, url: str) -> bool:
    return urlsplit(url).hostname == urlsplit(next(iter(provider.wires.values()))).hostname


def resolve_embeddings(
    model: str, *, base_url: str | None = None, environ: Mapping[str, str], limits: Limits = DEFAULT_LIMITS
) -> Target:
    """The Target for a model that embeds; its `wire` is the shape of its provider's embeddings."""
    name, own = detect(model, environ)
    provider = provider_row(name)
    if not provider.embeddings:
        able = ", ".join(sorted(row.name for row in PROVIDERS.values() if row.embeddings))
        raise Misuse(f"{name} has no embeddings: use one of {able}")
    row_url = provider.embeddings_url or next(iter(provider.wires.values()))
    address = _address(provider, base_url, environ)
    url = address.url or _filled(row_url, environ)
    quirks = provider.quirks
    if address.url and provider.wire_elsewhere and not _same_host(provider, address.url):
        quirks = replace(quirks, embeddings_base64=False)  # whoever answers there may not know it
    return Target(
        provider=name,
        model=own,
        wire=provider.embeddings,
        base_url=url.rstrip("/"),
        family=family_of(own, provider.embeddings),
        quirks=quirks,
        limits=limits,
        headers=provider.headers,
    )


def _on_that_wire(provider: Provider, wire: str, address: Address) -> str:
    """The address as this wire has it: a variable names that of the preferred one, which another may lie below."""
    preferred, own = next(iter(provider.wires.values())), provider.wires[wire]
    below = own[len(preferred) :] if own.startswith(preferred) else ""
    url = address.url.rstrip("/")
    return url if not url or address.source == "argument" or url.endswith(below) else url + below


def _on_wire(family: Family, wire: str) -> Family:
    """The family as it is on this wire: without words of effort that only another takes, and on Converse
    without what only some makers have there: cache points, instructions in between, a field for effort.
    """
    words = tuple(word for word in family.efforts if family.efforts_only_on.get(word, wire) == wire)
    family = replace(family, efforts=words)
    if wire == "ollama":
        return _on_ollama(family)
    if wire == "anthropic-messages" and family.body_style != "claude":
        return replace(family, system_anywhere=False)  # those who imitate this wire know no such role
    if wire != "bedrock-converse" or family.body_style == "claude":
        return family
    return replace(
        family,
        caches=family.caches and family.body_style == "nova",
        thinking=family.thinking if family.body_style else "none",
        system_anywhere=False,
    )


def _on_ollama(family: Family) -> Family:
    """The family where the server itself samples, and holds any model to a schema: what other hosts refuse is
    accepted. Thinking is only on or off, but for families that are told how hard to think in a word.
    """
    family = replace(
        family,
        refuses=frozenset(),
        refuses_while_thinking=frozenset(),
        schema_modes=("native", "tool", "prompted"),
        schema_with_tools=True,
    )
    if family.thinking == "none" and family.thinks_unasked:
        family = replace(family, thinking="toggle", can_stop_thinking=True)
    return replace(family, efforts=()) if family.thinking == "toggle" else family


def _address(provider: Provider, base_url: str | None, environ: Mapping[str, str]) -> Address:
    if base_url:
        return Address(_checked(base_url), "argument")
    for variable in provider.base_url_env:
        if value := environ.get(variable):
            return Address(_checked(_from_environment(provider, value)), variable)
    if provider.needs_address:
        raise Misuse(
            f"{provider.name} needs an address: give base_url= or set {provider.base_url_env[0]}"
            f" ({provider.needs_address})"
        )
    return Address("", "row")


def _from_environment(provider: Provider, value: str) -> str:
    if "://" not in value:  # OLLAMA_HOST may be a bare host
        host = (
            value
            if ":" in value.rpartition("]")[2]
            else f"{value}:{urlsplit(next(iter(provider.wires.values()))).port}"
        )
        return f"http://{host}"
    if provider.name == "azure" and not value.rstrip("/").endswith("/openai/v1"):
        return f"{value.rstrip('/')}/openai/v1"
    return value


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Misuse(f"{url!r} is not an address: it should look like https://host/path")
    return url


def _filled(url: str, environ: Mapping[str, str]) -> str:
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or _DEFAULT_REGION
    return url.replace("{region}", region)


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
