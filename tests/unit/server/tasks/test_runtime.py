import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path

import pytest

from dragoman.errors import StoreUnavailableError, TaskEndedError, UsageError
from dragoman.model.messages import text_of
from dragoman.model.operations import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest
from dragoman.model.tasks import Task, TaskState
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import Settings
from dragoman.server.tasks.turns import INTERRUPTED_REASON
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import StoredTask, TaskQuery
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import SCOPE, ScriptedWorker, agent_message, user_message

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
        self.is_unreadable = False
        self.is_broken = False
        self.was_asked_to_forget = asyncio.Event()

    @property
    def is_available(self) -> bool:
        return super().is_available and not self.is_down

    async def open(self) -> None:
        self.opened += 1
        await super().open()

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        if self.is_unreadable:
            raise StoreUnavailableError("disk gone")
        return await super().due(now_ms=now_ms, limit=limit)

    async def forget_sends(self, before_ms: int) -> None:
        self.forgotten.append(before_ms)
        self.was_asked_to_forget.set()
        if self.is_down:
            raise StoreUnavailableError("disk full")
        if self.is_broken:
            raise ZeroDivisionError


class House:
    """A runtime, and what it stands on."""

    def __init__(self, worker: ScriptedWorker | None = None) -> None:
        self.worker = worker or ScriptedWorker()
        self.clock = FakeClock(10_000_000)
        self.store = Store()
        self.runtime = build_runtime(self.worker, SETTINGS, clock=self.clock, store=self.store)

    async def keep(self) -> None:
        """Let the next housekeeping begin."""
        self.store.was_asked_to_forget.clear()
        await self.clock.until_asleep(3)
        self.clock.advance(60)
        await self.store.was_asked_to_forget.wait()


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
    runtime = build_runtime(ScriptedWorker(), settings)
    await runtime.start()
    await runtime.stop()
    assert (tmp_path / "tasks.db").exists()


def test_a_store_that_is_none_is_told_before_the_start() -> None:
    with pytest.raises(UsageError, match="'nonsense' is no store"):
        build_runtime(ScriptedWorker(), Settings(store="nonsense"))


def test_a_process_alone_has_nobody_to_tell() -> None:
    with pytest.raises(UsageError, match="one PostgreSQL"):
        build_runtime(ScriptedWorker(), Settings(store="memory:", bus="nats://localhost"))


async def test_a_start_that_fails_leaves_the_store_for_the_next(tmp_path: Path) -> None:
    class Fails(ScriptedWorker):
        is_broken = True

        async def startup(self) -> None:
            await super().startup()
            if self.is_broken:
                raise ZeroDivisionError

    settings, worker = Settings(store=f"sqlite:///{tmp_path / 'tasks.db'}"), Fails()
    runtime = build_runtime(worker, settings)
    with pytest.raises(ZeroDivisionError):
        await runtime.start()
    assert not runtime.is_ready
    worker.is_broken = False
    beside = build_runtime(worker, settings)
    await beside.start()
    await beside.stop()
    await runtime.start()
    assert runtime.is_ready
    await runtime.stop()


@asynccontextmanager
async def restarted(left: ScriptedWorker, then: ScriptedWorker) -> AsyncGenerator[Task]:
    """Let a process stop in the midst of a task, and look at it after the next start."""
    async with started(left) as former:
        service = await former.runtime.service()
        request = SendMessageRequest(message=user_message())
        await (await service.send_streaming_message(request, Call())).aclose()
        task_id = await only_id(former.store)
    runtime = build_runtime(then, SETTINGS, clock=former.clock, store=former.store)
    service = await runtime.service()
    try:
        stream = await service.subscribe_to_task(SubscribeToTaskRequest(id=task_id), Call())
        async for _ in stream:
            pass
    except TaskEndedError:
        pass  # It was ended before anything else.
    yield (await service.get_task(GetTaskRequest(id=task_id), Call())).task()
    await runtime.stop()


async def only_id(store: Store) -> str:
    (stored,) = (await store.list_tasks(TaskQuery(scope=SCOPE, limit=2))).tasks
    return stored.id


async def test_what_a_former_process_left_is_continued() -> None:
    async with restarted(ScriptedWorker(forever), ScriptedWorker()) as task:
        assert task.status.state is TaskState.COMPLETED


async def test_what_cannot_be_continued_is_ended() -> None:
    then = ScriptedWorker(resumes=False)
    async with restarted(ScriptedWorker(forever), then) as task:
        assert task.status.state is TaskState.FAILED
        assert task.status.message is not None
        assert text_of(task.status.message.parts) == INTERRUPTED_REASON


