"""Serving a small application beside a command, for as long as the command runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn

from dragoman.push.receiving.exchange import ASGIApp

__all__ = ("served",)

_GRACE_SECONDS: Final = 2
"""For answers that are still on their way out; each has but a few bytes."""


class _Server(uvicorn.Server):
    """uvicorn that leaves signals to the command, and tells when it has started."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_started = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets=sockets)
        self.has_started.set()


@asynccontextmanager
async def served(app: ASGIApp, listener: socket.socket) -> AsyncGenerator[None]:
    """Serve an application on a port until the block ends, however it ends; then close it."""
    config = uvicorn.Config(
        app,
        loop="none",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(config)
    problem: Exception | None = None
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=[listener]))
        await server.has_started.wait()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            problem = error
        finally:
            server.should_exit = True
            # Also when cancelled: the group would cut what is on its way out.
            await serving
    if problem is not None:
        raise problem
