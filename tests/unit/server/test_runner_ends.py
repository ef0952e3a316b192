"""How a runner takes tasks up, answers, stops, and lives through a store that fails."""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress

import pytest
from msgspec.structs import replace

from dragoman.engine.commands import Say
from dragoman.errors import (
    ConflictError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.server.hub import Follower
from dragoman.server.live import Errand
from dragoman.server.runner import Limits
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import (
    InboxItem,
)
from tests.unit.server.fakes import (
    SCOPE,
    Gate,
    ScriptedWorker,
    agent_message,
    user_message,
)
from tests.unit.server.running import (
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
    live = await on.runner.adopt(stored)
    assert live.epoch == stored.epoch + 1
    assert (live.standing.seq, live.standing.state) == (stored.seq, stored.state)
    assert on.runner.find(SCOPE, "t-0") is live


async def test_what_waits_for_an_adopted_task_still_waits() -> None:
    on = await stage()
    item = InboxItem(3, b'{"messageId":"m-2","role":"ROLE_USER","parts":[{"text":"later"}]}')
    live = await on.runner.adopt(await unfinished(on, inbox=(item,)))
    (queued,) = live.inbox
    assert queued.errand.message == user_message("later", "m-2")
    assert await queued.stored == 3
    assert live.standing.unread == 1


async def test_an_adopted_task_that_waits_for_its_client_is_paused() -> None:
    on = await stage()
    stored = replace(await unfinished(on), state=INPUT_REQUIRED)
    live = await on.runner.adopt(stored)
    assert live.channel.paused_at == stored.seq


async def test_a_task_another_has_taken_over_cannot_be_adopted() -> None:
    on = await stage()
    stored = await unfinished(on)
    await on.runner.adopt(stored)
    with pytest.raises(ConflictError):
        await on.runner.adopt(stored)


async def test_an_adopted_task_that_another_takes_over_is_dropped() -> None:
    on = await stage()
    live = await on.runner.adopt(await unfinished(on))
    on.store.failure = ConflictError("t-0")
    with pytest.raises(UnavailableError, match="taken over"):
        await on.runner.cancel(live)
    assert on.runner.find(SCOPE, "t-0") is None


async def test_an_abandoned_task_has_failed_and_says_why() -> None:
    on = await stage()
    await on.runner.abandon(await unfinished(on), "The server was restarted")
    task = await on.task("t-0")
    assert (task.status.state, status_text(task)) == (FAILED, "The server was restarted")
    assert on.runner.find(SCOPE, "t-0") is None


# --- direct answers ---------------------------------------------------------------------------


async def test_a_direct_answer_comes_from_the_worker() -> None:
    async def answer(request: SendMessageRequest) -> Message:
        return agent_message(f"to {request.message.message_id}")

    on = await stage(answer=answer)
    assert await on.runner.answer(DIRECT, REQUEST, "c-1") == agent_message("to m-1")


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
        asking = group.create_task(on.runner.answer(DIRECT, REQUEST, "c-1"))
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
        group.create_task(expect_shutdown(on.runner.answer(DIRECT, REQUEST, "c-1")))
        await reached.wait()
        await on.runner.drain(0)


async def expect_shutdown(waiting: Awaitable[object]) -> None:
    with pytest.raises(UnavailableError, match="shutting down"):
        await waiting


# --- stopping ---------------------------------------------------------------------------------


async def test_a_server_that_stops_takes_no_new_work() -> None:
    on = await stage()
    assert not on.runner.is_draining
    await on.runner.drain(0)
    assert on.runner.is_draining
    with pytest.raises(UnavailableError, match="shutting down"):
        on.begin()


async def test_running_turns_may_finish() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    async with asyncio.TaskGroup() as group:
        group.create_task(on.runner.drain(60))
        await asyncio.sleep(0)
        gate.opened.set()
    assert live.is_over
    assert (await on.task()).status.state is COMPLETED


async def test_cleaning_up_may_finish() -> None:
    cleanup, cleaned = asyncio.Event(), asyncio.Event()

    class Careful(ScriptedWorker):
        async def canceled(self, turn: Turn) -> None:
            await super().canceled(turn)
            await cleanup.wait()
            cleaned.set()

    gate = Gate()
    on = Stage(Careful(gate.run), Limits(cancel_grace_seconds=5))
    await on.store.open()
    live = on.begin()
    await gate.reached.wait()
    await on.runner.cancel(live)
    async with asyncio.TaskGroup() as group:
        draining = group.create_task(on.runner.drain(60))
        await on.worker.cleaned_up.wait()
        assert not draining.done()
        cleanup.set()
    assert cleaned.is_set()


async def test_but_not_beyond_the_grace_period() -> None:
    class Endless(ScriptedWorker):
        async def canceled(self, turn: Turn) -> None:
            await super().canceled(turn)
            await asyncio.Event().wait()

    gate = Gate()
    on = Stage(Endless(gate.run), Limits(cancel_grace_seconds=0))
    await on.store.open()
    live = on.begin()
    await gate.reached.wait()
    await on.runner.cancel(live)
    await on.worker.cleaned_up.wait()
    await on.runner.drain(0)
    assert (await on.task()).status.state is CANCELED


async def test_a_message_on_its_way_to_the_store_is_refused_at_the_end() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    on.store.takes_messages.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(expect_refusal(on.deliver(live, "one")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await on.runner.drain(0)
    assert not live.inbox


async def expect_refusal(waiting: Awaitable[object]) -> None:
    with pytest.raises(UnavailableError):
        await waiting


async def test_turns_that_wait_for_their_client_are_not_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    on = await stage(ask)
    live = on.begin()
    await live.settled()
    await on.runner.drain(60)
    assert caplog.messages == ["unfinished, to be ended as failed at the next start: 1"]
    assert (await on.task()).status.state is INPUT_REQUIRED


async def test_whoever_waits_for_what_is_left_is_told_to_come_back() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    settled = live.settled()
    await gate.reached.wait()
    await on.runner.drain(0)
    with pytest.raises(UnavailableError, match="shutting down"):
        await settled


# --- a store that fails -----------------------------------------------------------------------


async def test_a_task_another_owner_has_taken_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    settled = live.settled()
    on.store.failure = ConflictError("t-1")
    with pytest.raises(UnavailableError, match="taken over"):
        await on.runner.cancel(live)
    with pytest.raises(UnavailableError, match="taken over"):
        await settled
    assert on.runner.find(SCOPE, "t-1") is None
    assert live.turn is not None
    await asyncio.wait([live.turn])
    assert live.turn.cancelled()
    assert "its turn is stopped here" in caplog.text


async def test_who_follows_a_task_another_owner_has_taken_is_sent_away() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    follower = Follower(live.channel, first=None, cursor=0)
    assert [event.seq for event in await anext(follower)] == [1, 2]
    on.store.failure = ConflictError("t-1")
    async with asyncio.TaskGroup() as group:
        rest = group.create_task(all_of(follower))
        with pytest.raises(UnavailableError):
            await on.runner.cancel(live)
    assert rest.result() == []


async def all_of(follower: Follower) -> list[int]:
    return [event.seq async for batch in follower for event in batch]


async def test_a_task_another_owner_has_taken_gives_its_slot_back() -> None:
    gate = Gate()
    on = await stage(gate.run, running_turns=1, waiting_turns=0)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    on.store.failure = ConflictError("t-1")
    with pytest.raises(UnavailableError):
        await on.runner.cancel(live)
    on.runner.check()


async def test_a_task_that_was_never_stored_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    on = await stage(gate.run)
    on.store.failure = StoreUnavailableError("disk full")
    live = on.begin()
    settled = live.settled()
    with pytest.raises(UnavailableError, match="store is not available"):
        await settled
    await on.clock.until_asleep()
    on.store.failure = None
    on.clock.advance(1)
    assert live.turn is not None
    await asyncio.wait([live.turn])
    assert on.runner.find(SCOPE, "t-1") is None
    assert "task t-1 was never stored; its turn is stopped" in caplog.messages


async def test_a_turn_whose_output_was_lost_is_told_and_its_task_fails() -> None:
    begun, broken = asyncio.Event(), asyncio.Event()
    told: list[str] = []

    async def run(turn: Turn) -> Outcome:
        begun.set()
        await broken.wait()
        await turn.say(agent_message("lost"))
        with suppress(UnavailableError):
            await turn.flush()
        await on.clock.sleep(10)
        try:
            await turn.say(agent_message("too late"))
        except UnavailableError as error:
            told.append(error.message)
        return Completed()

    on = await stage(run)
    live = on.begin()
    settled = live.settled()
    await begun.wait()
    await live.durable()
    on.store.failure = StoreUnavailableError("disk full")
    on.store.is_down = True
    broken.set()
    with pytest.raises(UnavailableError):
        await settled
    await on.clock.until_asleep(2)
    on.clock.advance(1)  # Still down: the task waits on.
    await on.clock.until_asleep(2)
    on.store.is_down = False
    on.clock.advance(1)  # Up again, but the first read fails.
    await on.clock.until_asleep(2)
    on.store.failure = None
    on.clock.advance(1)
    again = live.settled()
    on.clock.advance(10)
    await again
    assert told == ["The store failed; output of this turn was lost"]
    task = await on.task()
    assert task.status.state is FAILED
    assert "part of its output was lost" in status_text(task)


async def test_a_task_whose_end_was_lost_is_ended_again() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    on.store.failure = StoreUnavailableError("disk full")
    settled = live.settled()
    gate.opened.set()
    with pytest.raises(UnavailableError):
        await settled
    await on.clock.until_asleep()
    on.store.failure = None
    again = live.settled()
    on.clock.advance(1)
    await again
    task = await on.task()
    assert task.status.state is FAILED
    assert "part of its output was lost" in status_text(task)


async def test_a_turn_that_ends_during_an_outage_waits_for_the_store() -> None:
    begun, broken = asyncio.Event(), asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        begun.set()
        await broken.wait()
        await turn.say(agent_message("lost"))
        with suppress(UnavailableError):
            await turn.flush()
        return Completed()

    on = await stage(run)
    live = on.begin()
    await begun.wait()
    await live.durable()
    on.store.failure = StoreUnavailableError("disk full")
    broken.set()
    await on.clock.until_asleep(2)
    on.store.failure = None
    settled = live.settled()
    on.clock.advance(1)  # The turn looks first, and the task is not back yet.
    await on.clock.until_asleep()
    on.clock.advance(1)
    await settled
    assert (await on.task()).status.state is FAILED


async def test_a_message_that_cannot_be_stored_during_an_outage_is_refused() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    delivery = on.runner.deliver(live, Errand(message=user_message("one", "one")), None)
    on.store.failure = StoreUnavailableError("disk full")
    live.execute(Say(agent_message("lost")))
    with pytest.raises(UnavailableError):
        await live.durable()
    with pytest.raises(UnavailableError):
        await delivery.stored
    assert not live.inbox
    await on.clock.until_asleep()
    on.store.failure = None
    on.clock.advance(1)
    gate.opened.set()
    await live.settled()
    assert [m.message_id for m in (await on.task()).history] == ["m-1"]
