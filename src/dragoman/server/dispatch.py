"""Dispatcher: from a method or route to the service, through version, dialect and gate.

The same for all bindings.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, cast

from msgspec import Struct

from dragoman.bindings import rest
from dragoman.bindings.rest import Match
from dragoman.dialects.base import Dialect, Result
from dragoman.dialects.negotiation import choose
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    A2AError,
    InternalError,
    MethodNotFoundError,
    StoreError,
    UnavailableError,
)
from dragoman.model.operations import Operation, Request
from dragoman.server.exchange import Exchange, Header
from dragoman.server.gate import Gate
from dragoman.server.local import LocalService
from dragoman.server.runtime import Runtime
from dragoman.service.service import Call, EventStream

__all__ = ("Answer", "Dispatcher")

_logger = logging.getLogger(__name__)

_STREAMING: Final = frozenset({Operation.SEND_STREAMING_MESSAGE, Operation.SUBSCRIBE_TO_TASK})

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

    async def serve_method(self, exchange: Exchange, method: str, params: bytes) -> Answer:
        """Perform a JSON-RPC method."""
        operation = V1_0_DIALECT.operation(method)
        if operation is None:
            raise MethodNotFoundError(f"There is no method {method[:100]!r}")
        dialect = self._dialect(exchange)
        extensions = self._gate.activate(operation, exchange.headers.get(b"a2a-extensions"))
        request = dialect.decode_request(operation, params)
        return await self._perform(exchange, dialect, operation, request, extensions)

    async def serve_route(self, exchange: Exchange, match: Match, body: bytes) -> Answer:
        """Perform an HTTP+JSON route."""
        dialect = self._dialect(exchange)
        extensions = self._gate.activate(match.operation, exchange.headers.get(b"a2a-extensions"))
        request = rest.read_request(match, exchange.query, body, dialect)
        return await self._perform(exchange, dialect, match.operation, request, extensions)

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

    def _dialect(self, exchange: Exchange) -> Dialect:
        requested = exchange.parameter(b"a2a-version", "A2A-Version")
        if requested != "1.0":
            choose(requested, is_strict=self._is_strict)
        return V1_0_DIALECT

    async def _perform(
        self,
        exchange: Exchange,
        dialect: Dialect,
        operation: Operation,
        request: Request,
        extensions: tuple[str, ...],
    ) -> Answer:
        call = Call(
            tenant=request.tenant,
            dialect=dialect.name,
            extensions=extensions,
            cursor=_cursor(exchange.headers.get(b"last-event-id")),
        )
        self._gate.admit(operation, request, call)
        service = self._runtime.started or await self._runtime.service()
        # R-T.ext-11: the activated extensions are told.
        headers = ((b"a2a-extensions", ",".join(extensions).encode()),) if extensions else ()
        handler = _HANDLERS[operation]
        if operation in _STREAMING:
            events = cast("EventStream", await handler(service, request, call))
            return Answer(dialect, events=events, headers=headers)
        result = cast("Result", await handler(service, request, call))
        return Answer(dialect, dialect.encode_result(operation, result), headers=headers)


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
