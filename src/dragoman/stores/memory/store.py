"""MemoryTaskStore: the TaskStore port in the memory of one process, for tests and trials.

It keeps every promise of the port but durability.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from dragoman.errors import ConflictError, StoreError, StoreUnavailableError
from dragoman.stores.base import WHOLE_INBOX, InboxItem, StoredPage, StoredTask
from dragoman.stores.memory.webhooks import MemoryWebhooks, TaskFacts, WebhookRecords
from dragoman.stores.shared.reporting import reported
from dragoman.stores.shared.segments import entries_until, number_events

if TYPE_CHECKING:
    from dragoman.model.documents import EventDocument, TaskDocument
    from dragoman.model.tasks import TaskState
    from dragoman.stores.base import (
        Done,
        JournalEntry,
        NewTask,
        Scope,
        SendKey,
        SendRecord,
        TaskQuery,
        TaskWrite,
    )

__all__ = ("MemoryRecords", "MemoryTask", "MemoryTaskStore")

Change = Callable[[], StoreError | None]


class MemoryTask:
    """All that is kept of one task."""

    __slots__ = (
        "attempts",
        "epoch",
        "holder",
        "id",
        "inbox",
        "inbox_n",
        "journal",
        "new",
        "secrets",
        "segments",
        "seq",
        "snapshot",
        "snapshot_at",
        "snapshot_seq",
        "state",
        "status_at_ms",
        "wake_at_ms",
    )

    def __init__(self, task_id: str, new: NewTask, epoch: int, state: TaskState) -> None:
        self.id: Final = task_id
        self.new: Final = new
        self.epoch: int = epoch
        self.state: TaskState = state
        self.status_at_ms: int = 0
        self.seq: int = 0
        # One per write: the number of its first event, and its entries.
        self.segments: list[tuple[int, tuple[bytes, ...]]] = []
        self.snapshot: TaskDocument | None = None
        self.snapshot_seq: int = 0
        # How many segments the snapshot covers.
        self.snapshot_at: int = 0
        self.inbox: list[InboxItem] = []
        self.inbox_n: int = 0
        self.journal: dict[int, JournalEntry] = {}
        self.secrets: dict[int, bytes] = {}
        self.wake_at_ms: int = 0
        self.attempts: int = 0
        # The replica that has it; only of a store that is shared.
        self.holder: str = ""

    def take_up(self, numbers: tuple[int, ...]) -> None:
        """Drop what was taken up from the inbox."""
        if numbers:
            is_whole = WHOLE_INBOX in numbers
            self.inbox = [i for i in self.inbox if not is_whole and i.n not in numbers]

    def plan(self, write: TaskWrite) -> None:
        """Note when to wake the task, and how often it was run again."""
        if write.wake_at_ms is not None:
            self.wake_at_ms = write.wake_at_ms
        if write.attempts is not None:
            self.attempts = write.attempts

    def keep_secrets(self, write: TaskWrite) -> None:
        """Keep what came with a write, until the task ends."""
        self.secrets |= {secret.n: secret.body for secret in write.secrets}
        if self.state.is_terminal:
            self.secrets.clear()

    def stored(self) -> StoredTask:
        """Return the task as the port has it."""
        is_complete = self.state.is_terminal and self.snapshot_seq == self.seq
        tail = [entry for _, entries in self.segments[self.snapshot_at :] for entry in entries]
        return StoredTask(
            id=self.id,
            scope=self.new.scope,
            context_id=self.new.context_id,
            skill_id=self.new.skill_id,
            origin_dialect=self.new.origin_dialect,
            created_ms=self.new.created_ms,
            state=self.state,
            status_at_ms=self.status_at_ms,
            epoch=self.epoch,
            seq=self.seq,
            snapshot=self.snapshot,
            snapshot_seq=self.snapshot_seq,
            wake_at_ms=self.wake_at_ms,
            attempts=self.attempts,
            tail=tuple(tail),
            inbox=() if is_complete else tuple(self.inbox),
        )


class MemoryRecords:
    """What a store has: the tables of a database, as it were.

    Attributes:
        order: per owner, (status time, id) in ascending order; a list is read from its end.
        leases: until when those of replicas run; only of a store that is shared.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, MemoryTask] = {}
        self.order: dict[Scope, list[tuple[int, str]]] = {}
        self.counts: Counter[tuple[Scope, TaskState]] = Counter()
        self.aliases: dict[tuple[Scope, str], str] = {}
        self.sends: dict[SendKey, SendRecord] = {}
        self.leases: dict[str, int] = {}
        self.webhooks: Final = WebhookRecords()


