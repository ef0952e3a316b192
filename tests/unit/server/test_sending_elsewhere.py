"""A message for a task that another replica has; whole stories are in ``scenarios/replicas``."""

import pytest

from dragoman.errors import TaskEndedError
from dragoman.model.documents import TaskDocument
from dragoman.server.config import Settings
from dragoman.server.runtime import Runtime
from dragoman.stores.base import SendKey, SendRecord
from dragoman.stores.memory import MemoryRecords
from dragoman.stores.memory_shared import SharedMemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.unit.server.agency import CALL, ask, send
from tests.unit.server.fakes import ScriptedWorker


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
        Runtime(ScriptedWorker(ask), Settings(), clock=clock, store=store) for store in stores
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
