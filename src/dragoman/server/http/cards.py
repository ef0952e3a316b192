"""The documents about the agent that HTTP serves: its card, in every version's place."""

from __future__ import annotations

from typing import Final

from dragoman.dialects.base import CARD_PATH, OLD_CARD_PATH
from dragoman.dialects.negotiation import parse_version
from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    MethodNotAllowedError,
    UnsupportedOperationError,
)
from dragoman.server.admission.authentication import Guard
from dragoman.server.admission.client_address import Addressing
from dragoman.server.cards.card import PublishedCards, is_fresh
from dragoman.server.dispatch import Dispatcher
from dragoman.server.http.calls import error_headers
from dragoman.server.http.exchange import Exchange
from dragoman.server.http.media import JSON
from dragoman.server.settings import CardSettings

__all__ = (
    "CARD_PATHS",
    "JWKS_PATH",
    "OLD_EXTENDED_CARD_PATH",
    "OLD_EXTENDED_CARD_PATHS",
    "HttpCard",
    "refuse",
)

CARD_PATHS: Final = frozenset({CARD_PATH, OLD_CARD_PATH})
"""Where any version looks for the card."""

OLD_EXTENDED_CARD_PATH: Final = "/agent/authenticatedExtendedCard"
"""Where 0.2 has the extended card: beside the URL of the agent (0.x reference, 3.2)."""

OLD_EXTENDED_CARD_PATHS: Final = frozenset(
    {OLD_EXTENDED_CARD_PATH, f"/api{OLD_EXTENDED_CARD_PATH}"}
)
"""Beside each URL at which the agent answers."""

JWKS_PATH: Final = "/.well-known/jwks.json"
"""Where the public keys are that verify the card and notifications, if they are signed."""

_EXTENDED_CARD_METHOD: Final = "agent/authenticatedExtendedCard"

_READING: Final = ("GET", "HEAD")

_VARIES: Final = (
    b"a2a-version, host, forwarded, x-forwarded-host, x-forwarded-proto, x-forwarded-prefix"
)


_KEYS_CACHED: Final = ((b"cache-control", b"public, max-age=300"),)
"""A key that was withdrawn is trusted for no longer than this."""


class HttpCard:
    """Serves the card."""

    def __init__(
        self, cards: PublishedCards, dispatcher: Dispatcher, guard: Guard, settings: CardSettings
    ) -> None:
        self._cards = cards
        self._dispatcher = dispatcher
        self._guard = guard
        self._settings = settings
        scope = b"private" if settings.private_card else b"public"
        self._caching = b"%b, max-age=%d" % (scope, settings.card_max_age_seconds)
        self._addressing = Addressing(settings.public_url, settings.trusted_proxies)

    async def card(self, exchange: Exchange) -> None:
        """Serve the card: to anybody unless it is private, without asking for a version (Q-09).

        Who states one gets the card as that version has it; all others one for all readers.
        """
        if exchange.method not in _READING:
            await refuse(exchange, MethodNotAllowedError(_READING))
            return
        try:
            if self._settings.private_card:
                exchange.principal = await self._guard.enter(exchange)
            else:
                self._guard.meet(exchange)
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            await refuse(exchange, self._dispatcher.explain(problem))
            return
        await self._cards.refresh()
        file = self._cards.file(
            self._addressing.base_of(exchange),
            parse_version(exchange.parameter(b"a2a-version", "A2A-Version") or ""),
            is_old_place=exchange.path == OLD_CARD_PATH,
        )
        validators = (
            (b"etag", file.etag.encode()),
            (b"last-modified", file.last_modified.encode()),
            (b"cache-control", self._caching),
            (b"vary", _VARIES),
        )
        headers = exchange.headers
        if is_fresh(file, headers.get(b"if-none-match"), headers.get(b"if-modified-since")):
            await exchange.reply(304, JSON, b"", validators)
        else:
            await exchange.reply(200, JSON, file.body, validators)

    async def keys(self, exchange: Exchange, key_set: bytes) -> None:
        """Serve the public keys of the agent; as public as the card itself."""
        if exchange.method not in _READING:
            await refuse(exchange, MethodNotAllowedError(_READING))
            return
        try:
            self._guard.meet(exchange)
        except A2AError as error:
            await refuse(exchange, error)
        else:
            await exchange.reply(200, JSON, key_set, _KEYS_CACHED)

    async def old_extended_card(self, exchange: Exchange) -> None:
        """Serve the extended card where 0.2 looks for it: beside the URL of the agent.

        0.x reference, 3.2: a card that is not there is a 404.
        """
        if exchange.method not in _READING:
            await refuse(exchange, MethodNotAllowedError(_READING))
            return
        try:
            exchange.principal = await self._guard.enter(exchange)
            answer = await self._dispatcher.serve_method(exchange, _EXTENDED_CARD_METHOD, b"{}")
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            status, body = V0_3_DIALECT.encode_http_error(error)
            if isinstance(error, UnsupportedOperationError | ExtendedAgentCardNotConfiguredError):
                status = 404
            await exchange.reply(status, JSON, body, error_headers(error))
        else:
            await exchange.reply(200, JSON, answer.body, answer.headers)


async def refuse(exchange: Exchange, error: A2AError) -> None:
    """Tell of an error where no version of the protocol says how."""
    status, body = V1_0_DIALECT.encode_http_error(error)
    await exchange.reply(status, JSON, body, error_headers(error))
