"""A database with tasks of every kind, as a server leaves it behind."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from dragoman import Agent, Context
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.stores.base import TaskStore
from dragoman.stores.sqlite.store import SQLiteTaskStore
from dragoman.stores.webhooks import NewWebhook
from tests.durability.hosting import Hosted, hosting
from tests.durability.waiting import until
from tests.support.wire import message

__all__ = ("EXPECTED_TASKS", "change", "leave_tasks", "populate", "task_of", "value")

EXPECTED_TASKS = 5

_WAKE_AT = "SELECT wake_at_ms FROM tasks WHERE id = ?"

agent = Agent("Many", "Leaves tasks of every kind.")


@agent.skill
async def count(text: str, ctx: Context) -> AsyncIterator[str]:
    """End, after many chunks and results."""
    for number in range(5):
        await ctx.step(str, number)
        yield f"{text} {number}\n"
        await asyncio.sleep(0)


@agent.skill
async def ask(text: str, ctx: Context) -> str:
    """Wait for an answer."""
    await ctx.step(len, text)
    await ctx.step(str.upper, text)
    await ctx.say("almost")
    return await ctx.ask("which one?")


@agent.skill
async def hold(text: str, ctx: Context) -> str:
    """Work without end, while a message waits."""
    await ctx.say(text)
    await asyncio.Event().wait()
    return "never"


@agent.skill
async def sleep(text: str, ctx: Context) -> str:
    """Sleep for long."""
    await ctx.sleep(10_000)
    return text


async def leave_tasks(store: TaskStore, wake_at_ms: Callable[[str], object]) -> None:
    """Serve an agent on a store for a while, and stop in the middle of it.

    Args:
        wake_at_ms: tells when a task is to be woken, past the store.
    """
    async with hosting(agent, store) as hosted:
        await _send(hosted, "count")
        await store.webhooks.put(await _send(hosted, "ask"), _webhook())
        held = await _send(hosted, "hold", is_urgent=True)
        await _send(hosted, "hold", is_urgent=True, task=held)
        asleep = await _send(hosted, "sleep", is_urgent=True)
        # The first version lets its clients name their tasks.
        named = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
        await hosted.http.post(
            "/",
            headers={"A2A-Version": ""},
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tasks/send",
                "params": {"id": "mine", "message": named},
            },
        )
        await until(lambda: bool(wake_at_ms(asleep)))


def _webhook() -> NewWebhook:
    config = TaskPushNotificationConfig(id="w-1", url="https://hooks.example/")
    return NewWebhook(config=config, dialect="1.0", host="hooks.example", created_ms=1)


async def _send(
    hosted: Hosted, skill: str, *, is_urgent: bool = False, task: str | None = None
) -> str:
    about = {} if task is None else {"taskId": task}
    sent = message("one", metadata={"skillId": skill}, **about)
    configuration = {"returnImmediately": is_urgent}
    response = await hosted.http.post(
        "/message:send", json={"message": sent, "configuration": configuration}
    )
    assert response.status_code == 200, response.text
    return response.json()["task"]["id"]


@cache
def _content() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "tasks.db")
        store = SQLiteTaskStore(path)
        asyncio.run(leave_tasks(store, lambda task_id: value(path, _WAKE_AT, task_id)))
        return path.read_bytes()


def populate(path: Path) -> None:
    """Write the database to a file; it is made once in a run of the tests."""
    path.write_bytes(_content())


def change(path: Path, *statements: str) -> None:
    """Change a database by hand; each statement must change something.

    In a statement ``:count``, ``:ask``, ``:hold`` and ``:sleep`` are the tasks of these skills.
    """
    tasks = {skill: task_of(path, skill) for skill in ("count", "ask", "hold", "sleep")}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            # Statements that change no rows, such as DROP, report -1.
            assert connection.execute(statement, tasks).rowcount != 0, statement


def task_of(path: Path, skill: str) -> str:
    """Return the first task of a skill."""
    found = value(path, "SELECT id FROM tasks WHERE skill_id = ? ORDER BY rowid", skill)
    assert isinstance(found, str)
    return found


def value(path: Path, statement: str, *values: object) -> object:
    """Ask a database for one value."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement, values).fetchone()[0]
