"""Old tasks leave, nothing of them stays behind, and the rules of the store hold throughout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from dragoman import Agent, Context, TaskState
from dragoman.model.documents import TaskDocument
from dragoman.model.tasks import Task
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import Settings
from dragoman.service.service import Call
from dragoman.stores.base import Scope, StoredTask
from dragoman.stores.sqlite.store import SQLiteTaskStore
from dragoman.testing.clock import FakeClock
from tests.durability.checking import check_store
from tests.durability.hosting import hosting, send_request
from tests.support.wire import message

DAY_SECONDS: Final = 24 * 60 * 60
OWNER: Final = Scope("", "anonymous")

agent = Agent("Old", "Has seen many tasks.")


@agent.skill
async def work(text: str, ctx: Context) -> str:
    """Do something worth remembering."""
    await ctx.step(len, text)
    return text


@agent.skill
async def ask(ctx: Context) -> str:
    """Wait for an answer."""
    return await ctx.ask("which?")


@agent.skill
async def hold(ctx: Context) -> None:
    """Wait for nothing."""
    await ctx.say("holding")
    await asyncio.Event().wait()


class Aging:
    """An agent on a SQLite file, in a time that a test can move."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.clock = FakeClock()
        self.store = SQLiteTaskStore(path)
        self.runtime = build_runtime(agent.worker, settings, clock=self.clock, store=self.store)

    async def send(self, skill: str) -> Task:
        service = await self.runtime.service()
        sent = await service.send_message(send_request("one", skill), Call())
        assert isinstance(sent, TaskDocument)
        return sent.task()

    async def load(self, task: Task) -> StoredTask | None:
        return await self.store.load(OWNER, task.id)

    async def pass_days(self, days: float) -> None:
        """Let time pass, and housekeeping with it."""
        await self.clock.until_asleep(4)
        self.clock.advance(days * DAY_SECONDS)
        # Each of its tasks sleeps again: what was due is done.
        await self.clock.until_asleep(4)


@asynccontextmanager
async def aging(
    path: Path, *, retention_days: float = 30, input_expiry_days: float = 0
) -> AsyncGenerator[Aging]:
    settings = Settings(
        retention_days=retention_days,
        input_expiry_days=input_expiry_days,
        shutdown_grace_seconds=0,
    )
    made = Aging(path, settings)
    await made.runtime.start()
    try:
        yield made
    finally:
        await made.runtime.stop()


async def test_a_server_removes_what_ended_long_ago(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    async with aging(path) as world:
        old, waiting = await world.send("work"), await world.send("ask")
        await world.pass_days(20)
        new = await world.send("work")
        assert await world.load(old) is not None
        await world.pass_days(11)
        assert await world.load(old) is None
        assert await world.load(new) is not None
        assert await world.load(waiting) is not None
        check_store(path)


async def test_a_server_keeps_everything_if_told_so(tmp_path: Path) -> None:
    async with aging(tmp_path / "tasks.db", retention_days=0) as world:
        old = await world.send("work")
        await world.pass_days(10_000)
        assert await world.load(old) is not None


async def test_a_server_ends_what_nobody_comes_back_to_and_removes_it_later(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    async with aging(path, input_expiry_days=7) as world:
        task = await world.send("ask")
        await world.pass_days(8)
        ended = await world.load(task)
        assert ended is not None
        assert ended.snapshot is not None
        status = ended.snapshot.task().status
        assert status.state is TaskState.FAILED
        assert status.message is not None
        assert status.message.parts[0].text == "No answer came within 7 days; the task is ended"
        check_store(path)
        await world.pass_days(31)
        assert await world.load(task) is None
        check_store(path)


async def test_a_message_that_comes_with_the_end_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    async with hosting(agent, SQLiteTaskStore(path)) as hosted:
        for _ in range(20):
            first = message(metadata={"skillId": "hold"})
            body = {"message": first, "configuration": {"returnImmediately": True}}
            task_id = (await hosted.http.post("/message:send", json=body)).json()["task"]["id"]
            more = {**body, "message": message("more", taskId=task_id)}
            await asyncio.gather(
                hosted.http.post("/message:send", json=more),
                hosted.http.post(f"/tasks/{task_id}:cancel"),
            )
        check_store(path)
