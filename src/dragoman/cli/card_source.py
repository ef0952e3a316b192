"""Finding the card of an agent as the very bytes that the agent, or the file, has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from dragoman.cli.commands import Invocation
from dragoman.cli.credentials import card_failure, luggage_of
from dragoman.cli.debug import WireLog
from dragoman.cli.errors import CliError
from dragoman.cli.options import DEBUG
from dragoman.cli.target import FLOOR, tls_of
from dragoman.client.card_cache import CardCache
from dragoman.client.discovery import find_card
from dragoman.client.errors import CardInvalidError
from dragoman.client.http_pool import HttpPool
from dragoman.clock import SystemClock
from dragoman.errors import DragomanError

__all__ = ("CardDocument", "fetch_card")


class CardDocument(NamedTuple):
    """What was found where a card should be, and where that is: a URL or a path."""

    content: bytes
    place: str


async def fetch_card(invocation: Invocation, address: str | Path) -> CardDocument:
    """Find what is meant as the card of an agent; whether it is one is not looked at.

    Raises:
        CliError: there is none, or it cannot be asked for.
    """
    tls = tls_of(invocation.settings, invocation.surroundings.folder)
    luggage = luggage_of(invocation.settings)
    log = WireLog(invocation.output, is_on=invocation.settings[DEBUG])
    headers = {**luggage.headers, "A2A-Version": FLOOR}
    kept = _Kept()
    with log.library_lines():
        async with log.http_client(tls) as http, aclosing(HttpPool(tls, http)) as pool:
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
    return CardDocument(kept.content, kept.place)


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
