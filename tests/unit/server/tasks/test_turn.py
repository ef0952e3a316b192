import asyncio

import pytest

from dragoman.engine.commands import Cancel, Deliver
from dragoman.errors import InvalidAgentResponseError, StoreUnavailableError, UnavailableError
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState
from dragoman.server.tasks.delivery import Answer, Delivery, decode_answer, encode
from dragoman.server.tasks.log import BREATH_EVENTS
from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.turn import ASK, BACKLOG_EVENTS, LiveTurn, question_name
from dragoman.service.worker import Suspended, Turn
from tests.support.server.fakes import Live, agent_message, user_message

ERRAND = Delivery(
    message=user_message(),
    metadata={"k": 1},
    extensions=("https://example.com/x",),
    accepted_output_modes=("text/plain",),
)
REPORT = Artifact(artifact_id="a-1", parts=(Part(text="report"),))


class Stage:
    """A turn that runs, on a live task, in the only slot there is."""

    def __init__(self) -> None:
        self.live = Live()
        self.slots = Slots(1, 10)
        self.slot = Slot(self.slots)
        self.live.task.slot = self.slot
        self.turn = LiveTurn(self.live.task, ERRAND, self.slot, self.live.clock)

    async def begin(self) -> None:
        """Take the slot and make the beginning durable."""
        await self.slot.taken()
        self.live.begin()
        await self.commit()

    async def commit(self) -> None:
        """Let the loop finish its pass, and what it wrote become durable."""
        await asyncio.sleep(0)
        self.live.store.commit()
        await asyncio.sleep(0)

    async def ask(
        self, group: asyncio.TaskGroup, *, is_auth: bool = False
    ) -> "asyncio.Task[Message]":
        """Let the turn ask, durably."""
        asking = group.create_task(self.turn.ask(agent_message("which?"), is_auth=is_auth))
        await asyncio.sleep(0)
        await self.commit()
        return asking

    def answer(self, errand: Delivery) -> None:
        """Answer as the runner does."""
        task = self.live.task
        name = question_name(is_auth=task.standing.state is TaskState.AUTH_REQUIRED)
        self.live.do(Deliver(errand.message))
        task.note(ASK, name, encode(Answer(errand=errand)))
        assert task.pause is not None
        task.pause.set_result(errand)


@pytest.fixture
async def stage() -> Stage:
    stage = Stage()
    await stage.begin()
    return stage


# --- what a turn sees -------------------------------------------------------------------------


async def test_a_turn_knows_its_task(stage: Stage) -> None:
    turn: Turn = stage.turn
    assert (turn.task_id, turn.context_id, turn.skill_id) == ("t-1", "c-1", "echo")
    assert (turn.tenant, turn.owner) == ("", "anonymous")


async def test_a_turn_knows_its_errand(stage: Stage) -> None:
    turn = stage.turn
    assert (turn.message, turn.metadata) == (ERRAND.message, ERRAND.metadata)
    assert turn.extensions == ERRAND.extensions
    assert turn.accepted_output_modes == ERRAND.accepted_output_modes


async def test_a_turn_sees_the_history(stage: Stage) -> None:
    assert stage.turn.history() == (user_message(),)


async def test_a_turn_gets_its_ids_from_the_clock(stage: Stage) -> None:
    assert stage.turn.new_id() == "id-1"


# --- publishing -------------------------------------------------------------------------------


async def test_publishing_does_not_wait_for_the_store(stage: Stage) -> None:
    await stage.turn.say(agent_message())
    await stage.turn.artifact(REPORT)
    await stage.turn.artifact(REPORT, append=True, last_chunk=True)
    assert stage.live.task.backlog == 3


async def test_publishing_waits_once_too_much_is_queued(stage: Stage) -> None:
    for _ in range(BACKLOG_EVENTS):
        await stage.turn.say(agent_message())
    async with asyncio.TaskGroup() as group:
        one_more = group.create_task(stage.turn.say(agent_message()))
        await asyncio.sleep(0)
        assert not one_more.done()
        await stage.commit()
        await stage.commit()
    assert stage.live.task.backlog == 0


async def passes_between(turn: Turn, chunks: int) -> int:
    """Publish chunks at a stretch; return how often others got to run meanwhile."""
    passes = 0
    is_done = False

    async def count() -> None:
        nonlocal passes
        while not is_done:
            passes += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(count())
        for number in range(chunks):
            await turn.artifact(REPORT, append=number > 0)
        is_done = True
    return passes


async def test_code_that_publishes_without_waiting_lets_others_run_now_and_then(
    stage: Stage,
) -> None:
    assert await passes_between(stage.turn, BREATH_EVENTS - 2) == 0
    assert await passes_between(stage.turn, BREATH_EVENTS) > 0


async def test_the_first_chunk_of_a_task_goes_out_before_the_second_is_made() -> None:
    stage = Stage()
    await stage.slot.taken()
    stage.live.begin()
    await stage.turn.artifact(REPORT)
    (write,) = stage.live.store.writes
    assert write.events == 3


async def test_what_the_protocol_does_not_allow_is_raised(stage: Stage) -> None:
    with pytest.raises(InvalidAgentResponseError):
        await stage.turn.artifact(REPORT, append=True)


async def test_flush_waits_for_the_store(stage: Stage) -> None:
    await stage.turn.say(agent_message())
    async with asyncio.TaskGroup() as group:
        flush = group.create_task(stage.turn.flush())
        await asyncio.sleep(0)
        assert not flush.done()
        await stage.commit()


async def test_flush_without_news_returns_at_once(stage: Stage) -> None:
    await stage.turn.flush()


