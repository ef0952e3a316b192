"""Inbox: a bounded queue that can be closed; what was put in before is still handed out."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

__all__ = ("Inbox",)

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items in the order in which they came. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        """Begin empty; ``most`` items may wait."""
        self._most = most
        self._items: deque[T] = deque()
        self._news = asyncio.Event()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Tell whether nothing more is taken."""
        return self._is_closed

    def offer(self, item: T) -> bool:
        """Take an item; False if there is no room for it, or the inbox is closed."""
        if self._is_closed or len(self._items) >= self._most:
            return False
        self._items.append(item)
        self._news.set()
        return True

    def close(self) -> None:
        """Take nothing more; who waits is told when everything was handed out."""
        self._is_closed = True
        self._news.set()

    def __aiter__(self) -> Inbox[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._is_closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._items.popleft()
