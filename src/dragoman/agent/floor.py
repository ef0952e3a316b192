"""Floor: who of the branches of a turn may speak.

A task has one caller, and one that asks says nothing else until it is answered. So who asks has the
floor, once those have finished who are speaking; who wants to say something meanwhile waits, and is
not at work for as long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.service.worker import Turn

__all__ = ("Floor",)


class Floor:
    """Taken by one who asks, or shared by those who speak."""

    def __init__(self, turn: Turn) -> None:
        """Begin; nobody speaks or asks."""
        self._turn = turn
        self._speakers = 0
        self._is_taken = False
        self._news = asyncio.Event()

    async def take(self) -> None:
        """Take the floor, to ask; only the moderator of the gatherings does so."""
        self._is_taken = True
        try:
            while self._speakers:
                await self._heard()
        except BaseException:
            self.give_back()
            raise

    def give_back(self) -> None:
        """Let others speak; nothing if it was not taken."""
        self._is_taken = False
        self._news.set()

    @asynccontextmanager
    async def speaking(self) -> AsyncGenerator[None]:
        """Say something, when nobody asks."""
        while self._is_taken:
            async with self._turn.away():
                await self._heard()
        self._speakers += 1
        try:
            yield
        finally:
            self._speakers -= 1
            self._news.set()

    async def _heard(self) -> None:
        """Wait until something has changed."""
        self._news.clear()
        await self._news.wait()
