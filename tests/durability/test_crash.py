"""P2: what was acknowledged is never lost. The server is killed at random moments and asked again.

Repeat the decisions of a failed run with DRAGOMAN_CRASH_SEED; the exact moments are the machine's.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path
from random import Random
from threading import Timer
from typing import Final

import httpx2
import pytest

from tests.durability.checking import check_remains, check_store
from tests.durability.witness import Inquiry, Reading, Witness
from tests.support.serving import AgentProcess
from tests.support.wire import Frame, Json, Wire, frames, message

AGENT: Final = Path(__file__).with_name("agent.py")

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
KILLS: Final = 500 if IS_SOAK else 12
KILLS_PER_TEST: Final = 10 if IS_SOAK else 4

CHUNKS: Final = 1000
SENDERS: Final = 5
"""Clients that send one message after the other, beside those that stream."""

STARTS_IN_VAIN: Final = 0.3
"""How often the server is killed again, while it recovers from the last time."""

OLDER_TASKS: Final = 5
RESENDS: Final = 10
"""How many are looked at again after each kill; all would take ever longer."""


class FragileProcess(AgentProcess):
    """An agent that can also be killed while it starts."""

    def start_in_vain(self, seconds: float) -> None:
        """Start, and be killed after some time, served or not."""
        timer = Timer(seconds, self._strike)
        timer.start()
        with suppress(AssertionError):  # It did not come to serve.
            self.start()
        timer.join()
        self.kill()

    def _strike(self) -> None:
        if self._process is not None:
            self._process.kill()


class Moment:
    """When to kill: after so many events, so many answers, or so much time."""

    def __init__(self, random: Random) -> None:
        self.has_come = asyncio.Event()
        self.kind = random.choice(("events", "answers", "seconds"))
        limit = {"events": 2 * CHUNKS, "answers": 60, "seconds": 0.4}[self.kind]
        self.after = random.uniform(0, limit)
        self._left = {"events": self.after, "answers": self.after}

    def __str__(self) -> str:
        return f"after {self.after:.3f} {self.kind}"

    def count(self, kind: str) -> None:
        """Note one more event or answer."""
        if kind == self.kind:
            self._left[kind] -= 1
            if self._left[kind] <= 0:
                self.has_come.set()

    async def wait(self) -> None:
        """Wait for it."""
        if self.kind == "seconds":
            await asyncio.sleep(self.after)
        else:
            await self.has_come.wait()


class Traffic:
    """Clients that never stop: some stream, some send. All they are told goes to the witness."""

    def __init__(self, wire: Wire, witness: Witness, random: Random, moment: Moment) -> None:
        self._wire = wire
        self._witness = witness
        self._random = random
        self._moment = moment

    async def stream(self) -> None:
        """Stream chunks, while another reader of the same task comes and goes."""
        while True:
            sent = skill_message("chunks", str(CHUNKS))
            self._witness.sends(sent)
            reading = self._witness.reading()
            async with asyncio.TaskGroup() as group:
                async for frame in self._follow("/message:stream", {"message": sent}):
                    self._take(reading, frame)
                    if frame.kind == "task":
                        self._witness.acknowledged[sent["messageId"]] = task_answer(frame)
                        group.create_task(self.come_and_go(reading.task_id))

    async def come_and_go(self, task_id: str) -> None:
        """Read a task from its beginning; drop the connection now and then and come back."""
        cursor = 1
        is_over = False
        while not is_over:
            reading = self._witness.reading()
            patience = self._random.randint(1, CHUNKS)
            async with aclosing(
                self._follow(f"/tasks/{task_id}:subscribe", None, str(cursor))
            ) as stream:
                is_over = True
                async for frame in stream:
                    self._take(reading, frame)
                    patience -= 1
                    if not patience:
                        is_over = False
                        break
            cursor = reading.cursor

    async def send(self) -> None:
        """Send one message after the other."""
        while True:
            match self._random.choice(("echo", "echo", "echo", "greet", "hold", "cancel")):
                case "hold":
                    task_id = await self._begin_hold()
                    await self._send(skill_message("hold", "more", taskId=task_id), is_urgent=True)
                case "cancel":
                    task_id = await self._begin_hold()
                    response = await self._wire.http.post(f"/tasks/{task_id}:cancel")
                    self._witness.sees(response.content)
                case skill:
                    await self._send(skill_message(skill, f"text {self._random.random()}"))

    async def _begin_hold(self) -> str:
        # There is never a file of this name.
        task_id = await self._send(skill_message("hold", "/dev/null/never"), is_urgent=True)
        assert task_id is not None
        return task_id

    async def _send(self, sent: Json, *, is_urgent: bool = False) -> str | None:
        body: Json = {"message": sent}
        if is_urgent:
            body["configuration"] = {"returnImmediately": True}
        self._witness.sends(sent)
        response = await self._wire.http.post("/message:send", json=body)
        assert response.status_code == 200, response.text
        task_id = self._witness.hears(sent, response.content)
        self._moment.count("answers")
        return task_id

    def _take(self, reading: Reading, frame: Frame) -> None:
        reading.take(frame)
        self._moment.count("events")

    async def _follow(
        self, path: str, body: Json | None, cursor: str | None = None
    ) -> AsyncGenerator[Frame]:
        headers = {} if cursor is None else {"Last-Event-ID": cursor}
        async with self._wire.http.stream("POST", path, json=body, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            async for frame in frames(response):
                yield frame


def skill_message(skill: str, text: str, **members: object) -> Json:
    """Return a message for a skill."""
    return message(text, metadata={"skillId": skill}, **members)


def task_answer(frame: Frame) -> bytes:
    """Write the head of a stream like the answer to a send, for the sake of the task's id."""
    return b'{"task":{"id":"%b"}}' % frame.result["task"]["id"].encode()


