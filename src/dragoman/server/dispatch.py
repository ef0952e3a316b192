"""Dispatcher: from a method or route to the service, through version, dialect and validation.

The same for all bindings.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from dragoman import telemetry
from dragoman.bindings import jsonrpc, rest
from dragoman.bindings.grpc.base import GrpcDialect
from dragoman.bindings.jsonrpc import JsonRpcRequest
from dragoman.bindings.rest import Match
from dragoman.clock import Clock
from dragoman.dialects import registry
from dragoman.dialects.base import Dialect, Reading, RestDialect, Result, RpcDialect
from dragoman.dialects.profiles.base import Claim, ServedProfile, Serving
from dragoman.dialects.registry import Profiles, check_version
from dragoman.dialects.v0_3_proto.codec import V0_3Proto
from dragoman.errors import (
    A2AError,
    InternalError,
    StoreError,
    StoreUnavailableError,
    UnavailableError,
    spelling_of,
)
from dragoman.model.operations import STREAMING, Operation, Request, SendMessageRequest
from dragoman.net.asgi import Header
from dragoman.server.admission import audit
from dragoman.server.admission.authentication import IncomingRequest
from dragoman.server.admission.authorization import Access
from dragoman.server.admission.client_address import Addressing
from dragoman.server.admission.concurrency import CallerLimits
from dragoman.server.admission.content import RequestValidator
from dragoman.server.http.exchange import Exchange
from dragoman.server.settings import RateSettings
from dragoman.service.principal import Principal
from dragoman.service.service import A2AService, Call, EventStream, TaskOrigins

__all__ = ("Answer", "Dispatcher", "ServiceHost")

_logger = logging.getLogger(__name__)

_SENDS: Final = frozenset({Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE})

_VERSION: Final = (b"a2a-version", "A2A-Version")

_PRIVATE: Final = ((b"cache-control", b"private, no-cache"),)
"""R-13.3-4: the extended card is one caller's, for as long as that caller may use what it shows."""

_MAX_CURSOR_DIGITS: Final = 18

_UNADDRESSED: Final = Addressing(None, ())


class Answer(Struct, frozen=True):
    """What to send back: a body, or events to follow. ``headers`` tell the activated extensions."""

    dialect: Dialect
    body: bytes = b""
    events: EventStream | None = None
    headers: tuple[Header, ...] = ()


class ServiceHost(Protocol):
    """Has the service that performs operations, and starts it if need be."""

    @property
    def clock(self) -> Clock:
        """The time it goes by."""
        ...

    @property
    def started(self) -> A2AService | None:
        """The service, once it has been started."""
        ...

    async def service(self) -> A2AService:
        """Return the service, starting it if nobody has."""
        ...

    def refuse(self, problem: StoreUnavailableError | UnavailableError) -> None:
        """Note that a request is refused because nothing can be done at the moment."""
        ...


