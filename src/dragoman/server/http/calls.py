"""The operations of A2A over HTTP: from a request to the dispatcher and back, and its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from dragoman.bindings import jsonrpc, sse
from dragoman.bindings.jsonrpc import BadEnvelopeError, JsonRpcRequest
from dragoman.bindings.rest import Match, Router
from dragoman.dialects.base import Dialect, RestDialect, RpcDialect
from dragoman.dialects.profiles.rxjs.codec import Rxjs
from dragoman.dialects.profiles.rxjs_dialects import RXJS_REST_DIALECT
from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT
from dragoman.dialects.profiles.xpr.recognition import Verdict
from dragoman.dialects.registry import OLD_ROUTER, ROUTER, unread_voice
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    A2AError,
    InvalidParamsError,
    MethodNotAllowedError,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
    spelling_of,
)
from dragoman.model.documents import EventDocument
from dragoman.model.operations import STREAMING
from dragoman.net.asgi import Header
from dragoman.server.admission.authentication import Door
from dragoman.server.admission.rate_limits import refusal_headers
from dragoman.server.dispatch import Answer, Dispatcher
from dragoman.server.http.exchange import DisconnectedError, Exchange
from dragoman.server.http.media import EVENT_STREAM, JSON, check_is_json, rest_content_type
from dragoman.server.rxjs_streams import RxjsRenderer, stream_headers
from dragoman.server.tasks.background import Nursery
from dragoman.server.xpr_place import XprPlace, in_its_words

__all__ = ("OLD_PREFIX", "HttpCalls", "error_headers")

RXJS_PATH: Final = "/api/a2a"
"""Where the RxJS profile is spoken, if it is."""

OLD_PREFIX: Final = "/v1"
"""What the routes of 0.3 begin with."""

_NOT_AN_RPC: Final = (
    "This is the JSON-RPC endpoint of an A2A agent; it takes POST. "
    "The agent's card is at /.well-known/agent-card.json"
)

# Statuses that mean something to proxies and retrying clients; other JSON-RPC errors ride on 200.
_TELLING_STATUSES: Final = frozenset({401, 403, 405, 413, 415, 429, 503})

_TELLING_IN_XPR: Final = frozenset({413})
"""The XPR network has 200 for all that it has read."""


class HttpCalls:
    """Answers calls over JSON-RPC and HTTP+JSON."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        door: Door,
        nursery: Nursery,
        *,
        stall_seconds: float,
        force_json: bool,
        xpr: XprPlace | None = None,
        has_rxjs: bool = False,
    ) -> None:
        self._has_rxjs = has_rxjs
        self._dispatcher = dispatcher
        self._door = door
        self._nursery = nursery
        self._stall_seconds = stall_seconds
        self._force_json = force_json
        self._xpr = xpr or XprPlace()

    async def jsonrpc(self, exchange: Exchange) -> None:
        """Answer a JSON-RPC call of any version."""
        envelope: JsonRpcRequest | None = None
        exchange.is_rxjs = self._has_rxjs and exchange.path == RXJS_PATH
        try:
            await self._enter(exchange)
            _check_is_post(exchange.method)
            envelope = await self._open(exchange)
            answer = await self._dispatcher.serve_envelope(exchange, envelope)
        except DisconnectedError:
            raise
        except BadEnvelopeError as bad:
            voice = self._dispatcher.voice_of(exchange, bad.method)
            status = 400 if isinstance(voice, Rxjs) else 200
            body = jsonrpc.error(bad.id, voice.encode_error(bad.error))
            await exchange.reply(status, JSON, body)
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            await self._refuse_jsonrpc(exchange, envelope, self._dispatcher.explain(problem))
        else:
            if answer.events is None:
                body = jsonrpc.result(envelope.id, answer.body)
                await exchange.reply(200, JSON, body, answer.headers)
            else:
                voice = self._dispatcher.voice_of(exchange, envelope.method)
                await self._stream(
                    exchange,
                    answer,
                    prefix=jsonrpc.event_prefix(envelope.id),
                    suffix=jsonrpc.EVENT_SUFFIX,
                    render_error=lambda error: jsonrpc.error(
                        envelope.id, voice.encode_error(error)
                    ),
                    wrap_error=lambda error: jsonrpc.error(envelope.id, error),
                )

    async def rest(self, exchange: Exchange) -> None:
        """Answer a call of a route of 1.0."""
        content_type = rest_content_type(exchange.headers, force_json=self._force_json)
        serve = self._dispatcher.serve_route
        await self._route(exchange, ROUTER, exchange.path, serve, V1_0_DIALECT, content_type)

    async def old_rest(self, exchange: Exchange) -> None:
        """Answer a call of a route of 0.3."""
        path = exchange.path.removeprefix(OLD_PREFIX)
        serve = self._dispatcher.serve_old_route
        voice = RXJS_REST_DIALECT if self._has_rxjs else V0_3_PROTO_DIALECT
        await self._route(exchange, OLD_ROUTER, path, serve, voice, JSON)

    async def _enter(self, exchange: Exchange) -> None:
        """Find out who calls by JSON-RPC; who is refused hears it in the version it states."""
        try:
            exchange.principal = await self._door.enter(
                exchange, lambda: exchange.read_body(self._door)
            )
        except A2AError as refusal:
            exchange.voice = unread_voice(exchange.parameter(b"a2a-version", "A2A-Version"))
            if self._xpr.is_home_to(exchange):
                await self._refuse_in_xpr(exchange, refusal)
            raise

    async def _open(self, exchange: Exchange) -> JsonRpcRequest:
        body = b""
        try:
            check_is_json(exchange.headers)
            body = await exchange.read_body(self._door)
            return jsonrpc.read_request(body, is_lenient=not exchange.is_rxjs)
        except (A2AError, BadEnvelopeError) as refused:
            if not self._xpr.is_home_to(exchange):
                raise
            exchange.voice = XPR_DIALECT
            raise in_its_words(refused, body) from None

    async def _refuse_in_xpr(self, exchange: Exchange, refusal: A2AError) -> None:
        """Tell of a refusal under the id of the request, if that is of the XPR network.

        Raises:
            BadEnvelopeError: it is. What is wrong with an envelope is told first, whoever calls.
        """
        try:
            envelope = await self._open(exchange)
        except BadEnvelopeError as bad:
            if not isinstance(bad.error, InvalidParamsError):
                raise
            envelope = JsonRpcRequest(bad.id, bad.method, b"{}")
        if self._xpr.verdict(exchange, envelope) is not Verdict.OTHER:
            exchange.voice = XPR_DIALECT
            raise BadEnvelopeError(refusal, envelope.id, envelope.method) from refusal

    async def _refuse_jsonrpc(
        self, exchange: Exchange, envelope: JsonRpcRequest | None, error: A2AError
    ) -> None:
        request_id, method = (envelope.id, envelope.method) if envelope else (jsonrpc.NULL_ID, "")
        voice = self._dispatcher.voice_of(exchange, method)
        status = spelling_of(error).http
        status = status if status in _telling_statuses(voice) else 200
        headers = () if voice.name == XPR_DIALECT.name else error_headers(error)
        body = jsonrpc.error(request_id, voice.encode_error(error))
        if isinstance(voice, Rxjs) and isinstance(error, PermissionDeniedError):
            status = 200
        if status == 200 and _awaits_stream(exchange, voice, method):
            await exchange.reply(200, EVENT_STREAM, sse.frame(body), headers)
        else:
            await exchange.reply(status, JSON, body, headers)

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
            exchange.principal = await self._door.enter(exchange)
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
            await exchange.reply(status, content_type, body, error_headers(error))
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
                    wrap_error=lambda error: b'{"error":%b}' % error,
                )

    async def _stream(
        self,
        exchange: Exchange,
        answer: Answer,
        *,
        prefix: bytes,
        suffix: bytes,
        render_error: Callable[[A2AError], bytes],
        wrap_error: Callable[[bytes], bytes],
    ) -> None:
        """Answer with a stream.

        Args:
            render_error: writes what has ended the stream.
            wrap_error: puts an error that is written already into the envelope of the stream.
        """
        if answer.events is None:
            return
        dialect, headers = answer.dialect, answer.headers
        renderer = _SseRenderer(
            dialect,
            prefix,
            suffix,
            lambda problem: render_error(self._dispatcher.explain(problem)),
        )
        if isinstance(dialect, Rxjs):
            renderer = RxjsRenderer(renderer, dialect, wrap_error)
            headers += stream_headers(is_http1=exchange.is_http1)
        await exchange.stream(
            answer.events,
            renderer,
            nursery=self._nursery,
            stall_seconds=self._stall_seconds,
            extra=headers,
        )


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


