"""A crowd of clients of the counting agent, and a look at all that they were told afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from random import Random
from typing import Final

import httpx2

from tests.durability.following import Follower
from tests.durability.witness import Inquiry, Witness, check_log, text_of
from tests.support.wire import Frame, Json, Wire

__all__ = ("Crowd", "Inspection", "check_runs")

STEPS: Final = 10
"""How far each task counts."""

LOOKS_AT_ONCE: Final = 20
CLOSE_LOOKS: Final = 50
"""Tasks whose every reading is compared, also those from the middle."""

FINISH_SECONDS: Final = 120
"""How long clients may take to see their last tasks to the end when all is well again."""

SILENCE_SECONDS: Final = 4
"""After so much of it a client tries elsewhere."""


class Crowd:
    """Clients, of whom each begins a new task when its last one has ended, until it is enough."""

    def __init__(self, url: str, chance: Random, *, size: int) -> None:
        self.witness = Witness()
        self.followers: list[Follower] = []
        self._url = url
        self._chance = chance
        self._size = size
        self._is_enough = False

    @asynccontextmanager
    async def busy(self) -> AsyncGenerator[None]:
        """Keep the crowd busy; at the end wait until each has seen its task to the end."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        async with (
            httpx2.AsyncClient(
                base_url=self._url,
                headers={"A2A-Version": "1.0"},
                timeout=SILENCE_SECONDS,
                limits=limits,
                trust_env=False,
            ) as http,
            asyncio.timeout(None) as limit,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(self._size):
                group.create_task(self._attend(http))
            yield
            self._is_enough = True
            limit.reschedule(asyncio.get_running_loop().time() + FINISH_SECONDS)

    async def _attend(self, http: httpx2.AsyncClient) -> None:
        # Not all at one moment.
        await asyncio.sleep(self._chance.uniform(0, 2))
        while not self._is_enough:
            skill = self._chance.choice(("count", "count", "doze", "confirm"))
            follower = Follower(http, self.witness, self._chance, skill, STEPS)
            self.followers.append(follower)
            async with asyncio.TaskGroup() as group:
                group.create_task(follower.run())
                if self._chance.random() < 0.05:
                    group.create_task(self._cancel(follower))

    async def _cancel(self, follower: Follower) -> None:
        await asyncio.sleep(self._chance.uniform(0, 4))
        if follower.task_id:
            await follower.cancel()


def check_runs(log: Sequence[Frame], task: Json) -> int:
    """Check who said the numbers; return how many runs it took.

    No number is missing or said twice, and no run speaks after another has begun to: that would
    have been written by a replica that no longer held the task.
    """
    statuses = [
        frame.result["statusUpdate"]["status"] for frame in log if frame.kind == "statusUpdate"
    ]
    said = [
        text_of(status["message"]).split()
        for status in statuses
        if status["state"] == "TASK_STATE_WORKING" and "message" in status
    ]
    assert [int(number) for number, *_ in said] == list(range(len(said)))
    # Nothing in the agent fails, so nothing that happened to replicas may be told as a failure.
    assert task["status"]["state"] in ("TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"), task
    if task["status"]["state"] == "TASK_STATE_COMPLETED":
        assert len(said) == STEPS
    runs = [run for run, _ in groupby(run for _, run, *_ in said)]
    assert len(runs) == len(set(runs)), f"a run went on after it was replaced: {runs}"
    return len(runs)


class Inspection(Inquiry):
    """Looks at all that was told, and at who wrote it."""

    def __init__(self, witness: Witness, wire: Wire, chance: Random) -> None:
        super().__init__(witness, wire, chance)
        self.told = witness

    async def look_at(self, task_id: str) -> int:
        """Hold what was seen of a task against its log; return how many runs it took."""
        task: Json = json.loads(await self._get(task_id))
        log = await self._replay(task_id, 1)
        check_log(log, task)
        for seq, event in self.told.task(task_id).events.items():
            assert log[seq - 1].result == event, f"event {seq} is not what was delivered"
        return check_runs(log, task)

    async def look_at_all(self) -> int:
        """Look at every task, and closely at some; return how many were taken over."""
        looks: list[asyncio.Task[int]] = []
        tasks = sorted(self.told.tasks)
        for at in range(0, len(tasks), LOOKS_AT_ONCE):
            async with asyncio.TaskGroup() as group:
                looks += [
                    group.create_task(self.look_at(task_id))
                    for task_id in tasks[at : at + LOOKS_AT_ONCE]
                ]
        for task_id in self._random.sample(tasks, min(CLOSE_LOOKS, len(tasks))):
            await self.task(task_id)
        await self.lists()
        return sum(look.result() > 1 for look in looks)
