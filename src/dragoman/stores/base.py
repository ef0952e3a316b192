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

There is a port for each role, so that a caller can ask for as little as it needs:

- ``TaskLog``: append to tasks, read and list them.
- ``Sends``: recognise a message that is sent again, and names that clients make up for tasks.
- ``Secrets``: what only a turn of its task may see.
- ``Recovery``: find the tasks that nobody runs although somebody should, and take them over.
- ``Leases``: which replica is alive, and what it holds.
- ``WebhookStore`` and ``Maintenance`` are in ``webhooks.py`` and ``maintenance.py``.

A ``TaskStore`` is all of them but leases and maintenance, and has the inboxes of the tasks: what a
server needs that has the store to itself.

A store that several processes serve from at once is a ``SharedTaskStore``. Each process is a
*replica*; it has a lease that it renews, and a task that is in somebody's memory is *held*: its row
names the replica. When the lease of a replica has run out, by the clock of the store, the replica
counts as dead, and others take over what it held. The epoch keeps a dead one that comes back from
writing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from dragoman.engine.journal import JournalEntry
from dragoman.errors import StoreError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.tasks import TaskState
from dragoman.stores.scope import Scope
from dragoman.stores.webhooks import NewWebhook, WebhookStore

__all__ = (
    "CANCEL_ITEM",
    "WHOLE_INBOX",
    "Done",
    "InboxItem",
    "JournalEntry",
    "Leases",
    "NewTask",
    "Placed",
    "Position",
    "Recovery",
    "Scope",
    "Secret",
    "Secrets",
    "SendKey",
    "SendRecord",
    "Sends",
    "SharedTaskStore",
    "StoredPage",
    "StoredTask",
    "TaskLog",
    "TaskQuery",
    "TaskStore",
    "TaskWrite",
)


WHOLE_INBOX: Final = 2**63 - 1
"""In ``TaskWrite.inbox_taken``: whatever is there."""

CANCEL_ITEM: Final = b'{"cancel":true}'
"""The body of an item of an inbox that is no message: the task is to be canceled."""


class SendKey(Struct, frozen=True, gc=False, cache_hash=True):
    """What makes a send recognisable when it is tried again; looked up in several places."""

    scope: Scope
    message_id: str


class SendRecord(Struct, frozen=True, kw_only=True, gc=False):
    """What became of a send: the task it began or continued, or the message that answered it.

    Attributes:
        since_ms: a shared store refuses the record, and what it came with, if another of the same
            key and digest was made at or after this: somebody else was first. 0 for no such rule.
            It is not kept.
    """

    key: SendKey
    digest: bytes
    at_ms: int
    task_id: str = ""
    reply: bytes = b""
    since_ms: int = 0


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
    """A message, and what came with it, that the task has not taken up yet; or CANCEL_ITEM."""

    n: int
    body: bytes


class Placed(Struct, frozen=True, gc=False):
    """Where something got that was put into the inbox of a task.

    Attributes:
        n: its number; 0 if the task had ended and did not take it.
        state: that of the task in the same moment.
        seq: an event of the task in the same moment, not before its last status: an end or a pause
            with a higher number came after the item.
    """

    n: int
    state: TaskState
    seq: int


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
        inbox_taken: the numbers of the inbox items that are taken up by this write; or WHOLE_INBOX.
        inbox_seen: the last number given in the inbox that the writer knows of. Set on a write that
            ends the task in a shared store, which refuses it with UnreadError if a later one was
            given: nothing that was acknowledged may be left behind. None for no such rule.
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
    inbox_taken: tuple[int, ...] = ()
    inbox_seen: int | None = None
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

    The last three are those of a shared store, and of tasks that have not ended:

    Attributes:
        holder: the replica that has it in memory, or had when it died; "" for none.
        is_elsewhere: it is held by another replica than this one, whose lease has not run out.
        inbox_n: the last number given in its inbox.
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
    holder: str = ""
    is_elsewhere: bool = False
    inbox_n: int = 0


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


class TaskLog(Protocol):
    """The log of every task.

    Promised: a write is atomic; ``done`` is called after it is durable, never before; the writes of
    one task are committed and reported in the order they were handed over; a read that starts after
    ``done`` sees the write. A write whose epoch or expected seq is stale fails alone with
    ConflictError; one that holds what cannot be stored fails alone with a plain StoreError. When
    the engine below fails, every write on its way fails with StoreUnavailableError and nothing of
    them is kept.

    Not promised: any order between tasks; that a failed write can simply be repeated (read first).
    """

    def append(self, write: TaskWrite, done: Done) -> None:
        """Hand over a write; returns at once. While the engine is down, writes wait for it."""
        ...

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task; None if there is none of this id in this scope."""
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

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks."""
        ...


