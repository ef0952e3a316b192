"""SQLiteWebhooks: the WebhookStore port on the rows of a database.

What changes something goes through the thread that writes, as one write among the others; what
only looks has the threads that read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from dragoman.stores.sqlite.webhook_rows import WebhookRows

if TYPE_CHECKING:
    from dragoman.model.tasks import TaskState
    from dragoman.stores.base import Scope
    from dragoman.stores.webhooks import (
        DeadLetter,
        LetterKey,
        NewWebhook,
        PendingOverview,
        Webhook,
        WebhookCounts,
        WebhookKey,
        WebhookPosition,
    )

__all__ = ("SQLiteWebhooks",)

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
