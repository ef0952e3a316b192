"""PostgresWebhooks: the WebhookStore port on the rows of a database that replicas share.

Every method is one statement, on any connection: what has to be in order with the events of a task
is so by the lock of the task's row (see ``queries.sql``). A statement whose answer was lost is sent
once more; what it has done then it does not do twice, but who had taken webhooks by it waits until
they are due again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from dragoman.errors import ConflictError
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.texts import readable_value, storable, storable_value
from dragoman.stores.shared.webhook_rows import (
    letter_of,
    registered_values,
    state_number,
    webhook_of,
)
from dragoman.stores.webhooks import PendingOverview, WebhookCounts

if TYPE_CHECKING:
    from dragoman.model.tasks import TaskState
    from dragoman.stores.postgres.connection import Row
    from dragoman.stores.scope import Scope
    from dragoman.stores.webhooks import (
        DeadLetter,
        LetterKey,
        NewWebhook,
        Webhook,
        WebhookKey,
        WebhookPosition,
    )

__all__ = ("PostgresWebhooks",)


class Fetching(Protocol):
    """Runs statements: a pool, or one connection."""

    async def fetch(self, query: str, /, *values: object) -> list[Row]:
        """Run a statement and return its rows."""
        ...


def _selected(rows: str, but: str = "0") -> str:
    return QUERIES["select_webhooks"].replace("{rows}", rows).replace("{but}", but)


def _advancing(letter: str) -> str:
    text = QUERIES["advance_webhook"].replace("{letter}", QUERIES[letter])
    return text.replace("{webhooks}", _selected("moved", "$8"))


_SELECT: Final = _selected("webhooks")
_PUT: Final = QUERIES["put_webhook"].replace("{webhooks}", _selected("known"))
_TAKE: Final = QUERIES["take_webhooks"].replace("{webhooks}", _selected("taken"))
_ADVANCE: Final = _advancing("letter_delivered")
_BURY: Final = _advancing("letter_dead")


class PostgresWebhooks:
    """The webhooks in one database. See ``WebhookStore`` for what it promises."""

    def __init__(self, database: Fetching) -> None:
        self._database = database
        self._wake: Callable[[], None] | None = None

    def watch(self, wake: Callable[[], None]) -> None:
        """Have ``wake`` called whenever webhooks have become pending here."""
        self._wake = wake

    def wake(self) -> None:
        """Tell whoever watches that webhooks have become pending."""
        if self._wake is not None:
            self._wake()

    # --- registering ----------------------------------------------------------------------------

    async def put(self, task_id: str, new: NewWebhook) -> Webhook:
        """Register or replace a webhook; raises ConflictError when there is no such task."""
        values = (task_id, new.config.id, *registered_values(new))
        # The statement does not find one that somebody else was just adding; the next one does.
        found = await self._webhooks(_PUT, *values) or await self._webhooks(_PUT, *values)
        if not found:
            raise ConflictError(task_id)
        if found[0].is_pending:
            self.wake()
        return found[0]

    async def get(self, key: WebhookKey) -> Webhook | None:
        """Return a webhook, None if there is none such."""
        found = await self._find("webhook_of_key", key.task_id, key.id)
        return found[0] if found else None

    async def of_task(
        self, task_id: str, *, after: WebhookPosition | None, limit: int
    ) -> tuple[Webhook, ...]:
        """Return webhooks of a task after a place, oldest first."""
        created_ms, webhook_id = (-1, "") if after is None else (after.created_ms, after.id)
        return await self._find("webhooks_of_task", task_id, created_ms, webhook_id, limit)

    async def remove(self, key: WebhookKey) -> bool:
        """Remove a webhook with its dead letters; tell whether there was one."""
        return bool(await self._rows(QUERIES["remove_webhook"], key.task_id, key.id))

    async def count(self, scope: Scope, task_id: str) -> WebhookCounts:
        """Count the webhooks of a task and of an owner."""
        rows = await self._rows(QUERIES["count_webhooks"], task_id, scope.tenant, scope.owner)
        return WebhookCounts(*rows[0])

    # --- sending --------------------------------------------------------------------------------

    async def take_due(
        self, *, now_ms: int, until_ms: int, limit: int, except_hosts: Collection[str]
    ) -> tuple[Webhook, ...]:
        """Take pending webhooks that are due, the longest due first."""
        hosts = [storable(host) for host in except_hosts]
        return await self._webhooks(_TAKE, now_ms, until_ms, limit, hosts)

    async def advance(
        self, taken: Webhook, *, seq: int, state: TaskState | None, now_ms: int, until_ms: int
    ) -> Webhook | None:
        """Note that all up to an event was dealt with."""
        letter = seq if seq == taken.letter_seq else 0
        values = (*_place(taken), seq, state_number(state), now_ms, until_ms, letter)
        found = await self._webhooks(_ADVANCE, *values)
        return found[0] if found else None

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
        values = (*_place(taken), seq, state_number(state), now_ms, until_ms, seq)
        found = await self._webhooks(_BURY, *values, attempts, finding)
        return found[0] if found else None

    async def postpone(self, taken: Webhook, *, attempts: int, due_ms: int, finding: str) -> bool:
        """Give a webhook back, to be taken again at a time."""
        values = (*_place(taken), attempts, due_ms, finding)
        return bool(await self._rows(QUERIES["postpone_webhook"], *values))

    # --- for operators --------------------------------------------------------------------------

    async def every(self, *, after: WebhookKey | None, limit: int) -> tuple[Webhook, ...]:
        """Return webhooks of any owner after a key."""
        task_id, webhook_id = ("", "") if after is None else (after.task_id, after.id)
        return await self._find("webhooks_after", task_id, webhook_id, limit)

    async def dead_letters(self, *, after: LetterKey | None, limit: int) -> tuple[DeadLetter, ...]:
        """Return dead letters of any owner after a key."""
        place = ("", "", 0) if after is None else (after.task_id, after.webhook_id, after.seq)
        return tuple(map(letter_of, await self._rows(QUERIES["select_letters"], *place, limit)))

    async def retry(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again; return how many."""
        rows = await self._rows(QUERIES["retry_letters"], *_columns(keys), now_ms)
        if rows[0][0]:
            self.wake()
        return rows[0][0]

    async def drop(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; return how many there were."""
        return (await self._rows(QUERIES["drop_letters"], *_columns(keys)))[0][0]

    async def overview(self) -> PendingOverview:
        """Count what there is."""
        rows = await self._rows(QUERIES["webhook_overview"])
        webhooks, pending, oldest_ms, letters = rows[0]
        return PendingOverview(
            webhooks=webhooks, pending=pending, oldest_ms=oldest_ms, dead_letters=letters
        )

    # --- statements -----------------------------------------------------------------------------

    async def _find(self, clause: str, *values: object) -> tuple[Webhook, ...]:
        return await self._webhooks(f"{_SELECT}\n{QUERIES[clause]}", *values)

    async def _webhooks(self, statement: str, *values: object) -> tuple[Webhook, ...]:
        return tuple(map(webhook_of, await self._rows(statement, *values)))

    async def _rows(self, statement: str, *values: object) -> list[list[Any]]:
        rows = await self._database.fetch(statement, *map(storable_value, values))
        return [list(map(readable_value, row)) for row in rows]


def _place(taken: Webhook) -> tuple[str, str, int]:
    return taken.key.task_id, taken.key.id, taken.claim


def _columns(keys: Sequence[LetterKey]) -> tuple[list[str], list[str], list[int]]:
    return (
        [storable(key.task_id) for key in keys],
        [storable(key.webhook_id) for key in keys],
        [key.seq for key in keys],
    )