# --- trouble ----------------------------------------------------------------------------------


async def test_once_the_task_is_canceled_every_call_is(stage: Stage) -> None:
    stage.live.do(Cancel())
    turn = stage.turn
    for call in (
        lambda: turn.say(agent_message()),
        lambda: turn.artifact(REPORT),
        lambda: turn.ask(agent_message()),
        lambda: turn.ask(agent_message(), timeout_seconds=1),
        lambda: turn.sleep(1),
        lambda: turn.record("step", "pay", b"1"),
        turn.take_message,
        turn.flush,
    ):
        with pytest.raises(asyncio.CancelledError):
            await call()


async def test_a_lost_write_is_raised_by_the_next_call(stage: Stage) -> None:
    stage.live.task.lost = UnavailableError("output was lost")
    turn = stage.turn
    for call in (
        lambda: turn.say(agent_message()),
        lambda: turn.sleep(1),
        lambda: turn.record("step", "pay", b"1"),
        turn.take_message,
        turn.flush,
    ):
        with pytest.raises(UnavailableError, match="output was lost"):
            await call()
    with pytest.raises(UnavailableError, match="output was lost"):
        turn.recall("step", "pay")
    with pytest.raises(UnavailableError, match="output was lost"):
        turn.note("now", "", b"1")


async def test_a_turn_that_is_put_aside_hears_so_at_every_call(stage: Stage) -> None:
    stage.live.task.lost = Suspended()
    for call in (lambda: stage.turn.say(agent_message()), stage.turn.flush):
        for _ in range(2):
            with pytest.raises(Suspended):
                await call()


# --- asking -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_auth", "state"),
    [
        # A question for the user.
        (False, TaskState.INPUT_REQUIRED),
        # A request for a credential.
        (True, TaskState.AUTH_REQUIRED),
    ],
)
async def test_asking_pauses_the_task_until_the_answer_comes(
    stage: Stage,
    is_auth: bool,  # noqa: FBT001 - a column of a table
    state: TaskState,
) -> None:
    async with asyncio.TaskGroup() as group:
        asking = await stage.ask(group, is_auth=is_auth)
        assert stage.live.task.standing.state is state
        stage.answer(Delivery(message=user_message("that")))
    assert asking.result() == user_message("that")
    assert stage.live.task.standing.state is TaskState.WORKING


async def test_the_answer_is_the_new_errand(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        await stage.ask(group)
        stage.answer(Delivery(message=user_message("that"), metadata={"k": 2}, extensions=("u",)))
    assert stage.turn.message == user_message("that")
    assert (stage.turn.metadata, stage.turn.extensions) == ({"k": 2}, ("u",))


async def test_while_asking_the_slot_is_free_for_others(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = await stage.ask(group)
        assert stage.slots.take() is None
        stage.answer(Delivery(message=user_message("that")))
        await asyncio.sleep(0)
        assert not asking.done()
        stage.slots.give_back()


async def test_the_slot_is_kept_until_the_question_is_durable(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(stage.turn.ask(agent_message("which?")))
        await asyncio.sleep(0)
        other = stage.slots.take()
        assert other is not None
        await stage.commit()
        assert other.done()
        asking.cancel()


async def test_nobody_waits_for_an_answer_to_a_question_that_was_lost(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(ask_in_vain(stage.turn))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stage.live.store.commit(StoreUnavailableError("disk full"))
    assert stage.live.task.pause is None


async def test_a_turn_that_gives_up_asking_works_on(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        (await stage.ask(group)).cancel()
    assert stage.live.task.standing.state is TaskState.WORKING
    assert stage.live.task.pause is None
    await asyncio.sleep(0)
    (entry,) = stage.live.store.writes[-1].journal
    assert (entry.kind, entry.name, decode_answer(entry.result)) == ("ask", "input", Answer())


async def test_it_takes_a_slot_again_when_it_goes_on(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        (await stage.ask(group)).cancel()
    assert stage.slots.take() is None
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(stage.turn.say(agent_message()))
        await asyncio.sleep(0)
        assert not saying.done()
        stage.slots.give_back()


async def test_nor_does_it_go_on_without_one_when_the_answer_came_but_no_slot(
    stage: Stage,
) -> None:
    async with asyncio.TaskGroup() as group:
        asking = await stage.ask(group)
        assert stage.slots.take() is None
        stage.answer(Delivery(message=user_message("that")))
        await asyncio.sleep(0)
        asking.cancel()
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(stage.turn.say(agent_message()))
        await asyncio.sleep(0)
        assert not saying.done()
        stage.slots.give_back()
    stage.slot.leave()
    assert stage.slots.take() is None


async def test_once_the_task_is_canceled_no_slot_is_waited_for(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        (await stage.ask(group)).cancel()
    assert stage.slots.take() is None
    stage.live.do(Cancel())
    with pytest.raises(asyncio.CancelledError):
        await stage.turn.say(agent_message())


async def test_a_turn_that_is_stopped_while_it_asks_leaves_the_task_waiting(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = await stage.ask(group)
        stage.live.task.is_stopping = True
        asking.cancel()
    assert stage.live.task.standing.state is TaskState.INPUT_REQUIRED


async def test_a_turn_canceled_while_it_asks_waits_no_more(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        asking = await stage.ask(group)
        asking.cancel()
    assert stage.live.task.pause is None
    stage.slot.leave()
    assert stage.slots.take() is None


async def ask_in_vain(turn: Turn) -> None:
    with pytest.raises(UnavailableError):
        await turn.ask(agent_message("which?"))
