"""An agent that asks nothing, calls nobody and is not traced pays nothing for those that are."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from types import FrameType

import pytest

from dragoman import Agent
from dragoman.stores.memory.store import MemoryTaskStore
from tests.durability.hosting import Hosted, hosting
from tests.durability.recording import RecordingStore
from tests.support.wire import message

CHUNKS = 100
FOR_OTHERS = (
    "dragoman.engine.journal",
    "dragoman.server.tasks.resuming",
    "dragoman.agent.steps",
    "dragoman.agent.children",
    "dragoman.agent.gathering",
    # Without a provider nothing of it is called: what is traced costs a look at a variable.
    "dragoman.telemetry",
)


def make_agent() -> Agent:
    agent = Agent("Plain")

    @agent.skill
    async def echo(text: str) -> str:
        return text

    @agent.skill
    async def chunks(text: str) -> AsyncIterator[str]:
        for _ in range(CHUNKS):
            yield text

    return agent


async def send(hosted: Hosted, skill: str) -> None:
    sent = message(metadata={"skillId": skill})
    response = await hosted.http.post("/message:send", json={"message": sent})
    assert response.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("skill", ["echo", "chunks"])
async def test_nothing_is_recorded_or_planned(skill: str) -> None:
    store = RecordingStore(MemoryTaskStore())
    async with hosting(make_agent(), store) as hosted:
        await send(hosted, skill)
        writes = tuple(store.writes)
    assert [write.journal for write in writes if write.journal] == []
    assert [(write.wake_at_ms, write.attempts) for write in writes] == [(None, None)] * len(writes)
    # A turn that ends in its first pass is one commit, as it always was.
    assert skill != "echo" or len(writes) == 1


@pytest.mark.parametrize("skill", ["echo", "chunks"])
async def test_no_code_of_the_others_runs(skill: str) -> None:
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_globals.get("__name__", ""))

    async with hosting(make_agent(), MemoryTaskStore()) as hosted:
        await send(hosted, skill)
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            await send(hosted, skill)
        finally:
            sys.setprofile(before)
    assert "dragoman.server.tasks.turns" in called
    assert called.isdisjoint(FOR_OTHERS)
