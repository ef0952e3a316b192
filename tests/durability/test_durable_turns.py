"""A conversation goes on wherever its server is killed: paid once, every event seen once.

Repeat the moments of a failed run with DRAGOMAN_CRASH_SEED.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import httpx2
import pytest

from tests.durability.checking import check_remains, check_store
from tests.durability.payments import Payments
from tests.durability.witness import Reading, Witness
from tests.support.serving import AgentProcess
from tests.support.wire import Frame, Json, Wire, frames, message

AGENT: Final = Path(__file__).with_name("trapped_booking.py")
IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
KILLS: Final = 1000 if IS_SOAK else 10
KILLS_PER_TEST: Final = 20 if IS_SOAK else 5

PATIENCE_SECONDS: Final = 60
ASKS: Final = "TASK_STATE_INPUT_REQUIRED"
AT_WORK: Final = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
TRAIN: Final = "Ulm-Bonn 9:00"
ANSWERS: Final[dict[str, Json]] = {
    "Where": {"data": {"origin": "Ulm", "destination": "Bonn"}},
    "Which": {"text": TRAIN},
}


class Server:
    """The booking agent, which comes back whenever it has died."""

    def __init__(self, folder: Path, payments: Payments) -> None:
        self.database = folder / "booking.db"
        self.process = AgentProcess(AGENT, "--store", f"sqlite:///{self.database}")
        self.starts = 0
        self._payments = payments

    def start(self, trap: str = "") -> None:
        """Start, perhaps with a trap."""
        self.starts += 1
        self.process.start(PAYMENTS_URL=self._payments.url, TRAP=trap)

    async def keep_up(self) -> None:
        """Start it again, without a trap, when it has died."""
        while True:
            await asyncio.to_thread(self.process.wait)
            await self.replace()

    async def replace(self) -> None:
        """Kill it if it lives, look at what it has left, and start it again."""
        self.process.kill()
        check_remains(self.database)
        await asyncio.to_thread(self.start)


class Customer:
    """Books one train, however often the connection is lost on the way."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.witness = Witness()
        self.task_id = ""
        # Asked for from the first event on, whatever it was when the message was acknowledged.
        self.cursor = 1

    async def book(self) -> Json:
        """Answer every question, and return the task when it has ended."""
        sent = message("I need a train")
        while True:
            task = await self._settled(sent)
            if task["status"]["state"] != ASKS:
                return task
            question = task["status"]["message"]["parts"][0]["text"]
            (part,) = [part for word, part in ANSWERS.items() if question.startswith(word)]
            sent = {**message(), "parts": [part], "taskId": task["id"]}

    async def _settled(self, sent: Json) -> Json:
        """Send a message until it is acknowledged, and follow the task until it stops."""
        is_acknowledged = False
        while True:
            with suppress(httpx2.TransportError):
                if not is_acknowledged:
                    async for frame in self._stream("/message:stream", {"message": sent}):
                        self.task_id = self.task_id or frame.result["task"]["id"]
                        is_acknowledged = True
                        break
                task = await self._task()
                if task["status"]["state"] not in AT_WORK:
                    return task
                await self._follow(until_pause=True)
            await asyncio.sleep(0.02)

    async def read_again(self) -> int:
        """Read all of the log, and return the number of its last event."""
        self.cursor = 1
        while True:
            with suppress(httpx2.TransportError):
                await self._follow(until_pause=False)
                return self.cursor
            await asyncio.sleep(0.02)

    async def _follow(self, *, until_pause: bool) -> None:
        """Read on after the last event seen, up to the end or the next pause."""
        reading = self.witness.reading()
        path = f"/tasks/{self.task_id}:subscribe"
        async for frame in self._stream(path, None, {"Last-Event-ID": str(self.cursor)}):
            self._take(reading, frame)
            if until_pause and frame.kind == "statusUpdate" and frame.state == ASKS:
                return

    def _take(self, reading: Reading, frame: Frame) -> None:
        reading.take(frame)
        self.cursor = reading.cursor

    async def _task(self) -> Json:
        return (await self._wire.http.get(f"/tasks/{self.task_id}")).raise_for_status().json()

    async def _stream(
        self, path: str, body: Json | None, headers: dict[str, str] | None = None
    ) -> AsyncGenerator[Frame]:
        async with self._wire.http.stream("POST", path, json=body, headers=headers) as response:
            if response.status_code == 503:
                return
            assert response.status_code == 200, await response.aread()
            async for frame in frames(response):
                yield frame


async def book(server: Server, payments: Payments) -> None:
    """Book a train on a server that may die, and check all that was promised."""
    paid_before = dict(payments.paid)
    async with asyncio.timeout(PATIENCE_SECONDS), Wire(server.process.url) as wire:
        customer = Customer(wire)
        task = await customer.book()
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
        (artifact,) = task["artifacts"]
        assert artifact["parts"] == [{"text": f"{TRAIN}, receipt R-90"}]
        new = [key for key in payments.paid if key not in paid_before]
        assert len(new) == 1, f"paid {len(new)} times"
        # All of the log, from the beginning: without gaps, and as it was told before.
        last = await customer.read_again()
        told = customer.witness.task(task["id"])
        assert sorted(told.events) == list(range(2, last + 1))
        assert told.events[last]["statusUpdate"]["status"] == task["status"]
    check_store(server.database)


BOUNDARIES: Final = [
    f"{moment}:{number}" for number in range(1, 9) for moment in ("before", "after")
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("trap", BOUNDARIES)
async def test_a_booking_survives_a_kill_at_every_commit(trap: str, tmp_path: Path) -> None:
    with Payments() as payments:
        server = Server(tmp_path, payments)
        server.start(trap)
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(server.keep_up())
                await book(server, payments)
                keeping.cancel()
        finally:
            server.process.kill()
        assert server.starts == 2, "the trap was never reached; there are fewer commits"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", range(KILLS // KILLS_PER_TEST))
async def test_a_booking_survives_kills_at_random_moments(number: int, tmp_path: Path) -> None:
    seed = os.environ.get("DRAGOMAN_CRASH_SEED") or str(random.getrandbits(32))
    chance = Random(f"{seed} {number}")  # noqa: S311 - to be repeated, not to be secret
    with Payments() as payments:
        server = Server(tmp_path, payments)
        server.start()
        try:
            async with asyncio.TaskGroup() as group:
                killing = group.create_task(kill_at_random(server, chance))
                while not killing.done():
                    await book(server, payments)
            await book(server, payments)
        except BaseException as error:
            error.add_note(f"repeat with DRAGOMAN_CRASH_SEED={seed}, number {number}")
            raise
        finally:
            server.process.kill()
        assert set(payments.paid.values()) == {90}


async def kill_at_random(server: Server, chance: Random) -> None:
    for _ in range(KILLS_PER_TEST):
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        await server.replace()
