"""connect: from an address to an agent one can talk to."""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx2

from dragoman import telemetry
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.requirements import signs_bodies
from dragoman.bindings.grpc.base import is_installed
from dragoman.client.agent import RemoteAgent
from dragoman.client.caller import Caller
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.catalog_reference import catalog_reference
from dragoman.client.discovery.catalogs import HeldCard, locate
from dragoman.client.discovery.finding import Address, get_card
from dragoman.client.discovery.offers import (
    BINDINGS,
    Binding,
    binding_named,
    offers_of,
    with_unlisted_grpc,
)
from dragoman.client.following.polling import POLL_SECONDS
from dragoman.client.retry import RetryPolicy
from dragoman.client.service import RemoteService
from dragoman.client.tools.tool import Tool, tools_of
from dragoman.client.tools.toolbox import Approve, Toolbox
from dragoman.client.transports.dialing import Dialer
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.tls import Tls
from dragoman.clock import SystemClock
from dragoman.dialects.legacy.file_bytes import likely_habit
from dragoman.dialects.negotiation import V1_0, Version, parse_version
from dragoman.dialects.registry import called_as
from dragoman.egress import Egress
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.auth.cards.keys import TrustedKeys
    from dragoman.auth.outgoing.requirements import Held
    from dragoman.client.discovery.trust import CardTrust
    from dragoman.clock import Clock
    from dragoman.egress import EgressPolicy
    from dragoman.extensions.base import Directory
    from dragoman.model.base import JsonObject

__all__ = ("Address", "connect", "guarded_client", "name_in")

_logger = logging.getLogger(__name__)

_CARDS: Final = CardCache()
"""The cards that this process has fetched."""

_DEFAULT_RETRY: Final = RetryPolicy()