class Dispatcher:
    """Performs operations for the bindings.

    Attributes:
        is_strict: requests are read by the letter of their version.
    """

    def __init__(
        self,
        host: ServiceHost,
        validator: RequestValidator,
        *,
        origins: TaskOrigins,
        is_strict: bool,
        addressing: Addressing = _UNADDRESSED,
        caller_limits: CallerLimits | None = None,
        profiles: Profiles | None = None,
        access: Access | None = None,
    ) -> None:
        self._profiles = profiles or Profiles(Serving())
        self._access = access or Access()
        self._host = host
        self._origins = origins
        self._validator = validator
        self._addressing = addressing
        self._caller_limits = caller_limits or CallerLimits(RateSettings(), host.clock)
        self.is_strict: Final = is_strict

    def refusal_dialect(self, exchange: Exchange, method: str) -> RpcDialect:
        """Return the dialect in which to refuse a request for this method."""
        if exchange.dialect is not None:
            return exchange.dialect
        profile = exchange.profile
        if profile is not None and profile.owns_path and not registry.is_newest_method(method):
            return profile.dialect
        version = exchange.parameter(*_VERSION)
        return registry.refusal_dialect(method, version, is_strict=self.is_strict)

    async def serve_envelope(self, exchange: Exchange, envelope: JsonRpcRequest) -> Answer:
        """Perform what a JSON-RPC request asks for, in whatever dialect it is."""
        profile = exchange.profile
        if profile is not None and await self._is_claimed(profile, exchange, envelope):
            return await self._serve_profile(profile, exchange, envelope)
        return await self.serve_method(exchange, envelope.method, envelope.params)

    async def serve_method(self, exchange: Exchange, method: str, params: bytes) -> Answer:
        """Perform a JSON-RPC method of a version of A2A."""
        version = exchange.parameter(*_VERSION)
        dialect, operation, is_shared = registry.find_method(
            method, version, is_strict=self.is_strict
        )
        if operation is Operation.GET_TASK and self._wants_stream(exchange, params):
            operation = Operation.SUBSCRIBE_TO_TASK
        if is_shared:
            named = registry.task_named(operation, params)
            origin = await self._origin(operation, named, exchange.principal)
            dialect = registry.dialect_of_origin(origin, is_strict=self.is_strict)
        exchange.dialect = dialect
        extensions = self._activate(dialect, operation, exchange)
        reading = dialect.decode_request(operation, params)
        # What reads JSON-RPC answers in JSON-RPC.
        exchange.dialect = cast("RpcDialect", reading.answer)
        return await self._perform(operation, reading, extensions, exchange)

    async def _is_claimed(
        self, profile: ServedProfile, exchange: Exchange, envelope: JsonRpcRequest
    ) -> bool:
        is_known = registry.is_method(envelope.method)
        claim = profile.claims(exchange, envelope.method, envelope.params, is_known=is_known)
        if claim is not Claim.ASK_TASK:
            return claim is Claim.YES
        operation = profile.find_method(envelope.method, exchange, envelope.params).operation
        named = registry.task_hinted(envelope.params)
        origin = await self._origin(operation, named, exchange.principal)
        return profile.dialect_of(origin) is not None if origin else profile.is_likely(exchange)

    async def _serve_profile(
        self, profile: ServedProfile, exchange: Exchange, envelope: JsonRpcRequest
    ) -> Answer:
        """Perform a JSON-RPC method of a profile."""
        exchange.dialect = profile.dialect
        dialect, operation, is_shared = profile.find_method(
            envelope.method, exchange, envelope.params
        )
        if is_shared:
            named = registry.task_named(operation, envelope.params)
            origin = await self._origin(operation, named, exchange.principal)
            dialect = profile.dialect_of(origin) or dialect
        exchange.dialect = dialect
        extensions = self._activate(dialect, operation, exchange)
        reading = dialect.decode_request(operation, envelope.params)
        if (
            reading.alias
            and reading.begins_anew
            and await self._has_ended(operation, reading.alias, exchange.principal)
        ):
            # It goes by its own id, so nothing else can: the one that follows it gets another.
            reading = reading._replace(alias="", answer=dialect)
        owner = exchange.principal.owner
        reading = profile.address(reading, owner)
        if isinstance(reading.request, SendMessageRequest) and not profile.receives_all:
            reading = reading._replace(request=profile.receive(reading.request, owner))
        # What reads JSON-RPC answers in JSON-RPC.
        exchange.dialect = cast("RpcDialect", reading.answer)
        return await self._perform(operation, reading, extensions, exchange)

    async def serve_route(self, exchange: Exchange, match: Match, body: bytes) -> Answer:
        """Perform an HTTP+JSON route of 1.0."""
        version = exchange.parameter(*_VERSION)
        stated = check_version(version, is_old=False, is_strict=self.is_strict)
        dialect = registry.route_dialect(stated, is_strict=self.is_strict)
        if dialect is None:
            of_body, of_origin = registry.route_shape, registry.route_shape_of_origin
            dialect = await self._shape(exchange, match, body, of_body, of_origin)
        extensions = self._activate(dialect, match.operation, exchange)
        reading = rest.read_request(match, exchange.query, body, dialect)
        return await self._perform(match.operation, reading, extensions, exchange)

    async def serve_old_route(self, exchange: Exchange, match: Match, body: bytes) -> Answer:
        """Perform an HTTP+JSON route of 0.3, in the shape of JSON that the client uses."""
        check_version(exchange.parameter(*_VERSION), is_old=True, is_strict=self.is_strict)
        of_body = partial(
            registry.rest_shape, plain=self._profiles.rest_dialect, is_strict=self.is_strict
        )
        dialect = await self._shape(exchange, match, body, of_body, registry.shape_of_origin)
        extensions = self._activate(dialect, match.operation, exchange)
        reading = rest.read_request(match, exchange.query, body, dialect)
        if match.operation in _SENDS:
            reading = await self._recall(
                match.operation,
                reading,
                registry.proto_shape(is_strict=self.is_strict),
                exchange.principal,
            )
        return await self._perform(match.operation, reading, extensions, exchange)

    def takes_envelope(self, match: Match, body: bytes) -> bool:
        """Tell whether a message comes to a route as a JSON-RPC request: some clients do that."""
        return not self.is_strict and match.operation in _SENDS and jsonrpc.is_request(body)

    async def _shape(
        self,
        exchange: Exchange,
        match: Match,
        body: bytes,
        of_body: Callable[[bytes], RestDialect],
        of_origin: Callable[[str], RestDialect],
    ) -> RestDialect:
        """Return the shape of JSON in which a route is called: by what is sent, or by its task."""
        if match.operation in _SENDS:
            return of_body(body)
        named = match.fields.get("id" if "taskId" not in match.fields else "taskId", "")
        return of_origin(await self._origin(match.operation, named, exchange.principal))

    async def serve_rpc(
        self,
        dialect: GrpcDialect,
        operation: Operation,
        params: bytes,
        incoming: IncomingRequest,
    ) -> Answer:
        """Perform a gRPC method; ``dialect`` is the one of its service."""
        stated = incoming.headers.get(b"a2a-version")
        check_version(stated, is_old=dialect.has_final, is_strict=self.is_strict)
        extensions = self._activate(dialect, operation, incoming)
        reading = dialect.decode_request(operation, params)
        if dialect.has_final:
            reading = await self._recall(operation, reading, dialect, incoming.principal)
        answer = await self._perform(operation, reading, extensions, incoming)
        # Over HTTP, every answer has these, errors too; here an error has RetryInfo.
        left = incoming.allowance
        return replace(answer, headers=(*answer.headers, *left)) if left else answer

    def explain(self, problem: Exception) -> A2AError:
        """Return what to tell the peer; what is our own fault is logged and gets an id to quote."""
        if isinstance(problem, A2AError):
            if isinstance(problem, UnavailableError):
                self._host.refuse(problem)
            return problem
        if isinstance(problem, StoreError):
            if isinstance(problem, StoreUnavailableError):
                self._host.refuse(problem)
            else:
                _logger.warning("a request failed: %s", problem)
            return UnavailableError("The store is not available; try again later")
        error_id = self._host.clock.new_id()
        _logger.error("a request failed (error id %s)", error_id, exc_info=problem)
        return InternalError(
            f"Internal error. Error id: {error_id}", metadata={"errorId": error_id}
        )

    def _activate(
        self, dialect: Dialect, operation: Operation, incoming: IncomingRequest
    ) -> tuple[str, ...]:
        """Return the extensions to activate; what is not offered is written down, and raised."""
        requested = incoming.headers.get(b"a2a-extensions")
        if dialect.has_final and (older := incoming.headers.get(b"x-a2a-extensions")):
            # 0.x reference, 4.7: the older name of the header, or both.
            requested = f"{requested},{older}" if requested else older
        try:
            extensions = self._validator.activate(operation, requested)
            self._validator.check_offered(operation)
        except A2AError as error:
            # The request is not read yet, so the tenant that it names is not known.
            audit.refused(incoming.principal.owner, operation.value, "", error)
            raise
        return extensions

    def _wants_stream(self, exchange: Exchange, params: bytes) -> bool:
        """Tell whether a task is to be followed by getting it as a stream (D16)."""
        if self.is_strict or b'"taskId"' not in params:
            return False
        return exchange.takes_stream

    async def _origin(self, operation: Operation, task_id: str, principal: Principal) -> str:
        """Return the name of the dialect in which a task was begun.

        "" if it is not known, or not the caller's. The versions that ask have no tenants.
        """
        if not task_id:
            return ""
        call = await self._access.shared(operation, Call(principal=principal))
        return await self._origins.origin_of(task_id, call)

    async def _has_ended(self, operation: Operation, task_id: str, principal: Principal) -> bool:
        """Tell whether a task of the caller's has ended; one that goes by an alias does not."""
        call = await self._access.shared(operation, Call(principal=principal))
        return await self._origins.has_ended(task_id, call)

    async def _recall(
        self,
        operation: Operation,
        reading: Reading,
        form: GrpcDialect | V0_3Proto,
        principal: Principal,
    ) -> Reading:
        """Have a request of this form answered in the variant in which its task was begun.

        One that shows the peer's habits itself is answered in those (0.x reference, 5.7).
        """
        named = registry.task_shown(reading.request)
        if not named or reading.answer is not form:
            return reading
        origin = await self._origin(operation, named, principal)
        return reading._replace(answer=form.variant(origin))

    async def _perform(
        self,
        operation: Operation,
        reading: Reading,
        extensions: tuple[str, ...],
        incoming: IncomingRequest,
    ) -> Answer:
        """Perform an operation for a caller who is authenticated, and log that."""
        who, tenant = incoming.principal.owner, reading.request.tenant
        request = reading.request
        if self._profiles.receivers and isinstance(request, SendMessageRequest):
            for profile in self._profiles.receivers:
                request = profile.receive(request, who)
            reading = reading._replace(request=request)
        serve = self._serve if telemetry.active is None else self._serve_traced
        try:
            answer = await serve(operation, reading, extensions, incoming)
        except A2AError as error:
            audit.refused(who, operation.value, tenant, error)
            raise
        audit.accepted(who, operation.value, tenant)
        return answer

    async def _serve_traced(
        self,
        operation: Operation,
        reading: Reading,
        extensions: tuple[str, ...],
        incoming: IncomingRequest,
    ) -> Answer:
        """Do the same as a span; the stream that is the answer to some is no part of it."""
        tracing = telemetry.active
        assert tracing is not None  # noqa: S101 - asked before
        method, dialect = operation.value, reading.answer.name
        clock = self._host.clock
        began_ms = clock.now_ms()
        outcome = "ok"
        with tracing.served(method, dialect, incoming.headers):
            try:
                return await self._serve(operation, reading, extensions, incoming)
            except A2AError as error:
                outcome = spelling_of(error).reason
                raise
            finally:
                tracing.took(clock.now_ms() - began_ms, method, dialect, outcome)

    async def _serve(
        self,
        operation: Operation,
        reading: Reading,
        extensions: tuple[str, ...],
        incoming: IncomingRequest,
    ) -> Answer:
        request, dialect, alias, begins_anew = reading
        is_old = dialect.has_final
        is_card = operation is Operation.GET_EXTENDED_AGENT_CARD
        call = Call(
            tenant=request.tenant,
            principal=incoming.principal,
            dialect=dialect.name,
            extensions=extensions,
            # The versions before 1.0 know no cursors: they are shown the task as it is.
            cursor=None if is_old else _cursor(incoming.headers.get(b"last-event-id")),
            alias=alias,
            begins_anew=begins_anew,
            ends_at_stops=is_old,
            outlasts_pauses=dialect.http.outlasts_pauses,
            always_task=not dialect.has_messages,
            # Only the card speaks of addresses, and working them out takes its time.
            base_url=self._addressing.base_of(incoming) if is_card else "",
        )
        self._validator.admit(request, call)
        # The caller's own, whoever's records it works in.
        self._caller_limits.admit(operation, incoming, call.tenant)
        if self._access.is_shared:
            call = await self._access.shared(operation, call)
        service = self._host.started or await self._host.service()
        echo = _echo(extensions, is_old=is_old) if extensions else ()
        # An operation's request type goes with its method (REQUEST_TYPES).
        perform: _Method = getattr(service, _METHODS[operation])
        if operation in STREAMING:
            events = await self._caller_limits.hold(
                incoming,
                lambda: cast("Awaitable[EventStream]", perform(request, call)),
            )
            return Answer(dialect, events=events, headers=echo)
        result = cast("Result", await perform(request, call))
        headers = (*echo, *_PRIVATE) if is_card else echo
        return Answer(dialect, dialect.encode_result(operation, result), headers=headers)


