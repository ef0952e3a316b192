"""The ports of the store, and the values that pass through them.

A task is an append-only sequence of *entries*, each one line of JSON in the form of a 1.0
StreamResponse:

- ``{"statusUpdate":…}`` and ``{"artifactUpdate":…}`` are *events*. They are numbered from 1
  without gaps (``seq``); they are all that streams show.
- ``{"message":…}`` is a message of the task's history. It has no number and stands before the
  event it came with.

Entries that were committed together are stored together as one segment, so a burst of small chunks
costs one row. Beside the log a task has one row: who owns it, where it stands, and a snapshot of
the task as of ``snapshot_seq``. What the task looks like now is the snapshot plus the entries after
it.

The store knows nothing of the protocol's rules; ``dragoman.engine`` decides what is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from dragoman.engine.journal import JournalEntry
from dragoman.errors import StoreError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.tasks import TaskState
from dragoman.stores.scope import Scope
from dragoman.stores.webhooks import NewWebhook, WebhookStore

__all__ = (
    "WHOLE_INBOX",
    "Done",
    "InboxItem",
    "JournalEntry",
    "NewTask",
    "Position",
    "Scope",
    "Secret",
    "SendKey",
    "SendRecord",
    "StoredPage",
    "StoredTask",
    "TaskQuery",
    "TaskStore",
    "TaskWrite",
)


WHOLE_INBOX: Final = 2**63 - 1
"""As ``TaskWrite.inbox_taken``: whatever is there."""


class SendKey(Struct, frozen=True, gc=False, cache_hash=True):
    """What makes a send recognisable when it is tried again; looked up in several places."""

    scope: Scope
    message_id: str


class SendRecord(Struct, frozen=True, kw_only=True, gc=False):
    """What became of a send: the task it began or continued, or the message that answered it."""

    key: SendKey
    digest: bytes
    at_ms: int
    task_id: str = ""
    reply: bytes = b""


class NewTask(Struct, frozen=True, kw_only=True, gc=False):
    """What is written once, when a task is created.

    Attributes:
        alias: the id that its client made up for it (0.1), "" for none.
        webhook: registered with it, and told of everything from its first event on.
    """

    scope: Scope
    context_id: str
    skill_id: str
    origin_dialect: str
    created_ms: int
    alias: str = ""
    webhook: NewWebhook | None = None


class InboxItem(Struct, frozen=True, gc=False):
    """A message, and what came with it, that the task has not taken up yet."""

    n: int
    body: bytes


class Secret(Struct, frozen=True, gc=False):
    """What only a turn of its task may see, encrypted by whoever has written it.

    ``n`` is the number of the result in the journal that it belongs to.
    """

    n: int
    body: bytes


class TaskWrite(Struct, frozen=True, kw_only=True, gc=False):
    """One atomic append to one task. All of it becomes durable, or none.

    Attributes:
        epoch: the lease under which this is written; a newer one in the store refuses the write.
        expected_seq: the last event number the writer knows of (0 for a new task).
        created: set on the first write of a task.
        entries: lines of JSON as the module says; the last one is an event. A write that has only
            a journal has none.
        events: how many of the entries are events.
        state, status_at_ms: where the task stands after this write; None leaves the row untouched.
        snapshot: the task after this write, or None to keep the older snapshot.
        inbox_taken: inbox items up to this number are taken up by this write; 0 for none.
        journal: results recorded with this write.
        wake_at_ms: when the task is to be woken although nobody asks, 0 for not at all; None keeps
            what was said before.
        attempts: how often the task was run again since it last got on; None keeps the count.
        send: the send this write answers, to recognise when it is tried again.
        secrets: what is kept with it until the task ends. The write that ends a task removes all
            secrets of it.
        at_ms: when this was written; webhooks of the task have something to tell since then.
    """

    task_id: str
    epoch: int
    expected_seq: int
    created: NewTask | None = None
    entries: tuple[bytes, ...]
    events: int
    state: TaskState | None = None
    status_at_ms: int = 0
    snapshot: TaskDocument | None = None
    inbox_taken: int = 0
    journal: tuple[JournalEntry, ...] = ()
    wake_at_ms: int | None = None
    attempts: int | None = None
    send: SendRecord | None = None
    secrets: tuple[Secret, ...] = ()
    at_ms: int = 0


class StoredTask(Struct, frozen=True, kw_only=True, gc=False):
    """A task as the store has it.

    ``tail`` is every entry after the snapshot, oldest first; ``snapshot`` is None while no snapshot
    has been written. ``seq`` is the number of the last event. The inbox of a task that has ended is
    not loaded.
    """

    id: str
    scope: Scope
    context_id: str
    skill_id: str
    origin_dialect: str
    created_ms: int
    state: TaskState
    status_at_ms: int
    epoch: int
    seq: int
    snapshot: TaskDocument | None
    snapshot_seq: int
    wake_at_ms: int = 0
    attempts: int = 0
    tail: tuple[bytes, ...] = ()
    inbox: tuple[InboxItem, ...] = ()


class Position(Struct, frozen=True, gc=False):
    """A place in the list order: newest status first, ties by id descending (Q-30)."""

    status_at_ms: int
    task_id: str


class TaskQuery(Struct, frozen=True, kw_only=True, gc=False):
    """Which tasks to list; all conditions hold together. ``after`` is the last task seen."""

    scope: Scope
    context_id: str = ""
    state: TaskState | None = None
    status_at_or_after_ms: int | None = None
    after: Position | None = None
    limit: int


class StoredPage(Struct, frozen=True, kw_only=True, gc=False):
    """One page, and how many tasks match the query whatever the page."""

    tasks: tuple[StoredTask, ...]
    has_more: bool
    total: int


Done = Callable[[StoreError | None], None]
"""Called exactly once, on the event loop, when a write is durable (None) or has failed."""


class TaskStore(Protocol):
    """The log.

    Promised: a write is atomic; ``done`` is called after it is durable, never before; the writes of
    one task are committed and reported in the order they were handed over; a read that starts after
    ``done`` sees the write. A write whose epoch or expected seq is stale fails alone with
    ConflictError; one that holds what cannot be stored fails alone with a plain StoreError. When
    the engine below fails, every write on its way fails with StoreUnavailableError and nothing of
    them is kept.

    Not promised: any order between tasks; that a failed write can simply be repeated (read first).

    All methods are called on one event loop.
    """

    @property
    def is_available(self) -> bool:
        """False from a failure of the engine until a probe write succeeds."""
        ...

    @property
    def webhooks(self) -> WebhookStore:
        """The webhooks of the tasks; there once the store is open."""
        ...

    async def open(self) -> None:
        """Get ready: migrate, take the lock. Raises UsageError with a remedy when it cannot."""
        ...

    async def close(self) -> None:
        """Commit what was handed over, then release everything."""
        ...

    def append(self, write: TaskWrite, done: Done) -> None:
        """Hand over a write; returns at once. While the engine is down, writes wait for it."""
        ...

    def remember_send(self, record: SendRecord, done: Done) -> None:
        """Hand over the record of a send that made no task."""
        ...

    async def put_inbox(self, task_id: str, body: bytes, send: SendRecord | None) -> int:
        """Store a message for a task, durable on return; return its number in the inbox.

        A task that has ended takes nothing up any more: then only the send is kept.
        Raises ConflictError when there is no such task.
        """
        ...

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        """Return what became of a send, if it was recorded at or after ``since_ms``."""
        ...

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task; None if there is none of this id in this scope."""
        ...

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client of this scope calls by an id of its own.

        A new task takes over an alias that was in use.
        """
        ...

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        """Return events after number ``after``, oldest first: about ``limit``, but one if any."""
        ...

    async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
        """Return all entries from the first up to event ``until`` and not beyond."""
        ...

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        """Return the recorded results of a task, oldest first."""
        ...

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task that has not ended; None if there is none of this number."""
        ...

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks."""
        ...

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that should be running, by id, for recovery at start.

        Those that wait for their client or for a time are not among them.
        """
        ...

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner whose time to wake has come, the longest due first."""
        ...

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that wait for their client since before a time, by id."""
        ...

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        """Replace the lease ``epoch`` by a newer one and return it; writes under the old one fail.

        Args:
            attempts: what to set the count of attempts to; None keeps it.

        Raises ConflictError when the lease is not ``epoch`` any more, or there is no such task.
        """
        ...

    async def forget_sends(self, before_ms: int) -> None:
        """Drop records of sends older than ``before_ms``."""
        ...

    async def delete_ended(self, before_ms: int) -> int:
        """Remove the tasks that ended before ``before_ms``; return how many.

        All that belongs to a task goes in one commit with it: its log, snapshot, journal and inbox,
        what its client called it, the records of its sends, its webhooks and their dead letters.
        A task whose webhooks have something to send stays. Other writes come in between.
        """
        ...
