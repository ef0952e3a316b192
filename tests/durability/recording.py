"""RecordingStore: a TaskStore that notes what it is given, in front of another that keeps it."""

from __future__ import annotations

from dragoman.model.documents import EventDocument
from dragoman.stores.base import (
    Done,
    JournalEntry,
    Scope,
    SendKey,
    SendRecord,
    StoredPage,
    StoredTask,
    TaskQuery,
    TaskStore,
    TaskWrite,
)
from dragoman.stores.webhooks import WebhookStore

__all__ = ("RecordingStore",)


class RecordingStore:
    """Passes everything on. Subclasses say what goes wrong on the way.

    Attributes:
        inner: the store that keeps things.
        writes: every append, in order.
    """

    def __init__(self, inner: TaskStore) -> None:
        self.inner = inner
        self.writes: list[TaskWrite] = []

    @property
    def is_available(self) -> bool:
        return self.inner.is_available

    @property
    def webhooks(self) -> WebhookStore:
        return self.inner.webhooks

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    def append(self, write: TaskWrite, done: Done) -> None:
        self.writes.append(write)
        self.inner.append(write, done)

    def remember_send(self, record: SendRecord, done: Done) -> None:
        self.inner.remember_send(record, done)

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        return await self.inner.put_inbox(task_id, body, send, epoch=epoch)

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        return await self.inner.find_send(key, since_ms)

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        return await self.inner.find_alias(scope, alias)

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        return await self.inner.load(scope, task_id)

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        return await self.inner.read_events(task_id, after=after, limit=limit)

    async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
        return await self.inner.read_entries(task_id, until=until)

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        return await self.inner.read_journal(task_id)

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        return await self.inner.read_secret(task_id, n)

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        return await self.inner.list_tasks(query)

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        return await self.inner.at_work(after_id=after_id, limit=limit)

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        return await self.inner.due(now_ms=now_ms, limit=limit)

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        return await self.inner.waiting(before_ms=before_ms, after_id=after_id, limit=limit)

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        return await self.inner.take_over(task_id, epoch, attempts=attempts)

    async def forget_sends(self, before_ms: int) -> None:
        await self.inner.forget_sends(before_ms)

    async def delete_ended(self, before_ms: int) -> int:
        return await self.inner.delete_ended(before_ms)
