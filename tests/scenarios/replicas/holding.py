"""Replicas in memory whose stores are in the hands of the test: away, or slow at a certain place.

What goes wrong between replicas goes wrong between two steps of one of them. A place that is closed
makes it stand there, so that it happens every time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from dragoman.clock import Clock
from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.stores.base import (
    Done,
    InboxItem,
    JournalEntry,
    Placed,
    Scope,
    SendRecord,
    StoredTask,
    TaskWrite,
)
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryRecords
from tests.scenarios.replicas.replicas import Member, Replicas, in_memory

__all__ = ("HoldingStore", "Place", "hold", "replicas_in_hand", "settle")

_PASSES: Final = 60
"""Passes of the loop in which all that takes no time gets done, at one replica after another."""


class Place:
    """A place on the way to the store, or back. While it is closed, who gets there waits."""

    def __init__(self) -> None:
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._is_reached = asyncio.Event()

    def close(self) -> None:
        """Let nobody through from now on."""
        self._is_open.clear()
        self._is_reached.clear()

    def open(self) -> None:
        """Let through who waits, and who comes."""
        self._is_open.set()

    @property
    def is_open(self) -> bool:
        """Tell whether nobody has to wait."""
        return self._is_open.is_set()

    @property
    def is_reached(self) -> bool:
        """Tell whether somebody has got there since it was closed."""
        return self._is_reached.is_set()

    def note_reached(self) -> None:
        """Note that somebody is there."""
        self._is_reached.set()

    async def until_reached(self) -> None:
        """Wait until somebody is there. No time passes for the replicas."""
        async with asyncio.timeout(10):
            await self._is_reached.wait()

    async def walk_through(self) -> None:
        """Go on when it is open."""
        self.note_reached()
        await self._is_open.wait()


class HoldingStore(SharedMemoryTaskStore):
    """The store of one replica.

    Attributes:
        is_away: nothing can be asked of it.
        is_lease_away: the lease cannot be renewed, which is done by a connection of its own.
        writing: before writes of tasks; they stay in order.
        posting: before messages are left for the holder of a task.
        putting: before the holder of a task puts a message into its inbox.
        posted: behind messages that the holder of a task has put into its inbox.
        read: behind inboxes that were read.
        taking: before tasks are taken over.
        losing: behind looks at which tasks others have taken over.
    """

    def __init__(self, records: MemoryRecords | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(records, clock=clock)
        self.is_away = False
        self.is_lease_away = False
        self.writing = Place()
        self.posting = Place()
        self.putting = Place()
        self.posted = Place()
        self.read = Place()
        self.taking = Place()
        self.losing = Place()
        self._held: list[tuple[TaskWrite, Done]] = []

    def let_writes_go(self, beside: Callable[[], None] | None = None) -> None:
        """Let the writes through that wait, and those that come.

        Args:
            beside: called whenever what became of one that waited is about to be told.
        """
        self.writing.open()
        held, self._held = self._held, []
        for write, done in held:
            super().append(write, done if beside is None else partial(_tell, done, beside))

    def lose_writes(self) -> None:
        """Let the writes fail that wait; those that come go through."""
        self.writing.open()
        held, self._held = self._held, []
        for _, done in held:
            done(StoreUnavailableError("lost"))

    def append(self, write: TaskWrite, done: Done) -> None:
        if self.writing.is_open:
            super().append(write, done)
        else:
            self._held.append((write, done))
            self.writing.note_reached()

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        await self.putting.walk_through()
        self._check()
        number = await super().put_inbox(task_id, body, send, epoch=epoch)
        await self.posted.walk_through()
        return number

    async def post(self, task_id: str, body: bytes, send: SendRecord | None) -> Placed:
        await self.posting.walk_through()
        return await super().post(task_id, body, send)

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        items = await super().read_inbox(task_id)
        await self.read.walk_through()
        return items

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        self._check()
        await self.taking.walk_through()
        return await super().take_over(task_id, epoch, attempts=attempts)

    async def beat(self) -> bool:
        if self.is_lease_away:
            raise StoreUnavailableError("away")
        return await super().beat()

    async def lost(self, epochs: Mapping[str, int]) -> tuple[str, ...]:
        self._check()
        lost = await super().lost(epochs)
        await self.losing.walk_through()
        return lost

    async def moved(self, known: Mapping[str, int]) -> tuple[str, ...]:
        self._check()
        return await super().moved(known)

    async def filled(self) -> tuple[tuple[Scope, str], ...]:
        self._check()
        return await super().filled()

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        self._check()
        return await super().at_work(after_id=after_id, limit=limit)

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        self._check()
        return await super().due(now_ms=now_ms, limit=limit)

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        self._check()
        return await super().waiting(before_ms=before_ms, after_id=after_id, limit=limit)

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        self._check()
        return await super().load(scope, task_id)

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        self._check()
        return await super().read_journal(task_id)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailableError("away")


def _tell(done: Done, beside: Callable[[], None], error: StoreError | None) -> None:
    beside()
    done(error)


def hold(member: Member) -> HoldingStore:
    """Return the store of a replica that is in the hands of the test."""
    assert isinstance(member.store, HoldingStore)
    return member.store


async def settle() -> None:
    """Let everything happen that takes no time."""
    for _ in range(_PASSES):
        await asyncio.sleep(0)


async def replicas_in_hand() -> AsyncIterator[Replicas]:
    """Yield replicas whose stores are in the hands of the test, as a fixture does."""
    async with AsyncExitStack() as resources:
        yield Replicas(in_memory(HoldingStore), resources)
