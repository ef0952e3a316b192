"""The stores that are held against the contract, and words for what is done to them.

A store joins by a line in ``STORES``: a name, and a function that makes an unopened store in a
directory.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from dragoman.errors import StoreError
from dragoman.model.documents import TaskDocument
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.stores.base import (
    JournalEntry,
    NewTask,
    Position,
    Scope,
    SendKey,
    SendRecord,
    StoredPage,
    StoredTask,
    TaskQuery,
    TaskStore,
    TaskWrite,
)
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.stores.postgres.store import PostgresTaskStore
from dragoman.stores.sqlite.store import SQLiteTaskStore
from dragoman.stores.webhooks import EventKind, NewWebhook
from tests.support.postgres import database_for

__all__ = (
    "ALICE",
    "BOB",
    "COMPLETED",
    "OTHER_TENANT",
    "STORES",
    "WORKING",
    "all_pages",
    "chunk",
    "creation",
    "event",
    "events",
    "journal_entry",
    "load",
    "message",
    "move",
    "page_of",
    "plan",
    "registration",
    "remember",
    "send",
    "snapshot",
    "with_journal",
    "with_webhook",
    "write",
    "write_together",
)

STORES: Final[dict[str, Callable[[Path], TaskStore]]] = {
    "memory": lambda _: MemoryTaskStore(),
    "shared memory": lambda _: SharedMemoryTaskStore(),
    "sqlite": lambda directory: SQLiteTaskStore(directory / "tasks.db"),
    "postgres": lambda directory: PostgresTaskStore(database_for(directory)),
}

ALICE: Final = Scope("", "alice")
BOB: Final = Scope("", "bob")
OTHER_TENANT: Final = Scope("acme", "alice")

WORKING: Final = TaskState.WORKING
COMPLETED: Final = TaskState.COMPLETED


# --- values -------------------------------------------------------------------------------------


def message(text: str) -> bytes:
    return b'{"message":{"messageId":"%s"}}' % text.encode()


def event(text: str) -> bytes:
    return b'{"artifactUpdate":{"x":"%s"}}' % text.encode()


def snapshot(text: str) -> TaskDocument:
    return TaskDocument(b'{"id":"%s"}' % text.encode(), b"[]", b'[{"messageId":"m"}]')


def send(
    message_id: str, *, at_ms: int = 1000, scope: Scope = ALICE, task_id: str = "t1"
) -> SendRecord:
    key = SendKey(scope, message_id)
    return SendRecord(key=key, digest=b"digest", at_ms=at_ms, task_id=task_id, reply=b"")


def creation(
    task_id: str = "t1",
    *,
    scope: Scope = ALICE,
    context_id: str = "c1",
    state: TaskState = WORKING,
    at_ms: int = 1000,
    document: TaskDocument | None = None,
    record: SendRecord | None = None,
    alias: str = "",
) -> TaskWrite:
    return TaskWrite(
        task_id=task_id,
        epoch=1,
        expected_seq=0,
        created=NewTask(
            scope=scope,
            context_id=context_id,
            skill_id="echo",
            origin_dialect="1.0",
            created_ms=900,
            alias=alias,
        ),
        entries=(message("hello"), event("1")),
        events=1,
        state=state,
        status_at_ms=at_ms,
        snapshot=document,
        send=record,
    )


def chunk(
    seq: int,
    *,
    task_id: str = "t1",
    epoch: int = 1,
    entries: tuple[bytes, ...] | None = None,
    events: int = 1,
) -> TaskWrite:
    """A pure append: it leaves the state and the snapshot alone."""
    return TaskWrite(
        task_id=task_id,
        epoch=epoch,
        expected_seq=seq,
        entries=entries or tuple(event(str(seq + n + 1)) for n in range(events)),
        events=events,
    )


def move(
    seq: int,
    state: TaskState,
    *,
    task_id: str = "t1",
    epoch: int = 1,
    at_ms: int = 2000,
    document: TaskDocument | None = None,
    inbox_taken: tuple[int, ...] = (),
) -> TaskWrite:
    return TaskWrite(
        task_id=task_id,
        epoch=epoch,
        expected_seq=seq,
        entries=(event(str(seq + 1)),),
        events=1,
        state=state,
        status_at_ms=at_ms,
        snapshot=document,
        inbox_taken=inbox_taken,
    )


def registration(
    webhook_id: str = "w1",
    *,
    url: str = "https://hooks.example/a",
    host: str = "hooks.example",
    wants: tuple[EventKind, ...] = ("states",),
    created_ms: int = 500,
) -> NewWebhook:
    return NewWebhook(
        config=TaskPushNotificationConfig(
            id=webhook_id,
            task_id="t1",
            url=url,
            token="secret",  # noqa: S106 - a made-up one
            authentication=AuthenticationInfo(scheme="Bearer", credentials="hush"),
        ),
        dialect="1.0",
        host=host,
        created_ms=created_ms,
        wants=wants,
    )


def with_webhook(made: TaskWrite, new: NewWebhook, at_ms: int = 1000) -> TaskWrite:
    assert made.created is not None
    return replace(made, created=replace(made.created, webhook=new), at_ms=at_ms)


# --- doing --------------------------------------------------------------------------------------


async def write_together(store: TaskStore, *writes: TaskWrite) -> list[StoreError | None]:
    """Hand over writes in one pass of the loop and return their outcomes in order of reporting."""
    outcomes: list[tuple[int, StoreError | None]] = []
    finished = asyncio.get_running_loop().create_future()

    def hear(number: int, outcome: StoreError | None) -> None:
        outcomes.append((number, outcome))
        if len(outcomes) == len(writes):
            finished.set_result(None)

    for number, write in enumerate(writes):
        store.append(write, lambda outcome, number=number: hear(number, outcome))
    async with asyncio.timeout(10):
        await finished
    assert [number for number, _ in outcomes] == list(range(len(writes)))
    return [outcome for _, outcome in outcomes]


async def write(store: TaskStore, *writes: TaskWrite) -> None:
    """Write one after the other; all must succeed."""
    for each in writes:
        assert await write_together(store, each) == [None]


async def remember(store: TaskStore, record: SendRecord) -> None:
    future: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
    store.remember_send(record, future.set_result)
    assert await future is None


async def load(store: TaskStore, task_id: str = "t1", scope: Scope = ALICE) -> StoredTask:
    task = await store.load(scope, task_id)
    assert task is not None
    return task


async def events(store: TaskStore, after: int = 0, limit: int = 1000) -> list[tuple[int, bytes]]:
    return [(e.seq, e.json) for e in await store.read_events("t1", after=after, limit=limit)]


async def all_pages(store: TaskStore, limit: int, **conditions: object) -> list[StoredTask]:
    tasks: list[StoredTask] = []
    after: Position | None = None
    while True:
        page = await page_of(store, limit=limit, after=after, **conditions)
        tasks += page.tasks
        if not page.has_more:
            return tasks
        after = Position(tasks[-1].status_at_ms, tasks[-1].id)


async def page_of(store: TaskStore, **conditions: object) -> StoredPage:
    values: dict[str, object] = {"scope": ALICE, "limit": 50, **conditions}
    return await store.list_tasks(TaskQuery(**values))  # pyright: ignore[reportArgumentType] - checked by the Struct's users


def journal_entry(n: int) -> JournalEntry:
    return JournalEntry(n=n, kind="step", name=f"step {n}", result=b'{"n":%d}' % n)


def with_journal(seq: int, *numbers: int) -> TaskWrite:
    return TaskWrite(
        task_id="t1",
        epoch=1,
        expected_seq=seq,
        entries=(event(str(seq + 1)),),
        events=1,
        journal=tuple(journal_entry(n) for n in numbers),
    )


def plan(
    seq: int,
    task_id: str = "t1",
    *,
    epoch: int = 1,
    wake_at_ms: int | None = None,
    attempts: int | None = None,
) -> TaskWrite:
    """A write that says nothing but when to wake a task, or how often it was run again."""
    return TaskWrite(
        task_id=task_id,
        epoch=epoch,
        expected_seq=seq,
        entries=(),
        events=0,
        wake_at_ms=wake_at_ms,
        attempts=attempts,
    )
