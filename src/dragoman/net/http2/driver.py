"""One connection of HTTP/2 on asyncio.

It moves bytes between the transport and the Connection, hands what happens on streams to a
StreamHandler, and ends what is stuck. What the peer does not read is not made, so that it cannot
fill our memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, cast

from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.events import LastStreamTold
from dragoman.net.http2.protocol.sending import ROOM
from dragoman.net.http2.watch import Watch
from dragoman.net.limits import ConnectionLimits
from dragoman.net.peer import Peer, peer_of

if TYPE_CHECKING:
    from dragoman.net.http2.protocol.events import Event

__all__ = ("Host", "Http2Protocol", "StreamHandler")

_logger = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 2.0
"""How long the last bytes may take to go out, and the peer to close its side."""

MAX_HELD_BYTES: Final = 262_144
"""Answers to pings and the like that wait for a peer which does not read, while it sends more."""

_LATE: Final = "The head of a request did not come in time"


class StreamHandler(Protocol):
    """Serves the requests on the streams of one connection."""

    def handle(self, event: Event, now: float) -> None:
        """Act on what has happened on a stream."""
        ...

    def abandon(self, stream: int) -> None:
        """Forget the request on a stream that was reset."""
        ...

    def abandon_all(self) -> None:
        """Forget all requests: the connection has ended."""
        ...

    def end_late(self, now: float) -> None:
        """End the requests that take too long to come."""
        ...


class Host(Protocol):
    """The server that a connection belongs to."""

    @property
    def limits(self) -> ConnectionLimits:
        """What a peer may do."""
        ...

    def serve(self, connection: Http2Protocol) -> StreamHandler:
        """Return what serves the streams of a connection."""
        ...

    def made(self, connection: Http2Protocol) -> None:
        """Know a connection that has been made."""
        ...

    def drained(self, connection: Http2Protocol) -> None:
        """Know that no more calls come on a connection."""
        ...

    def lost(self, connection: Http2Protocol) -> None:
        """Forget a connection that has ended."""
        ...


class Http2Protocol(asyncio.Protocol):
    """A connection, from its first byte; ``on_lost`` is called when it has ended."""

    def __init__(self, host: Host, on_lost: Callable[[], object] = lambda: None) -> None:
        self.http2: Final = Connection(host.limits.max_header_bytes)
        self.peer: Peer = Peer(None)
        self._host = host
        self._limits = host.limits
        self._on_lost = on_lost
        self._streams = host.serve(self)
        self._will_flush = self._is_paused = self._is_closing = self._has_said_all = False
        self._is_leaving = False

    # --- asyncio --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # The transports of uvloop are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self.peer = peer_of(transport)
        self._loop = asyncio.get_running_loop()
        self._watch = Watch(self.http2, self._limits, self._loop.time())
        self._timer = self._loop.call_later(self._watch.interval, self._look)
        self.flush_soon()
        self._host.made(self)

    def data_received(self, data: bytes) -> None:
        """Act on what has come, and write all that follows from it at once."""
        if self._is_closing:
            return
        now = self._watch.heard_at = self._loop.time()
        # Whoever sends until then need not ask for a flush.
        will_flush, self._will_flush = self._will_flush, True
        self.http2.receive(data, now)
        self._act(now)
        self._will_flush = will_flush
        if not will_flush:
            self._flush()

    def pause_writing(self) -> None:
        """Make nothing more ready to be written."""
        self._is_paused = True
        self.http2.room = 0

    def resume_writing(self) -> None:
        """Go on."""
        self._is_paused = False
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
        self._streams.abandon_all()
        self._host.lost(self)
        self._on_lost()

    # --- for the server -------------------------------------------------------------------------

    def drain(self) -> bool:
        """Ask for no more calls; tell whether the host will hear that none comes any more."""
        if self._is_closing or not self.http2.has_greeted or self.http2.has_told_last:
            return False
        self.http2.drain()
        self.flush_soon()
        return True

    def shutdown(self) -> None:
        """End once all is written, or when that takes too long; uvicorn calls it, too."""
        if not self._is_closing:
            self.http2.close()
            self._close()

    # --- for the stream handler -----------------------------------------------------------------

    def flush_soon(self) -> None:
        """Write what has been sent, with what else is sent in this pass of the loop."""
        if not self._will_flush:
            self._will_flush = True
            self._loop.call_soon(self._flush)

    # --- what happens, and what is written ------------------------------------------------------

    def _act(self, now: float) -> None:
        for event in self.http2.take_events():
            if isinstance(event, LastStreamTold):
                self._host.drained(self)
            else:
                self._streams.handle(event, now)
        if self.http2.failure is not None and not self._is_closing:
            _logger.info("a connection of %s is cut: %s", self.peer.address, self.http2.failure)
            self._close()

    def _flush(self) -> None:
        self._will_flush = False
        while not (self._has_said_all or self._transport.is_closing()):
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
            self._act(self._watch.heard_at)

    def _close(self) -> None:
        """Say the last, then wait a little for the peer to hear it.

        A socket that is closed while something has come that nobody reads is reset, and takes with
        it what has not arrived yet: the reason, or the last answers. So only our side is closed,
        and what comes is thrown away until the peer closes its own.
        """
        self._is_closing = True
        self._flush()
        self._has_said_all = True
        self._streams.abandon_all()
        self._timer.cancel()
        self._timer = self._loop.call_later(CLOSE_SECONDS, self._transport.abort)
        if self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() or not self._transport.can_write_eof():
            self._transport.close()  # Which happens when all is written.
            return
        try:
            self._transport.write_eof()
        except OSError:
            self._transport.abort()  # The peer was faster.

    # --- what is stuck --------------------------------------------------------------------------

    def _look(self) -> None:
        """Look after the connection: is anybody there, does it read, go on, want anything."""
        now = self._loop.time()
        unwritten = self._transport.get_write_buffer_size() if self._is_paused else 0
        if self._watch.is_gone(now) or self._watch.is_stuck(unwritten, now):
            self._transport.abort()
            return
        if self._watch.is_late(now):
            self.http2.fail(ConnectionFailedError(ErrorCode.ENHANCE_YOUR_CALM, _LATE))
            self._act(now)
            return
        if self._watch.is_idle(now) and self._leave():
            return
        self._streams.end_late(now)
        for stream in self._watch.stuck_streams(now):
            self.http2.reset(stream, ErrorCode.CANCEL)
            self._streams.abandon(stream)
        self.flush_soon()
        self._timer = self._loop.call_later(self._watch.interval, self._look)

    def _leave(self) -> bool:
        """Say that no more calls are taken here; tell whether that was said before, and it ends.

        A call that was on its way when its client heard of it is still served.
        """
        if self._is_leaving:
            self.shutdown()
        else:
            self._is_leaving = True
            self.http2.drain()
        return self._is_closing
