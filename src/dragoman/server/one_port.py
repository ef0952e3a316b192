"""One port: uvicorn, taught to end streams before it waits for them and to cut what is stuck."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from dragoman.server.exchange import ABORT, REPLY
from dragoman.server.http_cycle import CycleProtocol

__all__ = ("Protocol", "Server")


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

    def on_message_begin(self) -> None:
        """Put it into the scope of each request."""
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item] - uvicorn types fewer keys


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
