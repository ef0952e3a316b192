"""Getting the card of an agent: given or found, as it is asked for, and as it must be signed.

Credentials are not sent to where a card is got from unless the user says so: nobody has told yet
what that place wants to see (A2ACLI_AUTH_008).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.requirements import Choice, Held, choose
from dragoman.client.discovery.addresses import card_locations, file_path
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.cards import CardReading
from dragoman.client.discovery.finding import FoundCard, find_card
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.tls import Tls
from dragoman.dialects.negotiation import V1_0
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.client.discovery.trust import CardTrust
    from dragoman.clock import Clock

__all__ = ("Address", "get_card")

Address: TypeAlias = str | Path | AgentCard | AgentInterface
"""A host, an origin, the URL of a card or an agent, a path, a ``file:`` URL; or what is known."""

_logger = logging.getLogger(__name__)

_SILENT: Final = AgentCard(
    name="",
    description="",
    supported_interfaces=(),
    version="",
    # What it can do is not known: the agent's refusal will tell.
    capabilities=AgentCapabilities(
        streaming=True, push_notifications=True, extended_agent_card=True
    ),
    default_input_modes=(),
    default_output_modes=(),
    skills=(),
)
"""The card of an agent that has said nothing."""


async def get_card(
    address: Address,
    *,
    pool: HttpPool,
    tls: Tls,
    cache: CardCache,
    clock: Clock,
    headers: Mapping[str, str],
    held: Held | None,
    trust: CardTrust | None,
) -> FoundCard:
    """Get the card of an agent.

    Args:
        held: what is shown for it. The card is then kept for nobody else.
        trust: who must have signed it.

    Raises:
        CardError: there is none, it cannot be used, or it is not signed as it must be.
        ClientError, A2AError: the agent cannot be asked, or refuses.
        UsageError: it is no address.
    """
    found = _given(address)
    if found is None:
        place = _place(address)
        shown = _shown(place, held)
        # R-3.6.1-1. Of the cards that an agent may have, that of 1.0 lists all of its interfaces.
        told = {**headers, "A2A-Version": str(V1_0)}
        async with _showing(shown, tls, pool) as asked:
            found = await find_card(
                place,
                pool=asked,
                cache=cache if shown is None else CardCache(),
                clock=clock,
                headers=told,
                credentials=shown,
            )
    if trust is None:
        return found
    if not found.document:
        raise UsageError("an interface without a card has no signature: give the card to trust")
    return await trust.checked(found)


def _given(address: Address) -> FoundCard | None:
    """Return the card that the user has given, be it as little as an interface."""
    if isinstance(address, AgentInterface):
        card = replace(_SILENT, name=address.url, supported_interfaces=(address,))
        return FoundCard(CardReading(card), "", b"")
    if isinstance(address, AgentCard):
        return FoundCard(CardReading(address), "", encode_card(address))
    return None


def _place(address: Address) -> str | Path:
    if not isinstance(address, str | Path):
        raise UsageError(f"{address!r} is no address of an agent")
    return address


def _shown(place: str | Path, held: Held | None) -> Choice | None:
    if held is None or isinstance(place, Path) or file_path(place) is not None:
        return None
    choice = choose(_SILENT, held, origin=origin_of(card_locations(place)[0]))
    for reason in choice.left_out:
        _logger.warning("a credential is not sent for the card: %s", reason)
    return choice


@asynccontextmanager
async def _showing(shown: Choice | None, tls: Tls, pool: HttpPool) -> AsyncGenerator[HttpPool]:
    """Yield what to ask with: a certificate is shown while the connection is made."""
    if shown is None or shown.certificate is None:
        yield pool
        return
    own = HttpPool(replace(tls, certificate=shown.certificate))
    try:
        yield own
    finally:
        await own.aclose()