class Sends(Protocol):
    """What became of the messages that clients sent, and what clients call their tasks.

    Promised: a record that comes with a write (``TaskWrite.send``) is durable together with it, or
    neither is; ``find_send`` sees it from then on. Inboxes say for themselves what they keep.

    Not promised: that a record outlives ``forget_sends`` or the task that it names.
    """

    def remember_send(self, record: SendRecord, done: Done) -> None:
        """Hand over the record of a send that made no task."""
        ...

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        """Return what became of a send, if it was recorded at or after ``since_ms``."""
        ...

    async def forget_sends(self, before_ms: int) -> None:
        """Drop records of sends older than ``before_ms``."""
        ...

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client of this scope calls by an id of its own.

        A new task takes over an alias that was in use.
        """
        ...


class Secrets(Protocol):
    """What only a turn of its task may see; stored by ``TaskWrite.secrets``, encrypted.

    Promised: a secret is durable with the write that it came with, and removed by the write that
    ends its task. It is read by its task and number alone: nothing lists secrets.
    """

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task that has not ended; None if there is none of this number."""
        ...


class Recovery(Protocol):
    """The tasks of any owner that somebody must take up: after a start, or when their time comes.

    Promised: after ``take_over`` nobody can write to the task under an older epoch. Of two who take
    over the same task at the same epoch, one gets it and the other a ConflictError.

    Not promised: that a task which was returned can still be taken over.
    """

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that should be running, by id.

        Those that wait for their client or for a time are not among them; nor, in a shared store,
        those that a living replica holds, be it this one.
        """
        ...

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner whose time to wake has come, the longest due first.

        In a shared store those are not among them that another living replica holds.
        """
        ...

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that wait for their client since before a time, by id.

        In a shared store those are not among them that another living replica holds.
        """
        ...

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        """Replace the lease ``epoch`` by a newer one and return it; writes under the old one fail.

        Args:
            attempts: what to set the count of attempts to; None keeps it.

        Raises ConflictError when the lease is not ``epoch`` any more, when there is no such task,
        and, in a shared store, when another replica holds it that lives at that moment.
        """
        ...


class TaskStore(TaskLog, Sends, Secrets, Recovery, Protocol):
    """All that a server stores. It may have the store to itself: see ``SharedTaskStore``.

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

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        """Store a message for a task, durable on return; return its number in the inbox.

        A task that has ended takes nothing up any more: then only the send is kept, because whoever
        ended it knew of the message.

        Args:
            epoch: the lease that the caller has. If another replica has ended the task under a
                newer one, nothing is kept.

        Raises ConflictError when there is no such task, or nothing is kept.
        """
        ...

    async def delete_ended(self, before_ms: int) -> int:
        """Remove the tasks that ended before ``before_ms``; return how many.

        All that belongs to a task goes in one commit with it: its log, snapshot, journal and inbox,
        what its client called it, the records of its sends, its webhooks and their dead letters.
        A task whose webhooks have something to send stays. Other writes come in between.
        """
        ...


class Leases(Protocol):
    """Which replicas are alive, and what each holds.

    Promised: leases are a matter of the store's own clock alone; those of the replicas do not
    count. Nothing is taken from a replica whose lease runs; one that renews it too late is told so,
    and finds by ``lost`` all that was taken.

    Not promised: that a task which is held by a replica is still in its memory; that a replica
    which counts as dead has stopped.
    """

    async def join(self, replica_id: str, *, lease_seconds: float) -> None:
        """Write as this replica from now on, under a lease that runs for this long.

        Called once after ``open``, before anything is written. The id is a new one at every start.
        """
        ...

    async def beat(self) -> bool:
        """Renew the lease; False if it had run out, so that others may have taken tasks."""
        ...

    async def leave(self) -> None:
        """End the lease at once: what this replica still holds is for others to take over."""
        ...

    async def next_lapse(self) -> float | None:
        """Return in how many seconds the next lease of another replica runs out.

        That is, if it is not renewed. None if no other is alive.
        """
        ...

    async def release(self, task_id: str, epoch: int) -> None:
        """Hold a task no longer; nothing happens if the lease is not ``epoch`` any more."""
        ...

    async def lost(self, epochs: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks are not under the lease that is given for each any more."""
        ...


@runtime_checkable
class SharedTaskStore(TaskStore, Leases, Protocol):
    """A store that several replicas write to, each through an object of its own.

    Promised beyond what the other ports say: what is created or taken over through it is held by
    the replica that it has joined as. Numbers in an inbox are given one after the other without
    gaps, in the order of the commits. A write that ends a task while a number beyond its
    ``inbox_seen`` has been given fails alone with UnreadError. A write whose send was recorded
    before (see ``SendRecord``) fails alone with SentBeforeError, and what ``find_send`` gives is
    the first one's record.
    """

    async def post(self, task_id: str, body: bytes, send: SendRecord | None) -> Placed:
        """Put something into the inbox of a task that another replica holds, durably.

        A task that has ended takes nothing: then nothing is kept, the send neither.

        Raises:
            ConflictError: there is no such task.
            SentBeforeError: the same was sent before; nothing is kept.
        """
        ...

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        """Return what lies in the inbox of a task, oldest first."""
        ...

    async def filled(self) -> tuple[tuple[Scope, str], ...]:
        """Return the unfinished tasks whose inbox is not empty, by id, whoever owns them.

        Those are not among them that another living replica holds.
        """
        ...

    async def moved(self, known: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks have events beyond the number that is given for each."""
        ...
