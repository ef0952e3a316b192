"""Waiters: those who wait until something of a task is durable, or until it stops.

How much of a task has been enqueued, and how much of it is durable, is told by *marks*: numbers
that only grow. Whoever waits for a mark goes on when the store has reached it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

__all__ = ("Waiters",)

Waiting = list[tuple[int, asyncio.Future[None]]]


class Waiters:
    """Those who wait for one task."""

    __slots__ = ("_durable", "_settled")

    def __init__(self) -> None:
        self._durable: Waiting = []
        self._settled: Waiting = []

    @property
    def is_any(self) -> bool:
        """Tell whether somebody still waits."""
        return any(not waiter.done() for _, waiter in (*self._durable, *self._settled))

    def add_durable(self, mark: int, waiter: asyncio.Future[None]) -> None:
        """Let one wait until this mark is durable."""
        self._durable.append((mark, waiter))

    def add_settled(self, seq: int, waiters: Iterable[asyncio.Future[None]]) -> None:
        """Let some wait for a commit at or after event ``seq`` that ends or pauses the task."""
        self._settled.extend((seq, waiter) for waiter in waiters)

    def release(self, mark: int, seq: int, *, is_settled: bool) -> None:
        """Let those go on who waited for what has just become durable."""
        if self._durable:
            self._durable = _release(self._durable, mark)
        if self._settled and is_settled:
            self._settled = _release(self._settled, seq)

    def forget_numbers(self) -> None:
        """Let the next end or pause do for all: the events they waited for are gone."""
        self._settled = [(0, waiter) for _, waiter in self._settled]

    def fail(self, error: Exception, others: Iterable[asyncio.Future[None]] = ()) -> None:
        """Tell all of them, and the others, that the wait is in vain."""
        waiters = [*(waiter for _, waiter in (*self._durable, *self._settled)), *others]
        self._durable.clear()
        self._settled.clear()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)
                waiter.exception()  # Perhaps nobody looks at it any more; that is no fault.


def _release(waiters: Waiting, mark: int) -> Waiting:
    """Resolve the waiters up to a mark and return the others."""
    waiting: Waiting = []
    for item in waiters:
        if item[0] > mark:
            waiting.append(item)
        elif not item[1].done():
            item[1].set_result(None)
    return waiting
