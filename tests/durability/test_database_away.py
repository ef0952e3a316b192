"""The database of one replica, or of several, goes away and comes back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Final

import pytest

from dragoman import Agent
from dragoman.bus.postgres import PostgresBus
from dragoman.model.documents import TaskDocument
from dragoman.model.tasks import TaskState
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import Settings
from dragoman.stores.postgres.store import PostgresTaskStore
from tests.durability.hosting import Hosted, hosting
from tests.durability.waiting import find, until
from tests.support.postgres import running_postgres
from tests.support.server.agency import CALL, Held, send
from tests.support.server.fakes import SCOPE, ScriptedWorker

LEASE_SECONDS: Final = 1.5
OUTAGE_SECONDS: Final = 3.0
REPLICAS: Final = 3

pytestmark = [pytest.mark.timeout(60)]


def make_agent() -> Agent:
    agent = Agent("Echo")

    @agent.skill
    async def echo(text: str) -> str:
        return text

    return agent


async def until_ready(hosted: Hosted, status: int) -> None:
    async def is_so() -> bool | None:
        return (await hosted.http.get("/readyz")).status_code == status or None

    await find(is_so)


async def test_a_replica_that_has_nothing_to_write_knows_that_its_database_is_gone() -> None:
    with running_postgres() as server:
        store = PostgresTaskStore(server.url())
        async with hosting(make_agent(), store, lease_seconds=LEASE_SECONDS) as hosted:
            await until_ready(hosted, 200)
            await asyncio.to_thread(server.stop)
            await until_ready(hosted, 503)
            await asyncio.to_thread(server.start)
            await until_ready(hosted, 200)


async def test_an_outage_has_few_lines_in_the_log_however_many_requests_it_hits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    requests = 40

    def lines(begin: str) -> list[str]:
        return [message for message in caplog.messages if message.startswith(begin)]

    with running_postgres() as server:
        store = PostgresTaskStore(server.url())
        async with hosting(make_agent(), store, lease_seconds=LEASE_SECONDS) as hosted:
            await until_ready(hosted, 200)
            await asyncio.to_thread(server.stop)
            async with asyncio.TaskGroup() as group:
                calls = [group.create_task(hosted.http.get("/tasks")) for _ in range(requests)]
            assert {call.result().status_code for call in calls} == {503}
            assert len(lines("the store is away: ")) == 1
            await asyncio.to_thread(server.start)
            await until(lambda: bool(lines("the store answers again, ")))
            await until_ready(hosted, 200)
    (last,) = lines("the store answers again, ")
    assert last.endswith(f"; requests refused meanwhile: {requests}")
    assert lines("a request failed") == []
    assert not any("\n" in message for message in caplog.messages)
    # Besides: its lease, which is not renewed, may run out if the database starts slowly, and then
    # is renewed.
    assert len(caplog.messages) <= 5


class Working:
    """A replica with one task at work, whose skill is not to be run again."""

    def __init__(self, url: str) -> None:
        self.held = Held()
        self.store = PostgresTaskStore(url)
        self.runtime = build_runtime(
            ScriptedWorker(self.held.run, resumes=False),
            Settings(
                lease_seconds=LEASE_SECONDS,
                sweep_seconds=LEASE_SECONDS / 3,
                shutdown_grace_seconds=0,
                cancel_grace_seconds=0,
                push=False,
            ),
            store=self.store,
            bus=PostgresBus(url),
        )

    async def begin(self, message_id: str) -> None:
        service = await self.runtime.service()
        request = send(message_id=message_id, return_immediately=True)
        answer = await service.send_message(request, CALL)
        assert isinstance(answer, TaskDocument)
        self.task_id = answer.task().id
        await self.held.reached.wait()

    async def state(self) -> TaskState:
        stored = await self.store.load(SCOPE, self.task_id)
        assert stored is not None
        return stored.state

    async def has_ended(self) -> TaskState | None:
        state = await self.state()
        return state if state.is_terminal else None


async def test_after_an_outage_of_the_database_nobody_takes_work_from_the_living() -> None:
    async with AsyncExitStack() as stack:
        server = stack.enter_context(running_postgres())
        members = [Working(server.url()) for _ in range(REPLICAS)]
        for number, member in enumerate(members):
            stack.push_async_callback(member.runtime.stop)
            await member.begin(f"m-{number}")
            # So that their leases are not all renewed at the same time.
            await asyncio.sleep(LEASE_SECONDS / 3 / REPLICAS)
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(OUTAGE_SECONDS)
        await asyncio.to_thread(server.start)
        # Long enough for whoever takes the others for dead to say so.
        await asyncio.sleep(2 * LEASE_SECONDS)
        assert [await member.state() for member in members] == [TaskState.WORKING] * REPLICAS
        for member in members:
            member.held.released.set()
        ends = [await find(member.has_ended) for member in members]
        assert ends == [TaskState.COMPLETED] * REPLICAS
