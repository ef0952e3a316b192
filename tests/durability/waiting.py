"""Waiting for something to become true: looked at again and again, but not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

__all__ = ("PATIENCE_SECONDS", "find", "until")

PATIENCE_SECONDS: Final = 15
_PAUSE_SECONDS: Final = 0.005

T = TypeVar("T")


async def find(
    look: Callable[[], Awaitable[T | None]], *, patience_seconds: float = PATIENCE_SECONDS
) -> T:
    """Look until there is something to see, and return it."""
    async with asyncio.timeout(patience_seconds):
        while True:
            found = await look()
            if found is not None:
                return found
            await asyncio.sleep(_PAUSE_SECONDS)


async def until(
    condition: Callable[[], bool], *, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until something is true."""

    async def look() -> bool | None:
        return condition() or None

    await find(look, patience_seconds=patience_seconds)
