"""One connection of HTTP/2 on asyncio, with calls of gRPC on it.

It moves bytes between the transport and the Connection, starts a task for each call, and ends what
is stuck. Neither side can fill its memory: the peer is granted room for its requests from a pool,
and what it does not read is not made.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Final, Protocol, cast

from msgspec import Struct

from dragoman.bindings.http2.connection import (
    ROOM,
    Connection,
    DataReceived,
    Drained,
    Event,
    RequestReceived,
    StreamEnded,
    TooManyHeaders,
)
from dragoman.bindings.http2.errors import ErrorCode
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
from dragoman.bindings.http2.requests import Head
from dragoman.server.grpc_calls import Rpc
from dragoman.server.headers import gather_headers
from dragoman.server.http2_call import Call
from dragoman.server.peers import Peer, peer_of

__all__ = ("CLOSE_SECONDS", "Host", "Http2Limits", "Http2Protocol")

_logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0
"""How long the last bytes may take to go out."""

PING_PATIENCE_SECONDS: Final = 20.0
"""A client from which nothing comes for so long after a ping is gone."""

MAX_HELD_BYTES: Final = 262_144
"""Answers to pings and the like that wait for a peer which does not read, while it sends more."""

_UNIMPLEMENTED: Final = 12
_UNAVAILABLE: Final = 14
_NOT_GRPC: Final = b"Over HTTP/2 this server speaks gRPC alone. Use HTTP/1.1.\n"
_TOO_MANY_HEADERS: Final = b"The request has too many headers.\n"


class Http2Limits(Struct, frozen=True, kw_only=True):
    """The settings of the server that matter here, by their names there."""

    max_body_bytes: int
    heartbeat_seconds: float
    stall_seconds: float


class Host(Protocol):
    """The server that a connection belongs to."""

    @property
    def limits(self) -> Http2Limits:
        """What a peer may do."""
        ...

    @property
    def rpcs(self) -> Mapping[bytes, Rpc]:
        """What is served, by path."""
        ...

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start the task of a call."""
        ...

    def made(self, connection: Http2Protocol) -> None:
        """Know a connection that has been made."""
        ...

    def lost(self, connection: Http2Protocol) -> None:
        """Forget a connection that has ended."""
        ...


