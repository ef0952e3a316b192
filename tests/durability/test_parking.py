"""Conversations that wait cost no memory, and an answer brings one back as quickly as ever."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, Context
from dragoman.stores.sqlite.store import SQLiteTaskStore
from tests.durability.hosting import Hosted, hosting
from tests.durability.waiting import until
from tests.support.server.runtimes import runtime_of
from tests.support.wire import Json, message

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
CONVERSATIONS: Final = 100_000 if IS_SOAK else 3_000
WARMING_UP: Final = 2_000
"""So many fill the caches, whose size is fixed."""

TOGETHER: Final = 100
MOST_BYTES: Final = 50_000_000

pytestmark = [pytest.mark.timeout(900 if IS_SOAK else 90)]


def make_agent() -> Agent:
    agent = Agent("Conversation")

    @agent.skill
    async def talk(ctx: Context) -> str:
        name = await ctx.ask("Who is there?")
        return f"Hello, {name}"

    return agent


async def begin(hosted: Hosted) -> str:
    """Begin a conversation, and return the id of the task that waits."""
    task = await send(hosted, message())
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    return task["id"]


async def send(hosted: Hosted, sent: Json) -> Json:
    response = await hosted.http.post("/message:send", json={"message": sent})
    return response.raise_for_status().json()["task"]


async def begin_many(hosted: Hosted, count: int) -> list[str]:
    ids: list[str] = []
    for _ in range(0, count, TOGETHER):
        ids += await asyncio.gather(*(begin(hosted) for _ in range(TOGETHER)))
    await until(lambda: runtime_of(hosted.app).live_tasks == 0)
    return ids


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def test_conversations_that_wait_leave_memory_and_come_back(tmp_path: Path) -> None:
    store = SQLiteTaskStore(tmp_path / "tasks.db")
    async with hosting(make_agent(), store, park_after_seconds=0.0) as hosted:
        await begin_many(hosted, WARMING_UP)
        before = resident_bytes()
        ids = await begin_many(hosted, CONVERSATIONS)
        assert resident_bytes() - before < MOST_BYTES
        for task_id in (ids[0], ids[len(ids) // 2], ids[-1]):
            task = await send(hosted, message("Ada", taskId=task_id))
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
            assert task["artifacts"][0]["parts"] == [{"text": "Hello, Ada"}]
