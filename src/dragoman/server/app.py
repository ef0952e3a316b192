"""The ASGI application: from a path to what answers it, and the lifespan. No framework."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import Final, Protocol

from dragoman.errors import MethodNotAllowedError, MethodNotFoundError
from dragoman.model.cards import AgentCard
from dragoman.net.asgi import ASGIApp, Receive, Scope, Send
from dragoman.net.limits import ConnectionLimits
from dragoman.server.cards.card import PublishedCards
from dragoman.server.cards.published_keys import PublishedKeys
from dragoman.server.dispatch import ServiceHost
from dragoman.server.grpc.server import GrpcServer
from dragoman.server.http.calls import OLD_PREFIX, HttpCalls
from dragoman.server.http.cards import (
    CARD_PATHS,
    JWKS_PATH,
    OLD_EXTENDED_CARD_PATH,
    OLD_EXTENDED_CARD_PATHS,
    HttpCard,
    refuse,
)
from dragoman.server.http.cors import Cors
from dragoman.server.http.exchange import DisconnectedError, Exchange
from dragoman.server.http.media import JSON
from dragoman.server.http.observability import METRICS_PATH, Metrics
from dragoman.server.tasks.background import BackgroundTasks

__all__ = ("ASGIApp", "App", "Lifecycle")

_logger = logging.getLogger(__name__)

JSONRPC_PATHS: Final = frozenset({"/", "/a2a", "/api/a2a"})
HEALTH_PATHS: Final = frozenset({"/healthz", "/readyz"})


class Lifecycle(ServiceHost, Protocol):
    """What an application runs on, from start to stop."""

    @property
    def background(self) -> BackgroundTasks:
        """What goes on beside the requests."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered."""
        ...

    @property
    def replica_id(self) -> str:
        """Which of several servers this is; "" if it is the only one."""
        ...

    async def start(self) -> None:
        """Get ready to answer."""
        ...

    async def drain(self) -> None:
        """Take no new work, and end the streams."""
        ...

    def hasten(self) -> None:
        """Let a stop that is under way wait for no turn any longer."""
        ...

    async def stop(self) -> None:
        """Drain, and let go of all that was opened."""
        ...


class App:
    """One agent as an ASGI application. ``dragoman.server.assembly`` makes it."""

    def __init__(
        self,
        runtime: Lifecycle,
        cards: PublishedCards,
        *,
        calls: HttpCalls,
        card: HttpCard,
        grpc: GrpcServer,
        connection_limits: ConnectionLimits,
        keys: PublishedKeys | None = None,
        metrics: Metrics | None = None,
        cors: Cors | None = None,
        path: str = "",
    ) -> None:
        """Put it together.

        Args:
            path: below which the agent is called; documents about it are also at the root.
        """
        self.runtime: Final = runtime
        self.grpc: Final = grpc
        self.connection_limits: Final = connection_limits
        self._cards = cards
        self._calls = calls
        self._card = card
        self._keys = keys
        self._metrics = metrics
        self._cors = cors
        self._path = path
        beside = f"{path.rpartition('/')[0]}{OLD_EXTENDED_CARD_PATH}"
        self._extended_card_paths = OLD_EXTENDED_CARD_PATHS | {beside}

    @property
    def card(self) -> AgentCard:
        """The card, for callers in this process: without addresses of its own."""
        return self._cards.card("")

    def offer_grpc(self, port: int = 0) -> None:
        """Have the card list gRPC, if settings say so: on this port, or on the one that HTTP has.

        For a server that passes HTTP/2 on to ``grpc``; others cannot reach it.
        """
        self._cards.offer_grpc(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http":
            exchange = Exchange(scope, receive, send)
            try:
                if self._cors is None or not await self._cors.meet(exchange):
                    await self._serve(exchange)
            except DisconnectedError:
                _logger.debug("%s left before its request was read", exchange.peer)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003, "reason": "A2A has no WebSockets"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                try:
                    await self.runtime.start()
                except Exception as error:  # Reported to the ASGI server, which must not start.
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    raise
                await send({"type": "lifespan.startup.complete"})
            elif event == "lifespan.shutdown":
                await self.runtime.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _serve(self, exchange: Exchange) -> Coroutine[object, object, None]:
        if self._path and not exchange.descend(self._path):
            return self._document(exchange) or refuse(exchange, MethodNotFoundError())
        path = exchange.path
        if path in JSONRPC_PATHS:
            return self._calls.jsonrpc(exchange)
        document = self._document(exchange)
        if document is not None:
            return document
        if path == OLD_PREFIX or path.startswith(f"{OLD_PREFIX}/"):
            return self._calls.old_rest(exchange)
        return self._calls.rest(exchange)

    def _document(self, exchange: Exchange) -> Coroutine[object, object, None] | None:
        """Return what serves a document about the agent, or about its health; None elsewhere."""
        path = exchange.path
        if path in CARD_PATHS:
            return self._card.card(exchange)
        if path == JWKS_PATH and self._keys is not None:
            key_set = self._keys.document()
            if key_set is not None:
                return self._card.keys(exchange, key_set)
        if path in HEALTH_PATHS:
            return self._health(exchange)
        if path == METRICS_PATH and self._metrics is not None:
            return self._metrics.serve(exchange)
        if path in self._extended_card_paths:
            return self._card.old_extended_card(exchange)
        return None

    async def _health(self, exchange: Exchange) -> None:
        """Tell whether the process lives (healthz) and whether it can take work (readyz)."""
        if exchange.method not in ("GET", "HEAD"):
            await refuse(exchange, MethodNotAllowedError(("GET", "HEAD")))
        elif exchange.path == "/healthz" or self.runtime.is_ready:
            await exchange.reply(200, JSON, b'{"status":"ok"}')
        else:
            await exchange.reply(503, JSON, b'{"status":"unavailable"}')
