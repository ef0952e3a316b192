"""The store is there, but cannot be written: it is locked by another process, or read-only."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import httpx2
import pytest

from dragoman import Agent, Context
from dragoman.stores.sqlite.store import SQLiteTaskStore
from dragoman.stores.sqlite.writer import BatchWriter
from tests.durability.hosting import Hosted, hosting
from tests.durability.waiting import PATIENCE_SECONDS, until
from tests.support.wire import Json, message

Trouble: TypeAlias = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[None]]

pytestmark = [pytest.mark.timeout(60)]


def make_agent() -> Agent:
    agent = Agent("Echo")

    @agent.skill
    async def echo(text: str) -> str:
        return text

    @agent.skill
    async def ask(ctx: Context) -> str:
        return await ctx.ask("And?")

    return agent


@contextmanager
def locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Let somebody else write, and not come to an end."""
    del monkeypatch
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def read_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Let SQLite find that it may not write, as on a file system that was mounted anew."""
    del path
    connect = BatchWriter._connect  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - there is no other door

    def connect_to_read(self: BatchWriter) -> None:
        connect(self)
        self._cursor.execute("PRAGMA query_only = ON")  # pyright: ignore[reportPrivateUsage] - see above

    begin = BatchWriter._begin  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above

    def begin_to_read(self: BatchWriter) -> None:
        self._cursor.execute("PRAGMA query_only = ON")  # pyright: ignore[reportPrivateUsage] - see above
        begin(self)

    with monkeypatch.context() as patch:
        patch.setattr(BatchWriter, "_connect", connect_to_read)
        patch.setattr(BatchWriter, "_begin", begin_to_read)
        yield


async def send(hosted: Hosted, skill: str, **members: object) -> httpx2.Response:
    sent: Json = {"message": message("hello", metadata={"skillId": skill}, **members)}
    return await hosted.http.post("/message:send", json=sent)


@pytest.mark.parametrize("trouble", [locked, read_only])
async def test_callers_are_told_to_come_back_nothing_is_lost_and_it_passes(
    trouble: Trouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tasks.db"
    async with hosting(make_agent(), SQLiteTaskStore(path)) as hosted:
        done = (await send(hosted, "echo")).json()["task"]
        waiting = (await send(hosted, "ask")).json()["task"]
        with trouble(path, monkeypatch):
            refused = await send(hosted, "echo")
            assert refused.status_code == 503
            assert "retry-after" in refused.headers
            assert (await hosted.http.get("/readyz")).status_code == 503
            # What was acknowledged can be read meanwhile.
            assert (await hosted.http.get(f"/tasks/{done['id']}")).json() == done
        async with asyncio.timeout(PATIENCE_SECONDS):
            await until(lambda: hosted.app.runtime.is_ready)
        answered = (await send(hosted, "ask", taskId=waiting["id"])).json()["task"]
        assert answered["status"]["state"] == "TASK_STATE_COMPLETED"
        assert (await send(hosted, "echo")).status_code == 200
