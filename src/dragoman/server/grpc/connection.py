"""The gRPC calls of one HTTP/2 connection: requests become calls, and find their handlers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from dragoman.bindings.grpc.framing import (
    PREFIX_BYTES,
    GrpcFailedError,
    MessageReader,
    http_refusal_block,
    is_grpc,
    refusal_block,
    timeout_of,
)
from dragoman.net.http2.protocol.events import (
    DataReceived,
    Drained,
    Event,
    RequestReceived,
    StreamEnded,
    TooManyHeaders,
)
from dragoman.net.http2.protocol.frames import DEFAULT_WINDOW
from dragoman.server.grpc.http2_call import Http2Call
from dragoman.server.http.headers import gather_headers

if TYPE_CHECKING:
    from dragoman.net.http2.driver import Http2Protocol
    from dragoman.net.http2.protocol.connection import Connection
    from dragoman.net.http2.protocol.requests import Head
    from dragoman.net.limits import ConnectionLimits
    from dragoman.server.grpc.calls import Admission, Rpc

__all__ = ("GrpcConnection", "Served")

_UNIMPLEMENTED: Final = 12
_UNAVAILABLE: Final = 14
_NOT_GRPC: Final = b"Over HTTP/2 this server speaks gRPC alone. Use HTTP/1.1.\n"
_TOO_MANY_HEADERS: Final = b"The request has too many headers.\n"


class Served(Protocol):
    """The server that a connection belongs to."""

    @property
    def rpcs(self) -> Mapping[bytes, Rpc]:
        """The methods, by path."""
        ...

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start the task of a call."""
        ...


class GrpcConnection:
    """The calls on one connection of HTTP/2 that are not over, by stream."""

    def __init__(self, connection: Http2Protocol, served: Served, limits: ConnectionLimits) -> None:
        self._connection = connection
        self._http2 = connection.http2
        self._served = served
        self._limits = limits
        self._uploads = Uploads(connection.http2, limits.max_body_bytes)
        self._calls: dict[int, Http2Call] = {}
        self._head: Head | None = None
        self._headers: Mapping[bytes, str] = {}

    # --- for the driver (driver.StreamHandler) --------------------------------------------------

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

    # --- requests -------------------------------------------------------------------------------

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
        if rpc.bidi is not None:
            call.begun_at = None
            call.task = self._served.spawn(call.answer_bidi(call.requests(), rpc.bidi))
        if ends:
            self._hear(call, b"", ends=True)

    def _new_call(self, stream: int, head: Head, rpc: Rpc, now: float) -> Http2Call:
        if head is not self._head:
            # Most calls of a connection have the same head.
            self._head, self._headers = head, gather_headers(head.fields)
        limit = self._limits.max_body_bytes
        if rpc.bidi is not None:
            # Such messages are small: none is granted more room than its stream begins with.
            limit = min(limit, DEFAULT_WINDOW - PREFIX_BYTES)
        reader = MessageReader(head, limit)
        return Http2Call(
            self._connection, self._forget, stream, rpc, self._headers, head.fields, reader, now
        )

    def _forget(self, call: Http2Call) -> None:
        self._calls.pop(call.stream, None)
        self._uploads.give_back(call)

    def _hear(self, call: Http2Call, data: bytes, *, ends: bool) -> None:
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
        elif not call.is_admitting and self._uploads.is_short(call):
            # What is short comes unasked, and costs as much as refusing it.
            call.is_admitting = True
            self._served.spawn(self._let_come(call, call.rpc.admit))

    async def _let_come(self, call: Http2Call, admit: Admission) -> None:
        """Let a long message come if its caller is let in."""
        await call.enter(admit)
        if not call.is_over:
            self._uploads.ask(call)

    def _answer_text(self, stream: int, status: int, text: bytes, *, has_body: bool = True) -> None:
        self._http2.send_headers(stream, http_refusal_block(status, len(text)))
        if has_body:
            self._http2.send_data(stream, text)
        self._http2.send_end(stream)


class Uploads:
    """A pool that the calls of a connection borrow from.

    Every stream has a small window of its own. A message that is longer is granted the rest of its
    length at once, so that it can be finished whatever others do; who finds the pool empty waits in
    line.

    Args:
        max_message_bytes: the longest that one may be; the pool has room for two of those.
    """

    def __init__(self, http2: Connection, max_message_bytes: int) -> None:
        self._http2 = http2
        self._free = 2 * (max_message_bytes + PREFIX_BYTES)
        self._line: deque[Http2Call] = deque()

    def is_short(self, call: Http2Call) -> bool:
        """Tell whether a call has begun a message that it cannot end without more room."""
        return self._need(call) > 0

    def ask(self, call: Http2Call) -> None:
        """Let a call go on that has begun a message, now or when it is its turn."""
        if not call.is_in_line and self.is_short(call):
            call.is_in_line = True
            self._line.append(call)
            self._serve()

    def give_back(self, call: Http2Call) -> None:
        """Take back what was granted a call that has sent its message, or is over."""
        if call.borrowed:
            self._free += call.borrowed
            call.borrowed = 0
            self._serve()

    def _need(self, call: Http2Call) -> int:
        """Return how many bytes a call cannot send yet of the message it has begun."""
        return call.reader.missing - self._http2.granted(call.stream)

    def _serve(self) -> None:
        while self._line:
            call = self._line[0]
            need = self._need(call)
            if not call.is_over and need > self._free:
                return
            self._line.popleft()
            call.is_in_line = False
            if not call.is_over and need > 0:
                self._free -= need
                call.borrowed += need
                call.grant(need)
