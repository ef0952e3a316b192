"""served: an agent on a real socket, for clients that are not of this process or not in Python."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn

from dragoman.bindings.grpc.base import is_installed
from dragoman.client.sync import entered_in_thread
from dragoman.net.port import Server, speaking_both
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.testing.application import application

if TYPE_CHECKING:
    from dragoman.clock import Clock
    from dragoman.server.app import App
    from dragoman.server.assembly import PublishedAgent
    from dragoman.stores.base import TaskStore

__all__ = ("Served", "served", "served_app", "served_sync")

_SPARE_SECONDS: Final = 1
"""For answers that are still on their way out when the agent stops."""


class Served:
    """An agent that answers at ``url``; ``app`` is what answers."""

    def __init__(self, app: App, url: str) -> None:
        """Name the place."""
        self.app = app
        self.url = url


@asynccontextmanager
async def served(
    agent: PublishedAgent,
    *,
    store: str | TaskStore = "memory:",
    clock: Clock | None = None,
    **settings: object,
) -> AsyncGenerator[Served]:
    """Serve an agent on a free port of the loopback.

    Used as ``async with served(agent) as place:``. It speaks JSON-RPC, HTTP+JSON and gRPC there, in
    this process and on this loop. Signals are left to the test runner.

    Args:
        store: where tasks are kept: a URL, or a store.
        clock: the time of the server, such as a ``FakeClock``.
        settings: of the server, see ``dragoman.server.settings``; those of the environment do not
            count.

    Raises:
        UsageError: a setting or the agent itself is wrong.
    """
    app = application(agent, store=store, clock=clock, settings=settings)
    async with served_app(app) as place:
        yield place


@asynccontextmanager
async def served_app(app: App) -> AsyncGenerator[Served]:
    """Serve an application on a free port of the loopback; see ``served``.

    For one that ``dragoman.server.assembly`` has made, of a service of your own say.
    """
    if is_installed():
        app.offer_grpc()
    started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wind_down() -> None:
        await app.runtime.drain()
        await app.grpc.stop(_SPARE_SECONDS)

    config = uvicorn.Config(
        app,
        http=speaking_both(app.grpc, app.connection_limits),
        log_config=None,
        ws="none",
        access_log=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=_SPARE_SECONDS,
    )
    server = Server(config, on_started=lambda: started.set_result(None), before_stop=wind_down)
    # Before the server, whose own way to tell of a failed start is to log it and end.
    await app.runtime.start()
    background = BackgroundTasks()
    with _listen() as listener:
        serving = background.spawn(_serve(server, listener), name="served agent")
        try:
            await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED)
            if not started.done():
                raise RuntimeError("the server ended before it started")
            host, port = listener.getsockname()
            yield Served(app, f"http://{host}:{port}")
        finally:
            server.should_exit = True
            await serving
            await app.runtime.stop()


@contextmanager
def served_sync(
    agent: PublishedAgent,
    *,
    store: str | TaskStore = "memory:",
    clock: Clock | None = None,
    **settings: object,
) -> Generator[Served]:
    """Serve an agent from a thread of its own.

    Used as ``with served_sync(agent) as place:``, by tests that block, on a program that calls the
    agent say. It takes what ``served`` takes.
    """
    with entered_in_thread(served(agent, store=store, clock=clock, **settings)) as (place, _):
        yield place


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    # Without the signal handling of Server.serve.
    await server._serve(sockets=[listener])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - uvicorn has no public form of this


def _listen() -> socket.socket:
    # With its protocol named, asyncio sends small frames without delay.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    return listener
