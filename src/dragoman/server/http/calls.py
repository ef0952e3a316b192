"""The operations of A2A over HTTP: from a request to the dispatcher and back, and its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from dragoman.bindings import jsonrpc, sse
from dragoman.bindings.jsonrpc import BadEnvelopeError, JsonRpcRequest
from dragoman.bindings.rest import Match, Router
from dragoman.dialects.base import Dialect, RestDialect, RpcDialect
from dragoman.dialects.profiles.base import Claim, ServedProfile, Serving
from dragoman.dialects.registry import ROUTES, ROUTES_0_3, Profiles, is_method, unread_dialect
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    A2AError,
    InvalidParamsError,
    MethodNotAllowedError,
    RateLimitedError,
    UnauthenticatedError,
    spelling_of,
)
from dragoman.model.documents import EventDocument
from dragoman.model.operations import STREAMING
from dragoman.net.asgi import Header
from dragoman.server.admission.authentication import Guard
from dragoman.server.admission.rate_limits import refusal_headers
from dragoman.server.dispatch import Answer, Dispatcher
from dragoman.server.http.exchange import DisconnectedError, Exchange
from dragoman.server.http.media import (
    EVENT_STREAM,
    JSON,
    check_is_json,
    check_is_rest_json,
    rest_content_type,
)
from dragoman.server.tasks.background import BackgroundTasks

__all__ = ("OLD_PREFIX", "HttpCalls", "SseRenderer", "error_headers")

OLD_PREFIX: Final = "/v1"
"""What the routes of 0.3 begin with."""

_ROUTER: Final = Router(ROUTES, has_tenants=True)
_OLD_ROUTER: Final = Router(ROUTES_0_3)

_NOT_AN_RPC: Final = (
    "This is the JSON-RPC endpoint of an A2A agent; it takes POST. "
    "The agent's card is at /.well-known/agent-card.json"
)


class HttpCalls:
    """Answers calls over JSON-RPC and HTTP+JSON."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        guard: Guard,
        background: BackgroundTasks,
        *,
        stall_seconds: float,
        force_json: bool,
        profiles: Profiles | None = None,
    ) -> None:
        self._profiles = profiles or Profiles(Serving())
        self._dispatcher = dispatcher
        self._guard = guard
        self._background = background
        self._stall_seconds = stall_seconds
        self._force_json = force_json

    def jsonrpc(self, exchange: Exchange) -> Coroutine[object, object, None]:
        """Answer a JSON-RPC call of any version."""
        exchange.profile = self._profiles.at(exchange.path)
        return self._answer_envelope(exchange)

    async def _answer_envelope(self, exchange: Exchange, *, is_let_in: bool = False) -> None:
        """Answer a JSON-RPC request, from a caller who may have been let in already."""
        envelope: JsonRpcRequest | None = None
        try:
            if not is_let_in:
                await self._enter(exchange)
                _check_is_post(exchange.method)
            envelope = await self._open(exchange)
            answer = await self._dispatcher.serve_envelope(exchange, envelope)
        except DisconnectedError:
            raise
        except BadEnvelopeError as bad:
            dialect = self._dispatcher.refusal_dialect(exchange, bad.method)
            body = jsonrpc.error(bad.id, dialect.encode_error(bad.error))
            await exchange.reply(dialect.http.bad_envelope_status, JSON, body)
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            await self._refuse_jsonrpc(exchange, envelope, self._dispatcher.explain(problem))
        else:
            if answer.events is None:
                body = jsonrpc.result(envelope.id, answer.body)
                await exchange.reply(200, JSON, body, answer.headers)
            else:
                dialect = self._dispatcher.refusal_dialect(exchange, envelope.method)
                await self._stream(
                    exchange,
                    answer,
                    prefix=jsonrpc.event_prefix(envelope.id),
                    suffix=jsonrpc.EVENT_SUFFIX,
                    render_error=lambda error: jsonrpc.error(
                        envelope.id, dialect.encode_error(error)
                    ),
                    wrap_error=lambda error: jsonrpc.error(envelope.id, error),
                )

    async def rest(self, exchange: Exchange) -> None:
        """Answer a call of a route of 1.0."""
        content_type = rest_content_type(exchange.headers, force_json=self._force_json)
        serve = self._dispatcher.serve_route
        await self._route(exchange, _ROUTER, exchange.path, serve, V1_0_DIALECT, content_type)

    async def old_rest(self, exchange: Exchange) -> None:
        """Answer a call of a route of 0.3."""
        path = exchange.path.removeprefix(OLD_PREFIX)
        serve = self._dispatcher.serve_old_route
        dialect = self._profiles.rest_dialect or V0_3_PROTO_DIALECT
        await self._route(exchange, _OLD_ROUTER, path, serve, dialect, JSON)

    async def _enter(self, exchange: Exchange) -> None:
        """Find out who calls by JSON-RPC; who is refused hears it in the version it states."""
        try:
            exchange.principal = await self._guard.enter(
                exchange, lambda: exchange.read_body(self._guard)
            )
        except A2AError as refusal:
            exchange.dialect = unread_dialect(exchange.parameter(b"a2a-version", "A2A-Version"))
            profile = exchange.profile
            if profile is not None and profile.is_default(exchange):
                await self._refuse_in_profile(profile, exchange, refusal)
            raise

    async def _open(self, exchange: Exchange) -> JsonRpcRequest:
        profile = exchange.profile
        is_owned = profile is not None and profile.owns_path
        body: bytes | None = None
        try:
            check_is_json(exchange.headers)
            body = await exchange.read_body(self._guard)
            return jsonrpc.read_request(
                body, is_lenient=not is_owned, needs_version=self._dispatcher.is_strict
            )
        except (A2AError, BadEnvelopeError) as refused:
            if profile is None or not profile.is_default(exchange):
                raise
            exchange.dialect = profile.dialect
            if isinstance(refused, BadEnvelopeError):
                error = profile.reword(refused.error, body)
                raise BadEnvelopeError(error, refused.id, refused.method) from None
            raise profile.reword(refused, None) from None

    async def _refuse_in_profile(
        self, profile: ServedProfile, exchange: Exchange, refusal: A2AError
    ) -> None:
        """Refuse a request under its id, if it is one of the profile.

        Raises:
            BadEnvelopeError: it is. What is wrong with an envelope is told first, whoever calls.
        """
        try:
            envelope = await self._open(exchange)
        except BadEnvelopeError as bad:
            if not isinstance(bad.error, InvalidParamsError):
                raise
            envelope = JsonRpcRequest(bad.id, bad.method, b"{}")
        is_known = is_method(envelope.method)
        claim = profile.claims(exchange, envelope.method, envelope.params, is_known=is_known)
        if claim is not Claim.NO:
            exchange.dialect = profile.dialect
            raise BadEnvelopeError(refusal, envelope.id, envelope.method) from refusal

    async def _refuse_jsonrpc(
        self, exchange: Exchange, envelope: JsonRpcRequest | None, error: A2AError
    ) -> None:
        request_id, method = (envelope.id, envelope.method) if envelope else (jsonrpc.NULL_ID, "")
        dialect = self._dispatcher.refusal_dialect(exchange, method)
        rules = dialect.http
        status = spelling_of(error).http
        status = status if status in rules.error_statuses else 200
        headers = error_headers(error) if rules.has_error_headers else ()
        body = jsonrpc.error(request_id, dialect.encode_error(error))
        if status == 200 and _awaits_stream(exchange, dialect, method):
            await exchange.reply(200, EVENT_STREAM, sse.frame(body), headers)
        else:
            await exchange.reply(status, JSON, body, headers)

    async def _route(
        self,
        exchange: Exchange,
        router: Router,
        path: str,
        serve: Callable[[Exchange, Match, bytes], Awaitable[Answer]],
        dialect: RestDialect,
        content_type: bytes,
    ) -> None:
        try:
            exchange.principal = await self._guard.enter(exchange)
            match = router.match(exchange.method, path)
            body = b""
            if match.verb == "POST":
                body = await exchange.read_body(self._guard)
                if body:
                    check_is_rest_json(exchange.headers)
            is_enveloped = self._dispatcher.takes_envelope(match, body)
            answer = None if is_enveloped else await serve(exchange, match, body)
        except DisconnectedError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
            error = self._dispatcher.explain(problem)
            status, body = dialect.encode_http_error(error)
            await exchange.reply(status, content_type, body, error_headers(error))
        else:
            if answer is None:
                await self._answer_envelope(exchange, is_let_in=True)
            elif answer.events is None:
                # R03-3.2.3-2: what is of 0.3 is plain JSON, wherever it was asked for.
                label = JSON if answer.dialect.has_final else content_type
                await exchange.reply(200, label, answer.body, answer.headers)
            else:
                await self._stream(
                    exchange,
                    answer,
                    prefix=b"",
                    suffix=b"",
                    render_error=lambda error: dialect.encode_http_error(error)[1],
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
        headers += dialect.http.stream_headers
        if exchange.is_http1:
            headers += dialect.http.http1_stream_headers
        renderer = SseRenderer(
            dialect,
            prefix,
            suffix,
            render_failure=lambda problem: render_error(self._dispatcher.explain(problem)),
            wrap_error=wrap_error,
        )
        await exchange.stream(
            answer.events,
            renderer,
            background=self._background,
            stall_seconds=self._stall_seconds,
            extra=headers,
        )


class SseRenderer:
    """Writes a stream as server-sent events, in one dialect."""

    def __init__(
        self,
        dialect: Dialect,
        prefix: bytes,
        suffix: bytes,
        *,
        render_failure: Callable[[Exception], bytes],
        wrap_error: Callable[[bytes], bytes],
    ) -> None:
        self._writer = dialect.frame_writer()
        self._prefix = prefix
        self._suffix = suffix
        self._render_failure = render_failure
        self._wrap_error = wrap_error
        self._heartbeat = dialect.http.heartbeat or sse.HEARTBEAT
        self._last_error = dialect.http.last_error
        # 0.x reference, 5.9: old readers look for lines that begin with "data: " and no others.
        self._error_event = "" if dialect.has_final else "error"

    @property
    def has_ended(self) -> bool:
        """Tell whether the reader was told that nothing more comes."""
        return self._writer.has_ended

    def batch(self, events: tuple[EventDocument, ...]) -> bytes:
        """Write events that became ready together; none at all is a heartbeat."""
        if not events:
            return self._heartbeat
        if self._last_error is not None and (error := self._last_error(events[-1].value)):
            first, last = self._frames(events[:-1]), self._frames(events[-1:])
            return first + sse.frame(self._wrap_error(error)) + last
        return self._frames(events) or sse.HEARTBEAT

    def _frames(self, events: tuple[EventDocument, ...]) -> bytes:
        return sse.frames(events, self._writer, prefix=self._prefix, suffix=self._suffix)

    def failure(self, problem: Exception) -> bytes:
        """Write what has ended the stream."""
        # Reference 3.3 and 4.6: after the first event an error is one more event, then the end.
        return sse.frame(self._render_failure(problem), event=self._error_event)


def _check_is_post(method: str) -> None:
    if method != "POST":
        raise MethodNotAllowedError(("POST",), _NOT_AN_RPC)


def _awaits_stream(exchange: Exchange, dialect: RpcDialect, method: str) -> bool:
    """Tell whether to refuse a stream by a stream.

    The SDKs of 0.2 and 0.3 look into nothing else when they have asked for one, and would tell
    their users of a broken server instead of the error.
    """
    return (
        dialect.http.refuses_in_streams
        and dialect.operation(method) in STREAMING
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
