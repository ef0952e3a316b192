"""The ways to call an agent, by what its card offers and what the caller prefers.

An interface is called in the form its version has. Behind all that the card declares stand the
forms that peers are known to speak instead: an older family of method names, the other path or the
other JSON of 0.3. When to go over to them is said in ``fallback``. Pure: nobody is called here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.origins import origin_of
from dragoman.client.discovery.addresses import grpc_target, reachable_url
from dragoman.client.errors import NoInterfaceError
from dragoman.dialects.negotiation import V1_0, Version, parse_version
from dragoman.dialects.registry import (
    BINDINGS,
    Binding,
    called_form,
    older_versions,
    other_shape,
)
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from dragoman.dialects.profiles.base import CalledProfile
    from dragoman.model.cards import AgentCard, AgentInterface

__all__ = ("BINDINGS", "Binding", "Offer", "binding_named", "offers_of", "with_unlisted_grpc")

_NAMES: Final[dict[str, Binding]] = {
    "jsonrpc": "JSONRPC",
    "json-rpc": "JSONRPC",
    "http+json": "HTTP+JSON",
    "http-json": "HTTP+JSON",
    "rest": "HTTP+JSON",
    "grpc": "GRPC",
}
_EXACT: Final[dict[str, Binding]] = {name: name for name in BINDINGS}


class Offer(Struct, frozen=True, kw_only=True, gc=False):
    """One way to call an agent.

    Attributes:
        url: as it can be reached: for HTTP+JSON what the routes are appended to, for gRPC the
            origin, https if it is by TLS.
        form: the dialect to speak, by its name in ``dragoman.dialects.registry``.
        is_declared: the card says so; otherwise it is a guess, for when that does not answer.
    """

    version: Version
    binding: Binding
    url: str
    form: str
    tenant: str = ""
    is_declared: bool = True


def binding_named(name: str) -> Binding:
    """Return the binding that a user means.

    Raises:
        UsageError: there is no such binding.
    """
    found = _NAMES.get(name.lower())
    if found is None:
        raise UsageError(f"there is no binding {name!r}: choose from {', '.join(BINDINGS)}")
    return found


def offers_of(
    card: AgentCard,
    card_url: str,
    *,
    bindings: Sequence[Binding] = (),
    version: Version | None = None,
    tenant: str | None = None,
    installed: Collection[Binding] = BINDINGS,
    profiles: Sequence[CalledProfile] = (),
) -> tuple[Offer, ...]:
    """Return the ways to call an agent, the best first.

    That is the card's own order (R-8.3.2-1, R-8.3.2-2), after the caller's preference of bindings.

    Args:
        version: the only one to speak; then no other is guessed either (R-3.6.3-2).
        tenant: the one whose interfaces count; None takes them as they come.
        installed: the bindings that can be used here.
        profiles: those that the agent speaks.

    Raises:
        NoInterfaceError: there is none.
    """
    declared = [
        offer
        for interface in card.supported_interfaces
        if tenant is None or interface.tenant == tenant
        for offer in _declared(interface, card_url, profiles)
    ]
    guessed = [
        guess for offer in declared if version in (None, offer.version) for guess in _guessed(offer)
    ]
    usable = [
        offer
        for offer in _distinct((*declared, *guessed))
        if offer.binding in installed and version in (None, offer.version)
    ]
    if not usable:
        offered = [
            f"{each.protocol_binding} {each.protocol_version}" for each in card.supported_interfaces
        ]
        raise NoInterfaceError(tuple(dict.fromkeys(offered)), _wish(version, tenant))
    for profile in profiles:
        usable = [_spoken_in(profile, offer) for offer in usable]
    rank = {binding: place for place, binding in enumerate(bindings)}
    # Sorting is stable: among equals the card's order stands.
    return tuple(
        sorted(
            usable, key=lambda offer: (not offer.is_declared, rank.get(offer.binding, len(rank)))
        )
    )


def with_unlisted_grpc(
    offers: Sequence[Offer], bindings: Sequence[Binding], installed: Collection[Binding]
) -> tuple[Offer, ...]:
    """Put gRPC first, at the ports of HTTP, if a caller wants it and the card has nothing wanted.

    Some agents serve gRPC without listing it, because there are readers that refuse its address.
    """
    declared = [offer for offer in offers if offer.is_declared]
    is_unlisted = "GRPC" in bindings and not any(each.binding in bindings for each in declared)
    if not is_unlisted or "GRPC" not in installed:
        return tuple(offers)
    unlisted = [
        Offer(
            version=offer.version,
            binding="GRPC",
            url=origin_of(offer.url),
            form=form,
            tenant=offer.tenant,
            is_declared=False,
        )
        for offer in declared
        if (form := called_form("GRPC", offer.version))
    ]
    return (*_distinct(unlisted), *offers)


def _declared(
    interface: AgentInterface, card_url: str, profiles: Sequence[CalledProfile]
) -> Iterator[Offer]:
    version = parse_version(interface.protocol_version)
    # Names are compared exactly (reference, 8.3); other bindings are somebody's own.
    binding = _EXACT.get(interface.protocol_binding)
    form = called_form(binding, version) if binding and version else None
    if binding is None or version is None or form is None:
        return
    url = _url_of(interface, card_url)
    if url is None:
        return
    for profile in profiles:
        if profile.path and binding == "JSONRPC":
            beside = f"{url.rstrip('/')}{profile.path}"
            yield Offer(version=version, binding=binding, url=beside, form=profile.name)
            yield Offer(version=version, binding=binding, url=beside, form=form)
    for place in _places(binding, version, url):
        yield Offer(version=version, binding=binding, url=place, form=form, tenant=interface.tenant)


def _url_of(interface: AgentInterface, card_url: str) -> str | None:
    """Return where to call an interface, None if its address cannot be used."""
    if interface.protocol_binding == "GRPC":
        target = grpc_target(interface.url, card_url)
        return target and target.origin
    url = reachable_url(interface.url, card_url)
    return url if url.startswith(("http://", "https://")) else None


def _places(binding: Binding, version: Version, url: str) -> tuple[str, ...]:
    base = url.rstrip("/")
    if binding != "HTTP+JSON":
        return (url,)
    if version >= V1_0:
        return (base,)
    # 0.x reference, 4.1: the routes begin with /v1, which some interfaces already end in.
    return (f"{base}/v1", base) if base.endswith("/v1") else (f"{base}/v1",)


def _guessed(offer: Offer) -> Iterator[Offer]:
    for version in older_versions(offer.binding, offer.version):
        form = called_form(offer.binding, version)
        if form is None:
            continue
        for url in _places(offer.binding, version, offer.url):
            yield Offer(
                version=version, binding=offer.binding, url=url, form=form, is_declared=False
            )
    if offer.binding == "HTTP+JSON" and (other := other_shape(offer.form)) is not None:
        yield Offer(
            version=offer.version,
            binding=offer.binding,
            url=offer.url,
            form=other,
            is_declared=False,
        )


def _distinct(offers: Sequence[Offer]) -> Iterator[Offer]:
    seen: set[tuple[Version, Binding, str, str, str]] = set()
    for offer in offers:
        key = (offer.version, offer.binding, offer.url, offer.form, offer.tenant)
        if key not in seen:
            seen.add(key)
            yield offer


def _spoken_in(profile: CalledProfile, offer: Offer) -> Offer:
    is_replaced = offer.binding == "JSONRPC" and offer.form == profile.replaces
    return replace(offer, form=profile.name) if is_replaced else offer


def _wish(version: Version | None, tenant: str | None) -> str:
    wishes = (
        version and f"of version {version}",
        tenant is not None and (f"for the tenant {tenant!r}" if tenant else "without a tenant"),
    )
    return " and ".join(wish for wish in wishes if wish)
