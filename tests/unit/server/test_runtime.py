import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.errors import StoreUnavailableError, UsageError
from dragoman.model.operations import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest
from dragoman.model.tasks import TaskState
from dragoman.server.config import Settings
from dragoman.server.runtime import Runtime
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.memory import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.unit.server.fakes import ScriptedWorker, user_message

SETTINGS = Settings(
    store="memory:",
    shutdown_grace_seconds=0,
    cancel_grace_seconds=0,
    heartbeat_seconds=15,
    idempotency_seconds=600,
)


class Store(MemoryTaskStore):
    """A store that counts its openings, and may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self.forgotten: list[int] = []
        self.is_down = False
        self.was_asked_to_forget = asyncio.Event()

    @property
    def is_available(self) -> bool:
        return super().is_available and not self.is_down

    async def open(self) -> None:
        self.opened += 1
        await super().open()

    async def forget_sends(self, before_ms: int) -> None:
        self.forgotten.append(before_ms)
        self.was_asked_to_forget.set()
        if self.is_down:
            raise StoreUnavailableError("disk full")


class House:
    """A runtime, and what it stands on."""

    def __init__(self, worker: ScriptedWorker | None = None) -> None:
        self.worker = worker or ScriptedWorker()
        self.clock = FakeClock(10_000_000)
        self.store = Store()
        self.runtime = Runtime(self.worker, SETTINGS, clock=self.clock, store=self.store)


@asynccontextmanager
async def started(worker: ScriptedWorker | None = None) -> AsyncGenerator[House]:
    house = House(worker)
    await house.runtime.start()
    try:
        yield house
    finally:
        await house.runtime.stop()


async def forever(turn: Turn) -> Outcome:
    del turn
    await asyncio.Event().wait()
    return Completed()


async def test_a_runtime_is_ready_between_start_and_stop() -> None:
    house = House()
    assert not house.runtime.is_ready
    await house.runtime.start()
    assert house.runtime.is_ready
    await house.runtime.stop()
    assert not house.runtime.is_ready


async def test_the_agent_is_told_of_start_and_stop() -> None:
    async with started() as house:
        assert house.worker.life == ["startup"]
    assert house.worker.life == ["startup", "shutdown"]


async def test_a_runtime_is_not_ready_while_its_store_is_down() -> None:
    async with started() as house:
        house.store.is_down = True
        assert not house.runtime.is_ready


async def test_who_asks_for_the_service_first_starts_it() -> None:
    house = House()
    first, second = await asyncio.gather(house.runtime.service(), house.runtime.service())
    assert first is second
    assert house.store.opened == 1
    await house.runtime.stop()


async def test_starting_twice_is_starting() -> None:
    async with started() as house:
        await house.runtime.start()
        assert house.worker.life == ["startup"]


async def test_stopping_what_was_not_started_is_nothing() -> None:
    house = House()
    await house.runtime.drain()
    await house.runtime.stop()
    assert house.worker.life == []


async def test_the_store_is_the_one_the_settings_name(tmp_path: Path) -> None:
    settings = Settings(store=f"sqlite:///{tmp_path / 'tasks.db'}")
    runtime = Runtime(ScriptedWorker(), settings)
    await runtime.start()
    await runtime.stop()
    assert (tmp_path / "tasks.db").exists()


async def test_a_store_that_is_none_is_told() -> None:
    runtime = Runtime(ScriptedWorker(), Settings(store="nonsense"))
    with pytest.raises(UsageError, match="'nonsense' is no store"):
        await runtime.start()
    assert not runtime.is_ready


async def test_what_a_former_process_left_is_ended_before_anything_else() -> None:
    async with started(ScriptedWorker(forever)) as former:
        service = await former.runtime.service()
        stream = await service.send_streaming_message(
            SendMessageRequest(message=user_message()), Call()
        )
        await stream.aclose()
        (left,) = await former.store.unfinished(after_id="", limit=10)
    runtime = Runtime(ScriptedWorker(), SETTINGS, clock=former.clock, store=former.store)
    service = await runtime.service()
    task = (await service.get_task(GetTaskRequest(id=left.id), Call())).task()
    assert task.status.state is TaskState.FAILED
    await runtime.stop()


async def test_idle_streams_get_a_heartbeat() -> None:
    async with started(ScriptedWorker(forever)) as house:
        service = await house.runtime.service()
        request = SendMessageRequest(message=user_message())
        stream = await service.send_streaming_message(request, Call())
        batches = aiter(stream)
        while (batch := await anext(batches))[-1].seq < 2:
            pass
        async with asyncio.TaskGroup() as group:
            beat = group.create_task(next_of(batches))
            await house.clock.until_asleep(2)
            house.clock.advance(15)
        assert batch
        assert beat.result() == ()


async def next_of(batches: AsyncIterator[tuple[object, ...]]) -> tuple[object, ...]:
    return await anext(batches)


async def test_a_runtime_that_drains_ends_its_streams() -> None:
    async with started(ScriptedWorker(forever)) as house:
        service = await house.runtime.service()
        request = SendMessageRequest(message=user_message())
        stream = await service.send_streaming_message(request, Call())
        (task,) = await house.store.unfinished(after_id="", limit=10)
        other = await service.subscribe_to_task(SubscribeToTaskRequest(id=task.id), Call())
        await house.runtime.drain()
        await house.runtime.drain()
        assert not house.runtime.is_ready
        for each in (stream, other):
            assert [batch async for batch in each]


async def test_old_sends_are_forgotten_every_minute() -> None:
    async with started() as house:
        await house.clock.until_asleep(2)
        house.clock.advance(60)
        await house.store.was_asked_to_forget.wait()
        assert house.store.forgotten == [10_000_000 + 60_000 - 600_000]


async def test_housekeeping_that_fails_is_logged_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with started() as house:
        house.store.is_down = True
        for minute in (1, 2):
            await house.clock.until_asleep(2)
            house.clock.advance(60)
            await house.store.was_asked_to_forget.wait()
            house.store.was_asked_to_forget.clear()
            assert caplog.messages == ["housekeeping failed"] * minute


async def test_what_is_to_be_written_before_the_end_is_written_after_the_last_turn() -> None:
    worker = ScriptedWorker()

    async def flush() -> None:
        worker.life.append("flush")

    runtime = Runtime(worker, SETTINGS, clock=FakeClock(), store=Store(), on_stop=flush)
    await runtime.start()
    await runtime.stop()
    assert worker.life == ["startup", "shutdown", "flush"]
