"""The durable calls of a turn: what they record, and what they find when it is run again."""

import asyncio
from collections.abc import Coroutine

import pytest

from dragoman.engine.commands import Deliver
from dragoman.engine.journal import JournalEntry, Replay
from dragoman.errors import DivergedError, NoAnswerError, StoreUnavailableError, UnavailableError
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState
from dragoman.server.tasks.delivery import Answer, Delivery, decode_answer, encode
from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.turn import ASK, LiveTurn, question_name
from dragoman.service.branches import MAIN, branch
from dragoman.service.worker import Suspended
from dragoman.stores.base import TaskWrite
from tests.support.server.fakes import Live, agent_message, user_message
from tests.support.server.living import queue

THAT = Delivery(message=user_message("that"), metadata={"k": 1})


class Stage:
    """A turn on a live task, in the only slot there is; its store commits by itself."""

    def __init__(self, *results: tuple[str, str, bytes]) -> None:
        self.live = Live()
        self.slots = Slots(1, 10)
        self.slot = Slot(self.slots)
        self.live.task.slot = self.slot
        journal = [
            JournalEntry(n=n, kind=kind, name=name, result=result)
            for n, (kind, name, result) in enumerate(results, 1)
        ]
        replay = Replay("t-1", "c-1", journal, ()) if results else None
        self.turn = LiveTurn(
            self.live.task, Delivery(message=user_message()), self.slot, self.live.clock, replay
        )

    async def begin(self) -> "Stage":
        await self.slot.taken()
        self.live.begin()
        await self.commit()
        return self

    async def commit(self) -> None:
        """Let the loop run, and everything written become durable."""
        for _ in range(5):
            await asyncio.sleep(0)
            while self.live.store.held:
                self.live.store.commit()

    @property
    def last(self) -> TaskWrite:
        return self.live.store.writes[-1]

    @property
    def journal(self) -> list[tuple[str, str, bytes]]:
        """Everything that was recorded."""
        entries = [entry for write in self.live.store.writes for entry in write.journal]
        return [(entry.kind, entry.name, entry.result) for entry in entries]


@pytest.fixture
async def stage() -> Stage:
    return await Stage().begin()


# --- results ----------------------------------------------------------------------------------


async def test_a_turn_that_runs_for_the_first_time_recalls_nothing(stage: Stage) -> None:
    assert stage.turn.recall("step", "pay") is None


