"""Serving: an MCP server over standard input and output, or over HTTP."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    import socket

    from mcp.server import Server

__all__ = ("PATH", "is_local", "serve_http", "serve_stdio")

PATH: Final = "/mcp"
"""Where the server is, over HTTP."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the process that has started this one, until it closes our standard input."""
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


async def serve_http(
    server: Server[Any], host: str, listener: socket.socket, on_started: Callable[[], None]
) -> None:
    """Serve whoever reaches the address, until the process is told to stop, or this is canceled.

    On an address of this machine alone, requests that were meant for another name are refused:
    a web page cannot have the browser of somebody here call us.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH, host="127.0.0.1" if is_local(host) else host
    )
    config = uvicorn.Config(
        app, loop="none", ws="none", lifespan="on", log_config=None, access_log=False
    )
    announcing = _Announcing(config, on_started)
    try:
        await announcing.serve(sockets=[listener])
    except asyncio.CancelledError:
        # Left like this, uvicorn would go on to serve: it stops by signals alone.
        if announcing.started:
            announcing.force_exit = True
            await announcing.shutdown(sockets=[listener])
        raise


def is_local(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Announcing(uvicorn.Server):
    """Tells when it serves."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell it."""
        await super().startup(sockets)
        self._on_started()
