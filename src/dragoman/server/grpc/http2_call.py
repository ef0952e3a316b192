"""A call of gRPC on a stream of HTTP/2: the Context of whoever handles it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from dragoman.bindings.grpc.framing import (
    ANSWER,
    OK,
    GrpcFailedError,
    Metadata,
    answer_block,
    frame_message,
    refusal_block,
    trailer_block,
)

if TYPE_CHECKING:
    from dragoman.bindings.grpc.framing import MessageReader
    from dragoman.net.http2.protocol.connection import Connection
    from dragoman.net.http2.protocol.hpack import Headers
    from dragoman.net.peer import Peer
    from dragoman.server.admission.authentication import IncomingRequest
    from dragoman.server.grpc.calls import Admission, BidiRpc, Rpc

__all__ = ("CallConnection", "Http2Call", "RequestMessages")

MAX_WAITING_BYTES: Final = 67_108_864
"""What may wait on one connection for its reader. Each call holds one message at most, but there
may be a thousand of them, and answers can be long."""

_DEADLINE_EXCEEDED: Final = 4
_RESOURCE_EXHAUSTED: Final = 8
_UNIMPLEMENTED: Final = 12
_INTERNAL: Final = 13
_UNAVAILABLE: Final = 14


class CallConnection(Protocol):
    """The connection of a call: what it needs of ``driver.Http2Protocol``."""

    @property
    def http2(self) -> Connection:
        """The HTTP/2 connection to send on."""
        ...

    @property
    def peer(self) -> Peer:
        """The other end of the connection."""
        ...

    def flush_soon(self) -> None:
        """Write what has been sent, together with everything else sent until then."""
        ...


class Http2Call:
    """One call, from its head to its last byte.

    Args:
        on_ended: called when it is over.

    Attributes:
        is_over: whether nothing more can be said to the caller.
        borrowed: how many bytes of the connection's pool its request may use.
        is_in_line: whether it waits for some of that pool.
        begun_at: when its request began; None once all of it is there.
        is_admitting: whether its caller was to be identified before the rest of its message comes.
        task: what handles it, once that has begun.
    """

    __slots__ = (
        "_allows_cancel",
        "_connection",
        "_has_begun",
        "_on_ended",
        "_requests",
        "_stream",
        "_waiter",
        "begun_at",
        "borrowed",
        "fields",
        "headers",
        "incoming",
        "is_admitting",
        "is_full",
        "is_in_line",
        "is_over",
        "message",
        "reader",
        "rpc",
        "task",
        "timer",
    )

    def __init__(
        self,
        connection: CallConnection,
        on_ended: Callable[[Http2Call], None],
        stream: int,
        rpc: Rpc,
        headers: Mapping[bytes, str],
        fields: Headers,
        reader: MessageReader,
        begun_at: float,
    ) -> None:
        self._connection = connection
        self._on_ended = on_ended
        self._stream = stream
        self.rpc: Final = rpc
        self.headers: Final = headers
        self.fields: Final = fields
        self.incoming: IncomingRequest | None = None
        self.reader: Final = reader
        self.begun_at: float | None = begun_at
        self.message: bytes | None = None
        self.borrowed: int = 0
        self.is_over: bool = False
        self.is_full: bool = False
        self.is_in_line: bool = False
        self.is_admitting: bool = False
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._has_begun = self._allows_cancel = False
        self._waiter: asyncio.Future[None] | None = None
        self._requests: RequestMessages | None = None

    # --- for whoever handles it (calls.Context) --------------------------------------------

    @property
    def stream(self) -> int:
        """The number of its stream."""
        return self._stream

    @property
    def peer(self) -> Peer:
        """Who calls."""
        return self._connection.peer

    def allow_cancel(self) -> None:
        """From now on cancel the task when the caller leaves."""
        if self.is_over:
            raise asyncio.CancelledError
        self._allows_cancel = True

    def send_initial_metadata(self, metadata: Metadata) -> None:
        """Send the headers of the answer."""
        self._begin(answer_block(metadata))

    def write(self, message: bytes) -> None:
        """Send a message.

        Raises:
            GrpcFailedError: too much is waiting already for this caller to read it.
        """
        if self.is_over:
            return
        http2 = self._connection.http2
        if http2.waiting_bytes > MAX_WAITING_BYTES:
            raise GrpcFailedError(_RESOURCE_EXHAUSTED, "Too many answers wait to be read")
        if not self._has_begun:
            self._begin(ANSWER)
        if not http2.send_data(self._stream, frame_message(message)):
            self.is_full = True
        self._connection.flush_soon()

    async def drain(self) -> None:
        """Wait while the reader takes nothing."""
        if self.is_full and not self.is_over:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    # --- for the connection ---------------------------------------------------------------------

    def requests(self) -> RequestMessages:
        """Return the messages that come, for an rpc that takes many."""
        self._requests = RequestMessages(self.grant)
        return self._requests

    def hear(self, data: bytes, *, ends: bool) -> None:
        """Take a piece of the request.

        Raises:
            GrpcFailedError: this is no request for the rpc.
        """
        messages = self.reader.read(data)
        if ends and not self.reader.is_between:
            raise GrpcFailedError(_INTERNAL, "The request ends within a message")
        if self._requests is not None:
            self._requests.put(messages, len(data), ends=ends)
        for message in messages if self._requests is None else ():
            if self.message is not None:
                raise GrpcFailedError(_UNIMPLEMENTED, "The rpc takes one message")
            self.message = message
        if ends and self._requests is None and self.message is None:
            raise GrpcFailedError(_UNIMPLEMENTED, "The rpc takes a message")

    def grant(self, size: int) -> None:
        """Let more of the request come."""
        self._connection.http2.grant(self._stream, size)
        self._connection.flush_soon()

    def drained(self) -> None:
        """Let the handler go on: the reader has taken everything."""
        self.is_full = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def enter(self, admit: Admission) -> None:
        """Have it found out who calls, or end the call."""
        try:
            await admit(self)
        except BaseException as problem:
            self._fail_with(problem)
            if not isinstance(problem, GrpcFailedError):
                raise

    async def answer(self) -> None:
        """Have the call handled that has sent its message."""
        unary, message = self.rpc.unary, self.message
        assert unary is not None  # noqa: S101 - the caller checked that the rpc is unary
        assert message is not None  # noqa: S101 - and that its message is there
        self.message = None
        try:
            answer = await unary(message, self)
            if answer is not None:
                self.write(answer)
            self._end(OK)
        except BaseException as problem:
            self._fail_with(problem)
            if not isinstance(problem, GrpcFailedError):
                raise

    async def answer_bidi(self, requests: RequestMessages, handle: BidiRpc) -> None:
        """Have the call handled that goes on sending messages."""
        try:
            await handle(requests, self)
            self._end(OK)
        except BaseException as problem:
            self._fail_with(problem)
            if not isinstance(problem, GrpcFailedError):
                raise

    def _fail_with(self, problem: BaseException) -> None:
        if isinstance(problem, GrpcFailedError):
            self.fail(problem)
        elif isinstance(problem, asyncio.CancelledError):
            self.fail(GrpcFailedError(_UNAVAILABLE, "The server is shutting down; try again"))
        else:
            self.fail(GrpcFailedError(_INTERNAL, "Internal error"))

    def fail(self, problem: GrpcFailedError) -> None:
        """End the call with a status."""
        write = trailer_block if self._has_begun else refusal_block
        self._end(write(problem.code, problem.details, problem.metadata))

    def expire(self) -> None:
        """End the call because its caller does not wait any longer."""
        self.fail(GrpcFailedError(_DEADLINE_EXCEEDED, "The deadline has passed"))
        self.abandon()

    def abandon(self) -> None:
        """Forget the caller. What is done for it goes on, unless that may be canceled."""
        self._close()
        if self.task is not None and self._allows_cancel:
            self.task.cancel()

    def _begin(self, block: bytes) -> None:
        if not self.is_over and not self._has_begun:
            self._has_begun = True
            self._connection.http2.send_headers(self._stream, block)
            self._connection.flush_soon()

    def _end(self, block: bytes) -> None:
        if self.is_over:
            return
        if not self._has_begun and block is OK:
            self._begin(ANSWER)
        self._connection.http2.send_headers(self._stream, block, ends=True)
        self._connection.flush_soon()
        self._close()

    def _close(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        if self.timer is not None:
            self.timer.cancel()
        self.drained()
        self._on_ended(self)


class RequestMessages(AsyncIterator[bytes]):
    """The messages of one caller; no more come than are taken.

    Args:
        grant: lets so many bytes more come.
    """

    def __init__(self, grant: Callable[[int], None]) -> None:
        self._grant = grant
        self._messages: deque[bytes] = deque()
        self._heard = 0
        self._has_ended = False
        self._waiter: asyncio.Future[None] | None = None

    def put(self, messages: list[bytes], size: int, *, ends: bool) -> None:
        """Add what has come, in so many bytes."""
        self._messages.extend(messages)
        self._heard += size
        self._has_ended = ends
        if self._waiter is not None and not self._waiter.done() and (messages or ends):
            self._waiter.set_result(None)

    async def __anext__(self) -> bytes:
        """Wait for a message."""
        while not self._messages:
            if self._has_ended:
                raise StopAsyncIteration
            self._grant(self._heard)
            self._heard = 0
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._messages.popleft()
