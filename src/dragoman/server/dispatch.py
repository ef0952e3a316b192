"""Dispatcher: from a method or route to the service, through version, dialect and gate.

The same for all bindings.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, cast

from msgspec import Struct

from dragoman.bindings import rest
from dragoman.bindings.grpc.base import GrpcDialect
from dragoman.bindings.rest import Match
from dragoman.dialects.base import Dialect, Reading, Result, RpcDialect
from dragoman.dialects.negotiation import check_version
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT, V0_3Proto
from dragoman.errors import A2AError, InternalError, StoreError, UnavailableError
from dragoman.model.operations import STREAMING, Operation, Request
from dragoman.server import languages
from dragoman.server.exchange import Exchange, Header
from dragoman.server.gate import Gate
from dragoman.server.local import LocalService
from dragoman.server.runtime import Runtime
from dragoman.service.service import Call, EventStream

__all__ = ("Answer", "Dispatcher")

_logger = logging.getLogger(__name__)

_SENDS: Final = frozenset({Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE})

_VERSION: Final = (b"a2a-version", "A2A-Version")

_MAX_CURSOR_DIGITS: Final = 18


class Answer(Struct, frozen=True):
    """What to send back: a body, or events to follow. ``headers`` tell the activated extensions."""

    dialect: Dialect
    body: bytes = b""
    events: EventStream | None = None
    headers: tuple[Header, ...] = ()


class Dispatcher:
    """Performs operations for the bindings."""

    def __init__(self, runtime: Runtime, gate: Gate, *, is_strict: bool) -> None:
        self._runtime = runtime
        self._gate = gate
        self._is_strict = is_strict

    def voice_of(self, exchange: Exchange, method: str) -> RpcDialect:
        """Return the dialect in which to refuse a request for this method."""
        if exchange.voice is not None:
            return exchange.voice
        version = exchange.parameter(*_VERSION)
        return languages.voice_of(method, version, is_strict=self._is_strict)

    async def serve_method(self, exchange: Exchange, method: str, params: bytes) -> Answer:
        """Perform a JSON-RPC method."""
        version = exchange.parameter(*_VERSION)
        dialect, operation, is_shared = languages.find_method(
            method, version, is_strict=self._is_strict
        )
        if operation is Operation.GET_TASK and self._wants_stream(exchange, params):
            operation = Operation.SUBSCRIBE_TO_TASK
        if is_shared:
            origin = await self._origin(languages.task_named(operation, params))
            dialect = languages.dialect_of_origin(origin, is_strict=self._is_strict)
        exchange.voice = dialect
        extensions = self._activate(dialect, operation, exchange.headers)
        reading = dialect.decode_request(operation, params)
        # What reads JSON-RPC answers in JSON-RPC.
        exchange.voice = cast("RpcDialect", reading.answer)
        return await self._perform(operation, reading, extensions, exchange.headers)

    async def serve_route(self, exchange: Exchange, match: Match, body: bytes) -> Answer:
        """Perform an HTTP+JSON route of 1.0."""
        version = exchange.parameter(*_VERSION)
        if version != "1.0":
            check_version(version, is_old=False, is_strict=self._is_strict)
        dialect = languages.route_dialect(is_strict=self._is_strict)
        extensions = self._activate(dialect, match.operation, exchange.headers)
        reading = rest.read_request(match, exchange.query, body, dialect)
        return await self._perform(match.operation, reading, extensions, exchange.headers)

    async def serve_old_route(self, exchange: Exchange, match: Match, body: bytes) -> Answer:
        """Perform an HTTP+JSON route of 0.3, in the shape of JSON that the client uses."""
        check_version(exchange.parameter(*_VERSION), is_old=True, is_strict=self._is_strict)
        if match.operation in _SENDS:
            dialect = languages.rest_shape(body)
        else:
            named = match.fields.get("id" if "taskId" not in match.fields else "taskId", "")
            dialect = languages.shape_of_origin(await self._origin(named))
        extensions = self._activate(dialect, match.operation, exchange.headers)
        reading = rest.read_request(match, exchange.query, body, dialect)
        if match.operation in _SENDS:
            reading = await self._recall(reading, V0_3_PROTO_DIALECT)
        return await self._perform(match.operation, reading, extensions, exchange.headers)

    async def serve_rpc(
        self,
        dialect: GrpcDialect,
        operation: Operation,
        params: bytes,
        metadata: Mapping[bytes, str],
    ) -> Answer:
        """Perform a gRPC method; ``dialect`` is the one of its service."""
        check_version(
            metadata.get(b"a2a-version"), is_old=dialect.has_final, is_strict=self._is_strict
        )
        extensions = self._activate(dialect, operation, metadata)
        reading = dialect.decode_request(operation, params)
        if dialect.has_final:
            reading = await self._recall(reading, dialect)
        return await self._perform(operation, reading, extensions, metadata)

    def explain(self, problem: Exception) -> A2AError:
        """Return what to tell the peer; what is our own fault is logged and gets an id to quote."""
        if isinstance(problem, A2AError):
            return problem
        if isinstance(problem, StoreError):
            _logger.warning("a request failed: %s", problem)
            return UnavailableError("The store is not available; try again later")
        error_id = self._runtime.clock.new_id()
        _logger.error("a request failed (error id %s)", error_id, exc_info=problem)
        return InternalError(
            f"Internal error. Error id: {error_id}", metadata={"errorId": error_id}
        )

    def _activate(
        self, dialect: Dialect, operation: Operation, headers: Mapping[bytes, str]
    ) -> tuple[str, ...]:
        requested = headers.get(b"a2a-extensions")
        if dialect.has_final and (older := headers.get(b"x-a2a-extensions")):
            # 0.x reference, 4.7: the older name of the header, or both.
            requested = f"{requested},{older}" if requested else older
        extensions = self._gate.activate(operation, requested)
        self._gate.check_offered(operation)
        return extensions

    def _wants_stream(self, exchange: Exchange, params: bytes) -> bool:
        """Tell the way in which the RxJS agent follows a task: by getting it as a stream (D16)."""
        if self._is_strict or b'"taskId"' not in params:
            return False
        return "text/event-stream" in exchange.headers.get(b"accept", "")

    async def _origin(self, task_id: str) -> str:
        """Return the name of the dialect in which a task was begun, "" if it is not known."""
        if not task_id:
            return ""
        service = self._runtime.started or await self._runtime.service()
        return await service.origin_of(task_id, Call())

    async def _recall(self, reading: Reading, form: GrpcDialect | V0_3Proto) -> Reading:
        """Have a request of this form answered in the variant in which its task was begun.

        One that shows the peer's habits itself is answered in those (0.x reference, 5.7).
        """
        named = languages.task_shown(reading.request)
        if not named or reading.answer is not form:
            return reading
        return reading._replace(answer=form.variant(await self._origin(named)))

    async def _perform(
        self,
        operation: Operation,
        reading: Reading,
        extensions: tuple[str, ...],
        headers: Mapping[bytes, str],
    ) -> Answer:
        request, dialect, alias = reading
        is_old = dialect.has_final
        call = Call(
            tenant=request.tenant,
            dialect=dialect.name,
            extensions=extensions,
            # The versions before 1.0 know no cursors: they are shown the task as it is.
            cursor=None if is_old else _cursor(headers.get(b"last-event-id")),
            alias=alias,
            ends_at_stops=is_old,
            always_task=not dialect.has_messages,
        )
        self._gate.admit(request, call)
        service = self._runtime.started or await self._runtime.service()
        echo = _echo(extensions, is_old=is_old) if extensions else ()
        handler = _HANDLERS[operation]
        if operation in STREAMING:
            events = cast("EventStream", await handler(service, request, call))
            return Answer(dialect, events=events, headers=echo)
        result = cast("Result", await handler(service, request, call))
        return Answer(dialect, dialect.encode_result(operation, result), headers=echo)


def _echo(extensions: tuple[str, ...], *, is_old: bool) -> tuple[Header, ...]:
    """R-T.ext-11: the activated extensions are told, under the name the version has for it."""
    name = b"x-a2a-extensions" if is_old else b"a2a-extensions"
    return ((name, ",".join(extensions).encode()),)


def _cursor(value: str | None) -> int | None:
    """Read Last-Event-ID; one that is not a number of ours counts as none."""
    if value is None or not value.isdecimal() or len(value) > _MAX_CURSOR_DIGITS:
        return None
    return int(value)


# An operation's request type and its method go together (REQUEST_TYPES), which a dictionary cannot
# say.
_HANDLERS: Final = cast(
    "dict[Operation, Callable[[LocalService, Request, Call], Awaitable[Result | EventStream]]]",
    {
        Operation.SEND_MESSAGE: LocalService.send_message,
        Operation.SEND_STREAMING_MESSAGE: LocalService.send_streaming_message,
        Operation.GET_TASK: LocalService.get_task,
        Operation.LIST_TASKS: LocalService.list_tasks,
        Operation.CANCEL_TASK: LocalService.cancel_task,
        Operation.SUBSCRIBE_TO_TASK: LocalService.subscribe_to_task,
        Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: (
            LocalService.create_task_push_notification_config
        ),
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: LocalService.get_task_push_notification_config,
        Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: (
            LocalService.list_task_push_notification_configs
        ),
        Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: (
            LocalService.delete_task_push_notification_config
        ),
        Operation.GET_EXTENDED_AGENT_CARD: LocalService.get_extended_agent_card,
    },
)
