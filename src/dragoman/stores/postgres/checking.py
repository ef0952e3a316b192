"""Checks a whole database: its tables, and each task in them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from typing import Final

from dragoman.stores.postgres.connection import SCHEMA, Connection
from dragoman.stores.postgres.inspection import read_records
from dragoman.stores.postgres.schema import MIGRATIONS
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.texts import readable
from dragoman.stores.shared.checking import TASK_RULES, Finding, check_task
from dragoman.stores.shared.states import STATES

__all__ = ("RULES", "check_database")

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