async def test_what_is_recorded_is_durable(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        recording = group.create_task(stage.turn.record("step", "pay", b"1"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (stage.last.journal[0].result, stage.last.events) == (b"1", 0)
        assert not recording.done()
        await stage.commit()


async def test_what_is_noted_goes_with_whatever_comes_next(stage: Stage) -> None:
    stage.turn.note("now", "", b"1")
    await stage.turn.say(agent_message())
    await asyncio.sleep(0)
    assert (len(stage.last.journal), stage.last.events) == (1, 1)


async def test_flush_waits_for_what_is_noted(stage: Stage) -> None:
    stage.turn.note("now", "", b"1")
    async with asyncio.TaskGroup() as group:
        flushing = group.create_task(stage.turn.flush())
        await asyncio.sleep(0)
        assert not flushing.done()
        await stage.commit()


async def test_a_result_that_is_lost_is_told(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        recording = group.create_task(fails(stage.turn.record("step", "pay", b"1")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stage.live.store.commit(StoreUnavailableError("disk full"))
    assert "store is not available" in recording.result()


async def fails(call: Coroutine[object, object, object]) -> str:
    with pytest.raises(UnavailableError) as caught:
        await call
    return caught.value.message


async def test_the_key_of_a_call_is_its_place_in_the_turn_and_its_name(stage: Stage) -> None:
    assert stage.turn.call_key("pay") == "t-1/0/1/pay"
    stage.turn.note("now", "", b"1")
    assert stage.turn.call_key("pay") == "t-1/0/2/pay"


async def test_the_key_of_a_call_does_not_depend_on_what_others_record_and_say(
    stage: Stage,
) -> None:
    stage.turn.join()

    async def beside() -> None:
        branch.set("1.0")
        stage.turn.note("now", "", b"1")
        await stage.turn.say(agent_message("beside"))

    await asyncio.ensure_future(beside())
    assert stage.turn.call_key("pay") == "t-1/0/1/pay"
    await stage.turn.say(agent_message("after"))
    assert stage.turn.call_key("pay") == "t-1/0/1/pay"


async def test_a_turn_that_is_run_again_recalls_and_then_goes_on() -> None:
    stage = await Stage(("step", "pay", b"1")).begin()
    assert stage.turn.recall("step", "pay") == b"1"
    assert stage.turn.recall("step", "ship") is None


async def test_a_call_out_of_place_is_refused() -> None:
    stage = await Stage(("step", "pay", b"1")).begin()
    with pytest.raises(DivergedError):
        await stage.turn.sleep(1)
    with pytest.raises(DivergedError):
        await stage.turn.ask(agent_message("which?"))
    with pytest.raises(DivergedError):
        await stage.turn.take_message()


async def test_a_turn_knows_the_time(stage: Stage) -> None:
    assert stage.turn.now_ms() == stage.live.clock.now_ms()


# --- what was published -----------------------------------------------------------------------


async def test_what_the_log_has_is_not_published_again() -> None:
    stage = await Stage(("step", "pay", b"1")).begin()
    await stage.turn.say(agent_message("again"))
    await stage.turn.artifact(Artifact(artifact_id="a-1", parts=(Part(text="x"),)))
    assert stage.live.task.backlog == 0
    stage.turn.recall("step", "pay")
    await stage.turn.say(agent_message("new"))
    await stage.turn.artifact(Artifact(artifact_id="a-1", parts=(Part(text="x"),)))
    assert stage.live.task.backlog == 2


async def test_a_turn_that_is_put_aside_hears_of_it_there_too() -> None:
    stage = await Stage(("step", "pay", b"1")).begin()
    stage.live.task.lost = Suspended()
    with pytest.raises(Suspended):
        await stage.turn.say(agent_message("again"))
    with pytest.raises(Suspended):
        await stage.turn.artifact(Artifact(artifact_id="a-1", parts=(Part(text="x"),)))


# --- sleeping ---------------------------------------------------------------------------------


async def test_a_sleep_records_when_it_is_over_and_when_to_wake(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(stage.turn.sleep(2.5))
        await stage.commit()
        assert stage.journal == [("sleep", "", b"1002500")]
        assert stage.last.wake_at_ms == 1_002_500
        await stage.live.clock.until_asleep()
        stage.live.clock.advance(2.4)
        await stage.commit()
        assert not sleeping.done()
        stage.live.clock.advance(0.1)
        await stage.commit()
    assert stage.last.wake_at_ms == 0


async def test_a_sleep_begins_when_it_is_durable(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(stage.turn.sleep(1))
        await asyncio.sleep(0)
        other = stage.slots.take()
        assert other is not None
        await stage.commit()
        assert other.done()
        sleeping.cancel()


async def test_who_wakes_waits_for_a_slot(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(stage.turn.sleep(1))
        await stage.commit()
        assert stage.slots.take() is None
        stage.live.clock.advance(1)
        await stage.commit()
        assert not sleeping.done()
        stage.slots.give_back()


async def test_a_sleep_that_was_slept_through_wakes_nobody_though_a_branch_is_not_as_far_yet() -> (
    None
):
    stage = await Stage(("step@1.0", "pay", b"1"), ("sleep", "", b"1000000")).begin()
    stage.live.task.note("sleep", "", b"1000000", wake_at_ms=1_000_000)
    await stage.commit()
    await stage.turn.sleep(1)
    await stage.commit()
    assert stage.last.wake_at_ms == 0


async def test_a_result_of_a_branch_does_not_end_what_another_waits_for(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(stage.turn.sleep(5))
        await stage.commit()
        branch.set("1.0")
        stage.turn.note("step", "pay", b"1")
        await stage.commit()
        assert stage.last.wake_at_ms is None
        sleeping.cancel()
    branch.set(MAIN)


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_sleep_of_nothing_is_over_at_once(stage: Stage, seconds: float) -> None:
    await stage.turn.sleep(seconds)
    await stage.commit()
    assert [kind for kind, _, _ in stage.journal] == ["sleep"]
    assert not stage.last.wake_at_ms


async def test_a_sleep_that_is_slept_again_is_over_when_it_would_have_been() -> None:
    stage = await Stage(("sleep", "", b"1001000")).begin()
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.turn.sleep(3600))
        await stage.live.clock.until_asleep()
        stage.live.clock.advance(1)
    assert stage.journal == []


async def test_one_that_is_over_is_not_slept_again() -> None:
    stage = await Stage(("sleep", "", b"999000")).begin()
    await stage.turn.sleep(3600)
    assert stage.live.clock.sleepers == 0


async def test_a_turn_that_is_stopped_in_its_sleep_leaves_no_timer(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(stage.turn.sleep(1))
        await stage.commit()
        sleeping.cancel()
    assert (stage.live.task.pause, stage.live.task.paused_ms) == (None, 0)
    await stage.commit()
    assert stage.live.clock.sleepers == 0


async def test_since_when_a_turn_waits_is_known(stage: Stage) -> None:
    assert stage.live.task.paused_ms == 0
    async with asyncio.TaskGroup() as group:
        sleeping = group.create_task(stage.turn.sleep(1))
        await stage.commit()
        assert stage.live.task.paused_ms == 1_000_000
        sleeping.cancel()


# --- asking -----------------------------------------------------------------------------------


async def test_a_question_without_a_time_limit_records_none(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(stage.turn.ask(agent_message("which?")))
        await stage.commit()
        assert stage.journal == []
        assert stage.last.wake_at_ms is None
        asking.cancel()


async def test_the_time_limit_of_a_question_goes_with_it(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(stage.turn.ask(agent_message("which?"), timeout_seconds=5))
        await stage.commit()
        assert stage.journal == [("timer", "", b"1005000")]
        assert (stage.last.wake_at_ms, stage.last.state) == (1_005_000, TaskState.INPUT_REQUIRED)
        asking.cancel()


@pytest.mark.parametrize("is_auth", [False, True])
async def test_when_the_time_is_over_the_task_goes_on_without_an_answer(
    stage: Stage,
    is_auth: bool,  # noqa: FBT001 - a row of a table
) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(unanswered(stage.turn, is_auth=is_auth))
        await stage.commit()
        await stage.live.clock.until_asleep()
        stage.live.clock.advance(5)
        await stage.commit()
    kind, name, result = stage.journal[-1]
    assert (kind, name) == (ASK, question_name(is_auth=is_auth))
    assert decode_answer(result) == Answer(is_late=True)
    assert stage.live.task.standing.state is TaskState.WORKING
    assert stage.last.wake_at_ms == 0


async def unanswered(turn: LiveTurn, *, is_auth: bool = False) -> None:
    with pytest.raises(NoAnswerError, match="No answer came in the time"):
        await turn.ask(agent_message("which?"), is_auth=is_auth, timeout_seconds=5)


async def test_an_answer_after_that_is_a_message_like_any_other(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(unanswered(stage.turn))
        await stage.commit()
        stage.live.clock.advance(5)
        await stage.commit()
    stage.live.do(Deliver(user_message("late")))
    assert stage.live.task.standing.unread == 1


async def test_a_time_that_is_over_while_the_store_is_gone_is_no_answer(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(
            fails(stage.turn.ask(agent_message("which?"), timeout_seconds=5))
        )
        await stage.commit()
        stage.live.task.failure = UnavailableError("The store is gone")
        stage.live.clock.advance(5)
    assert asking.result() == "The store is gone"
    assert stage.live.task.standing.state is TaskState.INPUT_REQUIRED


async def test_an_answer_that_is_recorded_is_given_at_once_with_what_came_with_it() -> None:
    stage = await Stage((ASK, "input", encode(Answer(errand=THAT)))).begin()
    assert await stage.turn.ask(agent_message("which?")) == THAT.message
    assert (stage.turn.message, stage.turn.metadata) == (THAT.message, {"k": 1})
    assert stage.live.task.backlog == 0


async def test_that_there_was_none_is_recorded_too() -> None:
    stage = await Stage(
        ("timer", "", b"1005000"), (ASK, "input", encode(Answer(is_late=True)))
    ).begin()
    await unanswered(stage.turn)
    assert stage.live.clock.sleepers == 0


async def test_a_time_limit_that_is_recorded_holds_for_the_question_that_is_asked_again() -> None:
    stage = await Stage(("timer", "", b"1001000")).begin()
    async with asyncio.TaskGroup() as group:
        group.create_task(unanswered(stage.turn))
        await stage.commit()
        stage.live.clock.advance(1)
        await stage.commit()
    assert [kind for kind, _, _ in stage.journal] == [ASK]


async def test_code_that_gave_up_asking_by_itself_is_left_to_do_so_again() -> None:
    stage = await Stage((ASK, "input", encode(Answer()))).begin()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(stage.turn.ask(agent_message("which?")))
        await stage.commit()
        assert not asking.done()
        # Others may have the slot, as when it asked for the first time.
        assert stage.slots.take() is None
        stage.slots.give_back()
        asking.cancel()
    assert stage.live.task.backlog == 0
    await stage.turn.say(agent_message("never mind"))
    assert stage.live.task.backlog == 1


# --- further messages -------------------------------------------------------------------------


async def test_the_message_that_waits_longest_is_taken_up_and_recorded(stage: Stage) -> None:
    item = queue(stage.live, "one", number=1)
    queue(stage.live, "two", number=2)
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    item.waiters.append(waiter)
    taken = await stage.turn.take_message()
    assert taken == user_message("one", "one")
    await asyncio.sleep(0)
    (entry,) = stage.last.journal
    assert (entry.kind, entry.name) == ("message", "")
    assert decode_answer(entry.result) == Answer(errand=item.errand)
    assert (stage.last.inbox_taken, stage.last.events) == ((1,), 1)
    assert stage.live.task.standing.unread == 1
    assert stage.live.task.history()[-1] == taken
    # Its sender waits for the next end or pause.
    assert not waiter.done()


async def test_a_message_that_cannot_be_taken_up_stays_where_it_is(stage: Stage) -> None:
    queue(stage.live, "one", number=1)
    stage.live.task.failure = UnavailableError("away")
    with pytest.raises(UnavailableError):
        await stage.turn.take_message()
    assert len(stage.live.task.inbox) == 1
    stage.live.task.failure = None
    assert await stage.turn.take_message() == user_message("one", "one")
    await asyncio.sleep(0)
    assert stage.last.inbox_taken == (1,)


async def test_one_that_is_still_on_its_way_to_the_store_is_waited_for(stage: Stage) -> None:
    queue(stage.live, "one")
    queue(stage.live, "two", number=2)
    assert await stage.turn.take_message() is None
    assert len(stage.live.task.inbox) == 2


async def test_that_nothing_waited_is_recorded_too(stage: Stage) -> None:
    assert await stage.turn.take_message() is None
    await asyncio.sleep(0)
    assert stage.journal == [("message", "", encode(Answer()))]


async def test_what_was_taken_is_given_again_and_nothing_else() -> None:
    old = Delivery(message=user_message("old", "old"))
    stage = await Stage(
        ("message", "", encode(Answer(errand=old))), ("message", "", encode(Answer()))
    ).begin()
    queue(stage.live, "new", number=1)
    taken = [await stage.turn.take_message() for _ in range(3)]
    assert taken == [old.message, None, user_message("new", "new")]
