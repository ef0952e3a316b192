"""How a runner takes tasks up, answers directly, and stops."""

import asyncio
import logging
from collections.abc import Awaitable

import pytest
from msgspec.structs import replace

from dragoman.errors import (
    ConflictError,
    UnavailableError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.server.settings import TurnSettings
from dragoman.server.tasks.delivery import Delivery
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import TaskWrite
from tests.support.server.fakes import (
    SCOPE,
    RequestValidator,
    ScriptedWorker,
    agent_message,
    user_message,
)
from tests.support.server.running import (
    CANCELED,
    COMPLETED,
    DIRECT,
    FAILED,
    INPUT_REQUIRED,
    REQUEST,
    Stage,
    ask,
    stage,
    status_text,
    unfinished,
)

# --- tasks of the store -----------------------------------------------------------------------


async def test_an_adopted_task_goes_on_under_a_new_lease() -> None:
    on = await stage()
    stored = await unfinished(on)
    live = await on.supervisor.adopt(stored)
    assert live.epoch == stored.epoch + 1
    assert (live.standing.seq, live.standing.state) == (stored.seq, stored.state)
    assert on.supervisor.find(SCOPE, "t-0") is live


async def test_a_task_that_its_last_holder_has_ended_after_all_cannot_be_adopted() -> None:
    on = await stage()
    stored = await unfinished(on)
    live = await on.supervisor.adopt(stored)
    await on.supervisor.cancel(live)
    with pytest.raises(TaskLostError):
        await on.supervisor.adopt(replace(stored, epoch=live.epoch))


async def test_what_its_last_holder_wrote_last_is_part_of_an_adopted_task() -> None:
    on = await stage()
    stored = await unfinished(on)
    # Read before that was written; the lease has not changed since.
    old = replace(stored, seq=1, tail=stored.tail[:1])
    assert (await on.supervisor.adopt(old)).standing.seq == stored.seq


async def test_a_task_another_has_taken_over_cannot_be_adopted() -> None:
    on = await stage()
    stored = await unfinished(on)
    await on.store.take_over(stored.id, stored.epoch)
    with pytest.raises(UnavailableError, match="another server"):
        await on.supervisor.adopt(stored)
    assert on.supervisor.find(SCOPE, "t-0") is None


async def test_a_task_is_adopted_once_however_many_ask_for_it() -> None:
    on = await stage()
    stored = await unfinished(on)
    first, second = await asyncio.gather(on.supervisor.adopt(stored), on.supervisor.adopt(stored))
    assert first is second
    assert await on.supervisor.adopt(stored) is first
    current = await on.store.load(SCOPE, "t-0")
    assert current is not None
    assert await on.supervisor.adopt(current) is first
    assert current.epoch == stored.epoch + 1


async def test_who_asks_for_a_task_and_goes_away_does_not_take_it_from_others() -> None:
    on = await stage()
    stored = await unfinished(on)
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(on.supervisor.adopt(stored))
        other = group.create_task(on.supervisor.adopt(stored))
        await asyncio.sleep(0)
        gone.cancel()
    assert on.supervisor.find(SCOPE, "t-0") is other.result()


async def test_a_task_that_is_put_aside_again_at_once_is_not_handed_out() -> None:
    on = await stage()
    stored = await unfinished(on)
    adoption = asyncio.ensure_future(on.supervisor.adopt(stored))
    for _ in range(50):
        await asyncio.sleep(0)
        if (live := on.supervisor.held(stored.id)) is not None:
            on.supervisor.put_aside(live)
            break
    with pytest.raises(TaskLostError):
        await adoption


async def test_an_adopted_task_knows_when_to_be_woken_and_how_often_it_was_tried() -> None:
    on = await stage()
    left = await unfinished(on)
    plan = TaskWrite(
        task_id="t-0",
        epoch=left.epoch,
        expected_seq=left.seq,
        entries=(),
        events=0,
        wake_at_ms=5,
        attempts=2,
    )
    on.store.append(plan, lambda _: None)
    await asyncio.sleep(0)
    live = await on.supervisor.adopt(await on.stored("t-0"))
    assert live.attempts == 2
    await on.supervisor.cancel(live)
    assert (await on.stored("t-0")).wake_at_ms == 0


async def test_while_the_store_is_down_nothing_is_adopted() -> None:
    on = await stage()
    stored = await unfinished(on)
    await on.store.close()
    with pytest.raises(UnavailableError, match="store is not available"):
        await on.supervisor.adopt(stored)


async def test_an_adopted_task_that_another_takes_over_is_dropped() -> None:
    on = await stage()
    live = await on.supervisor.adopt(await unfinished(on))
    on.store.failure = ConflictError("t-0")
    with pytest.raises(UnavailableError, match="taken over"):
        await on.supervisor.cancel(live)
    assert on.supervisor.find(SCOPE, "t-0") is None


async def test_a_task_that_is_given_up_has_failed_and_says_why() -> None:
    on = await stage()
    await on.supervisor.give_up(await unfinished(on), "The server was restarted")
    task = await on.task("t-0")
    assert (task.status.state, status_text(task)) == (FAILED, "The server was restarted")
    assert on.supervisor.find(SCOPE, "t-0") is None


# --- direct answers ---------------------------------------------------------------------------


async def test_a_direct_answer_comes_from_the_worker() -> None:
    async def answer(request: SendMessageRequest) -> Message:
        return agent_message(f"to {request.message.message_id}")

    on = await stage(answer=answer)
    assert await on.supervisor.answer(DIRECT, REQUEST, "c-1") == agent_message("to m-1")


async def test_a_direct_answer_goes_on_when_nobody_waits_for_it() -> None:
    reached, release, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(request: SendMessageRequest) -> Message:
        del request
        reached.set()
        await release.wait()
        done.set()
        return agent_message()

    on = await stage(answer=answer)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(on.supervisor.answer(DIRECT, REQUEST, "c-1"))
        await reached.wait()
        asking.cancel()
    release.set()
    await done.wait()


async def test_a_direct_answer_that_does_not_come_before_the_end_is_unavailable() -> None:
    reached = asyncio.Event()

    async def answer(request: SendMessageRequest) -> Message:
        del request
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    on = await stage(answer=answer)
    async with asyncio.TaskGroup() as group:
        group.create_task(expect_shutdown(on.supervisor.answer(DIRECT, REQUEST, "c-1")))
        await reached.wait()
        await on.supervisor.drain(0)


async def expect_shutdown(waiting: Awaitable[object]) -> None:
    with pytest.raises(UnavailableError, match="shutting down"):
        await waiting


# --- stopping ---------------------------------------------------------------------------------


async def test_a_server_that_stops_takes_no_new_work() -> None:
    on = await stage()
    assert not on.supervisor.is_draining
    await on.supervisor.drain(0)
    assert on.supervisor.is_draining
    with pytest.raises(UnavailableError, match="shutting down"):
        on.begin()


async def test_running_turns_may_finish() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    async with asyncio.TaskGroup() as group:
        group.create_task(on.supervisor.drain(60))
        await asyncio.sleep(0)
        validator.opened.set()
    assert live.is_over
    assert (await on.task()).status.state is COMPLETED


async def test_cleaning_up_may_finish() -> None:
    cleanup, cleaned = asyncio.Event(), asyncio.Event()

    class Careful(ScriptedWorker):
        async def canceled(self, turn: Turn) -> None:
            await super().canceled(turn)
            await cleanup.wait()
            cleaned.set()

    validator = RequestValidator()
    on = Stage(Careful(validator.run), TurnSettings(cancel_grace_seconds=5))
    await on.store.open()
    live = on.begin()
    await validator.reached.wait()
    await on.supervisor.cancel(live)
    async with asyncio.TaskGroup() as group:
        draining = group.create_task(on.supervisor.drain(60))
        await on.worker.cleaned_up.wait()
        assert not draining.done()
        cleanup.set()
    assert cleaned.is_set()


async def test_but_not_beyond_the_grace_period() -> None:
    class Endless(ScriptedWorker):
        async def canceled(self, turn: Turn) -> None:
            await super().canceled(turn)
            await asyncio.Event().wait()

    validator = RequestValidator()
    on = Stage(Endless(validator.run), TurnSettings(cancel_grace_seconds=0))
    await on.store.open()
    live = on.begin()
    await validator.reached.wait()
    await on.supervisor.cancel(live)
    await on.worker.cleaned_up.wait()
    await on.supervisor.drain(0)
    assert (await on.task()).status.state is CANCELED


async def test_a_message_on_its_way_to_the_store_is_refused_at_the_end() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    on.store.takes_messages.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(expect_refusal(on.deliver(live, "one")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await on.supervisor.drain(0)
    assert not live.inbox


async def expect_refusal(waiting: Awaitable[object]) -> None:
    with pytest.raises(UnavailableError):
        await waiting


async def test_a_message_that_comes_in_the_very_moment_of_the_end_is_refused() -> None:
    async def run(turn: Turn) -> Outcome:
        await turn.sleep(100)
        return Completed()

    on = await stage(run)
    live = on.begin()
    await live.durable()
    for _ in range(10):
        await asyncio.sleep(0)
    assert live.pause is not None
    delivery = on.supervisor.deliver(live, Delivery(message=user_message("more", "m-2")), None)
    await on.supervisor.drain(0)
    with pytest.raises(UnavailableError):
        await delivery.stored


async def test_turns_that_wait_for_their_client_are_not_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    on = await stage(ask)
    live = on.begin()
    await live.settled()
    await on.supervisor.drain(60)
    assert caplog.messages == ["unfinished, left for the next start: 1"]
    assert (await on.task()).status.state is INPUT_REQUIRED


async def test_whoever_waits_for_what_is_left_is_told_to_come_back() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    settled = live.settled()
    await validator.reached.wait()
    await on.supervisor.drain(0)
    with pytest.raises(UnavailableError, match="shutting down"):
        await settled
