"""A database with tasks of every kind, as a server leaves it behind."""

from __future__ import annotations

import asyncio
from functools import cache
from secrets import token_hex

from dragoman.stores.postgres.store import PostgresTaskStore
from tests.support.postgres import new_database, postgres_server
from tests.support.stores.postgres.looking import ask, name_of
from tests.support.stores.sqlite.populated import EXPECTED_TASKS, leave_tasks

__all__ = ("EXPECTED_TASKS", "change", "populated", "task_of")


def populated() -> str:
    """Return the address of such a database of one's own; it is filled once in a run of tests."""
    return postgres_server().create_database(f"test_{token_hex(8)}", template=_filled())


@cache
def _filled() -> str:
    url = new_database()

    def wake_at_ms(task_id: str) -> object:
        return int(ask(url, f"SELECT wake_at_ms FROM tasks WHERE id = '{task_id}'"))  # noqa: S608 - ours

    asyncio.run(leave_tasks(PostgresTaskStore(url), wake_at_ms))
    return name_of(url)


def change(url: str, *statements: str) -> None:
    """Change a database by hand; each statement must change something.

    In a statement ``:count``, ``:ask``, ``:hold`` and ``:sleep`` are the tasks of these skills.
    """
    for statement in statements:
        text = statement
        for skill in ("count", "ask", "hold", "sleep"):
            if f":{skill}" in text:
                text = text.replace(f":{skill}", f"'{task_of(url, skill)}'")
        counting = f"WITH changed AS ({text} RETURNING 1) SELECT count(*) FROM changed"  # noqa: S608 - ours
        assert int(ask(url, counting)), statement


def task_of(url: str, skill: str) -> str:
    """Return the first task of a skill."""
    return ask(
        url,
        f"SELECT id FROM tasks WHERE skill_id = '{skill}' ORDER BY created_ms LIMIT 1",  # noqa: S608 - ours
    )
