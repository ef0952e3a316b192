"""One port: uvicorn, taught to hand on HTTP/2, to end its streams in time, to cut what is stuck."""

from __future__ import annotations

import asyncio
import signal
import socket
import typing
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn

from dragoman.net.http1.server import Http1Protocol
from dragoman.net.http2.protocol.frames import PREFACE
from dragoman.net.limits import ConnectionLimits

if TYPE_CHECKING:
    from types import FrameType

    from uvicorn.server import ServerState

__all__ = ("Backend", "FirstBytes", "Server", "speaking_both")

_LAST_LOOK_SECONDS: Final = 0.01
"""Long enough for the loop to read what has come."""


class Backend(typing.Protocol):
    """Whoever serves HTTP/2."""

    def accept(self, on_lost: Callable[[], object]) -> asyncio.Protocol | None:
        """Return what serves a connection, None if it must be cut.

        It has ``shutdown``, which uvicorn calls when it stops, and calls ``on_lost`` at its end.
        """
        ...


class FirstBytes(asyncio.Protocol):
    """A connection that has not said yet what it speaks.

    Its first bytes decide; then it belongs to HTTP/1.1 or to the HTTP/2 server, and this is out of
    the way. One that does not say within the time that a connection may idle is cut.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        http2: Backend,
        limits: ConnectionLimits,
    ) -> None:
        self._speak_http1 = partial(
            Http1Protocol, config, server_state, app_state, _loop, limits=limits
        )
        self._http2 = http2
        self._decision_seconds = limits.keep_alive_seconds
        # uvicorn asks no more of a connection than to be in this set and to have ``shutdown``.
        self._connections: set[Any] = server_state.connections
        self._first = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first bytes, but not forever."""
        # The transports of uvloop are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._decision_seconds, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Decide as soon as that is possible."""
        first = self._first = self._first + data
        if first.startswith(PREFACE):
            self._leave()
            self._hand_over(self._speak_http2(), first)
        elif not PREFACE.startswith(first):
            self._leave()
            self._hand_over(self._speak_http1(), first)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be done; it never said anything."""
        del exc
        self._leave()

    def shutdown(self) -> None:
        """End, as uvicorn asks of every connection when it stops."""
        self._transport.close()

    def _speak_http2(self) -> asyncio.Protocol | None:
        protocol = self._http2.accept(lambda: self._connections.discard(protocol))
        if protocol is not None:
            self._connections.add(protocol)
        return protocol

    def _hand_over(self, protocol: asyncio.Protocol | None, first: bytes) -> None:
        if protocol is None:
            self._transport.abort()
            return
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(first)

    def _give_up(self) -> None:
        """Cut the connection, unless its bytes wait: a busy loop looks at its timers first."""
        self._timer = self._loop.call_later(_LAST_LOOK_SECONDS, self._transport.abort)

    def _leave(self) -> None:
        self._timer.cancel()
        self._connections.discard(self)


def speaking_both(http2: Backend, limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Return what to give to ``uvicorn.Config`` as ``http`` to serve HTTP/1.1 and HTTP/2."""
    # uvicorn calls it to make a connection, and does not care that it is not a class.
    return cast("type[asyncio.Protocol]", partial(FirstBytes, http2=http2, limits=limits))


class Server(uvicorn.Server):
    """uvicorn with moments to act in: when it has started, and before it stops.

    Args:
        hasten: called when somebody who waits for the stop has pressed Ctrl-C once more.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_started: Callable[[], None],
        before_stop: Callable[[], Awaitable[None]],
        hasten: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._on_started = on_started
        self._before_stop = before_stop
        self._hasten = hasten

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets=sockets)
        self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; by the second Ctrl-C without waiting, but in order, where uvicorn just leaves."""
        if self.should_exit and sig == signal.SIGINT:
            self._loop.call_soon_threadsafe(self._hasten)
        else:
            super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, let the application end its streams, then wait for the rest."""
        for server in self.servers:
            server.close()
        await self._before_stop()
        await super().shutdown(sockets=sockets)
