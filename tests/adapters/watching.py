"""Waiting for what another process does, which tells nobody of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ("until",)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, for half a minute at most."""
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - it is a file that is waited for
            await asyncio.sleep(0.02)
