import asyncio

import pytest

from dragoman.errors import StoreUnavailableError
from dragoman.model.messages import text_of
from dragoman.model.tasks import TaskState
from dragoman.server.settings import TaskSettings
from dragoman.server.tasks.delivery import Delivery
from dragoman.server.tasks.restoring import document_of
from dragoman.server.tasks.retention import Retention
from dragoman.service.worker import Outcome, Turn
from dragoman.stores.base import StoredTask, TaskWrite
from dragoman.stores.memory.store import MemoryTaskStore
from tests.support.server.fakes import SCOPE, user_message
from tests.support.server.running import COMPLETED, FAILED, INPUT_REQUIRED, Stage, ask, stage

DAY_SECONDS = 24 * 60 * 60


def retention(on: Stage, *, ended_days: float = 0, waiting_days: float = 0) -> Retention:
    return Retention(
        store=on.store,
        supervisor=on.supervisor,
        clock=on.clock,
        settings=TaskSettings(retention_days=ended_days, input_expiry_days=waiting_days),
    )


async def state_of(on: Stage, task_id: str = "t-1") -> tuple[TaskState, str] | None:
    stored = await on.store.load(SCOPE, task_id)
    if stored is None:
        return None
    status = document_of(stored).task().status
    return status.state, "" if status.message is None else text_of(status.message.parts)


async def asking(on: Stage, task_id: str = "t-1") -> None:
    """Begin a task that waits for its client."""
    live = on.begin(task_id=task_id)
    await live.settled()
    assert live.standing.state is INPUT_REQUIRED


# --- removing -----------------------------------------------------------------------------------


async def test_a_task_is_removed_so_many_days_after_its_end() -> None:
    on = await stage()
    await on.begin().settled()
    on.clock.advance(30 * DAY_SECONDS)
    await retention(on, ended_days=30).enforce()
    assert await state_of(on) == (COMPLETED, "")
    on.clock.advance(1)
    await retention(on, ended_days=30).enforce()
    assert await state_of(on) is None


async def test_ages_are_looked_at_once_an_hour() -> None:
    on = await stage()
    await on.begin().settled()
    keeper = retention(on, ended_days=1)
    on.clock.advance(DAY_SECONDS)
    await keeper.enforce()
    on.clock.advance(3599)
    await keeper.enforce()
    assert await state_of(on) == (COMPLETED, "")
    on.clock.advance(1)
    await keeper.enforce()
    assert await state_of(on) is None


async def test_ages_are_looked_at_again_soon_after_the_store_has_failed() -> None:
    class Failing(MemoryTaskStore):
        is_down = True

        async def delete_ended(self, before_ms: int) -> int:
            if self.is_down:
                raise StoreUnavailableError("disk full")
            return await super().delete_ended(before_ms)

    on = await stage()
    store = Failing()
    await store.open()
    keeper = Retention(
        store=store, supervisor=on.supervisor, clock=on.clock, settings=TaskSettings()
    )
    with pytest.raises(StoreUnavailableError):
        await keeper.enforce()
    store.is_down = False
    await keeper.enforce()


async def test_nothing_is_removed_unless_days_are_given() -> None:
    on = await stage()
    await on.begin().settled()
    on.clock.advance(3650 * DAY_SECONDS)
    await retention(on).enforce()
    assert await state_of(on) == (COMPLETED, "")


async def test_what_has_not_ended_is_not_removed() -> None:
    on = await stage(ask)
    await asking(on)
    on.clock.advance(3650 * DAY_SECONDS)
    await retention(on, ended_days=1).enforce()
    assert await state_of(on) == (INPUT_REQUIRED, "which?")


async def test_a_removal_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    on = await stage()
    await on.begin().settled()
    on.clock.advance(DAY_SECONDS)
    await retention(on, ended_days=0.5).enforce()
    assert caplog.messages == ["removed 1 tasks that ended more than 0.5 days ago"]


# --- ending what waits --------------------------------------------------------------------------


async def test_a_task_in_memory_is_ended_when_nobody_answers() -> None:
    ended = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        try:
            return await ask(turn)
        finally:
            ended.set()

    on = await stage(run)
    await asking(on)
    on.clock.advance(2 * DAY_SECONDS)
    await retention(on, waiting_days=2).enforce()
    assert await state_of(on) == (INPUT_REQUIRED, "which?")
    on.clock.advance(1)
    await retention(on, waiting_days=2).enforce()
    assert await state_of(on) == (FAILED, "No answer came within 2 days; the task is ended")
    await ended.wait()
    assert on.supervisor.tasks() == ()


