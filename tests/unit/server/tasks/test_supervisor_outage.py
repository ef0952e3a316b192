"""How a runner lives through a store that fails, and lets go of what another has taken."""

import asyncio
from contextlib import suppress

import pytest

from dragoman.engine.commands import Say
from dragoman.errors import (
    ConflictError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.messages import text_of
from dragoman.model.tasks import Task
from dragoman.server.tasks.delivery import Delivery
from dragoman.server.tasks.streams import Follower
from dragoman.server.tasks.turns import STORE_POLL_SECONDS
from dragoman.service.worker import Completed, Outcome, Suspended, Turn
from tests.support.server.fakes import (
    SCOPE,
    RequestValidator,
    agent_message,
    user_message,
)
from tests.support.server.running import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    Stage,
    ask,
    stage,
    status_text,
)

# --- a task that another replica has ------------------------------------------------------------


async def test_a_task_another_replica_has_taken_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    settled = live.settled()
    on.store.failure = ConflictError("t-1")
    with pytest.raises(UnavailableError, match="taken over"):
        await on.supervisor.cancel(live)
    with pytest.raises(UnavailableError, match="taken over"):
        await settled
    assert on.supervisor.find(SCOPE, "t-1") is None
    assert live.turn is not None
    await asyncio.wait([live.turn])
    assert live.turn.cancelled()
    assert caplog.messages == [
        "task t-1: another replica has taken it over; its turn is stopped here"
    ]


async def test_who_follows_a_task_another_replica_has_taken_is_sent_away() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    follower = Follower(live.channel, first=None, cursor=0)
    assert [event.seq for event in await anext(follower)] == [1, 2]
    on.store.failure = ConflictError("t-1")
    async with asyncio.TaskGroup() as group:
        rest = group.create_task(all_of(follower))
        with pytest.raises(UnavailableError):
            await on.supervisor.cancel(live)
    assert rest.result() == []


async def all_of(follower: Follower) -> list[int]:
    return [event.seq async for batch in follower for event in batch]


async def test_a_task_another_owner_has_taken_gives_its_slot_back() -> None:
    validator = RequestValidator()
    on = await stage(validator.run, running_turns=1, waiting_turns=0)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    on.store.failure = ConflictError("t-1")
    with pytest.raises(UnavailableError):
        await on.supervisor.cancel(live)
    on.supervisor.check()


# --- a turn that is not to be run again -------------------------------------------------------


async def test_a_task_that_was_never_stored_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
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
    assert on.supervisor.find(SCOPE, "t-1") is None
    assert "task t-1 was never stored; its turn is stopped" in caplog.messages


async def test_a_turn_whose_output_was_lost_is_told_and_its_task_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
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

    on = await stage(run, resumes=False)
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
    lost = "The store failed while the task was running; part of its output was lost"
    assert caplog.messages == [f"task t-1 failed: {lost}"]
    task = await on.task()
    assert task.status.state is FAILED
    assert "part of its output was lost" in status_text(task)


async def test_a_task_whose_end_was_lost_is_ended_again() -> None:
    validator = RequestValidator()
    on = await stage(validator.run, resumes=False)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    on.store.failure = StoreUnavailableError("disk full")
    settled = live.settled()
    validator.opened.set()
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

    on = await stage(run, resumes=False)
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


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_message_that_cannot_be_stored_during_an_outage_is_refused(
    resumes: bool,  # noqa: FBT001 - a row of a table
) -> None:
    validator = RequestValidator()
    on = await stage(validator.run, resumes=resumes)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    delivery = on.supervisor.deliver(live, Delivery(message=user_message("one", "one")), None)
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
    validator.opened.set()
    await live.settled()
    assert [m.message_id for m in (await on.task()).history] == ["m-1"]


# --- a turn that is run again -------------------------------------------------------------------


class Outage:
    """A store that fails at a place in a turn, and comes back when the test says so."""

    def __init__(self, on: Stage) -> None:
        self._on = on

    def begin(self) -> None:
        self._on.store.failure = StoreUnavailableError("disk full")

    async def end(self) -> None:
        """Wait until the task looks for the store, then let it find it."""
        await self._on.clock.until_asleep()
        self._on.store.failure = None
        self._on.clock.advance(STORE_POLL_SECONDS)


def said(task: Task) -> list[str]:
    return [text_of(message.parts) for message in task.history]