class Http2Protocol(asyncio.Protocol):
    """A connection, from its first byte; ``on_lost`` is called when it has ended."""

    def __init__(self, host: Host, on_lost: Callable[[], object] = lambda: None) -> None:
        self.http2: Final = Connection()
        self.peer = Peer(None)
        self._host = host
        self._limits = host.limits
        self._on_lost = on_lost
        self._calls: dict[int, Call] = {}
        # Room for two of the longest messages: one can always come, whatever others do.
        self._pool = 2 * (self._limits.max_body_bytes + PREFIX_BYTES)
        self._hungry: deque[Call] = deque()
        self._flushes = self._is_paused = self._is_closing = False
        self._head: Head | None = None
        self._headers: Mapping[bytes, str] = {}
        self._heard_at = 0.0
        self._asked_at = 0.0
        self._stuck_at: dict[int, tuple[int, float]] = {}
        self._paused_at: tuple[int, float] | None = None

    # --- asyncio --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # The transports of uvloop are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self.peer = peer_of(transport)
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._timer = self._loop.call_later(self._interval, self._look)
        self.flush_soon()
        self._host.made(self)

    def data_received(self, data: bytes) -> None:
        """Act on what has come, and write all that follows from it at once."""
        self._heard_at = self._loop.time()
        # Whoever sends until then need not ask for a flush.
        flushes, self._flushes = self._flushes, True
        self.http2.receive(data, self._heard_at)
        self._act()
        self._flushes = flushes
        if not flushes:
            self._flush()

    def pause_writing(self) -> None:
        """Make nothing more ready to be written."""
        self._is_paused = True
        self.http2.room = 0

    def resume_writing(self) -> None:
        """Go on."""
        self._is_paused = False
        self._paused_at = None
        self.http2.room = ROOM
        self._flush()

    def eof_received(self) -> bool:
        """End: nobody who still waits for an answer closes its side."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        del exc
        self._timer.cancel()
        self._is_closing = True
        for call in tuple(self._calls.values()):
            call.abandon()
        self._host.lost(self)
        self._on_lost()

    # --- for the server -------------------------------------------------------------------------

    def drain(self) -> None:
        """Take no more calls."""
        self.http2.drain()
        self.flush_soon()

    def shutdown(self) -> None:
        """End once all is written, or when that takes too long; uvicorn calls it, too."""
        if not self._is_closing:
            self.http2.close()
            self._close()

    # --- for calls (http2_call.Carrier) ---------------------------------------------------------

    def flush_soon(self) -> None:
        """Write what has been sent, with what else is sent in this pass of the loop."""
        if not self._flushes:
            self._flushes = True
            self._loop.call_soon(self._flush)

    def call_ended(self, call: Call) -> None:
        """Let go of a call."""
        self._calls.pop(call.stream, None)
        self._give_back(call)

    # --- events ---------------------------------------------------------------------------------

    def _act(self) -> None:
        for event in self.http2.take_events():
            self._handle(event)
        if self.http2.failure is not None and not self._is_closing:
            _logger.info("a connection of %s is cut: %s", self.peer.address, self.http2.failure)
            self._close()

    def _handle(self, event: Event) -> None:
        if isinstance(event, DataReceived):
            call = self._calls.get(event.stream)
            if call is not None:
                self._hear(call, event.data, ends=event.ends)
        elif isinstance(event, RequestReceived):
            self._begin(event.stream, event.head, ends=event.ends)
        elif isinstance(event, Drained):
            if event.stream in self._calls:
                self._calls[event.stream].drained()
        elif isinstance(event, StreamEnded):
            if event.stream in self._calls:
                self._calls[event.stream].abandon()
        else:
            assert isinstance(event, TooManyHeaders)  # noqa: S101 - there is no other
            self._answer_text(event.stream, 431, _TOO_MANY_HEADERS)

    def _begin(self, stream: int, head: Head, *, ends: bool) -> None:
        if not is_grpc(head):
            self._answer_text(stream, 415, _NOT_GRPC, has_body=head.method != b"HEAD")
            return
        rpc = self._host.rpcs.get(head.path)
        if rpc is None:
            self._refuse(stream, GrpcFailedError(_UNIMPLEMENTED, "There is no such method"))
            return
        try:
            timeout = timeout_of(head)
        except GrpcFailedError as problem:
            self._refuse(stream, problem)
            return
        if head is not self._head:
            # Most calls of a connection have the same head.
            self._head, self._headers = head, gather_headers(head.fields)
        limit = self._limits.max_body_bytes
        if rpc.talking is not None:
            # The messages of a talk are small: none is granted more room than all have.
            limit = min(limit, DEFAULT_WINDOW - PREFIX_BYTES)
        reader = MessageReader(head, limit)
        call = Call(self, stream, rpc, self._headers, reader, self._heard_at)
        self._calls[stream] = call
        if timeout is not None:
            call.timer = self._loop.call_later(timeout, call.expire)
        if rpc.talking is not None:
            call.heard_at = None
            call.task = self._host.spawn(call.talk(call.requests(), rpc.talking))
        if ends:
            self._hear(call, b"", ends=True)

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
            call.heard_at = None
            self._give_back(call)
            call.task = self._host.spawn(call.answer())
            return
        call.heard_at = self._heard_at
        if self._need(call) > 0 and call not in self._hungry:
            self._hungry.append(call)
            self._feed()

    def _need(self, call: Call) -> int:
        """Return how many bytes a call cannot send yet of the message it has begun."""
        return call.reader.missing - self.http2.granted(call.stream)

    def _feed(self) -> None:
        """Grant the longest waiting calls room for the whole of their messages."""
        while self._hungry:
            call = self._hungry[0]
            need = self._need(call)
            if not call.is_over and need > self._pool:
                return
            self._hungry.popleft()
            if not call.is_over and need > 0:
                self._pool -= need
                call.borrowed = need
                call.grant(need)

    def _give_back(self, call: Call) -> None:
        if call.borrowed:
            self._pool += call.borrowed
            call.borrowed = 0
            self._feed()

    def _refuse(self, stream: int, problem: GrpcFailedError) -> None:
        self.http2.send_headers(stream, refusal_block(problem.code, problem.details), ends=True)

    def _answer_text(self, stream: int, status: int, text: bytes, *, has_body: bool = True) -> None:
        self.http2.send_headers(stream, http_refusal_block(status, len(text)))
        if has_body:
            self.http2.send_data(stream, text)
        self.http2.send_end(stream)

    # --- writing --------------------------------------------------------------------------------

    def _flush(self) -> None:
        self._flushes = False
        while not self._transport.is_closing():
            if self._is_paused:
                if self.http2.held_bytes > MAX_HELD_BYTES:
                    # It sends what has to be answered, and does not read the answers.
                    self._transport.abort()
                return
            output = self.http2.take_output()
            if not output:
                return
            self._transport.write(output)
            if not self._is_paused:
                self.http2.room = ROOM
            self._act()

    def _close(self) -> None:
        self._is_closing = True
        self._flush()
        for call in tuple(self._calls.values()):
            call.abandon()
        self._transport.close()
        self._timer.cancel()
        self._timer = self._loop.call_later(CLOSE_SECONDS, self._transport.abort)

    # --- what is stuck --------------------------------------------------------------------------

    @property
    def _interval(self) -> float:
        return min(self._limits.heartbeat_seconds, self._limits.stall_seconds)

    def _look(self) -> None:
        """Look after the connection: is anybody there, does it read, does it go on sending."""
        now = self._loop.time()
        if self._is_gone(now) or self._is_stuck(now):
            self._transport.abort()
            return
        self._end_stuck_calls(now)
        self.flush_soon()
        self._timer = self._loop.call_later(self._interval, self._look)

    def _is_gone(self, now: float) -> bool:
        """Tell whether the peer does not answer; ask it if nothing has come for a while."""
        if self._heard_at < self._asked_at:
            return now - self._asked_at >= PING_PATIENCE_SECONDS
        # Timers fire a little early.
        if now - self._heard_at >= 0.9 * self._limits.heartbeat_seconds:
            self._asked_at = now
            self.http2.ping()
        return False

    def _is_stuck(self, now: float) -> bool:
        """Tell whether the peer has taken no byte for too long, although some are waiting."""
        if not self._is_paused:
            return False
        size = self._transport.get_write_buffer_size()
        if self._paused_at is None or self._paused_at[0] != size:
            self._paused_at = size, now
        return now - self._paused_at[1] >= self._limits.stall_seconds

    def _end_stuck_calls(self, now: float) -> None:
        stall_seconds = self._limits.stall_seconds
        for call in tuple(self._calls.values()):
            if call.heard_at is not None and now - call.heard_at > stall_seconds:
                call.fail(GrpcFailedError(_UNAVAILABLE, "The request did not come in time"))
        before, self._stuck_at = self._stuck_at, {}
        for stream, taken in self.http2.progress().items():
            since = before.get(stream, (taken, now))
            if since[0] != taken:
                since = taken, now
            # Whoever follows events is told first that its reader is stuck.
            if now - since[1] > 2 * stall_seconds:
                self._cut(stream)
            else:
                self._stuck_at[stream] = since

    def _cut(self, stream: int) -> None:
        self.http2.reset(stream, ErrorCode.CANCEL)
        if stream in self._calls:
            self._calls[stream].abandon()
