"""The ways to call an agent, by what its card offers and what the caller prefers.

An interface is called in the form its version has. Behind all that the card declares stand the
forms that peers are known to speak instead: an older family of method names, the other path or the
other JSON of 0.3. When to go over to them is said in ``fallback``. Pure: nobody is called here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dragoman.client.discovery.addresses import grpc_target, reachable_url
from dragoman.client.errors import NoInterfaceError
from dragoman.dialects.negotiation import Version, parse_version
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from dragoman.model.cards import AgentCard, AgentInterface

__all__ = ("BINDINGS", "Binding", "Form", "Offer", "binding_named", "offers_of")

Binding: TypeAlias = Literal["JSONRPC", "HTTP+JSON", "GRPC"]
Form: TypeAlias = Literal["1.0", "0.3", "0.3-proto", "0.1", "rxjs", "xpr"]

BINDINGS: Final[tuple[Binding, ...]] = ("JSONRPC", "HTTP+JSON", "GRPC")

_V1_0: Final = Version(1, 0)
_V0_3: Final = Version(0, 3)
_V0_2: Final = Version(0, 2)
_V0_1: Final = Version(0, 1)

_FORMS: Final[dict[Binding, dict[Version, Form]]] = {
    "JSONRPC": {_V1_0: "1.0", _V0_3: "0.3", _V0_2: "0.3", _V0_1: "0.1"},
    # 0.x reference, 4.5: most peers have ProtoJSON there, some the JSON of the schema.
    "HTTP+JSON": {_V1_0: "1.0", _V0_3: "0.3-proto", _V0_2: "0.3-proto"},
    "GRPC": {_V1_0: "1.0", _V0_3: "0.3", _V0_2: "0.3"},
}
"""What is spoken."""

# 0.x reference, 6.4: SendMessage, then message/send, then tasks/send.
_OLDER: Final[dict[Binding, dict[Version, tuple[Version, ...]]]] = {
    "JSONRPC": {_V1_0: (_V0_3, _V0_1), _V0_3: (_V0_1,), _V0_2: (_V0_1,), _V0_1: (_V0_2,)},
    "HTTP+JSON": {_V1_0: (_V0_3,)},
    "GRPC": {_V1_0: (_V0_3,)},
}

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
        form: the dialect to speak.
        is_declared: the card says so; otherwise it is a guess, for when that does not answer.
    """

    version: Version
    binding: Binding
    url: str
    form: Form
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
    is_xpr: bool = False,
    is_rxjs: bool = False,
) -> tuple[Offer, ...]:
    """Return the ways to call an agent, the best first.

    That is the card's own order (R-8.3.2-1, R-8.3.2-2), after the caller's preference of bindings.

    Args:
        version: the only one to speak; then no other is guessed either (R-3.6.3-2).
        tenant: the one whose interfaces count; None takes them as they come.
        installed: the bindings that can be used here.
        is_xpr: the agent is one of the XPR network. It is called in the network's own form, beside
            the address it publishes (0.x reference, 8.1 X2); then as its card says.
        is_rxjs: what it calls 0.3 is the RxJS profile of it.

    Raises:
        NoInterfaceError: there is none.
    """
    declared = [
        offer
        for interface in card.supported_interfaces
        if tenant is None or interface.tenant == tenant
        for offer in _declared(interface, card_url, is_xpr=is_xpr)
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
    if is_rxjs:
        usable = [_as_rxjs(offer) for offer in usable]
    rank = {binding: place for place, binding in enumerate(bindings)}
    # Sorting is stable: among equals the card's order stands.
    return tuple(
        sorted(
            usable, key=lambda offer: (not offer.is_declared, rank.get(offer.binding, len(rank)))
        )
    )


def _declared(interface: AgentInterface, card_url: str, *, is_xpr: bool) -> Iterator[Offer]:
    version = parse_version(interface.protocol_version)
    # Names are compared exactly (reference, 8.3); other bindings are somebody's own.
    binding = _EXACT.get(interface.protocol_binding)
    form = _FORMS[binding].get(version) if binding and version else None
    if binding is None or version is None or form is None:
        return
    url = _url_of(interface, card_url)
    if url is None:
        return
    if is_xpr and binding == "JSONRPC":
        beside = f"{url.rstrip('/')}/a2a"
        yield Offer(version=version, binding=binding, url=beside, form="xpr")
        yield Offer(version=version, binding=binding, url=beside, form=form)
    for place in _places(binding, form, url):
        yield Offer(version=version, binding=binding, url=place, form=form, tenant=interface.tenant)


def _url_of(interface: AgentInterface, card_url: str) -> str | None:
    """Return where to call an interface, None if its address cannot be used."""
    if interface.protocol_binding == "GRPC":
        target = grpc_target(interface.url, card_url)
        return target and target.origin
    url = reachable_url(interface.url, card_url)
    return url if url.startswith(("http://", "https://")) else None


def _places(binding: Binding, form: Form, url: str) -> tuple[str, ...]:
    base = url.rstrip("/")
    if binding != "HTTP+JSON":
        return (url,)
    if form == "1.0":
        return (base,)
    # 0.x reference, 4.1: the routes begin with /v1, which some interfaces already end in.
    return (f"{base}/v1", base) if base.endswith("/v1") else (f"{base}/v1",)


def _guessed(offer: Offer) -> Iterator[Offer]:
    for version in _OLDER[offer.binding].get(offer.version, ()):
        form = _FORMS[offer.binding][version]
        for url in _places(offer.binding, form, offer.url):
            yield Offer(
                version=version, binding=offer.binding, url=url, form=form, is_declared=False
            )
    if offer.form == "0.3-proto":
        yield Offer(
            version=offer.version,
            binding=offer.binding,
            url=offer.url,
            form="0.3",
            is_declared=False,
        )


def _distinct(offers: Sequence[Offer]) -> Iterator[Offer]:
    seen: set[tuple[Version, Binding, str, Form, str]] = set()
    for offer in offers:
        key = (offer.version, offer.binding, offer.url, offer.form, offer.tenant)
        if key not in seen:
            seen.add(key)
            yield offer


def _as_rxjs(offer: Offer) -> Offer:
    is_theirs = offer.binding == "JSONRPC" and offer.form == "0.3"
    return replace(offer, form="rxjs") if is_theirs else offer


def _wish(version: Version | None, tenant: str | None) -> str:
    wishes = (
        version and f"of version {version}",
        tenant is not None and (f"for the tenant {tenant!r}" if tenant else "without a tenant"),
    )
    return " and ".join(wish for wish in wishes if wish)
