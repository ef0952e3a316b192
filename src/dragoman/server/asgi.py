"""The ASGI application: from HTTP to the service and back, without a framework."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Final, Protocol

from dragoman.bindings import jsonrpc, sse
from dragoman.bindings.jsonrpc import BadEnvelopeError
from dragoman.bindings.rest import Match, Router
from dragoman.dialects.base import Dialect, RestDialect, RpcDialect
from dragoman.dialects.negotiation import parse_version
from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    MethodNotAllowedError,
    UnsupportedOperationError,
    spelling_of,
)
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
from dragoman.server.grpc_server import GrpcLimits, GrpcServer, Services
from dragoman.server.languages import OLD_ROUTER, ROUTER
from dragoman.server.media import JSON, check_is_json, rest_content_type
from dragoman.server.runtime import Runtime
from dragoman.service.worker import Worker
from dragoman.stores.base import TaskStore

__all__ = ("ASGIApp", "App", "PublishedWorker", "build_app")

_logger = logging.getLogger(__name__)

CARD_PATH: Final = "/.well-known/agent-card.json"
"""R-8.2-1."""

CARD_PATHS: Final = frozenset({CARD_PATH, "/.well-known/agent.json"})
"""Where 1.0 and 0.3 look for the card, and where 0.1 and 0.2 do."""

OLD_PREFIX: Final = "/v1/"
"""What the routes of 0.3 begin with."""

OLD_EXTENDED_CARD_PATH: Final = "/agent/authenticatedExtendedCard"
EXTENDED_CARD_METHOD: Final = "agent/authenticatedExtendedCard"

_CARD_VARIES: Final = (
    b"a2a-version, host, forwarded, x-forwarded-host, x-forwarded-proto, x-forwarded-prefix"
)

JSONRPC_PATHS: Final = frozenset({"/", "/a2a", "/api/a2a"})

_NOT_AN_RPC: Final = (
    "This is the JSON-RPC endpoint of an A2A agent; it takes POST. "
    f"The agent's card is at {CARD_PATH}"
)

# Statuses that mean something to proxies and retrying clients; other JSON-RPC errors ride on 200.
_TELLING_STATUSES: Final = frozenset({401, 403, 405, 413, 415, 429, 503})


def _grpc_services() -> Services:
    """Import the forms of gRPC when they are needed: protobuf takes its time."""
    from dragoman.bindings.grpc.descriptions import files_of  # noqa: PLC0415 - see above
    from dragoman.bindings.grpc.v0_3 import V0_3_GRPC  # noqa: PLC0415 - see above
    from dragoman.bindings.grpc.v1_0 import V1_0_GRPC  # noqa: PLC0415 - see above

    dialects = (V1_0_GRPC, V0_3_GRPC)
    return Services(dialects=dialects, files=files_of(dialects))


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
        self.grpc: Final = GrpcServer(
            self._dispatcher,
            GrpcLimits(
                max_body_bytes=settings.max_body_bytes,
                heartbeat_seconds=settings.heartbeat_seconds,
                stall_seconds=settings.stall_seconds,
            ),
            services=_grpc_services,
            admit=self._door.admit,
            is_ready=lambda: self.runtime.is_ready,
        )

    def offer_grpc(self, port: int = 0) -> None:
        """List gRPC on the card: on this port, or on the one that HTTP has.

        For a server that passes HTTP/2 on to ``grpc``; others cannot reach it.
        """
        self._cards.offer_grpc(port)

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
        if path in CARD_PATHS:
            return self._card(exchange)
        if path in ("/healthz", "/readyz"):
            return self._health(exchange)
        if path.startswith(OLD_PREFIX):
            return self._old_rest(exchange)
        if path.endswith(OLD_EXTENDED_CARD_PATH):
            return self._old_extended_card(exchange)
        return self._rest(exchange)

    async def _jsonrpc(self, exchange: Exchange) -> None:
        request_id = jsonrpc.NULL_ID
        voice: RpcDialect = V1_0_DIALECT
        envelope: jsonrpc.JsonRpcRequest | None = None
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
            voice = self._dispatcher.voice_of(exchange, bad.method)
            await exchange.reply(200, JSON, jsonrpc.error(bad.id, voice.encode_error(bad.error)))
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            if envelope is not None:
                voice = self._dispatcher.voice_of(exchange, envelope.method)
            status = spelling_of(error).http
            await exchange.reply(
                status if status in _TELLING_STATUSES else 200,
                JSON,
                jsonrpc.error(request_id, voice.encode_error(error)),
                _error_headers(error),
            )
        else:
            if answer.events is None:
                body = jsonrpc.result(request_id, answer.body)
                await exchange.reply(200, JSON, body, answer.headers)
            else:
                voice = self._dispatcher.voice_of(exchange, envelope.method)
                await self._stream(
                    exchange,
                    answer,
                    prefix=jsonrpc.event_prefix(request_id),
                    suffix=jsonrpc.EVENT_SUFFIX,
                    render_error=lambda error: jsonrpc.error(request_id, voice.encode_error(error)),
                )

    async def _rest(self, exchange: Exchange) -> None:
        content_type = rest_content_type(exchange.headers, force_json=self._settings.force_json)
        serve = self._dispatcher.serve_route
        await self._route(exchange, ROUTER, exchange.path, serve, V1_0_DIALECT, content_type)

    async def _old_rest(self, exchange: Exchange) -> None:
        path = exchange.path.removeprefix(OLD_PREFIX.rstrip("/"))
        serve = self._dispatcher.serve_old_route
        await self._route(exchange, OLD_ROUTER, path, serve, V0_3_PROTO_DIALECT, JSON)

    async def _route(
        self,
        exchange: Exchange,
        router: Router,
        path: str,
        serve: Callable[[Exchange, Match, bytes], Awaitable[Answer]],
        voice: RestDialect,
        content_type: bytes,
    ) -> None:
        try:
            self._door.admit(exchange.peer, exchange.headers)
            match = router.match(exchange.method, path)
            body = b""
            if match.verb == "POST":
                body = await exchange.read_body(self._door)
                if body:
                    check_is_json(exchange.headers)
            answer = await serve(exchange, match, body)
        except DisconnectedError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            status, body = voice.encode_http_error(error)
            await exchange.reply(status, content_type, body, _error_headers(error))
        else:
            if answer.events is None:
                await exchange.reply(200, content_type, answer.body, answer.headers)
            else:
                await self._stream(
                    exchange,
                    answer,
                    prefix=b"",
                    suffix=b"",
                    render_error=lambda error: voice.encode_http_error(error)[1],
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
        if answer.events is None:
            return
        renderer = _SseRenderer(
            answer.dialect,
            prefix,
            suffix,
            lambda problem: render_error(self._dispatcher.explain(problem)),
        )
        await exchange.stream(
            answer.events,
            renderer,
            nursery=self.runtime.nursery,
            stall_seconds=self._settings.stall_seconds,
            extra=answer.headers,
        )

    async def _card(self, exchange: Exchange) -> None:
        """Serve the card: to anybody, without asking for a version (Q-09).

        Who states one gets the card as that version has it; all others one for all readers.
        """
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
            ),
            parse_version(exchange.parameter(b"a2a-version", "A2A-Version") or ""),
        )
        validators = (
            (b"etag", file.etag.encode()),
            (b"last-modified", file.last_modified.encode()),
            (b"cache-control", b"public, max-age=%d" % self._settings.card_max_age_seconds),
            (b"vary", _CARD_VARIES),
        )
        headers = exchange.headers
        if is_fresh(file, headers.get(b"if-none-match"), headers.get(b"if-modified-since")):
            await exchange.reply(304, JSON, b"", validators)
        else:
            await exchange.reply(200, JSON, file.body, validators)

    async def _old_extended_card(self, exchange: Exchange) -> None:
        """Serve the extended card where 0.2 looks for it: beside the URL of the agent.

        0.x reference, 3.2: a card that is not there is a 404.
        """
        if exchange.method not in ("GET", "HEAD"):
            await self._refuse(exchange, MethodNotAllowedError(("GET", "HEAD")))
            return
        try:
            self._door.admit(exchange.peer, exchange.headers)
            answer = await self._dispatcher.serve_method(exchange, EXTENDED_CARD_METHOD, b"{}")
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            status, body = V0_3_DIALECT.encode_http_error(error)
            if isinstance(error, UnsupportedOperationError | ExtendedAgentCardNotConfiguredError):
                status = 404
            await exchange.reply(status, JSON, body, _error_headers(error))
        else:
            await exchange.reply(200, JSON, answer.body, answer.headers)

    async def _health(self, exchange: Exchange) -> None:
        """Tell whether the process lives (healthz) and whether it can take work (readyz)."""
        if exchange.method not in ("GET", "HEAD"):
            await self._refuse(exchange, MethodNotAllowedError(("GET", "HEAD")))
        elif exchange.path == "/healthz" or self.runtime.is_ready:
            await exchange.reply(200, JSON, b'{"status":"ok"}')
        else:
            await exchange.reply(503, JSON, b'{"status":"unavailable"}')

    async def _refuse(self, exchange: Exchange, error: A2AError) -> None:
        status, body = V1_0_DIALECT.encode_http_error(error)
        await exchange.reply(status, JSON, body, _error_headers(error))


class _SseRenderer:
    """Writes a stream as server-sent events, in one dialect."""

    def __init__(
        self,
        dialect: Dialect,
        prefix: bytes,
        suffix: bytes,
        render_failure: Callable[[Exception], bytes],
    ) -> None:
        self._writer = dialect.frame_writer()
        self._prefix = prefix
        self._suffix = suffix
        self._render_failure = render_failure
        # 0.x reference, 5.9: old readers look for lines that begin with "data: " and no others.
        self._error_event = "" if dialect.has_final else "error"

    @property
    def has_ended(self) -> bool:
        return self._writer.has_ended

    def batch(self, events: tuple[EventDocument, ...]) -> bytes:
        body = sse.frames(events, self._writer, prefix=self._prefix, suffix=self._suffix)
        return body or sse.HEARTBEAT

    def failure(self, problem: Exception) -> bytes:
        # Reference 3.3 and 4.6: after the first event an error is one more event, then the end.
        return sse.frame(self._render_failure(problem), event=self._error_event)


def _check_is_post(method: str) -> None:
    if method != "POST":
        raise MethodNotAllowedError(("POST",), _NOT_AN_RPC)


def _error_headers(error: A2AError) -> tuple[Header, ...]:
    headers: tuple[Header, ...] = ()
    if error.retry_after_seconds is not None:
        # R-3.3.2-15
        headers += ((b"retry-after", b"%d" % max(1, round(error.retry_after_seconds))),)
    if isinstance(error, MethodNotAllowedError):
        headers += ((b"allow", ", ".join(error.allow).encode()),)
    return headers
