"""One port: uvicorn, taught to hand on HTTP/2, to end its streams in time, to cut what is stuck."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn

from dragoman.server.exchange import ABORT, REPLY, TLS
from dragoman.server.http_cycle import CycleProtocol
from dragoman.server.http_watch import DEFAULT_LIMITS
from dragoman.server.limits import ConnectionLimits
from dragoman.server.peers import peer_of
from dragoman.server.relay import Backend, Near

if TYPE_CHECKING:
    from uvicorn.server import ServerState

__all__ = ("FirstBytes", "Protocol", "Server", "speaking_both")

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""How every HTTP/2 connection begins (RFC 9113, 3.4); no request of HTTP/1.1 begins so."""


class Protocol(CycleProtocol):
    """An HTTP/1.1 connection that its application may cut.

    Closing politely waits until the peer has taken everything, which one that is stuck never does.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] - as in uvicorn
        """Keep the way to cut the connection for all its requests."""
        super().connection_made(transport)
        self._extensions: dict[str, dict[str, Any]] = {
            ABORT: {"call": transport.abort},
            REPLY: {},
        }
        if certificate := peer_of(transport).certificate:
            self._extensions[TLS] = {"client_cert_chain": (certificate,)}

    def on_message_begin(self) -> None:
        """Put it into the scope of each request."""
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item] - uvicorn types fewer keys


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
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        self._speak_http1 = partial(Protocol, config, server_state, app_state, _loop, limits=limits)
        self._http2 = http2
        self._patience_seconds = limits.keep_alive_seconds
        # uvicorn asks no more of a connection than to be in this set and to have ``shutdown``.
        self._connections = cast("set[object]", server_state.connections)
        self._first = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first bytes, but not forever."""
        # The transports of uvloop are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._patience_seconds, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        """Decide as soon as that is possible."""
        first = self._first = self._first + data
        if first.startswith(PREFACE):
            self._leave()
            near = Near(self._transport)
            self._connections.add(near)
            near.lost.add_done_callback(lambda _: self._connections.discard(near))
            self._http2.serve(near, first)
        elif not PREFACE.startswith(first):
            self._leave()
            protocol = self._speak_http1()
            self._transport.set_protocol(protocol)
            protocol.connection_made(self._transport)
            protocol.data_received(first)

    def connection_lost(self, exc: Exception | None) -> None:
        """Be done; it never said anything."""
        del exc
        self._leave()

    def shutdown(self) -> None:
        """End, as uvicorn asks of every connection when it stops."""
        self._transport.close()

    def _leave(self) -> None:
        self._timer.cancel()
        self._connections.discard(self)


def speaking_both(
    http2: Backend, limits: ConnectionLimits = DEFAULT_LIMITS
) -> type[asyncio.Protocol]:
    """Return what to give to ``uvicorn.Config`` as ``http`` to serve HTTP/1.1 and HTTP/2."""
    # uvicorn calls it to make a connection, and does not care that it is not a class.
    return cast("type[asyncio.Protocol]", partial(FirstBytes, http2=http2, limits=limits))


class Server(uvicorn.Server):
    """uvicorn with two moments to act in: when it has started, and before it stops."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_started: Callable[[], None],
        before_stop: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(config)
        self._on_started = on_started
        self._before_stop = before_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets=sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, let the application end its streams, then wait for the rest."""
        for server in self.servers:
            server.close()
        await self._before_stop()
        await super().shutdown(sockets=sockets)
