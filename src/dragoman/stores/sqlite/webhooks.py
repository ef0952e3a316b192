"""SQLiteWebhooks: the WebhookStore port on one SQLite file; WebhookRows: its statements.

What changes something goes through the thread that writes, as one write among the others; what
only looks has the threads that read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from dragoman.errors import ConflictError
from dragoman.stores.shared.sql import ManyRows, read_queries
from dragoman.stores.shared.webhook_rows import (
    letter_of,
    registered_values,
    state_number,
    webhook_of,
)
from dragoman.stores.webhooks import PendingOverview, WebhookCounts, WebhookKey

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Sequence

    from dragoman.model.tasks import TaskState
    from dragoman.stores.base import NewTask, Scope
    from dragoman.stores.webhooks import (
        DeadLetter,
        LetterKey,
        NewWebhook,
        Webhook,
        WebhookPosition,
    )

__all__ = (
    "SQLiteWebhooks",
    "WebhookRows",
)


_QUERIES: Final = read_queries("dragoman.stores.sqlite")
_MARK: Final = ManyRows(_QUERIES["mark_webhooks"])
_TO_TELL_OF: Final = ManyRows(_QUERIES["select_tasks_to_tell_of"])
_OF_TASKS: Final = (
    ManyRows(_QUERIES["delete_all_letters"]),
    ManyRows(_QUERIES["delete_all_webhooks"]),
)

_encode: Final = msgspec.json.Encoder().encode


R = TypeVar("R")


class Reading(Protocol):
    """Uses rows to look at them."""

    async def __call__(self, use: Callable[[WebhookRows], R]) -> R:
        """Return what ``use`` returns."""
        ...


class Writing(Protocol):
    """Uses rows in the next commit."""

    async def __call__(self, use: Callable[[WebhookRows], R], task_id: str = "") -> R:
        """Return what ``use`` returns, once it is durable.

        Args:
            task_id: a task that may have had no webhooks before.
        """
        ...


class SQLiteWebhooks:
    """The webhooks in one file. See ``WebhookStore`` for what it promises."""

    def __init__(self, *, read: Reading, write: Writing) -> None:
        self._read = read
        self._write = write
        self._wake: Callable[[], None] | None = None

    def watch(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called whenever webhooks have become pending here."""
        self._wake = wake

    def wake(self) -> None:
        """Tell whoever watches that webhooks have become pending."""
        if self._wake is not None:
            self._wake()

    async def put(self, task_id: str, new: NewWebhook) -> Webhook:
        """Register or replace a webhook; raises ConflictError when there is no such task."""
        webhook = await self._write(lambda rows: rows.put(task_id, new), task_id)
        if webhook.is_pending:
            self.wake()
        return webhook

    async def get(self, key: WebhookKey) -> Webhook | None:
        """Return a webhook, None if there is none such."""
        return await self._read(lambda rows: rows.get(key))

    async def of_task(
        self, task_id: str, *, after: WebhookPosition | None, limit: int
    ) -> tuple[Webhook, ...]:
        """Return webhooks of a task after a place, oldest first."""
        return await self._read(lambda rows: rows.of_task(task_id, after, limit))

    async def remove(self, key: WebhookKey) -> bool:
        """Remove a webhook with its dead letters; tell whether there was one."""
        return await self._write(lambda rows: rows.remove(key))

    async def count(self, scope: Scope, task_id: str) -> WebhookCounts:
        """Count the webhooks of a task and of an owner."""
        return await self._read(lambda rows: rows.count(scope, task_id))

    async def take_due(
        self, *, now_ms: int, until_ms: int, limit: int, except_hosts: Collection[str]
    ) -> tuple[Webhook, ...]:
        """Take pending webhooks that are due, the longest due first."""
        # They are asked for every second: as a rule there are none, and nothing is written.
        if not await self._read(lambda rows: rows.has_due(now_ms, except_hosts)):
            return ()
        return await self._write(lambda rows: rows.take_due(now_ms, until_ms, limit, except_hosts))

    async def advance(
        self, taken: Webhook, *, seq: int, state: TaskState | None, now_ms: int, until_ms: int
    ) -> Webhook | None:
        """Note that all up to an event was dealt with."""
        return await self._write(lambda rows: rows.advance(taken, seq, state, now_ms, until_ms))

    async def bury(
        self,
        taken: Webhook,
        *,
        seq: int,
        state: TaskState | None,
        attempts: int,
        finding: str,
        now_ms: int,
        until_ms: int,
    ) -> Webhook | None:
        """Note a dead letter and go on after it."""
        return await self._write(
            lambda rows: rows.bury(taken, seq, state, attempts, finding, now_ms, until_ms)
        )

    async def postpone(self, taken: Webhook, *, attempts: int, due_ms: int, finding: str) -> bool:
        """Give a webhook back, to be taken again at a time."""
        return await self._write(lambda rows: rows.postpone(taken, attempts, due_ms, finding))

    async def every(self, *, after: WebhookKey | None, limit: int) -> tuple[Webhook, ...]:
        """Return webhooks of any owner after a key."""
        return await self._read(lambda rows: rows.every(after, limit))

    async def dead_letters(self, *, after: LetterKey | None, limit: int) -> tuple[DeadLetter, ...]:
        """Return dead letters of any owner after a key."""
        return await self._read(lambda rows: rows.dead_letters(after, limit))

    async def retry(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again; return how many."""
        queued = await self._write(lambda rows: rows.retry(keys, now_ms))
        if queued:
            self.wake()
        return queued

    async def drop(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; return how many there were."""
        return await self._write(lambda rows: rows.drop(keys))

    async def overview(self) -> PendingOverview:
        """Count what there is."""
        return await self._read(WebhookRows.overview)


class WebhookRows:
    """Webhooks and dead letters through one connection; used by one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()

    # --- with the writes of tasks ---------------------------------------------------------------

    def tasks(self) -> set[str]:
        """Return the tasks that have webhooks and may still have events."""
        return {task_id for (task_id,) in self._rows(_QUERIES["select_tasks_with_webhooks"])}

    def create(self, task_id: str, task: NewTask, new: NewWebhook, at_ms: int) -> None:
        """Register a webhook with its task; it has everything to tell."""
        scope = task.scope
        values = (task_id, new.config.id, scope.tenant, scope.owner, *_values(new), at_ms)
        self._cursor.execute(_QUERIES["insert_webhook"], values)

    def mark(self, values: list[object]) -> int:
        """Make webhooks pending; return how many have become so.

        Args:
            values: the task, the time, and whether there is a status, for each task end to end.
        """
        # Of a statement that begins with WITH, Python does not tell how many rows it has changed.
        before = self._connection.total_changes
        for call in _MARK.calls(values):
            self._cursor.execute(*call)
        return self._connection.total_changes - before

    def to_tell_of(self, task_ids: Sequence[str]) -> set[str]:
        """Return those tasks that have something to send."""
        return {row[0] for call in _TO_TELL_OF.calls(list(task_ids)) for row in self._rows(*call)}

    def delete_of(self, task_ids: Sequence[str]) -> None:
        """Remove all webhooks of tasks, and their dead letters."""
        for statement in _OF_TASKS:
            for call in statement.calls(list(task_ids)):
                self._cursor.execute(*call)

    # --- registering ----------------------------------------------------------------------------

    def put(self, task_id: str, new: NewWebhook) -> Webhook:
        """Register or replace a webhook; raises ConflictError when there is no such task."""
        self._cursor.execute(_QUERIES["put_webhook"], (task_id, new.config.id, *_values(new)))
        found = self.get(WebhookKey(task_id, new.config.id))
        if found is None:
            raise ConflictError(task_id)
        return found

    def get(self, key: WebhookKey) -> Webhook | None:
        """Return a webhook."""
        found = self._webhooks("webhook_of_key", key.task_id, key.id)
        return found[0] if found else None

    def of_task(
        self, task_id: str, after: WebhookPosition | None, limit: int
    ) -> tuple[Webhook, ...]:
        """Return webhooks of a task after a place, oldest first."""
        created_ms, webhook_id = (-1, "") if after is None else (after.created_ms, after.id)
        return self._webhooks("webhooks_of_task", task_id, created_ms, webhook_id, limit)

    def remove(self, key: WebhookKey) -> bool:
        """Remove a webhook with its dead letters; tell whether there was one."""
        self._cursor.execute(_QUERIES["delete_letters"], (key.task_id, key.id))
        return self._change("delete_webhook", key.task_id, key.id) > 0

    def count(self, scope: Scope, task_id: str) -> WebhookCounts:
        """Count the webhooks of a task and of an owner."""
        values = (task_id, scope.tenant, scope.owner)
        return WebhookCounts(*self._rows(_QUERIES["count_webhooks"], values)[0])

    # --- sending --------------------------------------------------------------------------------

    def release_all(self) -> None:
        """Give back all that was taken; for one who knows that no taker is left."""
        self._cursor.execute(_QUERIES["release_webhooks"])

    def has_due(self, now_ms: int, except_hosts: Collection[str]) -> bool:
        """Tell whether there is anything to take."""
        values = (now_ms, _text(list(except_hosts)))
        return bool(self._rows(_QUERIES["has_due_webhooks"], values)[0][0])

    def take_due(
        self, now_ms: int, until_ms: int, limit: int, except_hosts: Collection[str]
    ) -> tuple[Webhook, ...]:
        """Take pending webhooks that are due, the longest due first."""
        values = (now_ms, until_ms, limit, _text(list(except_hosts)))
        taken = [row for (row,) in self._rows(_QUERIES["take_webhooks"], values)]
        return self._webhooks("webhooks_of_rows", _text(taken)) if taken else ()

    def advance(
        self, taken: Webhook, seq: int, state: TaskState | None, now_ms: int, until_ms: int
    ) -> Webhook | None:
        """Note that all up to an event was dealt with, or that a dead letter was delivered."""
        if not self._move(taken, seq, state):
            return None
        if seq == taken.letter_seq:
            self._change("delete_letter", taken.key.task_id, taken.key.id, seq)
        return self._go_on(taken.key, now_ms, until_ms)

    def bury(
        self,
        taken: Webhook,
        seq: int,
        state: TaskState | None,
        attempts: int,
        finding: str,
        now_ms: int,
        until_ms: int,
    ) -> Webhook | None:
        """Note a dead letter and go on after it."""
        if not self._move(taken, seq, state):
            return None
        key = taken.key
        self._change("put_letter", key.task_id, key.id, seq, attempts, finding, now_ms)
        return self._go_on(key, now_ms, until_ms)

    def postpone(self, taken: Webhook, attempts: int, due_ms: int, finding: str) -> bool:
        """Give a webhook back."""
        key = taken.key
        values = (key.task_id, key.id, taken.claim, attempts, due_ms, finding)
        return self._change("postpone_webhook", *values) > 0

    def _move(self, taken: Webhook, seq: int, state: TaskState | None) -> bool:
        values = (taken.key.task_id, taken.key.id, taken.claim, seq, state_number(state))
        return self._change("advance_webhook", *values) > 0

    def _go_on(self, key: WebhookKey, now_ms: int, until_ms: int) -> Webhook | None:
        if not self._change("keep_webhook", key.task_id, key.id, now_ms, until_ms):
            self._change("rest_webhook", key.task_id, key.id)
        return self.get(key)

    # --- for operators --------------------------------------------------------------------------

    def every(self, after: WebhookKey | None, limit: int) -> tuple[Webhook, ...]:
        """Return webhooks of any owner after a key."""
        task_id, webhook_id = ("", "") if after is None else (after.task_id, after.id)
        return self._webhooks("webhooks_after", task_id, webhook_id, limit)

    def dead_letters(self, after: LetterKey | None, limit: int) -> tuple[DeadLetter, ...]:
        """Return dead letters of any owner after a key."""
        place = ("", "", 0) if after is None else (after.task_id, after.webhook_id, after.seq)
        rows = self._rows(_QUERIES["select_letters"], (*place, limit))
        return tuple(map(letter_of, rows))

    def retry(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again; return how many."""
        queued = 0
        for key in keys:
            if self._change("queue_letter", key.task_id, key.webhook_id, key.seq):
                queued += 1
                self._change("wake_webhook", key.task_id, key.webhook_id, now_ms)
        return queued

    def drop(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; return how many there were."""
        return sum(
            self._change("delete_letter", key.task_id, key.webhook_id, key.seq) for key in keys
        )

    def overview(self) -> PendingOverview:
        """Count what there is."""
        webhooks, pending, oldest_ms, letters = self._rows(_QUERIES["webhook_overview"])[0]
        return PendingOverview(
            webhooks=webhooks, pending=pending, oldest_ms=oldest_ms, dead_letters=letters
        )

    # --- statements -----------------------------------------------------------------------------

    def _webhooks(self, clause: str, *values: object) -> tuple[Webhook, ...]:
        statement = f"{_QUERIES['select_webhooks']}\n{_QUERIES[clause]}"
        return tuple(map(webhook_of, self._rows(statement, values)))

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._cursor.execute(statement, values).fetchall()

    def _change(self, name: str, *values: object) -> int:
        return self._cursor.execute(_QUERIES[name], values).rowcount


def _values(new: NewWebhook) -> tuple[object, ...]:
    """Return what is registered, in the order of the columns."""
    *texts, config = registered_values(new)
    return *texts, bytearray(config)


def _text(values: list[Any]) -> str:
    return _encode(values).decode()
