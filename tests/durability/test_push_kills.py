"""Every notification arrives, however often the server is killed: at least once, and in order.

Repeat the decisions of a failed run with DRAGOMAN_CRASH_SEED; the exact moments are the machine's.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from random import Random
from typing import Final

import httpx2
import pytest

from dragoman.stores.sqlite.maintenance import looking_at
from dragoman.stores.sqlite.webhooks import WebhookRows
from tests.durability.checking import check_remains, check_store
from tests.durability.witness import TERMINAL
from tests.support.receivers import ReceiverProcess, Request
from tests.support.serving import AgentProcess
from tests.support.wire import Json, Wire, message

AGENT: Final = Path(__file__).with_name("agent.py")

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
KILLS: Final = 200 if IS_SOAK else 10
KILLS_PER_TEST: Final = 10
LEAST_NOTIFICATIONS: Final = 500

TASKS_AT_ONCE: Final = 2
CHUNKS: Final = 40
PAUSE_SECONDS: Final = 0.25
"""Between two tasks, so that some of what they say is sent before the kill."""

MOST_BETWEEN_KILLS: Final = 100
"""Requests that the receiver gets; a kill may come before the first, or in the midst of them."""

MOST_SECONDS: Final = 0.3
"""Before a webhook is deleted."""

DELETIONS: Final = 0.4
"""How often the second webhook of a task is deleted while it is told of things."""


class Told:
    """A webhook, and what its owner knows of it.

    Attributes:
        is_whole: it was registered with its task, and is told of everything.
        is_early: it was registered before its task had ended, and is told of that at least.
        deleted_at: by the clock of the receiver, when the server said that it is deleted.
    """

    def __init__(self, path: str, *, is_whole: bool) -> None:
        self.path = path
        self.is_whole = is_whole
        self.is_early = is_whole
        self.deleted_at: float | None = None
        self.is_deletion_unknown = False


class Field:
    """Tasks with webhooks, begun one after the other while the server comes and goes."""

    def __init__(self, receiver: ReceiverProcess, chance: Random) -> None:
        self._receiver = receiver
        self._chance = chance
        self._count = 0
        self.webhooks: dict[str, list[Told]] = {}

    async def sow(self, wire: Wire) -> None:
        """Begin tasks for as long as there is a server."""
        while True:
            await self._sow_one(wire)
            await asyncio.sleep(PAUSE_SECONDS)

    async def _sow_one(self, wire: Wire) -> None:
        self._count += 1
        number = self._count
        first = Told(f"/{number}/first", is_whole=True)
        hook = {"id": "first", "url": f"{self._receiver.url}{first.path}"}
        response = await wire.http.post(
            "/message:send",
            json={
                "message": message(str(CHUNKS), metadata={"skillId": "chunks"}),
                "configuration": {"returnImmediately": True, "taskPushNotificationConfig": hook},
            },
        )
        assert response.status_code == 200, response.text
        task_id: str = response.json()["task"]["id"]
        self.webhooks[task_id] = [first]
        second = Told(f"/{number}/second", is_whole=False)
        path = f"/tasks/{task_id}/pushNotificationConfigs"
        hook = {"id": "second", "url": f"{self._receiver.url}{second.path}"}
        response = await wire.http.post(path, json=hook)
        assert response.status_code == 200, response.text
        self.webhooks[task_id].append(second)
        task = (await wire.http.get(f"/tasks/{task_id}")).json()
        second.is_early = task["status"]["state"] not in TERMINAL
        if self._chance.random() < DELETIONS:
            await asyncio.sleep(self._chance.uniform(0, MOST_SECONDS))
            second.is_deletion_unknown = True
            response = await wire.http.delete(f"{path}/second")
            assert response.status_code in (200, 204), response.text
            second.deleted_at = asyncio.get_running_loop().time()


async def sow_until_killed(
    process: AgentProcess, receiver: ReceiverProcess, field: Field, least: int
) -> None:
    """Have tasks begun, and kill the server when so many more requests have come."""
    wanted = receiver.count() + least
    async with Wire(process.url) as wire:
        try:
            async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                for _ in range(TASKS_AT_ONCE):
                    group.create_task(field.sow(wire))
                while True:
                    await asyncio.sleep(0.002)
                    if receiver.count() >= wanted:
                        break
                process.kill()
        except* httpx2.TransportError:
            pass  # As it should be: the server is gone.


async def log_of(wire: Wire, task_id: str) -> list[Json]:
    """Return all events of a task that has ended."""
    headers = {"Last-Event-ID": "1"}
    async with wire.stream("GET", f"/tasks/{task_id}:subscribe", **headers) as frames:
        first, *rest = [frame.result async for frame in frames]
    assert rest[-1]["statusUpdate"]["status"]["state"] in TERMINAL
    # A stream begins with the task as it was after its first event, which is this.
    task = first["task"]
    begun = {"taskId": task["id"], "contextId": task["contextId"], "status": task["status"]}
    return [{"statusUpdate": begun}, *rest]


async def until_all_is_told(database: Path) -> None:
    """Wait until no webhook has anything left to be told."""
    async with asyncio.timeout(60):
        while True:
            with looking_at(database) as connection:
                overview = WebhookRows(connection).overview()
            assert overview.dead_letters == 0
            if not overview.pending:
                return
            await asyncio.sleep(0.05)


def check_told(told: Told, log: list[Json], requests: list[Request]) -> int:
    """Check what one webhook was told; return how many notifications that were."""
    names = list(dict.fromkeys(request.id for request in requests))
    bodies = {request.id: request.text for request in requests}
    for each in requests:
        assert each.text == bodies[each.id], "one name for two notifications"
    events = [json.loads(bodies[name]) for name in names]
    # A repetition stands right behind what it repeats: nothing was sent before it had arrived.
    places = [names.index(request.id) for request in requests]
    assert places == sorted(places), "an older notification came after a newer one"
    if told.is_whole:
        assert events == log
    elif told.deleted_at is None and not told.is_deletion_unknown:
        assert events == log[len(log) - len(events) :]
        assert events or not told.is_early, "the end of the task was not told"
    else:
        # As far as it came, and nothing afterwards.
        at = log.index(events[0]) if events else 0
        assert events == log[at : at + len(events)]
        if told.deleted_at is not None:
            late = [request for request in requests if request.at > told.deleted_at]
            # What was on the wire already cannot be called back.
            assert len(late) <= 1
    return len(events)


@pytest.mark.crash
@pytest.mark.timeout(180)
@pytest.mark.parametrize("part", range(KILLS // KILLS_PER_TEST))
async def test_every_notification_arrives_in_order_however_often_the_server_is_killed(
    part: int, tmp_path: Path
) -> None:
    seed = os.environ.get("DRAGOMAN_CRASH_SEED") or str(random.getrandbits(32))
    chance = Random(f"{seed} {part}")  # noqa: S311 - to be repeated, not to be secret
    try:
        with ReceiverProcess(tmp_path) as receiver:
            await play(tmp_path / "tasks.db", receiver, chance)
    except BaseException as error:
        error.add_note(f"repeat with DRAGOMAN_CRASH_SEED={seed}, part {part}")
        raise


async def play(database: Path, receiver: ReceiverProcess, chance: Random) -> None:
    """Kill a server again and again, and check what has arrived in the end."""
    field = Field(receiver, chance)
    with AgentProcess(
        AGENT,
        *("--store", f"sqlite:///{database}"),
        *("--push-allow-http", "--push-allow-hosts", "127.0.0.1:*"),
        *("--push-events", "states,artifacts,messages"),
    ) as process:
        for kills in range(1, KILLS_PER_TEST + 1):
            least = chance.randint(0, MOST_BETWEEN_KILLS)
            if kills == KILLS_PER_TEST:
                least = max(least, LEAST_NOTIFICATIONS - receiver.count())
            await sow_until_killed(process, receiver, field, least)
            check_remains(database)
            process.start()
        await until_all_is_told(database)
        count = 0
        async with Wire(process.url) as wire:
            for task_id, webhooks in field.webhooks.items():
                log = await log_of(wire, task_id)
                for told in webhooks:
                    count += check_told(told, log, receiver.requests(told.path))
        check_store(database)
    assert count >= LEAST_NOTIFICATIONS
