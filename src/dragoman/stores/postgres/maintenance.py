"""PostgresMaintenance: looks after a store in PostgreSQL. Servers may go on with it meanwhile."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from dragoman.errors import StoreError, UsageError
from dragoman.stores.maintenance import ERASED, Erasure, Finding, TaskRecord, record_of
from dragoman.stores.postgres.connection import FAILURES, SCHEMA, Connection, Database, reason_of
from dragoman.stores.postgres.schema import (
    MIGRATIONS,
    check_current,
    check_same,
    migrate,
    stored_version,
)
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.texts import readable, readable_value, storable
from dragoman.stores.postgres.webhooks import PostgresWebhooks
from dragoman.stores.shared.checking import TASK_RULES, check_task
from dragoman.stores.shared.states import STATES
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = (
    "RULES",
    "PostgresMaintenance",
    "check_database",
    "connected",
    "looking_at",
    "read_records",
)

RULES: Final = {
    "schema": "the tables, indexes, functions and triggers are those of this version",
    **TASK_RULES,
    "stray": "logs, snapshots, results, messages and webhooks belong to a task that there is",
    "alias": "what a client calls a task leads to a task of the same owner",
    "send": "the record of a send leads to a task of the same owner, if to any",
    "webhook": "a webhook is of its task's owner, stands within the log, and waits if it must",
    "letter": "a dead letter is of an event that its webhook has come to",
    "counter": "tasks are counted right, per owner and state",
}
"""Every rule by its name, in the order of checking. Whether its files are in order is for
PostgreSQL's own tools to say."""

_TASKS_AT_ONCE: Final = 200
"""Tasks that are in memory at a time, with all that belongs to them."""

_PROGRESS_TASKS: Final = 50_000
"""After how many tasks progress is told: some seconds."""

_CREATED: Final = re.compile(r"^CREATE (TABLE|INDEX|FUNCTION|TRIGGER) (\w+)", re.MULTILINE)

_AT_ONCE: Final = 500
"""Webhooks in memory at a time; a store may have very many."""


