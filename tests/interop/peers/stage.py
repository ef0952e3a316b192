"""Where an agent made with a Python SDK is served: on ports of the system's choice, for one caller.

A server beside this file (``serve_py_1_3.py`` and so on) is run by that SDK's own python, without
arguments. It prints one line of JSON when it can be called, ``{"url": "http://127.0.0.1:4711"}``,
and ends when its standard input does: whoever started it closes that, be it by ending itself.
"""

# What serves is not installed where pyright looks, on purpose.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import uvicorn

__all__ = ("listen", "serve")


def listen() -> tuple[socket.socket, str]:
    """Take a port; return what listens there, and its URL. Who connects waits for ``serve``."""
    # With its protocol named, asyncio sends small frames without delay.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener, "http://{}:{}".format(*listener.getsockname())


async def serve(app: Any, listener: socket.socket, url: str, path: str = "") -> None:
    """Serve an ASGI app until standard input ends; its agent is at the path."""
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    def end() -> None:
        loop.remove_reader(sys.stdin)
        server.should_exit = True

    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, end)
    sys.stdout.write(json.dumps({"url": url + path}) + "\n")
    sys.stdout.flush()
    await server.serve(sockets=[listener])
