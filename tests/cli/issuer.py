"""An issuer of tokens for the command line: the authority of the scenarios, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread

from tests.scenarios.authority import Authority, listening

__all__ = ("issuing",)


@contextmanager
def issuing() -> Generator[Authority]:
    """Serve an authority that agrees at once, on a free port of the loopback."""
    authority = Authority()
    authority.interval, authority.has_agreed = 0.05, True
    started, stopped = Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with listening(authority) as url:
            authority.url = url
            started.set()
            await stopped.wait()

    thread = Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield authority
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join(10)
        loop.close()
