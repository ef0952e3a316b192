"""Checks a whole database: the file, its tables, and each task in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final

from dragoman.stores.shared.checking import TASK_RULES, Finding, check_task
from dragoman.stores.shared.sql import read_queries
from dragoman.stores.shared.states import STATES
from dragoman.stores.sqlite.inspection import read_record
from dragoman.stores.sqlite.schema import expected_schema

__all__ = ("RULES", "check_database")

RULES: Final = {
    "file": "SQLite finds its own structure in order",
    "schema": "the tables, indexes and triggers are those of this version",
    "type": "every value is of the kind of its column",
    **TASK_RULES,
    "stray": "logs, snapshots, results, messages and webhooks belong to a task that there is",
    "alias": "what a client calls a task leads to a task of the same owner",
    "send": "the record of a send leads to a task of the same owner, if to any",
    "webhook": "a webhook is of its task's owner, stands within the log, and waits if it must",
    "letter": "a dead letter is of a webhook that there is, and of an event it has come to",
    "counter": "tasks are counted right, per owner and state",
}
"""Every rule by its name, in the order of checking."""

_PROGRESS_TASKS: Final = 50_000
"""After how many tasks progress is told: some seconds."""

_QUERIES: Final = read_queries("dragoman.stores.sqlite")


def check_database(
    connection: sqlite3.Connection, progress: Callable[[int, int], None]
) -> Iterator[Finding]:
    """Yield all that is wrong. The connection should see the database as of one moment.

    It must be of this version: see ``check_current``.

    Args:
        progress: told now and then, and at the end, how many tasks have been checked, and how many
            there are.
    """
    try:
        yield from _file(connection)
        yield from _schema(connection)
        yield from _tasks(connection, progress)
        yield from _strays(connection)
        yield from _webhooks(connection)
        yield from _counters(connection)
    except sqlite3.DatabaseError as error:
        # What is broken inside cannot be read to its end.
        yield Finding("file", f"it cannot be read any further: {error}")


def _file(connection: sqlite3.Connection) -> Iterator[Finding]:
    for (text,) in connection.execute("PRAGMA integrity_check"):
        if text != "ok":
            yield Finding("file", text)


def _schema(connection: sqlite3.Connection) -> Iterator[Finding]:
    # Others may be there: an operator's own index is no fault.
    for kind, name in sorted(
        expected_schema() - set(connection.execute(_QUERIES["select_schema"]))
    ):
        yield Finding("schema", f"the {kind} {name} is missing")


def _tasks(
    connection: sqlite3.Connection, progress: Callable[[int, int], None]
) -> Iterator[Finding]:
    unfit: set[str] = set()
    for task_id, table in connection.execute(_QUERIES["misfits"]):
        unfit.add(str(task_id))
        yield Finding("type", f"a value in {table} is of the wrong kind", str(task_id))
    total = connection.execute(_QUERIES["count_tasks"]).fetchall()[0][0]
    for number, (task_id,) in enumerate(connection.execute(_QUERIES["select_ids"]), 1):
        # What is of the wrong kind would only be stumbled over.
        record = None if str(task_id) in unfit else read_record(connection, task_id)
        if record is not None:
            yield from check_task(record)
        if number % _PROGRESS_TASKS == 0 and number != total:
            progress(number, total)
    progress(total, total)


def _strays(connection: sqlite3.Connection) -> Iterator[Finding]:
    for task_id, table in connection.execute(_QUERIES["strays"]):
        yield Finding("stray", f"it has {table}, but there is no such task", task_id)
    for alias, task_id in connection.execute(_QUERIES["stray_aliases"]):
        yield Finding("alias", f"{alias!r} is no name of a task of its owner", task_id)
    for message_id, task_id in connection.execute(_QUERIES["stray_sends"]):
        yield Finding("send", f"{message_id!r} went to no task of its owner", task_id)


def _webhooks(connection: sqlite3.Connection) -> Iterator[Finding]:
    for task_id, webhook_id, text in connection.execute(_QUERIES["wrong_webhooks"]):
        yield Finding("webhook", f"{webhook_id!r} {text}", task_id)
    for task_id, webhook_id, seq in connection.execute(_QUERIES["wrong_letters"]):
        yield Finding("letter", f"that of event {seq} for {webhook_id!r} is none", task_id)


def _counters(connection: sqlite3.Connection) -> Iterator[Finding]:
    for tenant, owner, state, counted, found in connection.execute(_QUERIES["wrong_counters"]):
        name = STATES[state].value if state in STATES else f"state {state}"
        whose = f"{owner!r} of tenant {tenant!r}" if tenant else f"{owner!r}"
        yield Finding("counter", f"{whose} has {found} tasks in {name}, counted as {counted}")
