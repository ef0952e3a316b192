"""Replicas are killed, paused and replaced, and so is what they stand on: no client notices.

Repeat the decisions of a failed run with DRAGOMAN_CRASH_SEED; the exact moments are the machine's.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager
from itertools import groupby
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Final

import httpx2
import pytest

from tests.balancer import balanced
from tests.cluster import Replica, dragoman, replicas
from tests.durability.following import Follower
from tests.durability.witness import Inquiry, Witness, check_log, text_of
from tests.nats import NatsServer, nats_server
from tests.ports import steady_port
from tests.postgres import PostgresServer
from tests.wire import Frame, Json, Wire

AGENT: Final = Path(__file__).with_name("counting_agent.py")

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
PARTS: Final = 120 if IS_SOAK else 1
"""Each takes half a minute: an hour in the soak."""

STREAMS: Final = 200
STEPS: Final = 10
ACTIONS: Final = ("kill",) * 3 + ("pause",) * 3 + ("replace",) * 2
"""What happens to replicas in one part, in an order of chance."""

LEASE_SECONDS: Final = 2.0
SETTINGS: Final = {
    "lease_seconds": str(LEASE_SECONDS),
    "sweep_seconds": "1",
    # Told apart by this: a stream on which nothing happens, and a replica that stands still.
    "heartbeat_seconds": "1",
    "shutdown_grace_seconds": "1",
    # A task may be in the hands of every replica that is hit.
    "max_attempts": str(10 * len(ACTIONS)),
}
LOOKS_AT_ONCE: Final = 20
CLOSE_LOOKS: Final = 50
"""Tasks whose every reading is compared, also those from the middle."""

FINISH_SECONDS: Final = 120
"""How long clients may take to see their last tasks to the end when all is well again."""

SILENCE_SECONDS: Final = 4
"""After so much of it a client tries elsewhere."""


class Stand:
    """What replicas stand on."""

    def __init__(self, stack: ExitStack, *, has_nats: bool) -> None:
        folder = Path(tempfile.mkdtemp(prefix="dragoman-replicas-"))
        stack.callback(rmtree, folder, ignore_errors=True)
        self.postgres = PostgresServer(folder)
        self.postgres.port = steady_port()
        stack.callback(self.postgres.stop, immediately=True)
        self.postgres.start()
        self.store = self.postgres.create_database("agents")
        # One restart after the other.
        self._restarting = asyncio.Lock()
        self.nats: NatsServer | None = None
        if has_nats:
            self.nats = stack.enter_context(nats_server())

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options of ``serve`` that lead here."""
        bus = () if self.nats is None else ("--bus", self.nats.url)
        return ("--store", self.store, *bus)

    def describe(self, follower: Follower) -> str:
        """Tell how far a client has come, and its task."""
        columns = "skill_id, state, epoch, seq, attempts, holder, wake_at_ms, inbox_n"
        # Both are our own.
        statement = f"SELECT {columns} FROM dragoman.tasks WHERE id = '{follower.task_id}'"  # noqa: S608 - see above
        row = self.postgres.run_sql(statement, "agents")
        return f"{follower}: {follower.task_id} {row}"

    async def restart_postgres(self) -> None:
        """Let it crash, and start it again."""
        async with self._restarting:
            await asyncio.to_thread(self.postgres.stop, immediately=True)
            await asyncio.to_thread(self.postgres.start)

    async def restart_nats(self) -> None:
        """Let it crash, and start it again a moment later."""
        assert self.nats is not None
        async with self._restarting:
            await asyncio.to_thread(self.nats.kill)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(self.nats.start)


class Chaos:
    """Does what the plan says, two things at once; a replica suffers one at a time."""

    def __init__(self, members: Sequence[Replica], stand: Stand, chance: Random) -> None:
        self._free = list(members)
        self._stand = stand
        self._chance = chance
        below = ["postgres", *(["nats"] * 2 if stand.nats else [])]
        self._plan = [*ACTIONS, *below]
        chance.shuffle(self._plan)

    async def run(self) -> None:
        """Do all of it."""
        print(f"plan: {' '.join(self._plan)}")  # noqa: T201 - shown when the test fails
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(self._work())

    async def _work(self) -> None:
        while self._plan:
            action = self._plan.pop()
            await asyncio.sleep(self._chance.uniform(0.3, 1.2))
            if action == "postgres":
                await self._stand.restart_postgres()
            elif action == "nats":
                await self._stand.restart_nats()
            else:
                member = self._free.pop(self._chance.randrange(len(self._free)))
                await self._hit(member, action)
                self._free.append(member)

    async def _hit(self, member: Replica, action: str) -> None:
        if action == "pause":
            member.pause()
            # Past the lease: what it held is held by others when it comes back.
            await asyncio.sleep(LEASE_SECONDS + self._chance.uniform(1, 2.5))
            member.resume()
            return
        if action == "kill":
            member.kill()
            await asyncio.sleep(self._chance.uniform(0, LEASE_SECONDS))
        else:
            assert await member.stop() == 0
        member.begin(SETTINGS)
        await member.wait_until_ready()


class Crowd:
    """Clients, of whom each begins a new task when its last one has ended, until it is enough."""

    def __init__(self, url: str, chance: Random) -> None:
        self.witness = Witness()
        self.followers: list[Follower] = []
        self._url = url
        self._chance = chance
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
            for _ in range(STREAMS):
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
        for task_id in self._random.sample(tasks, CLOSE_LOOKS):
            await self.task(task_id)
        await self.lists()
        return sum(look.result() > 1 for look in looks)


@pytest.mark.crash
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(PARTS))
async def test_every_client_sees_every_event_once_whatever_happens_to_replicas(
    part: int, tmp_path: Path
) -> None:
    seed = os.environ.get("DRAGOMAN_CRASH_SEED") or str(random.getrandbits(32))
    print(f"repeat with DRAGOMAN_CRASH_SEED={seed}, part {part}")  # noqa: T201 - see above
    chance = Random(f"{seed} {part}")  # noqa: S311 - to be repeated, not to be secret
    with ExitStack() as stack:
        # By turns over NATS and over the database itself.
        stand = await asyncio.to_thread(Stand, stack, has_nats=part % 2 == 0)
        async with (
            replicas(AGENT, tmp_path, *stand.arguments, settings=SETTINGS) as members,
            balanced([member.port for member in members]) as balancer,
        ):
            crowd = Crowd(balancer.url, chance)
            try:
                async with crowd.busy():
                    await Chaos(members, stand, chance).run()
            except TimeoutError:
                left = [stand.describe(each) for each in crowd.followers if not each.is_over]
                pytest.fail("these never ended:\n" + "\n".join(left))
            assert min(balancer.carried.values()) > STREAMS / 10, "a replica was left out"
            # Any of them knows all of it.
            async with Wire(chance.choice(members).url) as wire:
                taken_over = await Inspection(crowd.witness, wire, chance).look_at_all()
            assert taken_over > 0, "nothing was ever taken over"
            streams = sum(follower.connections for follower in crowd.followers)
            print(f"{len(crowd.followers)} tasks, {taken_over} taken over, {streams} streams")  # noqa: T201 - see above
            check = await dragoman("db", "check", "--store", stand.store)
            assert check.returncode == 0, check.stdout + check.stderr
            for member in members:
                assert await member.stop() == 0
                assert "Traceback" not in member.log.read_text(), member.log