async def test_a_turn_whose_output_was_lost_is_run_again_and_nothing_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    steps: list[str] = []

    async def run(turn: Turn) -> Outcome:
        await turn.say(agent_message("one"))
        if turn.recall("step", "pay") is None:
            steps.append(turn.call_key("pay"))
            await turn.record("step", "pay", b"1")
        if len(runs) == 1:
            outage.begin()
        await turn.say(agent_message("two"))
        await turn.flush()
        return Completed(agent_message("done"))

    runs: list[Turn] = []

    async def counted(turn: Turn) -> Outcome:
        runs.append(turn)
        return await run(turn)

    on = await stage(counted)
    outage = Outage(on)
    live = on.begin()
    with pytest.raises(UnavailableError):
        await live.settled()
    settled = live.settled()
    await outage.end()
    await settled
    task = await on.task()
    assert (task.status.state, status_text(task)) == (COMPLETED, "done")
    assert said(task) == ["hello", "one", "two"]
    assert (len(runs), steps) == (2, ["t-1/0/1/pay"])
    # Nothing has failed.
    assert caplog.messages == ["task t-1 is run again: its store had failed"]


async def test_a_turn_whose_end_was_lost_is_run_again() -> None:
    runs: list[str] = []

    async def run(turn: Turn) -> Outcome:
        runs.append(turn.task_id)
        await turn.flush()
        if len(runs) == 1:
            outage.begin()
        return Completed(agent_message("done"))

    on = await stage(run)
    outage = Outage(on)
    live = on.begin()
    with pytest.raises(UnavailableError):
        await live.settled()
    settled = live.settled()
    await outage.end()
    await settled
    assert (await on.task()).status.state is COMPLETED
    assert len(runs) == 2


async def test_while_its_store_is_gone_a_turn_is_left_at_work() -> None:
    """What is lost is seen when the store is back; until then it may still do some good."""
    stopped = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        if stopped.is_set():
            return Completed()
        await turn.flush()
        outage.begin()
        await turn.say(agent_message("lost"))
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    on = await stage(run)
    outage = Outage(on)
    live = on.begin()
    with pytest.raises(UnavailableError):
        await live.settled()
    on.clock.advance(1)
    await asyncio.sleep(0)
    assert not stopped.is_set()
    settled = live.settled()
    await outage.end()
    await settled
    assert stopped.is_set()


async def test_a_message_that_waits_through_an_outage_gets_its_turn() -> None:
    turns: list[str] = []
    release = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        await release.wait()
        if len(turns) == 1:
            outage.begin()
            await turn.say(agent_message("lost"))
            await turn.flush()
        return Completed()

    on = await stage(run)
    outage = Outage(on)
    live = on.begin()
    settled = await on.deliver(live, "one")
    release.set()
    with pytest.raises(UnavailableError):
        await settled
    settled = live.settled()
    await outage.end()
    await settled
    assert turns == ["hello", "hello", "one"]
    assert said(await on.task()) == ["hello", "one"]
    assert (await on.stored()).inbox == ()


async def test_a_message_whose_taking_up_was_lost_gets_its_turn() -> None:
    turns: list[str] = []
    released = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        await released.wait()
        return Completed()

    on = await stage(run)
    live = on.begin()
    await live.durable()
    await on.deliver(live, "more")
    # The turn ends and the next one begins; the write that says so is lost.
    on.store.failure = StoreUnavailableError("disk full")
    released.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert live.failure is not None
    on.store.failure = None
    for _ in range(100):
        on.clock.advance(1)
        await asyncio.sleep(0)
    assert live.is_over
    assert turns[-1] == "more"
    assert [text_of(message.parts) for message in (await on.task()).history] == ["hello", "more"]


async def test_an_answer_that_was_lost_may_be_given_again() -> None:
    on = await stage(ask)
    outage = Outage(on)
    live = on.begin()
    await live.settled()
    outage.begin()
    with pytest.raises(UnavailableError):
        await on.deliver(live, "lost")
    async with asyncio.timeout(5):
        await outage.end()
        while live.failure is not None:  # noqa: ASYNC110 - a field of another's, which tells nobody
            await asyncio.sleep(0)
    assert live.standing.state is INPUT_REQUIRED
    await (await on.deliver(live, "that"))
    task = await on.task()
    assert (task.status.state, status_text(task)) == (COMPLETED, "so that")
    assert said(task) == ["hello", "which?", "that"]


async def test_a_turn_that_will_not_stop_has_no_part_in_the_run_after_it() -> None:
    release, intruded = asyncio.Event(), asyncio.Event()
    again = asyncio.Event()
    heard: list[BaseException] = []

    async def stubborn(turn: Turn) -> Outcome:
        await turn.flush()
        outage.begin()
        await turn.say(agent_message("lost"))
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()
        try:
            await turn.say(agent_message("intruder"))
        except BaseException as error:
            heard.append(error)
            raise
        finally:
            intruded.set()
        raise AssertionError

    async def run(turn: Turn) -> Outcome:
        if not again.is_set():
            again.set()
            return await stubborn(turn)
        release.set()
        await intruded.wait()
        return Completed()

    on = await stage(run)
    outage = Outage(on)
    live = on.begin()
    with pytest.raises(UnavailableError):
        await live.settled()
    settled = live.settled()
    await outage.end()
    await settled
    assert [type(error) for error in heard] == [Suspended]
    assert said(await on.task()) == ["hello"]
