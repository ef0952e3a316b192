"""Finding the card of an agent: at an origin, at a URL, in a file."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin

from dragoman.auth.outgoing.credentials import NOTHING, Attachment, Credentials
from dragoman.auth.outgoing.origins import origin_of
from dragoman.client.discovery.addresses import card_locations, file_path
from dragoman.client.discovery.cards import CardReading, is_card, read_card
from dragoman.client.errors import CardInvalidError, CardNotFoundError, ProtocolError
from dragoman.client.transports.framing import error_of_status
from dragoman.client.transports.http_pool import read_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.client.discovery.card_cache import CardCache
    from dragoman.client.transports.http_pool import HttpPool
    from dragoman.clock import Clock

__all__ = ("FoundCard", "find_card")

_logger = logging.getLogger(__name__)

MAX_CARD_BYTES: Final = 1024 * 1024
"""Real cards have 2 to 50 KiB."""

_SECONDS: Final = 30.0
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

# 0.x reference, 4.1. A 401 that tells no way to authenticate is some server's word for "not here".
_ELSEWHERE: Final = frozenset({404, 405, 410})


class FoundCard(NamedTuple):
    """A card and where it was: a URL, or "" if the card is the user's own (a file).

    Attributes:
        document: the card as it was received.
    """

    reading: CardReading
    url: str
    document: bytes


class _Fetched(NamedTuple):
    body: bytes
    url: str


class _NotHereError(Exception):
    """There is no card at one of the places."""


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
    for url in card_locations(str(address)):
        try:
            shown = NOTHING if credentials is None else await credentials.attach(origin_of(url))
            found = await _fetch(
                url, pool=pool, cache=cache, clock=clock, headers=headers, shown=shown
            )
        except _NotHereError as finding:
            findings.append((url, str(finding)))
            continue
        return FoundCard(read_card(found.body, found.url), found.url, found.body)
    raise CardNotFoundError(tuple(findings))


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
        return _Fetched(kept.body, url)
    asked = {
        **shown.http_headers(),
        "Accept": "application/json",
        **headers,
        **(kept.validators() if kept else {}),
    }
    place = url
    for _ in range(_MAX_REDIRECTS + 1):
        async with pool.exchange(
            "GET", shown.applied_to(place), headers=asked, read_seconds=_SECONDS
        ) as response:
            status, answer = response.status_code, response.headers
            if status in _REDIRECTS:
                place = _redirected(place, answer.get("location", ""))
                continue
            body = await read_body(response, MAX_CARD_BYTES, _SECONDS)
        if status == 304 and kept is not None:
            body = kept.body
        elif status in _ELSEWHERE or (status == 401 and "www-authenticate" not in answer):
            raise _NotHereError(f"HTTP status {status}")
        elif not 200 <= status < 300:
            raise error_of_status(status, body, place)
        elif not is_card(body):
            raise _NotHereError("something that is no card")
        cache.keep(url, headers, body, answer, clock.now_ms())
        return _Fetched(body, place)
    raise ProtocolError(url, f"it redirects more than {_MAX_REDIRECTS} times")


def _redirected(url: str, location: str) -> str:
    """Return where to look instead; another origin is another agent (0.x reference, 6.4)."""
    target = urljoin(url, location)
    if not location or origin_of(target) != origin_of(url):
        raise ProtocolError(
            url, f"it redirects to {target or 'nowhere'}: connect to that if you trust it"
        )
    return target