def _telling_statuses(voice: RpcDialect) -> frozenset[int]:
    return _TELLING_IN_XPR if voice.name == XPR_DIALECT.name else _TELLING_STATUSES


def _awaits_stream(exchange: Exchange, voice: RpcDialect, method: str) -> bool:
    """Tell whether to refuse a stream by a stream.

    The SDKs of 0.2 and 0.3 look into nothing else when they have asked for one, and would tell
    their users of a broken server instead of the error.
    """
    return (
        voice.has_final
        and not isinstance(voice, Rxjs)
        and voice.operation(method) in STREAMING
        and EVENT_STREAM.decode() in exchange.headers.get(b"accept", "")
    )


def error_headers(error: A2AError) -> tuple[Header, ...]:
    """Return what HTTP says of an error beside its status."""
    headers: tuple[Header, ...] = ()
    if error.retry_after_seconds is not None:
        # R-3.3.2-15
        headers += ((b"retry-after", b"%d" % max(1, round(error.retry_after_seconds))),)
    if isinstance(error, MethodNotAllowedError):
        headers += ((b"allow", ", ".join(error.allow).encode()),)
    if isinstance(error, RateLimitedError):
        headers += refusal_headers(error)
    if isinstance(error, UnauthenticatedError):
        # R-3.3.2-4; RFC 9110, 11.6.1: one line each, as readers of several in one are rare.
        headers += tuple((b"www-authenticate", text.encode()) for text in error.challenges)
    return headers
