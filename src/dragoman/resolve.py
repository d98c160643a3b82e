"""A model's name, an address and an environment made into a Target.

The environment comes in as a mapping: nothing here reads it by itself.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from .detection import detect, provider_row
from .errors import Misuse
from .limits import DEFAULT_LIMITS, Limits
from .providers import PROVIDERS, Provider
from .rules import family_of, family_on, plain_name
from .target import Target

__all__ = ["Address", "resolve", "resolve_embeddings"]

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
        family=family_on(own, wire),
        quirks=provider.quirks_on.get(wire, provider.quirks),
        limits=limits,
        headers=provider.headers,
    )


def _wire(provider: Provider, model: str, wanted: str | None, address: Address) -> str:
    wire = _chosen_wire(provider, model, wanted, address)
    must = family_of(model, wire).wants
    at_home = not address.url or _same_host(provider, address.url)
    if must in ("", wire) or must not in provider.wires or not at_home:
        return wire  # who else serves the model has rules of its own
    if wanted is not None:
        raise Misuse(f"{model!r} is served only on {must!r}: leave wire= out")
    return must


def _chosen_wire(provider: Provider, model: str, wanted: str | None, address: Address) -> str:
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
    below, url = provider.below_base_url, value.rstrip("/")
    return url if url.endswith(below) else url + below


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Misuse(f"{url!r} is not an address: it should look like https://host/path")
    return url


def _filled(url: str, environ: Mapping[str, str]) -> str:
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or _DEFAULT_REGION
    return url.replace("{region}", region)
