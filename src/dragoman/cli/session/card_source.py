"""Cards of agents: the very bytes that the agent or file has, and what signatures show."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final, NamedTuple

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import verify_card
from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.origins import origin_of
from dragoman.cli.command import Invocation
from dragoman.cli.errors import CARD_INVALID, CliError, Failure, failure_of
from dragoman.cli.options import values
from dragoman.cli.options.options import DEBUG, Option
from dragoman.cli.session.credentials import card_failure, luggage_of
from dragoman.cli.session.target import FLOOR, certificate_of, tls_of
from dragoman.cli.session.wire_log import WireLog
from dragoman.client.connect import Address
from dragoman.client.discovery.addresses import card_locations, file_path
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.catalog_reference import CatalogReference
from dragoman.client.discovery.catalogs import HeldCard, locate
from dragoman.client.discovery.finding import find_card
from dragoman.client.errors import CardInvalidError
from dragoman.client.transports.http_pool import HttpPool
from dragoman.clock import SystemClock
from dragoman.errors import DragomanError
from dragoman.model.cards import AgentInterface

__all__ = (
    "JWKS",
    "REQUIRE_SIGNATURE",
    "CardDocument",
    "certificate_for",
    "fetch_card",
    "placed",
    "signature_of",
)


class CardDocument(NamedTuple):
    """What was found where a card should be, and where that is: a URL or a path.

    Attributes:
        url: where the agent has it; "" if it is the user's own, or comes out of a catalog.
    """

    content: bytes
    place: str
    url: str = ""


async def _locate(invocation: Invocation, reference: CatalogReference) -> str | Path | CardDocument:
    """Look up an agent in a catalog: where its card is, or the card itself.

    Raises:
        CliError: there is no such agent, or no such catalog.
    """
    folder = invocation.surroundings.folder
    try:
        async with aclosing(HttpPool(tls_of(invocation.settings, folder))) as pool:
            found = await locate(reference, pool=pool, folder=folder, tell=invocation.output.warn)
    except DragomanError as problem:
        raise CliError(failure_of(problem)) from problem
    return CardDocument(*found) if isinstance(found, HeldCard) else found


async def placed(
    invocation: Invocation, address: str | Path | AgentInterface | CatalogReference
) -> Address:
    """Return what can be connected to: of a catalog, that which it leads to.

    Raises:
        CliError: it leads nowhere.
        CardInvalidError: it holds a card that is none.
    """
    if not isinstance(address, CatalogReference):
        return address
    found = await _locate(invocation, address)
    return read_card(found.content, found.place).card if isinstance(found, CardDocument) else found


async def fetch_card(
    invocation: Invocation, address: str | Path | CatalogReference
) -> CardDocument:
    """Find what is meant as the card of an agent; whether it is one is not looked at.

    Raises:
        CliError: there is none, or it cannot be asked for.
    """
    if isinstance(address, CatalogReference):
        found = await _locate(invocation, address)
        if isinstance(found, CardDocument):
            return found
        address = found
    tls = tls_of(invocation.settings, invocation.surroundings.folder)
    luggage = luggage_of(invocation.settings)
    log = WireLog(invocation.output, is_on=invocation.settings[DEBUG])
    headers = {**luggage.headers, "A2A-Version": FLOOR}
    kept = _Kept()
    with log.library_lines():
        async with (
            log.http_client(tls, certificate_for(invocation, address)) as http,
            aclosing(HttpPool(tls, http)) as pool,
        ):
            try:
                await find_card(
                    address, pool=pool, cache=kept, clock=SystemClock(), headers=headers
                )
            except CardInvalidError:
                pass
            except DragomanError as problem:
                raise CliError(card_failure(problem, luggage)) from problem
    if isinstance(address, Path):
        return CardDocument(await asyncio.to_thread(address.read_bytes), str(address))
    return CardDocument(kept.content, kept.place, kept.place)


def certificate_for(invocation: Invocation, address: Address) -> ClientCertificate | None:
    """Return the certificate to show where the card of an agent is, and nowhere else."""
    certificate = certificate_of(invocation.settings, invocation.surroundings.folder)
    if certificate is None or not isinstance(address, str) or file_path(address) is not None:
        return certificate
    return certificate.bound_to(origin_of(card_locations(address)[0]))


class _Kept(CardCache):
    """Keeps the bytes of the card that came, whatever its headers say."""

    def __init__(self) -> None:
        super().__init__()
        self.content = b""
        self.place = ""

    def keep(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        answer: Mapping[str, str],
        now_ms: int,
    ) -> None:
        """Keep it."""
        del headers, answer, now_ms
        self.content, self.place = body, url


JWKS: Final = Option[str | None](
    name="jwks",
    metavar="FILE|URL",
    default=None,
    is_configurable=False,
    help="keys to trust for the signatures of the card",
)
REQUIRE_SIGNATURE: Final = Option[bool](
    name="require-signature",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="fail unless a trusted key has signed the card",
)


async def signature_of(invocation: Invocation, found: CardDocument) -> str:
    """Tell whether a card is verified, unverifiable, or not signed at all (absent).

    Raises:
        CliError: it is not verified, though the user requires that.
        UsageError: the keys cannot be read.
    """
    settings = invocation.settings
    verification = await verify_card(found.content, _keys(invocation, found))
    if verification.outcome == "verified":
        return f"verified {verification.kid}".rstrip()
    if settings[REQUIRE_SIGNATURE]:
        message = f"{found.place} has no signature to rely on: {verification.reason}"
        raise CliError(Failure(CARD_INVALID, message, "name the keys to trust with --jwks"))
    if verification.outcome == "unverifiable":
        invocation.output.warn(f"the signature cannot be verified: {verification.reason}")
    return verification.outcome


def _keys(invocation: Invocation, found: CardDocument) -> TrustedKeys:
    """Return the keys to trust: those that are given, and those at the origin of the card."""
    given = invocation.settings[JWKS]
    own = (origin_of(found.place),) if found.place.startswith("https://") else ()
    if given is None:
        return TrustedKeys(jku=own)
    if "://" in given:
        return TrustedKeys(jku=(*own, given))
    return TrustedKeys(invocation.surroundings.folder / given, jku=own)