class MemoryTaskStore:
    """The task log in memory. See ``TaskStore`` for what it promises."""

    def __init__(self, records: MemoryRecords | None = None) -> None:
        self._records = records or MemoryRecords()
        self._tasks = self._records.tasks
        self._order = self._records.order
        self._counts = self._records.counts
        self._aliases = self._records.aliases
        self._sends = self._records.sends
        self._waiting: deque[tuple[Change | TaskWrite, Done]] = deque()
        self._is_open = False
        self._webhooks = MemoryWebhooks(
            self._records.webhooks, find_task=self._facts, changed=self._changed
        )

    @property
    def webhooks(self) -> MemoryWebhooks:
        """The webhooks of the tasks."""
        return self._webhooks

    @property
    def is_available(self) -> bool:
        """True while open: memory does not fail."""
        return self._is_open

    async def open(self) -> None:
        """Get ready."""
        self._loop = asyncio.get_running_loop()
        self._is_open = True

    async def close(self) -> None:
        """Commit what was handed over. What is stored stays readable until the store is dropped."""
        self._commit()
        self._is_open = False

    # --- writing --------------------------------------------------------------------------------

    def append(self, write: TaskWrite, done: Done) -> None:
        """Hand over a write; returns at once."""
        self._submit(write, done)

    def remember_send(self, record: SendRecord, done: Done) -> None:
        """Hand over the record of a send that made no task."""

        def change() -> StoreError | None:
            refusal = self._refusal_of_send(record)
            if refusal is None:
                self._sends[record.key] = record
            return refusal

        self._submit(change, done)

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        """Store a message for a task; raises ConflictError when there is no such task.

        The same if it has ended under another lease than ``epoch``.
        """
        number = 0

        def change() -> StoreError | None:
            nonlocal number
            task = self._tasks.get(task_id)
            if task is None or (task.state.is_terminal and epoch not in (None, task.epoch)):
                return ConflictError(task_id)
            if send is not None and (refusal := self._refusal_of_send(send)) is not None:
                return refusal
            number = task.inbox_n = task.inbox_n + 1
            if not task.state.is_terminal:
                task.inbox.append(InboxItem(number, body))
            if send is not None:
                self._sends[send.key] = send
            return None

        await self._changed(change)
        return number

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        """Replace the lease by a newer one; raises ConflictError when it is not ``epoch``."""

        def change() -> StoreError | None:
            task = self._tasks.get(task_id)
            if task is None or task.epoch != epoch or self._is_elsewhere(task):
                return ConflictError(task_id)
            task.epoch += 1
            self._hold(task)
            task.attempts = task.attempts if attempts is None else attempts
            return None

        await self._changed(change)
        return epoch + 1

    async def forget_sends(self, before_ms: int) -> None:
        """Drop records of sends older than ``before_ms``."""

        def change() -> None:
            for key in [k for k, r in self._sends.items() if r.at_ms < before_ms]:
                del self._sends[key]

        await self._changed(change)

    async def delete_ended(self, before_ms: int) -> int:
        """Remove the tasks that ended before ``before_ms``."""
        removed: set[str] = set()

        def change() -> None:
            for task in list(self._tasks.values()):
                is_old = task.state.is_terminal and task.status_at_ms < before_ms
                if is_old and not self._webhooks.has_news(task.id):
                    removed.add(task.id)
                    self._delete(task)
            for name in [k for k, v in self._aliases.items() if v in removed]:
                del self._aliases[name]
            for key in [k for k, r in self._sends.items() if r.task_id in removed]:
                del self._sends[key]

        await self._changed(change)
        return len(removed)

    def _delete(self, task: MemoryTask) -> None:
        scope = task.new.scope
        order = self._order[scope]
        del order[bisect_left(order, (task.status_at_ms, task.id))]
        self._counts[scope, task.state] -= 1
        del self._tasks[task.id]
        self._webhooks.delete_of(task.id)

    def _submit(self, change: Change | TaskWrite, done: Done) -> None:
        if not self._is_open:
            self._loop.call_soon(done, StoreUnavailableError("the store is closed"))
            return
        if not self._waiting:
            self._loop.call_soon(self._commit)
        self._waiting.append((change, done))

    async def _changed(self, change: Change) -> None:
        await reported(partial(self._submit, change))

    def _commit(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        outcomes = [change() if callable(change) else self._apply(change) for change, _ in batch]
        for (_, done), outcome in zip(batch, outcomes, strict=True):
            try:
                done(outcome)
            except Exception as error:  # noqa: BLE001 - one caller's defect must not silence the others
                self._loop.call_exception_handler(
                    {"message": "memory store: a report failed", "exception": error}
                )

    def _apply(self, write: TaskWrite) -> StoreError | None:
        task = self._tasks.get(write.task_id)
        if write.created is not None and task is None and write.state is not None:
            task = MemoryTask(write.task_id, write.created, write.epoch, write.state)
        elif write.created is not None:
            task = None
        if (
            task is None
            or task.epoch != write.epoch
            or task.seq != write.expected_seq
            or any(entry.n in task.journal for entry in write.journal)
        ):
            return ConflictError(write.task_id)
        refusal = self._refusal(task, write)
        if refusal is None:
            self._extend(task, write)
        return refusal

    def _extend(self, task: MemoryTask, write: TaskWrite) -> None:
        if write.created is not None:
            self._create(task)
        self._move(task, write)
        if write.entries:
            task.segments.append((task.seq + 1, write.entries))
        task.seq += write.events
        if write.snapshot is not None:
            task.snapshot = write.snapshot.bare()
            task.snapshot_seq = task.seq
            task.snapshot_at = len(task.segments)
        for entry in write.journal:
            task.journal[entry.n] = entry
        task.plan(write)
        task.keep_secrets(write)
        task.take_up(write.inbox_taken)
        if write.send is not None:
            self._sends[write.send.key] = write.send
        self._mark_webhooks(task, write)

    def _mark_webhooks(self, task: MemoryTask, write: TaskWrite) -> None:
        at_ms = max(write.at_ms, 1)
        if write.created is not None and write.created.webhook is not None:
            self._webhooks.create(task.id, task.new.scope, write.created.webhook, at_ms)
        elif write.events:
            self._webhooks.mark(task.id, at_ms, has_status=write.state is not None)

    def _facts(self, task_id: str) -> TaskFacts | None:
        task = self._tasks.get(task_id)
        return None if task is None else TaskFacts(task.new.scope, task.seq, task.state)

    def _create(self, task: MemoryTask) -> None:
        self._tasks[task.id] = task
        self._hold(task)
        if task.new.alias:
            self._aliases[task.new.scope, task.new.alias] = task.id

    def _move(self, task: MemoryTask, write: TaskWrite) -> None:
        """Put the task where it now stands in counts and order."""
        if write.state is None:
            return
        scope = task.new.scope
        order = self._order.setdefault(scope, [])
        if write.created is None:
            self._counts[scope, task.state] -= 1
            del order[bisect_left(order, (task.status_at_ms, task.id))]
        task.state = write.state
        task.status_at_ms = write.status_at_ms
        self._counts[scope, task.state] += 1
        insort(order, (task.status_at_ms, task.id))

    # --- what a store that is shared does besides -----------------------------------------------

    def _hold(self, task: MemoryTask) -> None:
        """Note who has a task now."""

    def _refusal(self, task: MemoryTask, write: TaskWrite) -> StoreError | None:
        """Return why a write that fits its task is refused nevertheless."""
        del task, write

    def _refusal_of_send(self, record: SendRecord) -> StoreError | None:
        """Return why a send is refused."""
        del record

    def _is_held(self, task: MemoryTask) -> bool:
        """Tell whether a living replica has a task in memory."""
        del task
        return False

    def _is_elsewhere(self, task: MemoryTask) -> bool:
        """Tell whether another living replica has a task in memory."""
        del task
        return False

    def _stored(self, task: MemoryTask) -> StoredTask:
        return task.stored()

    # --- reading --------------------------------------------------------------------------------

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        """Return what became of a send, if it was recorded at or after ``since_ms``."""
        record = self._sends.get(key)
        return record if record is not None and record.at_ms >= since_ms else None

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task; None if there is none of this id in this scope."""
        task = self._tasks.get(task_id)
        return self._stored(task) if task is not None and task.new.scope == scope else None

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client of this scope calls by an id of its own."""
        return self._aliases.get((scope, alias))

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        """Return events numbered after ``after``: whole segments until there are ``limit``."""
        task = self._tasks.get(task_id)
        segments = task.segments if task is not None else []
        at = max(bisect_right(segments, after + 1, key=lambda segment: segment[0]) - 1, 0)
        events: list[EventDocument] = []
        while at < len(segments) and len(events) < limit:
            events += number_events(*segments[at], after)
            at += 1
        return tuple(events)

    async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
        """Return all entries from the first up to event ``until`` and not beyond."""
        task = self._tasks.get(task_id)
        segments = task.segments if task is not None else []
        return entries_until((s for s in segments if s[0] <= until), until)

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        """Return the recorded results of a task, oldest first."""
        task = self._tasks.get(task_id)
        return () if task is None else tuple(task.journal[n] for n in sorted(task.journal))

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task that has not ended."""
        task = self._tasks.get(task_id)
        return None if task is None else task.secrets.get(n)

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks."""
        order = self._order.get(query.scope, [])
        since = query.status_at_or_after_ms
        low = 0 if since is None else bisect_left(order, (since, ""))
        high = len(order)
        if query.after is not None:
            high = bisect_left(order, (query.after.status_at_ms, query.after.task_id))
        found: list[MemoryTask] = []
        for at in range(high - 1, low - 1, -1):
            task = self._tasks[order[at][1]]
            if _matches(task, query):
                found.append(task)
                if len(found) > query.limit:
                    break
        return StoredPage(
            tasks=tuple(self._stored(task) for task in found[: query.limit]),
            has_more=len(found) > query.limit,
            total=self._total(query, order[low:]),
        )

    def _total(self, query: TaskQuery, order: list[tuple[int, str]]) -> int:
        if query.context_id or query.status_at_or_after_ms is not None:
            return sum(_matches(self._tasks[task_id], query) for _, task_id in order)
        return len(order) if query.state is None else self._counts[query.scope, query.state]

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that should be running, by id."""
        ids = sorted(
            task.id
            for task in self._tasks.values()
            if task.id > after_id
            and not task.wake_at_ms
            and not (task.state.is_terminal or task.state.is_interrupted)
            and not self._is_held(task)
        )
        return tuple(self._stored(self._tasks[task_id]) for task_id in ids[:limit])

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner whose time to wake has come, the longest due first."""
        tasks = [
            task
            for task in self._tasks.values()
            if 0 < task.wake_at_ms <= now_ms and not self._is_elsewhere(task)
        ]
        tasks.sort(key=lambda task: task.wake_at_ms)
        return tuple(self._stored(task) for task in tasks[:limit])

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that have waited for their client since before ``before_ms``, by id."""
        ids = sorted(
            task.id
            for task in self._tasks.values()
            if task.id > after_id
            and task.state.is_interrupted
            and task.status_at_ms < before_ms
            and not self._is_elsewhere(task)
        )
        return tuple(self._stored(self._tasks[task_id]) for task_id in ids[:limit])


def _matches(task: MemoryTask, query: TaskQuery) -> bool:
    return (not query.context_id or task.new.context_id == query.context_id) and (
        query.state is None or task.state is query.state
    )