async def test_a_task_that_was_put_aside_is_ended_when_nobody_answers() -> None:
    on = await stage(ask)
    await asking(on)
    (live,) = on.supervisor.tasks()
    on.supervisor.put_aside(live)
    on.clock.advance(2 * DAY_SECONDS)
    await retention(on, waiting_days=1).enforce()
    assert await state_of(on) == (FAILED, "No answer came within 1 day; the task is ended")
    assert on.supervisor.tasks() == ()


async def test_what_has_become_too_old_while_it_waited_is_ended_and_then_kept() -> None:
    on = await stage(ask)
    await asking(on)
    on.clock.advance(100 * DAY_SECONDS)
    await retention(on, waiting_days=10, ended_days=10).enforce()
    assert await state_of(on) == (FAILED, "No answer came within 10 days; the task is ended")


async def test_a_task_that_is_answered_in_the_last_moment_goes_on() -> None:
    on = await stage(ask)
    await asking(on)
    (live,) = on.supervisor.tasks()
    on.clock.advance(2 * DAY_SECONDS)
    # Not stored yet: the store still has the question.
    delivery = on.supervisor.deliver(live, Delivery(message=user_message("that", "m-2")), None)
    await retention(on, waiting_days=1).enforce()
    await delivery.stored
    await delivery.settled
    assert await state_of(on) == (COMPLETED, "so that")


async def test_a_task_that_may_be_in_the_hands_of_another_replica_is_left_to_that() -> None:
    on = await stage(ask)
    for task_id in ("t-1", "t-2"):
        await asking(on, task_id)
    aside = on.supervisor.held("t-2")
    assert aside is not None
    on.supervisor.put_aside(aside)
    on.clock.advance(2 * DAY_SECONDS)
    keeper = Retention(
        store=on.store,
        supervisor=on.supervisor,
        clock=on.clock,
        settings=TaskSettings(input_expiry_days=1),
        may_take=lambda _: False,
    )
    await keeper.enforce()
    # The one that is in memory here is nobody else's.
    assert await state_of(on, "t-1") == (FAILED, "No answer came within 1 day; the task is ended")
    assert await state_of(on, "t-2") == (INPUT_REQUIRED, "which?")


async def test_a_task_that_another_replica_ends_first_is_nothing_to_report(
    caplog: pytest.LogCaptureFixture,
) -> None:
    on = await stage(ask)
    await asking(on)
    (live,) = on.supervisor.tasks()
    on.supervisor.put_aside(live)
    on.clock.advance(2 * DAY_SECONDS)
    known = await on.store.waiting(before_ms=on.clock.now_ms(), after_id="", limit=10)
    await on.store.take_over("t-1", known[0].epoch)

    class Behind(MemoryTaskStore):
        async def waiting(
            self, *, before_ms: int, after_id: str, limit: int
        ) -> tuple[StoredTask, ...]:
            del before_ms, limit
            return () if after_id else known

    ages = TaskSettings(retention_days=0, input_expiry_days=1)
    await Retention(
        store=Behind(), supervisor=on.supervisor, clock=on.clock, settings=ages
    ).enforce()
    assert await state_of(on) == (INPUT_REQUIRED, "which?")
    assert caplog.messages == []


async def test_tasks_wait_for_ever_unless_days_are_given() -> None:
    on = await stage(ask)
    await asking(on)
    on.clock.advance(3650 * DAY_SECONDS)
    await retention(on).enforce()
    assert await state_of(on) == (INPUT_REQUIRED, "which?")


async def test_a_task_that_cannot_be_read_does_not_keep_others_from_their_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    on = await stage(ask)
    for task_id in ("t-1", "t-2"):
        await asking(on, task_id)
    for live in on.supervisor.tasks():
        on.supervisor.put_aside(live)
    await break_log(on, "t-1")
    on.clock.advance(2 * DAY_SECONDS)
    await retention(on, waiting_days=1).enforce()
    assert "task t-1 could not be ended" in caplog.messages
    state = await state_of(on, "t-2")
    assert state is not None
    assert state[0] is FAILED


async def break_log(on: Stage, task_id: str) -> None:
    """Have the store keep something that is no entry."""
    stored = await on.store.load(SCOPE, task_id)
    assert stored is not None
    done = asyncio.get_running_loop().create_future()
    on.store.append(
        TaskWrite(
            task_id=task_id,
            epoch=stored.epoch,
            expected_seq=stored.seq,
            entries=(b"no JSON",),
            events=1,
        ),
        done.set_result,
    )
    assert await done is None
