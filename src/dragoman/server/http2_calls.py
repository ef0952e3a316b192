"""The calls of one connection: requests become calls, and find whoever handles them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from dragoman.bindings.http2.events import (
    DataReceived,
    Drained,
    Event,
    RequestReceived,
    StreamEnded,
    TooManyHeaders,
)
from dragoman.bindings.http2.frames import DEFAULT_WINDOW
from dragoman.bindings.http2.grpc_framing import (
    PREFIX_BYTES,
    GrpcFailedError,
    MessageReader,
    http_refusal_block,
    is_grpc,
    refusal_block,
    timeout_of,
)
from dragoman.server.http.headers import gather_headers
from dragoman.server.http2_call import Call, Carrier
from dragoman.server.http2_uploads import Uploads

if TYPE_CHECKING:
    from dragoman.bindings.http2.requests import Head
    from dragoman.server.grpc.calls import Admission, Rpc
    from dragoman.server.http2_limits import Http2Limits

__all__ = ("CallTable", "Served")

_UNIMPLEMENTED: Final = 12
_UNAVAILABLE: Final = 14
_NOT_GRPC: Final = b"Over HTTP/2 this server speaks gRPC alone. Use HTTP/1.1.\n"
_TOO_MANY_HEADERS: Final = b"The request has too many headers.\n"


class Served(Protocol):
    """What is served, and by whom."""

    @property
    def rpcs(self) -> Mapping[bytes, Rpc]:
        """The methods, by path."""
        ...

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start the task of a call."""
        ...


class CallTable:
    """The calls that are not over, by stream."""

    def __init__(self, carrier: Carrier, served: Served, limits: Http2Limits) -> None:
        self._carrier = carrier
        self._served = served
        self._limits = limits
        self._http2 = carrier.http2
        self._uploads = Uploads(carrier.http2, limits.max_body_bytes)
        self._calls: dict[int, Call] = {}
        self._head: Head | None = None
        self._headers: Mapping[bytes, str] = {}

    def handle(self, event: Event, now: float) -> None:
        """Act on what has happened on a stream."""
        if isinstance(event, RequestReceived):
            self._begin(event.stream, event.head, now, ends=event.ends)
        elif isinstance(event, TooManyHeaders):
            self._answer_text(event.stream, 431, _TOO_MANY_HEADERS)
        elif isinstance(event, (DataReceived, Drained, StreamEnded)):
            call = self._calls.get(event.stream)
            if call is None:
                return
            if isinstance(event, DataReceived):
                self._hear(call, event.data, ends=event.ends)
            elif isinstance(event, Drained):
                call.drained()
            else:
                call.abandon()

    def ended(self, call: Call) -> None:
        """Let go of a call."""
        self._calls.pop(call.stream, None)
        self._uploads.give_back(call)

    def abandon(self, stream: int) -> None:
        """Forget the caller on a stream that is over."""
        if stream in self._calls:
            self._calls[stream].abandon()

    def abandon_all(self) -> None:
        """Forget all callers."""
        for call in tuple(self._calls.values()):
            call.abandon()

    def end_late(self, now: float) -> None:
        """End the calls whose requests take too long to come."""
        for call in tuple(self._calls.values()):
            if call.begun_at is not None and now - call.begun_at > self._limits.body_seconds:
                call.fail(GrpcFailedError(_UNAVAILABLE, "The request did not come in time"))

    def _begin(self, stream: int, head: Head, now: float, *, ends: bool) -> None:
        if len(head.fields) > self._limits.max_headers:
            self._answer_text(stream, 431, _TOO_MANY_HEADERS, has_body=head.method != b"HEAD")
            return
        if not is_grpc(head):
            self._answer_text(stream, 415, _NOT_GRPC, has_body=head.method != b"HEAD")
            return
        rpc = self._served.rpcs.get(head.path)
        try:
            if rpc is None:
                raise GrpcFailedError(_UNIMPLEMENTED, "There is no such method")  # noqa: TRY301 - refused as a bad timeout is
            timeout = timeout_of(head)
        except GrpcFailedError as problem:
            block = refusal_block(problem.code, problem.details)
            self._http2.send_headers(stream, block, ends=True)
            return
        call = self._calls[stream] = self._new_call(stream, head, rpc, now)
        if timeout is not None:
            call.timer = asyncio.get_running_loop().call_later(timeout, call.expire)
        if rpc.talking is not None:
            call.begun_at = None
            call.task = self._served.spawn(call.talk(call.requests(), rpc.talking))
        if ends:
            self._hear(call, b"", ends=True)

    def _new_call(self, stream: int, head: Head, rpc: Rpc, now: float) -> Call:
        if head is not self._head:
            # Most calls of a connection have the same head.
            self._head, self._headers = head, gather_headers(head.fields)
        limit = self._limits.max_body_bytes
        if rpc.talking is not None:
            # The messages of a talk are small: none is granted more room than all have.
            limit = min(limit, DEFAULT_WINDOW - PREFIX_BYTES)
        reader = MessageReader(head, limit)
        return Call(self._carrier, stream, rpc, self._headers, head.fields, reader, now)

    def _hear(self, call: Call, data: bytes, *, ends: bool) -> None:
        try:
            call.hear(data, ends=ends)
        except GrpcFailedError as problem:
            call.fail(problem)
            call.abandon()
            return
        if call.task is not None:
            return
        if ends:
            call.begun_at = None
            self._uploads.give_back(call)
            call.task = self._served.spawn(call.answer())
        elif call.incoming is not None or call.rpc.admit is None:
            self._uploads.ask(call)
        elif not call.is_at_door and self._uploads.is_short(call):
            # What is short comes unasked, and costs as much as refusing it.
            call.is_at_door = True
            self._served.spawn(self._let_come(call, call.rpc.admit))

    async def _let_come(self, call: Call, admit: Admission) -> None:
        """Let a long message come if its caller is let in."""
        await call.enter(admit)
        if not call.is_over:
            self._uploads.ask(call)

    def _answer_text(self, stream: int, status: int, text: bytes, *, has_body: bool = True) -> None:
        self._http2.send_headers(stream, http_refusal_block(status, len(text)))
        if has_body:
            self._http2.send_data(stream, text)
        self._http2.send_end(stream)
