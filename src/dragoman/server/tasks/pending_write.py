"""What goes into the next write of a task, and who waits until it is durable.

``Draft`` gathers it, ``is_snapshot_due`` says whether a snapshot goes along, and ``Waiters`` wakes
those who wait for a number of events to be durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from dragoman.engine.machine import Standing
from dragoman.stores.base import (
    WHOLE_INBOX,
    JournalEntry,
    Secret,
    SendRecord,
    TaskWrite,
)

__all__ = ("SNAPSHOT_EVENTS", "Draft", "Waiters", "is_snapshot_due")

SNAPSHOT_EVENTS: Final = 1000
"""A snapshot is written after this many events, later whenever the log has grown by half: then the
snapshots of a task of n events cost no more than a multiple of n."""


def is_snapshot_due(standing: Standing, snapshot_seq: int) -> bool:
    """Tell whether to write one: at an end, at a pause, and now and then in between.

    Args:
        snapshot_seq: the event that the last one was written after.
    """
    state = standing.state
    if state is None:
        return False
    if state.is_terminal or state.is_interrupted:
        return True
    return standing.seq - snapshot_seq >= max(SNAPSHOT_EVENTS, snapshot_seq // 2)


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


class Draft:
    """The next write of one task, as it grows.

    Attributes:
        entries: of the log: events, and messages of the history.
        events: how many of the entries are events.
        inbox_taken: the numbers that leave the inbox; or WHOLE_INBOX.
        send: which send it answers.
    """

    __slots__ = ("entries", "events", "inbox_taken", "journal", "secrets", "send")

    def __init__(self, send: SendRecord | None = None) -> None:
        self.entries: list[bytes] = []
        self.events: int = 0
        self.journal: list[JournalEntry] = []
        self.secrets: list[Secret] = []
        self.inbox_taken: tuple[int, ...] = ()
        self.send = send

    def add_event(self, entry: bytes) -> None:
        """Let it have an event."""
        self.entries.append(entry)
        self.events += 1

    @property
    def is_plain(self) -> bool:
        """Tell whether it has events alone, none of which must be in one write with another."""
        beside = self.journal or self.secrets or self.inbox_taken or self.send
        return not beside and len(self.entries) == self.events

    def take_out(self) -> tuple[tuple[bytes, ...], int]:
        """Take out all entries but the last, which is an event; return them, and their events."""
        entries, events = tuple(self.entries[:-1]), self.events - 1
        self.entries = self.entries[-1:]
        self.events = 1
        return entries, events

    def put_back(self, write: TaskWrite, *, but_for: int) -> None:
        """Have again what was refused, but for this many entries at its end, one being an event."""
        self.entries = list(write.entries[: len(write.entries) - but_for])
        self.events = write.events - 1
        self.journal[:0] = write.journal
        self.secrets[:0] = write.secrets
        self.inbox_taken += tuple(n for n in write.inbox_taken if n != WHOLE_INBOX)
        self.send = write.send
