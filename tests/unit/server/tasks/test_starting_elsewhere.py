"""A message for a task that another replica has; whole stories are in ``scenarios/replicas``."""

import asyncio

import pytest

from dragoman.errors import TaskEndedError
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import text_of
from dragoman.model.tasks import TaskState
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import Settings
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import SendKey, SendRecord
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryRecords
from dragoman.testing.clock import FakeClock
from tests.support.server.agency import CALL, ask, send
from tests.support.server.fakes import ScriptedWorker, agent_message


class LateStore(SharedMemoryTaskStore):
    """Finds a send only when it is looked for again: the first look was too early."""

    def __init__(self, records: MemoryRecords, clock: FakeClock) -> None:
        super().__init__(records, clock=clock)
        self.looks = 0

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        self.looks += 1
        return None if self.looks == 1 else await super().find_send(key, since_ms)


async def test_a_task_that_ended_by_the_same_message_elsewhere_answers_it() -> None:
    records, clock = MemoryRecords(), FakeClock()
    stores = (SharedMemoryTaskStore(records, clock=clock), LateStore(records, clock))
    first, second = (
        build_runtime(ScriptedWorker(ask), Settings(), clock=clock, store=store) for store in stores
    )
    try:
        asked = await (await first.service()).send_message(send(), CALL)
        assert isinstance(asked, TaskDocument)
        answer = send("blue", message_id="m-2", task_id=asked.task().id)
        answered = await (await first.service()).send_message(answer, CALL)
        again = await (await second.service()).send_message(answer, CALL)
        assert isinstance(answered, TaskDocument)
        assert isinstance(again, TaskDocument)
        assert again.task() == answered.task()
        with pytest.raises(TaskEndedError):
            await (await second.service()).send_message(
                send("green", message_id="m-3", task_id=asked.task().id), CALL
            )
    finally:
        await first.stop()
        await second.stop()


class LeisurelyStore(SharedMemoryTaskStore):
    """Takes a minute to look for the next send, once it is told to."""

    def __init__(self, records: MemoryRecords, clock: FakeClock) -> None:
        super().__init__(records, clock=clock)
        self._clock = clock
        self.is_slow = False

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        if self.is_slow:
            self.is_slow = False
            for _ in range(60):
                self._clock.advance(1)
                await asyncio.sleep(0)
        return await super().find_send(key, since_ms)


async def test_a_task_that_leaves_memory_while_its_message_is_looked_for_gets_it() -> None:
    answers: list[str] = []

    async def run(turn: Turn) -> Outcome:
        del answers[:]
        for _ in range(2):
            answer = await turn.ask(agent_message("which?"))
            answers.append(text_of(answer.parts))
        return Completed()

    clock = FakeClock()
    store = LeisurelyStore(MemoryRecords(), clock)
    settings = Settings(idempotency_seconds=1, park_after_seconds=20)
    runtime = build_runtime(ScriptedWorker(run), settings, clock=clock, store=store)
    try:
        service = await runtime.service()
        asked = await service.send_message(send(), CALL)
        assert isinstance(asked, TaskDocument)
        answer = send("blue", message_id="m-2", task_id=asked.task().id)
        await service.send_message(answer, CALL)
        # Past the time in which a message is known by its id: now it is the second answer.
        clock.advance(2)
        assert runtime.live_tasks == 1
        store.is_slow = True
        answered = await service.send_message(answer, CALL)
        assert not store.is_slow
        assert isinstance(answered, TaskDocument)
        assert answered.task().status.state is TaskState.COMPLETED
        assert answers == ["blue", "blue"]
    finally:
        await runtime.stop()
