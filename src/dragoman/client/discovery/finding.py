"""Finding the card of an agent: given, at an origin, at a URL, in a file; signed as it must be.

Credentials are not sent to where a card is fetched from unless the user says so: nobody has told
yet what that server wants to see (A2ACLI_AUTH_008).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import urljoin

from msgspec.structs import replace

from dragoman.auth.outgoing.credentials import NOTHING, Attachment, Credentials
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.requirements import Choice, Held, choose
from dragoman.client.discovery.addresses import card_locations, file_path
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.cards import CardReading, is_card, read_card
from dragoman.client.errors import CardInvalidError, CardNotFoundError, ProtocolError
from dragoman.client.transports.base import error_of_status
from dragoman.client.transports.http_pool import HttpPool, read_body
from dragoman.client.transports.tls import Tls
from dragoman.dialects.base import CARD_PATH, OLD_CARD_PATH
from dragoman.dialects.registry import NEWEST
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.client.discovery.trust import CardTrust
    from dragoman.clock import Clock

__all__ = ("Address", "FoundCard", "find_card", "get_card")

_logger = logging.getLogger(__name__)

Address: TypeAlias = str | Path | AgentCard | AgentInterface
"""A host, an origin, the URL of a card or an agent, a path, a ``file:`` URL; or what is known."""

MAX_CARD_BYTES: Final = 1024 * 1024
"""Real cards have 2 to 50 KiB."""

_FETCH_SECONDS: Final = 30.0
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

# 0.x reference, 4.1. A 401 that tells no way to authenticate is some server's word for "not here".
_NOT_HERE: Final = frozenset({404, 405, 410})

_UNKNOWN_AGENT: Final = AgentCard(
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


class FoundCard(NamedTuple):
    """A card and where it was: a URL, or "" if the card is the user's own (a file).

    Attributes:
        document: the card as it was received.
        powered_by: what the server says of its software, "" if nothing.
    """

    reading: CardReading
    url: str
    document: bytes
    powered_by: str = ""


class _Fetched(NamedTuple):
    body: bytes
    url: str
    powered_by: str


class _NotHereError(Exception):
    """There is no card at one of the places."""


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
        place = _location(address)
        shown = _shown(place, held)
        # R-3.6.1-1. Of the cards that an agent may have, the newest lists all of its interfaces.
        told = {**headers, "A2A-Version": str(NEWEST)}
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


async def find_card(
    address: str | Path,
    *,
    pool: HttpPool,
    cache: CardCache,
    clock: Clock,
    headers: Mapping[str, str],
    credentials: Credentials | None = None,
) -> FoundCard:
    """Find and read the card of an agent.

    Args:
        address: a host, an origin, the URL of a card or of an agent, a path or a ``file:`` URL.
        headers: what goes along, to the origin of the address alone.
        credentials: what is shown there. A card that was got so is for its caller alone: use a
            cache that nobody else does.

    Raises:
        CardNotFoundError: there is none.
        CardInvalidError: there is one, but it cannot be used.
        ClientError, A2AError: the agent cannot be asked, or refuses.
        UsageError: it is no address.
    """
    path = address if isinstance(address, Path) else file_path(address)
    if path is None and "://" not in str(address):
        # A bare name may be that of a file.
        named = Path(address)
        path = named if await asyncio.to_thread(named.is_file) else None
    if path is not None:
        document = await asyncio.to_thread(_read_file, path)
        return FoundCard(read_card(document, str(path)), "", document)
    findings: list[tuple[str, str]] = []
    refusal: UnauthenticatedError | None = None
    given, *others = card_locations(str(address))
    for url in (given, *others):
        # Elsewhere at that origin there may be the card of another agent.
        if refusal is not None and not url.startswith(f"{given.rstrip('/')}/"):
            break
        try:
            shown = NOTHING if credentials is None else await credentials.attach(origin_of(url))
            found = await _fetch(
                url, pool=pool, cache=cache, clock=clock, headers=headers, shown=shown
            )
        except _NotHereError as finding:
            findings.append((url, str(finding)))
            continue
        except UnauthenticatedError as problem:
            if url != given or given.endswith((CARD_PATH, OLD_CARD_PATH)):
                raise
            # The agent itself, which is guarded; its card may be below, for everybody.
            refusal = problem
            continue
        card = read_card(found.body, found.url)
        return FoundCard(card, found.url, found.body, found.powered_by)
    raise refusal or CardNotFoundError(tuple(findings))


def _given(address: Address) -> FoundCard | None:
    """Return the card that the user has given, be it as little as an interface."""
    if isinstance(address, AgentInterface):
        card = replace(_UNKNOWN_AGENT, name=address.url, supported_interfaces=(address,))
        return FoundCard(CardReading(card), "", b"")
    if isinstance(address, AgentCard):
        return FoundCard(CardReading(address), "", encode_card(address))
    return None


def _location(address: Address) -> str | Path:
    if not isinstance(address, str | Path):
        raise UsageError(f"{address!r} is no address of an agent")
    return address


def _shown(place: str | Path, held: Held | None) -> Choice | None:
    if held is None or isinstance(place, Path) or file_path(place) is not None:
        return None
    choice = choose(_UNKNOWN_AGENT, held, origin=origin_of(card_locations(place)[0]))
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


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CARD_BYTES + 1)
    except OSError as problem:
        finding = problem.strerror or "it cannot be read"
        raise CardNotFoundError(((str(path), finding),)) from None
    if len(data) > MAX_CARD_BYTES:
        raise CardInvalidError(str(path), f"it has more than {MAX_CARD_BYTES} bytes")
    return data


async def _fetch(
    url: str,
    *,
    pool: HttpPool,
    cache: CardCache,
    clock: Clock,
    headers: Mapping[str, str],
    shown: Attachment,
) -> _Fetched:
    """Fetch what could be a card, from memory if it may still be used."""
    kept = cache.find(url, headers)
    if kept is not None and clock.now_ms() < kept.fresh_until_ms:
        return _Fetched(kept.body, url, kept.powered_by)
    asked = {
        **shown.http_headers(),
        "Accept": "application/json",
        **headers,
        **(kept.validators() if kept else {}),
    }
    place = url
    for _ in range(_MAX_REDIRECTS + 1):
        async with pool.exchange(
            "GET", shown.applied_to(place), headers=asked, read_seconds=_FETCH_SECONDS
        ) as response:
            status, answer = response.status_code, response.headers
            if status in _REDIRECTS:
                place = _redirected(place, answer.get("location", ""))
                continue
            body = await read_body(response, MAX_CARD_BYTES, _FETCH_SECONDS)
        if status == 304 and kept is not None:
            body = kept.body
        elif status in _NOT_HERE or (status == 401 and "www-authenticate" not in answer):
            raise _NotHereError(f"HTTP status {status}")
        elif not 200 <= status < 300:
            raise error_of_status(status, body, place)
        elif not is_card(body):
            raise _NotHereError("something that is no card")
        cache.keep(url, headers, body, answer, clock.now_ms())
        return _Fetched(body, place, answer.get("x-powered-by", ""))
    raise ProtocolError(url, f"it redirects more than {_MAX_REDIRECTS} times")


def _redirected(url: str, location: str) -> str:
    """Return where to look instead; another origin is another agent (0.x reference, 6.4)."""
    target = urljoin(url, location)
    if not location or origin_of(target) != origin_of(url):
        raise ProtocolError(
            url, f"it redirects to {target or 'nowhere'}: connect to that if you trust it"
        )
    return target
