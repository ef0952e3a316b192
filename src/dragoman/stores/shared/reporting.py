"""Waiting for a write that says by a callback what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dragoman.errors import StoreError
from dragoman.stores.base import Done

__all__ = ("reported",)


async def reported(write: Callable[[Done], None]) -> None:
    """Begin a write, and wait for its report; raises the StoreError that it names."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def report(error: StoreError | None) -> None:
        # Whoever waited may have been cancelled meanwhile.
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    write(report)
    await future
