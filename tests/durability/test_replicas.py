"""Replicas are killed, paused and replaced, and so is what they stand on: no client notices.

Repeat the decisions of a failed run with DRAGOMAN_CRASH_SEED; the exact moments are the machine's.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Final

import pytest

from tests.durability.crowd import Crowd, Inspection
from tests.durability.following import Follower
from tests.support.balancer import balanced
from tests.support.cluster import Replica, dragoman, replicas
from tests.support.nats import NatsServer, nats_server
from tests.support.ports import steady_port
from tests.support.postgres import PostgresServer
from tests.support.wire import Wire

AGENT: Final = Path(__file__).with_name("counting_agent.py")

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
PARTS: Final = 120 if IS_SOAK else 1
"""Each takes half a minute: an hour in the soak."""

STREAMS: Final = 200
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
            crowd = Crowd(balancer.url, chance, size=STREAMS)
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