async def work_until_killed(process: AgentProcess, witness: Witness, random: Random) -> None:
    """Keep a server busy, and kill it at a random moment."""
    moment = Moment(random)
    async with Wire(process.url) as wire:
        traffic = Traffic(wire, witness, random, moment)
        try:
            async with asyncio.timeout(15), asyncio.TaskGroup() as group:
                group.create_task(traffic.stream())
                for _ in range(SENDERS):
                    group.create_task(traffic.send())
                await moment.wait()
                process.kill()
        except* httpx2.TransportError:
            pass  # As it should be: the server is gone.


async def compare(wire: Wire, witness: Witness, older: set[str], random: Random) -> None:
    """Compare what was told with what the server says now."""
    inquiry = Inquiry(witness, wire, random)
    await inquiry.lists()
    new = sorted(witness.tasks.keys() - older)
    for task_id in (*new, *random.sample(sorted(older), min(OLDER_TASKS, len(older)))):
        await inquiry.task(task_id)
    acknowledged = sorted(witness.acknowledged)
    for message_id in random.sample(acknowledged, min(RESENDS, len(acknowledged))):
        await inquiry.resend(message_id)
    for message_id in sorted(witness.unanswered):
        # A new hold would never end, and the old one takes no more messages.
        if witness.sent[message_id]["metadata"]["skillId"] != "hold":
            await inquiry.retry(message_id)
    await inquiry.lists()


@pytest.mark.crash
@pytest.mark.timeout(120)
@pytest.mark.parametrize("part", range(KILLS // KILLS_PER_TEST))
async def test_nothing_that_was_told_is_lost_when_the_server_is_killed(
    part: int, tmp_path: Path
) -> None:
    seed = os.environ.get("DRAGOMAN_CRASH_SEED") or str(random.getrandbits(32))
    chance = Random(f"{seed} {part}")  # noqa: S311 - to be repeated, not to be secret
    witness = Witness()
    database = tmp_path / "tasks.db"
    process = FragileProcess(AGENT, "--store", f"sqlite:///{database}")
    try:
        with process:
            for _ in range(KILLS_PER_TEST):
                older = set(witness.tasks)
                await work_until_killed(process, witness, chance)
                check_remains(database)
                if chance.random() < STARTS_IN_VAIN:
                    # Long enough to be in the midst of recovery, or just past it.
                    process.start_in_vain(chance.uniform(0.2, 0.6))
                    check_remains(database)
                process.start()
                async with Wire(process.url) as wire:
                    await compare(wire, witness, older, chance)
                check_store(database)
    except BaseException as error:
        error.add_note(f"repeat with DRAGOMAN_CRASH_SEED={seed}, part {part}")
        raise
