"""MemoryWebhooks: the WebhookStore port in the memory of one process, beside the task log there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dragoman.errors import ConflictError, StoreError
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

__all__ = ("MemoryWebhooks", "TaskFacts", "WebhookRecords")

R = TypeVar("R")


class TaskFacts(Struct, frozen=True):
    """What webhooks need to know of their task."""

    scope: Scope
    seq: int
    state: TaskState


class WebhookRecords:
    """What there is: the tables of a database, as it were."""

    def __init__(self) -> None:
        self.webhooks: dict[WebhookKey, Webhook] = {}
        self.of_tasks: dict[str, set[WebhookKey]] = {}
        self.letters: dict[LetterKey, DeadLetter] = {}


class MemoryWebhooks:
    """The webhooks in memory. See ``WebhookStore`` for what it promises.

    Args:
        records: those of all who share them.
        find_task: tells of a task, None if there is none such.
        changed: has something done in its turn among the writes, and returns when it was.
    """

    def __init__(
        self,
        records: WebhookRecords,
        *,
        find_task: Callable[[str], TaskFacts | None],
        changed: Callable[[Callable[[], StoreError | None]], Awaitable[None]],
    ) -> None:
        self._find_task = find_task
        self._changed = changed
        self._webhooks = records.webhooks
        self._of_tasks = records.of_tasks
        self._letters = records.letters
        self._wake: Callable[[], None] = lambda: None

    def watch(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called whenever webhooks have become pending here."""
        self._wake = wake

    # --- with the writes of tasks ---------------------------------------------------------------

    def create(self, task_id: str, scope: Scope, new: NewWebhook, at_ms: int) -> None:
        """Register a webhook with its task; it has everything to tell."""
        self._keep(
            Webhook(
                key=WebhookKey(task_id, new.config.id),
                scope=scope,
                new=new,
                cursor=0,
                state=None,
                due_ms=at_ms,
                pending_since_ms=at_ms,
            )
        )
        self._wake()

    def mark(self, task_id: str, at_ms: int, *, has_status: bool) -> None:
        """Make the webhooks of a task pending that are not yet so, and want what has happened."""
        for webhook in self._of(task_id):
            if not webhook.is_pending and (has_status or "artifacts" in webhook.new.wants):
                self._keep(replace(webhook, pending_since_ms=at_ms, due_ms=at_ms))
                self._wake()

    def has_news(self, task_id: str) -> bool:
        """Tell whether a webhook of a task has something to send."""
        return any(webhook.is_pending for webhook in self._of(task_id))

    def delete_of(self, task_id: str) -> None:
        """Remove all webhooks of a task, and their dead letters."""
        for webhook in self._of(task_id):
            self._delete(webhook.key)

    # --- registering ----------------------------------------------------------------------------

    async def put(self, task_id: str, new: NewWebhook) -> Webhook:
        """Register or replace a webhook; raises ConflictError when there is no such task."""
        return await self._done(lambda: self._put(task_id, new))

    def _put(self, task_id: str, new: NewWebhook) -> Webhook:
        task = self._find_task(task_id)
        if task is None:
            raise ConflictError(task_id)
        key = WebhookKey(task_id, new.config.id)
        known = self._webhooks.get(key)
        if known is None:
            return self._keep(
                Webhook(key=key, scope=task.scope, new=new, cursor=task.seq, state=task.state)
            )
        same_age = replace(new, created_ms=known.new.created_ms)
        if same_age == known.new:
            return known
        if known.is_pending:
            self._wake()
        return self._keep(
            replace(
                known,
                new=same_age,
                attempts=0,
                finding="",
                due_ms=new.created_ms,
                claim=known.claim + 1,
                claimed_until_ms=0,
            )
        )

    async def get(self, key: WebhookKey) -> Webhook | None:
        """Return a webhook, None if there is none such."""
        return self._webhooks.get(key)

    async def of_task(
        self, task_id: str, *, after: WebhookPosition | None, limit: int
    ) -> tuple[Webhook, ...]:
        """Return webhooks of a task after a place, oldest first."""
        found = sorted(self._of(task_id), key=_place)
        place = (-1, "") if after is None else (after.created_ms, after.id)
        return tuple(webhook for webhook in found if _place(webhook) > place)[:limit]

    async def remove(self, key: WebhookKey) -> bool:
        """Remove a webhook with its dead letters; tell whether there was one."""
        return await self._done(lambda: self._delete(key))

    async def count(self, scope: Scope, task_id: str) -> WebhookCounts:
        """Count the webhooks of a task and of an owner."""
        of_owner = (w for w in self._webhooks.values() if w.scope == scope)
        return WebhookCounts(
            len(self._of_tasks.get(task_id, ())), sum(not self._is_over(w) for w in of_owner)
        )

    # --- sending --------------------------------------------------------------------------------

    async def take_due(
        self, *, now_ms: int, until_ms: int, limit: int, except_hosts: Collection[str]
    ) -> tuple[Webhook, ...]:
        """Take pending webhooks that are due, the longest due first."""

        def take() -> tuple[Webhook, ...]:
            due = [
                webhook
                for webhook in self._webhooks.values()
                if webhook.is_pending
                and webhook.due_ms <= now_ms
                and webhook.claimed_until_ms <= now_ms
                and webhook.new.host not in except_hosts
            ]
            due.sort(key=lambda webhook: webhook.due_ms)
            return tuple(
                self._keep(replace(webhook, claim=webhook.claim + 1, claimed_until_ms=until_ms))
                for webhook in due[:limit]
            )

        return await self._done(take)

    async def advance(
        self, taken: Webhook, *, seq: int, state: TaskState | None, now_ms: int, until_ms: int
    ) -> Webhook | None:
        """Note that all up to an event was dealt with."""

        def advance() -> Webhook | None:
            if self._taken(taken) is None:
                return None
            if seq == taken.letter_seq:
                self._letters.pop(_letter_key(taken, seq), None)
            return self._go_on(taken.key, seq, state, now_ms, until_ms)

        return await self._done(advance)

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

        def bury() -> Webhook | None:
            if self._taken(taken) is None:
                return None
            key = _letter_key(taken, seq)
            self._letters[key] = DeadLetter(
                key=key, host=taken.new.host, attempts=attempts, finding=finding, at_ms=now_ms
            )
            return self._go_on(taken.key, seq, state, now_ms, until_ms)

        return await self._done(bury)

    async def postpone(self, taken: Webhook, *, attempts: int, due_ms: int, finding: str) -> bool:
        """Give a webhook back, to be taken again at a time."""

        def postpone() -> bool:
            webhook = self._taken(taken)
            if webhook is None:
                return False
            changes = {"attempts": attempts, "due_ms": due_ms, "finding": finding}
            self._keep(replace(webhook, **changes, claimed_until_ms=0))
            return True

        return await self._done(postpone)

    def _taken(self, taken: Webhook) -> Webhook | None:
        webhook = self._webhooks.get(taken.key)
        return webhook if webhook is not None and webhook.claim == taken.claim else None

    def _go_on(
        self, key: WebhookKey, seq: int, state: TaskState | None, now_ms: int, until_ms: int
    ) -> Webhook:
        webhook = self._webhooks[key]
        if seq > webhook.cursor:
            webhook = replace(webhook, cursor=seq, state=state)
        webhook = replace(webhook, attempts=0, finding="", letter_seq=self._next_letter(key))
        task = self._find_task(key.task_id)
        if webhook.letter_seq or (task is not None and webhook.cursor < task.seq):
            return self._keep(replace(webhook, pending_since_ms=now_ms, claimed_until_ms=until_ms))
        return self._keep(replace(webhook, pending_since_ms=0, claimed_until_ms=0, due_ms=0))

    # --- for operators --------------------------------------------------------------------------

    async def every(self, *, after: WebhookKey | None, limit: int) -> tuple[Webhook, ...]:
        """Return webhooks of any owner after a key."""
        place = ("", "") if after is None else (after.task_id, after.id)
        keys = sorted((key.task_id, key.id) for key in self._webhooks)
        return tuple(self._webhooks[WebhookKey(*key)] for key in keys if key > place)[:limit]

    async def dead_letters(self, *, after: LetterKey | None, limit: int) -> tuple[DeadLetter, ...]:
        """Return dead letters of any owner after a key."""
        place = ("", "", 0) if after is None else (after.task_id, after.webhook_id, after.seq)
        keys = sorted((key.task_id, key.webhook_id, key.seq) for key in self._letters)
        return tuple(self._letters[LetterKey(*key)] for key in keys if key > place)[:limit]

    async def retry(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again; return how many."""
        return await self._done(lambda: sum([self._queue(key, now_ms) for key in keys]))

    def _queue(self, key: LetterKey, now_ms: int) -> bool:
        letter = self._letters.get(key)
        if letter is None or letter.is_queued:
            return False
        self._letters[key] = replace(letter, is_queued=True)
        webhook = self._webhooks[WebhookKey(key.task_id, key.webhook_id)]
        self._keep(
            replace(
                webhook,
                pending_since_ms=webhook.pending_since_ms or now_ms,
                due_ms=now_ms,
                attempts=0,
                letter_seq=self._next_letter(webhook.key),
            )
        )
        self._wake()
        return True

    async def drop(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; return how many there were."""
        return await self._done(lambda: sum([self._drop(key) for key in keys]))

    def _drop(self, key: LetterKey) -> bool:
        if self._letters.pop(key, None) is None:
            return False
        webhook = self._webhooks[WebhookKey(key.task_id, key.webhook_id)]
        self._keep(replace(webhook, letter_seq=self._next_letter(webhook.key)))
        return True

    async def overview(self) -> PendingOverview:
        """Count what there is."""
        since = [w.pending_since_ms for w in self._webhooks.values() if w.is_pending]
        return PendingOverview(
            webhooks=len(self._webhooks),
            pending=len(since),
            oldest_ms=min(since, default=0),
            dead_letters=len(self._letters),
        )

    # --- keeping --------------------------------------------------------------------------------

    async def _done(self, change: Callable[[], R]) -> R:
        results: list[R] = []

        def run() -> StoreError | None:
            try:
                results.append(change())
            except StoreError as error:
                return error
            return None

        await self._changed(run)
        return results[0]

    def _keep(self, webhook: Webhook) -> Webhook:
        self._webhooks[webhook.key] = webhook
        self._of_tasks.setdefault(webhook.key.task_id, set()).add(webhook.key)
        return webhook

    def _delete(self, key: WebhookKey) -> bool:
        if self._webhooks.pop(key, None) is None:
            return False
        of_task = self._of_tasks[key.task_id]
        of_task.remove(key)
        if not of_task:
            del self._of_tasks[key.task_id]
        for letter in self._letters_of(key):
            del self._letters[letter]
        return True

    def _of(self, task_id: str) -> list[Webhook]:
        return [self._webhooks[key] for key in self._of_tasks.get(task_id, ())]

    def _letters_of(self, key: WebhookKey) -> list[LetterKey]:
        return [each for each in self._letters if (each.task_id, each.webhook_id) == _pair(key)]

    def _next_letter(self, key: WebhookKey) -> int:
        queued: Iterable[int] = (
            each.seq for each in self._letters_of(key) if self._letters[each].is_queued
        )
        return min(queued, default=0)

    def _is_over(self, webhook: Webhook) -> bool:
        task = self._find_task(webhook.key.task_id)
        return task is None or (task.state.is_terminal and not webhook.is_pending)


def _place(webhook: Webhook) -> tuple[int, str]:
    return webhook.new.created_ms, webhook.key.id


def _pair(key: WebhookKey) -> tuple[str, str]:
    return key.task_id, key.id


def _letter_key(webhook: Webhook, seq: int) -> LetterKey:
    return LetterKey(webhook.key.task_id, webhook.key.id, seq)