class PostgresMaintenance:
    """Looks after the store in one database. See ``Maintenance``."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    @property
    def name(self) -> str:
        """The address, without a password."""
        return self._database.name

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong."""

        async def check() -> None:
            async with looking_at(self._database) as connection:
                await check_same(connection, self.name)
                async for finding in check_database(connection, progress):
                    found(finding)

        asyncio.run(check())

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task."""

        async def read() -> TaskRecord | None:
            async with looking_at(self._database) as connection:
                await check_current(connection, self.name)
                records = await read_records(connection, [task_id])
                return records[0] if records else None

        return asyncio.run(read())

    def read_webhooks(
        self, letter: Callable[[DeadLetter], None], webhook: Callable[[Webhook], None]
    ) -> None:
        """Look at all webhooks, as of one moment."""

        async def read() -> None:
            after_letter: LetterKey | None = None
            after: WebhookKey | None = None
            async with looking_at(self._database) as connection:
                await check_current(connection, self.name)
                rows = PostgresWebhooks(connection)
                while letters := await rows.dead_letters(after=after_letter, limit=_AT_ONCE):
                    for each in letters:
                        letter(each)
                    after_letter = letters[-1].key
                while webhooks := await rows.every(after=after, limit=_AT_ONCE):
                    for each in webhooks:
                        webhook(each)
                    after = webhooks[-1].key

        asyncio.run(read())

    def retry_letters(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again."""
        return asyncio.run(self._change(lambda webhooks: webhooks.retry(keys, now_ms)))

    def drop_letters(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters."""
        return asyncio.run(self._change(lambda webhooks: webhooks.drop(keys)))

    async def _change(self, change: Callable[[PostgresWebhooks], Awaitable[int]]) -> int:
        async with connected(self._database) as connection:
            await check_current(connection, self.name)
            await connection.execute(QUERIES["keep_promise"])
            return await change(PostgresWebhooks(connection))

    def erase(self, erasure: Erasure, *, is_trial: bool) -> dict[str, int]:
        """Remove tasks with everything that belongs to them; who runs one of them is refused."""

        async def erase() -> dict[str, int]:
            async with connected(self._database) as connection:
                await check_current(connection, self.name)
                await connection.execute(QUERIES["keep_promise"])
                removed = await _erase(
                    connection, erasure, end="ROLLBACK" if is_trial else "COMMIT"
                )
                if not is_trial:
                    # Apart: a writer may hold counters and wait for a task that is ours.
                    await connection.execute("BEGIN")
                    await connection.execute(QUERIES["lock_counters"])
                    await connection.execute(QUERIES["erase_counters"])
                    await connection.execute("COMMIT")
                return removed

        return asyncio.run(erase())

    def upgrade(self) -> tuple[int, int]:
        """Bring the store up to date; in an empty database it is made."""

        async def upgrade() -> tuple[int, int]:
            async with connected(self._database) as connection:
                return await migrate(connection, self.name)

        return asyncio.run(upgrade())

    def vacuum(self) -> tuple[int, int]:
        """Have PostgreSQL reuse the room of what was removed, and learn anew what there is."""

        async def vacuum() -> tuple[int, int]:
            async with looking_at(self._database) as connection:
                await check_current(connection, self.name)
            async with connected(self._database) as connection:
                before = await connection.fetchval(QUERIES["size"], SCHEMA)
                for kind, table in await connection.fetch(QUERIES["select_schema"], SCHEMA):
                    if kind == "table":
                        await connection.execute(f'VACUUM (ANALYZE) "{table}"')
                return before, await connection.fetchval(QUERIES["size"], SCHEMA)

        return asyncio.run(vacuum())


# --- looking, beside servers ----------------------------------------------------------------------


@asynccontextmanager
async def connected(database: Database) -> AsyncGenerator[Connection]:
    """Connect to a database until the end of the block.

    Raises:
        UsageError: it cannot be reached.
        StoreError: PostgreSQL fails; also when that comes out within the block.
    """
    try:
        # What operators do may take long.
        connection = await database.connect(command_seconds=None)
    except FAILURES as error:
        message = (
            f"{database.name} cannot be reached ({reason_of(error)}); name another with --store"
        )
        raise UsageError(message) from error
    try:
        yield connection
    except FAILURES as error:
        raise StoreError(f"{database.name}: PostgreSQL failed: {reason_of(error)}") from error
    finally:
        connection.terminate()


@asynccontextmanager
async def looking_at(database: Database) -> AsyncGenerator[Connection]:
    """See a database as of one moment until the end of the block.

    It may be of another version: see ``check_current``. Raises as ``connected`` does, and a
    UsageError if there is no store in it.
    """
    async with connected(database) as connection:
        if not await stored_version(connection, database.name):
            message = f"there is no store in {database.name}; name another with --store"
            raise UsageError(message)
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection


async def read_records(connection: Connection, ids: Sequence[str]) -> list[TaskRecord]:
    """Return all that is stored of tasks, in the order of their ids."""
    keys = [storable(task_id) for task_id in ids]
    snapshots = await _by_task(connection, "records_snapshots", keys)
    segments = await _by_task(connection, "records_segments", keys)
    journal = await _by_task(connection, "records_journal", keys)
    inbox = await _by_task(connection, "records_inbox", keys)
    return [
        record_of(
            [readable_value(value) for value in row],
            snapshots=snapshots[row[0]],
            segments=segments[row[0]],
            journal=[[readable_value(value) for value in entry] for entry in journal[row[0]]],
            inbox=inbox[row[0]],
        )
        for row in await connection.fetch(QUERIES["records_tasks"], keys)
    ]


async def _by_task(
    connection: Connection, query: str, keys: Sequence[str]
) -> dict[str, list[Sequence[object]]]:
    found: dict[str, list[Sequence[object]]] = defaultdict(list)
    for task_id, *row in await connection.fetch(QUERIES[query], keys):
        found[task_id].append(row)
    return found


async def _erase(connection: Connection, erasure: Erasure, *, end: str) -> dict[str, int]:
    conditions = (
        *(
            None if value is None else storable(value)
            for value in (erasure.task_id, erasure.owner, erasure.tenant)
        ),
        erasure.before_ms,
    )
    await connection.execute("BEGIN")
    ids = [row[0] for row in await connection.fetch(QUERIES["choose_erased"], *conditions)]
    removed: dict[str, int] = {}
    for table in ERASED:
        given = conditions if table == "sends" else ()
        removed[table] = await connection.fetchval(QUERIES[f"erase_{table}"], ids, *given)
    await connection.execute(end)
    return removed


# --- checking -------------------------------------------------------------------------------------


async def check_database(
    connection: Connection, progress: Callable[[int, int], None]
) -> AsyncGenerator[Finding]:
    """Yield all that is wrong. The connection should see the database as of one moment.

    It must be of this version: see ``check_same``.

    Args:
        progress: told now and then, and at the end, how many tasks have been checked, and how many
            there are.
    """
    missing = await _missing(connection)
    for kind, object_name in missing:
        yield Finding("schema", f"the {kind} {object_name} is missing")
    if any(kind == "table" for kind, _ in missing):
        return
    async for finding in _tasks(connection, progress):
        yield finding
    async for finding in _strays(connection):
        yield finding
    async for finding in _webhooks(connection):
        yield finding
    async for finding in _counters(connection):
        yield finding


async def _missing(connection: Connection) -> list[tuple[str, str]]:
    # Others may be there: an operator's own index is no fault.
    expected = {
        (kind.lower(), name) for script in MIGRATIONS for kind, name in _CREATED.findall(script)
    }
    rows = await connection.fetch(QUERIES["select_schema"], SCHEMA)
    return sorted(expected - {(kind, name) for kind, name in rows})


async def _tasks(
    connection: Connection, progress: Callable[[int, int], None]
) -> AsyncGenerator[Finding]:
    total = await connection.fetchval(QUERIES["count_tasks"])
    done = 0
    last = ""
    while rows := await connection.fetch(QUERIES["select_ids"], last, _TASKS_AT_ONCE):
        ids = [readable(row[0]) for row in rows]
        for record in await read_records(connection, ids):
            for finding in check_task(record):
                yield finding
        last = rows[-1][0]
        done += len(rows)
        if done // _PROGRESS_TASKS > (done - len(rows)) // _PROGRESS_TASKS and done != total:
            progress(done, total)
    progress(total, total)


async def _strays(connection: Connection) -> AsyncGenerator[Finding]:
    for task_id, table in await connection.fetch(QUERIES["strays"]):
        yield Finding("stray", f"it has {table}, but there is no such task", readable(task_id))
    for alias, task_id in await connection.fetch(QUERIES["stray_aliases"]):
        yield Finding("alias", f"{readable(alias)!r} is no name of a task of its owner", task_id)
    for message_id, task_id in await connection.fetch(QUERIES["stray_sends"]):
        yield Finding("send", f"{readable(message_id)!r} went to no task of its owner", task_id)


async def _webhooks(connection: Connection) -> AsyncGenerator[Finding]:
    for task_id, webhook_id, text in await connection.fetch(QUERIES["wrong_webhooks"]):
        yield Finding("webhook", f"{readable(webhook_id)!r} {text}", readable(task_id))
    for task_id, webhook_id, seq in await connection.fetch(QUERIES["wrong_letters"]):
        text = f"that of event {seq} for {readable(webhook_id)!r} is none"
        yield Finding("letter", text, readable(task_id))


async def _counters(connection: Connection) -> AsyncGenerator[Finding]:
    for tenant, owner, state, counted, found in await connection.fetch(QUERIES["wrong_counters"]):
        name = STATES[state].value if state in STATES else f"state {state}"
        whose = f"{owner!r} of tenant {tenant!r}" if tenant else f"{owner!r}"
        yield Finding("counter", f"{whose} has {found} tasks in {name}, counted as {counted}")