@asynccontextmanager
async def connect(
    address: Address,
    *,
    version: str | None = None,
    downgrade: bool = True,
    binding: str | Sequence[str] = (),
    tenant: str | None = None,
    headers: Mapping[str, str] | None = None,
    auth: Held | None = None,
    trust: CardTrust | TrustedKeys | None = None,
    card_auth: bool = False,
    directory: Directory | None = None,
    extended_card: bool = False,
    extensions: Sequence[str] = (),
    tools: Sequence[Tool | Callable[..., object]] = (),
    approve: Approve | None = None,
    profile: str = "",
    retry: RetryPolicy = _DEFAULT_RETRY,
    poll_seconds: float = POLL_SECONDS,
    ca_file: str | Path | None = None,
    insecure: bool = False,
    http: httpx2.AsyncClient | None = None,
    cards: CardCache | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[RemoteAgent]:
    """Connect to an agent: its card, version, binding and credentials are worked out.

    Used as ``async with connect("https://agent.example.com") as agent:``. Only the card is fetched
    then; an interface of it is chosen by the first call, which may be that for the extended card.

    Args:
        address: where the agent is, or ``CATALOG@ENTRY``: an entry of an AI catalog, which is a
            host, a URL or a path. A card that is given is used as it is, and an interface alone
            is called without looking at a card.
        version: the only version to speak, such as ``1.0``; otherwise what the card prefers.
        downgrade: also speak versions before 1.0 to an agent whose card declares a newer one, if
            the card prefers that or the agent does not understand the newer one.
        binding: ``JSONRPC``, ``HTTP+JSON`` or ``GRPC``, or several of them, the best first. Where
            the card has none of these, gRPC is tried at the ports of HTTP if it is among them;
            then the card's own order counts.
        tenant: the one whose interfaces to use; otherwise the card's order counts.
        headers: what goes along with every request to the origin of the address.
        auth: what can be shown to the agent, see ``dragoman.auth``.
        trust: the keys of which one must have signed the card; without it, signatures are not
            looked at.
        directory: finds the agent of an address such as ``scheme:name``. What is then called is
            within the bounds that the directory sets, and not by gRPC.
        card_auth: show what is in ``auth`` to get the card, too. How it travels then, no card has
            told: give an API key its name.
        extended_card: go by the card that the agent has for this caller, if it offers one.
        extensions: the protocol extensions that this program knows; each is declared in every
            request. An agent that requires another is not called.
        tools: functions, async or not, that the agent may ask for; they are run when it does, while
            its answer is waited for or followed. See ``Tool`` for names and descriptions of your
            own.
        approve: asked before each of them is run, with what is to be run; may be async. Without it
            all are run that the agent asks for.
        profile: what the agent has made of its version, by a name in
            ``dragoman.dialects.registry``. Client tools work without it.
        retry: how often and how patiently to ask again.
        poll_seconds: how long to wait between two looks at a task, if the agent does not stream.
        ca_file: the authorities to trust instead of the machine's own, as PEM.
        insecure: trust whatever certificate is shown; for tests.
        http: a client of your own for HTTP, with its proxies and certificates.
        cards: where cards are kept that were fetched; otherwise this process's own.

    Raises:
        CardError: there is no card, or none that can be used.
        CardUntrustedError: it is not signed, or not by those who are trusted.
        ClientError, A2AError: the agent cannot be asked for its card, or refuses.
        UsageError: an argument is wrong.
    """
    telemetry.look()
    toolbox = Toolbox(tools_of(tools), approve) if tools else None
    clock = clock or SystemClock()
    wanted = _version_of(version)
    chosen = (called_as(profile),) if profile else ()
    tls = Tls(ca_file=Path(ca_file) if ca_file is not None else None, is_insecure=insecure)
    async with AsyncExitStack() as stack:
        name = name_in(address, directory)
        if directory is not None and name is not None:
            address = await directory.find(name)
            http = await guarded_client(directory.policy, tls, stack)
        pool = HttpPool(tls, http)
        stack.push_async_callback(pool.aclose)
        demanded = _demanded(trust)
        if name is None:
            address = await _located(address, pool)
        found = await get_card(
            address,
            pool=pool,
            tls=tls,
            cache=cards or _CARDS,
            clock=clock,
            headers=headers or {},
            held=auth if card_auth else None,
            trust=demanded,
        )
        marks: JsonObject = {}
        if directory is not None and name is not None:
            directory.check(name, found.document)
            marks = directory.marks(name, found.document)
        card = found.reading.card
        bindings, usable = _bindings_of(binding), _usable(auth, is_guarded=name is not None)
        offers = offers_of(
            card,
            found.url,
            bindings=bindings,
            version=wanted,
            tenant=tenant,
            installed=usable,
            profiles=(*found.reading.profiles, *chosen),
        )
        if not downgrade:
            newest = tuple(offer for offer in offers if offer.version >= V1_0)
            offers = newest or offers
        offers = with_unlisted_grpc(offers, bindings, usable)
        dialer = Dialer(
            card,
            pool,
            tls,
            own_origin=origin_of(found.url) if found.url else "",
            headers=headers or {},
            held=auth,
            marks=marks,
            likely=likely_habit(found.powered_by),
        )
        stack.push_async_callback(dialer.aclose)
        caller = Caller(offers, dialer.open, clock=clock, chance=random.random, policy=retry)
        service = RemoteService(
            caller, card, extensions=tuple(extensions), poll_seconds=poll_seconds
        )
        stack.push_async_callback(service.aclose)
        agent = RemoteAgent(service, card, clock.new_id, demanded, toolbox=toolbox)
        if extended_card and card.capabilities.extended_agent_card:
            await agent.extended_card()
        yield agent


async def _located(address: Address, pool: HttpPool) -> Address:
    """Return what an entry of a catalog leads to; any other address as it is."""
    entry = catalog_reference(address, None, Path()) if isinstance(address, str) else None
    if entry is None:
        return address
    found = await locate(entry, pool=pool, folder=Path(), tell=_logger.warning)
    return read_card(*found).card if isinstance(found, HeldCard) else found


def name_in(address: Address, directory: Directory | None) -> str | None:
    """Return the name to look up in a directory, None if ``address`` is an address of its own."""
    if directory is None or not isinstance(address, str):
        return None
    scheme, colon, name = address.partition(":")
    is_name = bool(colon) and scheme == directory.scheme and not name.startswith("//")
    return name if is_name else None


async def guarded_client(
    policy: EgressPolicy, tls: Tls, stack: AsyncExitStack
) -> httpx2.AsyncClient:
    """Return a client that calls only what a policy allows; it is closed with the stack.

    Where a name leads is somebody else's word: the card and every interface it lists are called
    within the bounds that the directory sets.
    """
    egress = Egress(policy, context=httpx2.create_ssl_context(tls.http()))
    client = httpx2.AsyncClient(transport=egress, trust_env=False)
    return await stack.enter_async_context(client)


def _demanded(trust: CardTrust | TrustedKeys | None) -> CardTrust | None:
    if trust is None:
        return None
    # This imports cryptography, which takes its time.
    from dragoman.client.discovery.trust import trust_of  # noqa: PLC0415 - see above

    return trust_of(trust)


def _version_of(text: str | None) -> Version | None:
    if text is None:
        return None
    version = parse_version(text)
    if version is None:
        raise UsageError(f"{text!r} is no version of A2A: say 1.0, 0.3, 0.2 or 0.1")
    return version


def _bindings_of(names: str | Sequence[str]) -> tuple[Binding, ...]:
    listed = (names,) if isinstance(names, str) else names
    return tuple(binding_named(name) for name in listed)


def _usable(auth: Held | None, *, is_guarded: bool) -> tuple[Binding, ...]:
    """Return the bindings that can be used here, with what the user has to show."""
    if auth is not None and signs_bodies(auth):
        return ("JSONRPC",)
    has_grpc = is_installed() and not is_guarded
    return tuple(name for name in BINDINGS if name != "GRPC" or has_grpc)