async def test_the_agent_is_ready_before_anything_is_continued() -> None:
    seen: list[list[str]] = []

    async def look(turn: Turn) -> Outcome:
        del turn
        seen.append(list(then.life))
        return Completed()

    then = ScriptedWorker(look)
    async with restarted(ScriptedWorker(forever), then):
        assert seen == [["startup"]]


async def test_a_server_that_has_nothing_to_do_tells_that_its_store_is_away_and_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with started() as house:

        async def make_rounds(count: int) -> None:
            for _ in range(count):
                await house.clock.until_asleep(3)
                house.clock.advance(1)
                await house.clock.until_asleep(3)

        house.store.is_unreadable = True
        await make_rounds(10)
        assert caplog.messages == [
            "the store is away: disk gone; requests that need it are refused"
        ]
        house.store.is_unreadable = False
        await make_rounds(3)
        assert caplog.messages[1:] == [
            "the store answers again, after 11 s; requests refused meanwhile: 0"
        ]


async def test_a_store_that_cannot_write_yet_does_not_answer_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with started() as house:
        house.runtime.outage.refuse(StoreUnavailableError("disk full"))
        house.store.is_down = True
        for _ in range(5):
            await house.clock.until_asleep(3)
            house.clock.advance(1)
        await house.clock.until_asleep(3)
        assert len(caplog.messages) == 1


async def test_a_store_that_is_gone_for_a_while_does_not_end_the_rounds() -> None:
    async def ask(turn: Turn) -> Outcome:
        await turn.ask(agent_message("which?"), timeout_seconds=100)
        return Completed()

    async with started(ScriptedWorker(ask)) as house:
        service = await house.runtime.service()
        await service.send_message(SendMessageRequest(message=user_message()), Call())
        await house.clock.until_asleep(4)
        house.clock.advance(61)  # Long enough to be put aside.
        await house.clock.until_asleep(3)
        house.store.is_unreadable = True
        house.clock.advance(100)
        await house.clock.until_asleep(3)
        task_id = await only_id(house.store)
        stored = await house.store.load(SCOPE, task_id)
        assert stored is not None
        assert stored.state is TaskState.INPUT_REQUIRED
        house.store.is_unreadable = False
        house.clock.advance(1)
        await house.clock.until_asleep(3)
        stream = await service.send_streaming_message(
            SendMessageRequest(message=user_message()), Call()
        )
        states = [
            event.value.status_update.status.state
            async for batch in stream
            for event in batch
            if event.value.status_update is not None
        ]
        stored = await house.store.load(SCOPE, task_id)
        assert stored is not None
        assert (stored.state, states[-1:]) in (
            (TaskState.FAILED, [TaskState.FAILED]),
            (TaskState.FAILED, []),
        )


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
            await house.clock.until_asleep(3)
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
        task_id = await only_id(house.store)
        other = await service.subscribe_to_task(SubscribeToTaskRequest(id=task_id), Call())
        await house.runtime.drain()
        await house.runtime.drain()
        assert not house.runtime.is_ready
        for each in (stream, other):
            assert [batch async for batch in each]


async def test_old_sends_are_forgotten_every_minute() -> None:
    async with started() as house:
        await house.keep()
        assert house.store.forgotten == [10_000_000 + 60_000 - 600_000]


async def test_housekeeping_that_fails_is_logged_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with started() as house:
        house.store.is_broken = True
        for minute in (1, 2):
            await house.keep()
            assert caplog.messages == ["housekeeping failed"] * minute


async def test_housekeeping_without_a_store_has_one_line_and_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with started() as house:
        house.store.is_down = True
        await house.keep()
        house.store.is_down = False
        await house.keep()
        (told,) = caplog.records
        assert told.getMessage() == "housekeeping has to wait for its store: disk full"
        assert told.exc_info is None


async def test_what_is_to_be_written_before_the_end_is_written_after_the_last_turn() -> None:
    worker = ScriptedWorker()

    async def flush() -> None:
        worker.life.append("flush")

    runtime = build_runtime(worker, SETTINGS, clock=FakeClock(), store=Store(), on_stop=flush)
    await runtime.start()
    await runtime.stop()
    assert worker.life == ["startup", "shutdown", "flush"]


async def test_what_the_first_request_starts_is_no_part_of_it() -> None:
    shown: ContextVar[str] = ContextVar("shown", default="")
    seen: list[str] = []

    class Watching(ScriptedWorker):
        async def startup(self) -> None:
            seen.append(shown.get())
            await super().startup()

    house = House(Watching())
    shown.set("the first request")
    await house.runtime.service()
    await house.runtime.stop()
    assert seen == [""]
