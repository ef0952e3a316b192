"""Whoever comes to follow a task just when another replica takes it over is not left behind."""

import asyncio

import pytest

from dragoman.model.tasks import TaskState
from tests.scenarios.replicas.replicas import Replicas
from tests.scenarios.replicas.telling import Steps
from tests.support.server.agency import frames, send

pytestmark = pytest.mark.anyio


async def test_a_stream_that_begins_while_the_task_is_lost_goes_on(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)

    async def has_begun() -> bool:
        return len((await b.get(task.id)).artifacts) == 1

    await replicas.until(has_begun)
    read_entries = a.store.read_entries
    is_reading, may_read = asyncio.Event(), asyncio.Event()

    async def read_slowly(task_id: str, *, until: int) -> tuple[bytes, ...]:
        is_reading.set()
        await may_read.wait()
        return await read_entries(task_id, until=until)

    monkeypatch.setattr(a.store, "read_entries", read_slowly)
    async with asyncio.TaskGroup() as group:
        subscribing = group.create_task(a.subscribe(task.id, cursor=1))
        await is_reading.wait()
        a.stand_still()
        second.allow(1)

        async def has_ended() -> bool:
            return (await b.get(task.id)).status.state is TaskState.COMPLETED

        await replicas.until(has_ended)
        # It learns that it has lost the task, and only then what the stream begins with.
        a.go_on()
        await replicas.pass_leases(2)
        may_read.set()
    seen = await replicas.wait_for(frames(subscribing.result()))
    numbers = [number for number, _ in seen]
    assert numbers == list(range(1, len(numbers) + 1))
    last = (await b.store.read_events(task.id, after=0, limit=99))[-1]
    assert numbers[-1] == last.seq
