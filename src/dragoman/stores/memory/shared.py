"""SharedMemoryTaskStore: the SharedTaskStore port in memory: several replicas in one process.

For tests of what replicas do to each other: each has a store of its own, all with the same records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dragoman.clock import Clock, SystemClock
from dragoman.errors import ConflictError, SentBeforeError, StoreError, UnreadError
from dragoman.stores.base import InboxItem, Placed
from dragoman.stores.memory.store import MemoryRecords, MemoryTask, MemoryTaskStore

if TYPE_CHECKING:
    from dragoman.stores.base import Scope, SendRecord, StoredTask, TaskWrite

__all__ = ("SharedMemoryTaskStore",)


class SharedMemoryTaskStore(MemoryTaskStore):
    """The task log in memory, for one of several replicas. See ``SharedTaskStore``.

    Args:
        records: those of the other replicas.
        clock: the one by which leases run out, the same for all of them.
    """

    def __init__(self, records: MemoryRecords | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(records)
        self._clock = clock or SystemClock()
        self._replica_id = ""
        self._lease_ms = 0

    def beside(self) -> SharedMemoryTaskStore:
        """Return the store of another replica."""
        return SharedMemoryTaskStore(self._records, clock=self._clock)

    async def join(self, replica_id: str, *, lease_seconds: float) -> None:
        """Write as this replica from now on."""
        self._replica_id = replica_id
        self._lease_ms = round(lease_seconds * 1000)
        await self.beat()

    async def beat(self) -> bool:
        """Renew the lease; False if it had run out."""
        was_alive = self._is_alive(self._replica_id)

        def change() -> None:
            self._records.leases[self._replica_id] = self._clock.now_ms() + self._lease_ms

        await self._changed(change)
        return was_alive

    async def leave(self) -> None:
        """End the lease at once."""

        def change() -> None:
            self._records.leases.pop(self._replica_id, None)

        await self._changed(change)

    async def next_lapse(self) -> float | None:
        """Return in how many seconds the next lease of another replica runs out."""
        now_ms = self._clock.now_ms()
        leases = self._records.leases.items()
        left = [end_ms - now_ms for each, end_ms in leases if each != self._replica_id]
        return min((ms / 1000 for ms in left if ms > 0), default=None)

    async def release(self, task_id: str, epoch: int) -> None:
        """Hold a task no longer."""

        def change() -> None:
            task = self._tasks.get(task_id)
            if task is not None and task.epoch == epoch:
                task.holder = ""

        await self._changed(change)

    async def post(self, task_id: str, body: bytes, send: SendRecord | None) -> Placed:
        """Put something into the inbox of a task that another replica holds."""
        placed: list[Placed] = []

        def change() -> StoreError | None:
            task = self._tasks.get(task_id)
            if task is None:
                return ConflictError(task_id)
            if task.state.is_terminal:
                placed.append(Placed(0, task.state, task.seq))
                return None
            if send is not None and (refusal := self._refusal_of_send(send)) is not None:
                return refusal
            task.inbox_n += 1
            task.inbox.append(InboxItem(task.inbox_n, body))
            if send is not None:
                self._sends[send.key] = send
            placed.append(Placed(task.inbox_n, task.state, task.seq))
            return None

        await self._changed(change)
        return placed[0]

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        """Return what lies in the inbox of a task."""
        task = self._tasks.get(task_id)
        return () if task is None else tuple(task.inbox)

    async def filled(self) -> tuple[tuple[Scope, str], ...]:
        """Return the unfinished tasks whose inbox is not empty and that are not elsewhere."""
        return tuple(
            (task.new.scope, task.id)
            for _, task in sorted(self._tasks.items())
            if task.inbox and not task.state.is_terminal and not self._is_elsewhere(task)
        )

    async def moved(self, known: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks have events beyond a number."""
        return tuple(
            task_id
            for task_id, seq in known.items()
            if (task := self._tasks.get(task_id)) is not None and task.seq > seq
        )

    async def lost(self, epochs: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks are under another lease."""
        return tuple(
            task_id
            for task_id, epoch in epochs.items()
            if (task := self._tasks.get(task_id)) is None or task.epoch != epoch
        )

    def _is_alive(self, replica_id: str) -> bool:
        return self._records.leases.get(replica_id, 0) > self._clock.now_ms()

    def _hold(self, task: MemoryTask) -> None:
        task.holder = self._replica_id

    def _refusal(self, task: MemoryTask, write: TaskWrite) -> StoreError | None:
        if write.inbox_seen is not None and task.inbox_n > write.inbox_seen:
            return UnreadError(task.id)
        return None if write.send is None else self._refusal_of_send(write.send)

    def _refusal_of_send(self, record: SendRecord) -> StoreError | None:
        before = self._sends.get(record.key)
        if before is None or not record.since_ms or before.digest != record.digest:
            return None
        is_recent = before.at_ms >= record.since_ms
        return SentBeforeError(record.key.message_id) if is_recent else None

    def _is_held(self, task: MemoryTask) -> bool:
        return self._is_alive(task.holder)

    def _is_elsewhere(self, task: MemoryTask) -> bool:
        return task.holder != self._replica_id and self._is_alive(task.holder)

    def _stored(self, task: MemoryTask) -> StoredTask:
        stored = super()._stored(task)
        if task.state.is_terminal:
            return stored
        return replace(
            stored,
            holder=task.holder,
            is_elsewhere=self._is_elsewhere(task),
            inbox_n=task.inbox_n,
        )