def _echo(extensions: tuple[str, ...], *, is_old: bool) -> tuple[Header, ...]:
    """R-T.ext-11: the activated extensions are told, under the name the version has for it."""
    name = b"x-a2a-extensions" if is_old else b"a2a-extensions"
    return ((name, ",".join(extensions).encode()),)


def _cursor(value: str | None) -> int | None:
    """Read Last-Event-ID; one that is not a number of ours counts as none."""
    if value is None or not value.isdecimal() or len(value) > _MAX_CURSOR_DIGITS:
        return None
    return int(value)


_Method: TypeAlias = Callable[[Request, Call], Awaitable[Result | EventStream]]

_METHODS: Final = {
    Operation.SEND_MESSAGE: "send_message",
    Operation.SEND_STREAMING_MESSAGE: "send_streaming_message",
    Operation.GET_TASK: "get_task",
    Operation.LIST_TASKS: "list_tasks",
    Operation.CANCEL_TASK: "cancel_task",
    Operation.SUBSCRIBE_TO_TASK: "subscribe_to_task",
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: "create_task_push_notification_config",
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: "get_task_push_notification_config",
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: "list_task_push_notification_configs",
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: "delete_task_push_notification_config",
    Operation.GET_EXTENDED_AGENT_CARD: "get_extended_agent_card",
}
