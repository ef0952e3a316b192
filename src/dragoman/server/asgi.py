"""The ASGI application: from HTTP to the service and back, without a framework."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Final, Protocol

from dragoman.bindings import jsonrpc, rest, sse
from dragoman.bindings.errors import MethodNotAllowedError, spelling_of
from dragoman.bindings.jsonrpc import BadEnvelopeError
from dragoman.errors import A2AError
from dragoman.model.documents import EventDocument
from dragoman.server.addresses import base_url
from dragoman.server.card import CardDesk, Describes, capabilities_of, is_fresh
from dragoman.server.config import Settings, load_settings
from dragoman.server.dispatch import Answer, Dispatcher
from dragoman.server.door import Door
from dragoman.server.exchange import (
    ASGIApp,
    DisconnectedError,
    Exchange,
    Header,
    Receive,
    Scope,
    Send,
)
from dragoman.server.gate import Gate
from dragoman.server.media import JSON, check_is_json, rest_content_type
from dragoman.server.runtime import Runtime
from dragoman.service.worker import Worker
from dragoman.stores.base import TaskStore

__all__ = ("ASGIApp", "App", "PublishedWorker", "build_app")

_logger = logging.getLogger(__name__)

CARD_PATH: Final = "/.well-known/agent-card.json"
"""R-8.2-1."""

JSONRPC_PATHS: Final = frozenset({"/", "/a2a", "/api/a2a"})

_NOT_AN_RPC: Final = (
    "This is the JSON-RPC endpoint of an A2A agent; it takes POST. "
    f"The agent's card is at {CARD_PATH}"
)

# Statuses that mean something to proxies and retrying clients; other JSON-RPC errors ride on 200.
_TELLING_STATUSES: Final = frozenset({401, 403, 405, 413, 415, 429, 503})


class PublishedWorker(Worker, Describes, Protocol):
    """An agent: it does the work, and says what it is."""


def build_app(
    agent: PublishedWorker,
    settings: Mapping[str, object] | Settings | None = None,
    *,
    store: TaskStore | None = None,
) -> App:
    """Make the application of an agent; settings not given come from the environment.

    Raises:
        UsageError: a setting or the agent itself is wrong.
    """
    if not isinstance(settings, Settings):
        settings = load_settings(settings or {}, os.environ)
    return App(agent, settings, store=store)


class App:
    """One agent as an ASGI application."""

    def __init__(
        self, agent: PublishedWorker, settings: Settings, *, store: TaskStore | None = None
    ) -> None:
        self.runtime: Final = Runtime(agent, settings, store=store)
        self._settings = settings
        self._trusted_proxies = frozenset(settings.trusted_proxies)
        self._cards = CardDesk(agent, self.runtime.clock.now_ms())
        self._door = Door(
            allow_anonymous=settings.allow_anonymous,
            max_body_bytes=settings.max_body_bytes,
            max_depth=settings.max_depth,
            public_url=settings.public_url,
        )
        gate = Gate(
            tenants=agent.tenants,
            capabilities=capabilities_of(agent),
            input_modes=(*agent.input_modes, *(m for s in agent.skills for m in s.input_modes)),
            max_parts=settings.max_parts,
            max_id_length=settings.max_id_length,
        )
        self._dispatcher = Dispatcher(self.runtime, gate, is_strict=settings.strict_versions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http":
            exchange = Exchange(scope, receive, send)
            try:
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
        path = exchange.path
        if path in JSONRPC_PATHS:
            return self._jsonrpc(exchange)
        if path == CARD_PATH:
            return self._card(exchange)
        if path in ("/healthz", "/readyz"):
            return self._health(exchange)
        return self._rest(exchange)

    async def _jsonrpc(self, exchange: Exchange) -> None:
        request_id = jsonrpc.NULL_ID
        try:
            self._door.admit(exchange.peer, exchange.headers)
            _check_is_post(exchange.method)
            check_is_json(exchange.headers)
            envelope = jsonrpc.read_request(await exchange.read_body(self._door))
            request_id = envelope.id
            answer = await self._dispatcher.serve_method(exchange, envelope.method, envelope.params)
        except DisconnectedError:
            raise
        except BadEnvelopeError as bad:
            await exchange.reply(200, JSON, jsonrpc.error(bad.id, bad.error))
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            status = spelling_of(error).http
            await exchange.reply(
                status if status in _TELLING_STATUSES else 200,
                JSON,
                jsonrpc.error(request_id, error),
                _error_headers(error),
            )
        else:
            if answer.events is None:
                body = jsonrpc.result(request_id, answer.body)
                await exchange.reply(200, JSON, body, answer.headers)
            else:
                await self._stream(
                    exchange,
                    answer,
                    prefix=jsonrpc.event_prefix(request_id),
                    suffix=jsonrpc.EVENT_SUFFIX,
                    render_error=partial(jsonrpc.error, request_id),
                )

    async def _rest(self, exchange: Exchange) -> None:
        content_type = rest_content_type(exchange.headers, force_json=self._settings.force_json)
        try:
            self._door.admit(exchange.peer, exchange.headers)
            match = rest.match(exchange.method, exchange.path)
            body = b""
            if match.verb == "POST":
                body = await exchange.read_body(self._door)
                if body:
                    check_is_json(exchange.headers)
            answer = await self._dispatcher.serve_route(exchange, match, body)
        except DisconnectedError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            status, body = rest.error(error)
            await exchange.reply(status, content_type, body, _error_headers(error))
        else:
            if answer.events is None:
                await exchange.reply(200, content_type, answer.body, answer.headers)
            else:
                await self._stream(
                    exchange, answer, prefix=b"", suffix=b"", render_error=_rest_error_body
                )

    async def _stream(
        self,
        exchange: Exchange,
        answer: Answer,
        *,
        prefix: bytes,
        suffix: bytes,
        render_error: Callable[[A2AError], bytes],
    ) -> None:
        events = answer.events
        if events is None:
            return
        encode = answer.dialect.encode_event

        def render(batch: tuple[EventDocument, ...]) -> bytes:
            return sse.frames(batch, encode, prefix=prefix, suffix=suffix) or sse.HEARTBEAT

        def render_failure(problem: Exception) -> bytes:
            # Reference 3.3 and 4.6: after the first event an error is one more event, then the end.
            return sse.frame(render_error(self._dispatcher.explain(problem)), event="error")

        await exchange.stream(
            events,
            render,
            render_failure,
            nursery=self.runtime.nursery,
            stall_seconds=self._settings.stall_seconds,
            extra=answer.headers,
        )

    async def _card(self, exchange: Exchange) -> None:
        """Serve the card: to anybody, without asking for a version (Q-09)."""
        if exchange.method not in ("GET", "HEAD"):
            await self._refuse(exchange, MethodNotAllowedError(("GET", "HEAD")))
            return
        try:
            self._door.admit(exchange.peer, exchange.headers)
        except A2AError as error:
            await self._refuse(exchange, error)
            return
        file = self._cards.file(
            base_url(
                exchange.headers,
                scheme=exchange.scheme,
                server=exchange.server,
                root_path=exchange.root_path,
                peer=exchange.peer,
                trusted_proxies=self._trusted_proxies,
                public_url=self._settings.public_url,
            )
        )
        validators = (
            (b"etag", file.etag.encode()),
            (b"last-modified", file.last_modified.encode()),
            (b"cache-control", b"public, max-age=%d" % self._settings.card_max_age_seconds),
            (b"vary", b"host, forwarded, x-forwarded-host, x-forwarded-proto, x-forwarded-prefix"),
        )
        headers = exchange.headers
        if is_fresh(file, headers.get(b"if-none-match"), headers.get(b"if-modified-since")):
            await exchange.reply(304, JSON, b"", validators)
        else:
            await exchange.reply(200, JSON, file.body, validators)

    async def _health(self, exchange: Exchange) -> None:
        """Tell whether the process lives (healthz) and whether it can take work (readyz)."""
        if exchange.method not in ("GET", "HEAD"):
            await self._refuse(exchange, MethodNotAllowedError(("GET", "HEAD")))
        elif exchange.path == "/healthz" or self.runtime.is_ready:
            await exchange.reply(200, JSON, b'{"status":"ok"}')
        else:
            await exchange.reply(503, JSON, b'{"status":"unavailable"}')

    async def _refuse(self, exchange: Exchange, error: A2AError) -> None:
        status, body = rest.error(error)
        await exchange.reply(status, JSON, body, _error_headers(error))


def _check_is_post(method: str) -> None:
    if method != "POST":
        raise MethodNotAllowedError(("POST",), _NOT_AN_RPC)


def _rest_error_body(error: A2AError) -> bytes:
    return rest.error(error)[1]


def _error_headers(error: A2AError) -> tuple[Header, ...]:
    headers: tuple[Header, ...] = ()
    if error.retry_after_seconds is not None:
        # R-3.3.2-15
        headers += ((b"retry-after", b"%d" % max(1, round(error.retry_after_seconds))),)
    if isinstance(error, MethodNotAllowedError):
        headers += ((b"allow", ", ".join(error.allow).encode()),)
    return headers
