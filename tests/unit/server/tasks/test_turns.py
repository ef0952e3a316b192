import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from dragoman.engine.commands import Begin, Cancel, Deliver, Say, Withdraw
from dragoman.errors import (
    InternalError,
    InvalidAgentResponseError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.messages import Message, Role, text_of
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState, TaskStatus
from dragoman.server.settings import TurnSettings
from dragoman.server.tasks.delivery import Delivery, QueuedDelivery
from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.turns import STORE_POLL_SECONDS, Turns
from dragoman.service.worker import Completed, Failed, Outcome, Plan, Refused, Turn
from tests.support.server.fakes import (
    Live,
    RequestValidator,
    ScriptedWorker,
    agent_message,
    user_message,
)

REQUEST = SendMessageRequest(message=user_message())
DIRECT = Plan(skill_id="echo", is_direct=True)


class Stage:
    """Turns on one live task, with one slot; the store commits when it is told to."""

    def __init__(
        self,
        run: Callable[[Turn], Awaitable[Outcome]] | None = None,
        *,
        answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
        worker: ScriptedWorker | None = None,
        turn_seconds: float = 0.0,
    ) -> None:
        self.live = Live()
        self.slots = Slots(1, 10)
        self.worker = worker or ScriptedWorker(run, answer=answer)
        self.turns = Turns(
            self.worker,
            self.live.store,
            self.slots,
            self.live.clock,
            take_in=self._take_in,
            settings=TurnSettings(turn_timeout_seconds=turn_seconds),
        )

    async def _take_in(self, live: LiveTask) -> None:
        raise AssertionError(f"{live.task_id} is in a store that nobody else posts to")

    def begin(self, group: asyncio.TaskGroup) -> "asyncio.Task[None]":
        """Begin the task and its turns, as the runner does."""
        self.live.task.slot = slot = Slot(self.slots)
        errand = Delivery(message=user_message())
        turns = group.create_task(self.turns.run(self.live.task, errand, slot))
        self.live.do(Begin(errand.message))
        return turns

    def enqueue(self, text: str) -> QueuedDelivery:
        """Put a message into the inbox that is on its way to the store."""
        message = user_message(text, text)
        self.live.do(Deliver(message))
        item = QueuedDelivery(Delivery(message=message))
        self.live.task.inbox.append(item)
        return item

    async def commit(self) -> None:
        """Let the loop finish its pass, and everything written become durable."""
        await passes()
        while self.live.store.held:
            self.live.store.commit()
            await passes()

    @property
    def status(self) -> TaskStatus:
        """Where the task is, as decided."""
        return self.live.task.document().task().status

    def take_slot(self) -> bool:
        """Take the slot if it is free; tell whether it was."""
        waiter = self.slots.take()
        if waiter is not None:
            self.slots.leave_queue(waiter)
        return waiter is None


async def passes(count: int = 3) -> None:
    """Let the loop run a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def ended(run: Callable[[Turn], Awaitable[Outcome]], turn_seconds: float = 0.0) -> TaskStatus:
    """Run a task of one turn; return how it ended."""
    on = Stage(run, turn_seconds=turn_seconds)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
    return on.status


def text(status: TaskStatus) -> str:
    return "" if status.message is None else text_of(status.message.parts)


# --- a turn from beginning to end -------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Completed(), TaskState.COMPLETED),
        (Failed(agent_message("no luck")), TaskState.FAILED),
        (Refused(agent_message("no")), TaskState.REJECTED),
    ],
)
async def test_a_task_ends_as_its_turn_does(outcome: Outcome, state: TaskState) -> None:
    async def run(turn: Turn) -> Outcome:
        del turn
        return outcome

    status = await ended(run)
    assert (status.state, status.message) == (state, outcome.message)


async def test_a_turn_that_ends_in_its_first_pass_is_one_write() -> None:
    async def run(turn: Turn) -> Outcome:
        await turn.artifact(Artifact(artifact_id="a-1", parts=(Part(text="x"),)), last_chunk=True)
        return Completed()

    on = Stage(run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
    await passes()
    (write,) = on.live.store.writes
    assert (write.events, write.state) == (4, TaskState.COMPLETED)


async def test_an_error_meant_for_the_peer_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def run(turn: Turn) -> Outcome:
        del turn
        raise InvalidAgentResponseError("there is no such artifact")

    status = await ended(run)
    assert (status.state, text(status)) == (TaskState.FAILED, "there is no such artifact")
    assert caplog.messages == ["task t-1 failed: there is no such artifact"]


async def test_of_any_other_error_the_peer_gets_an_id_and_the_log_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(turn: Turn) -> Outcome:
        del turn
        raise ValueError("password is hunter2")

    status = await ended(run)
    assert (status.state, text(status)) == (TaskState.FAILED, "The agent failed. Error id: id-1")
    (record,) = caplog.records
    assert record.getMessage() == "task t-1 failed (error id id-1)"
    assert record.exc_info is not None


async def waiting_in_vain() -> None:
    """Wait for something that was canceled, which looks like being canceled."""
    beside = asyncio.ensure_future(asyncio.sleep(60))
    beside.cancel()
    await beside


@pytest.mark.parametrize("seconds", [0, 60])
async def test_code_that_waits_for_what_it_has_canceled_has_failed(
    caplog: pytest.LogCaptureFixture, seconds: float
) -> None:
    async def run(turn: Turn) -> Outcome:
        del turn
        await waiting_in_vain()
        return Completed()

    status = await ended(run, turn_seconds=seconds)
    assert (status.state, text(status)) == (TaskState.FAILED, "The agent failed. Error id: id-1")
    assert caplog.messages == ["task t-1 failed (error id id-1)"]


async def test_who_was_stopped_by_an_end_that_was_refused_then_has_not_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(turn: Turn) -> Outcome:
        before = on.live.task.standing
        on.live.do(Cancel())
        try:
            await turn.say(agent_message())
        finally:
            on.live.task.standing = before
        return Completed()

    on = Stage(run)
    async with asyncio.TaskGroup() as group:
        turns = on.begin(group)
    assert turns.cancelled()
    assert (on.live.task.standing.state, caplog.messages) == (TaskState.WORKING, [])


async def test_what_the_server_says_belongs_to_the_task() -> None:
    on = Stage()
    assert on.turns.status_message(on.live.task, "sorry") == Message(
        message_id="id-1",
        context_id="c-1",
        task_id="t-1",
        role=Role.AGENT,
        parts=(Part(text="sorry"),),
    )


# --- slots ------------------------------------------------------------------------------------


async def test_a_turn_begins_when_it_has_its_slot_and_gives_it_back() -> None:
    on = Stage()
    assert on.take_slot()
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        await passes()
        assert on.live.task.standing.state is TaskState.SUBMITTED
        on.slots.give_back()
    assert on.live.task.standing.state is TaskState.COMPLETED
    assert on.take_slot()


async def test_a_turn_that_is_stopped_gives_its_slot_back() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    async with asyncio.TaskGroup() as group:
        turns = on.begin(group)
        await validator.reached.wait()
        assert not on.take_slot()
        turns.cancel()
    assert on.slots.waiting == 0
    assert on.take_slot()


async def test_a_turn_that_is_stopped_while_it_waits_for_a_slot_leaves_the_queue() -> None:
    on = Stage()
    assert on.take_slot()
    async with asyncio.TaskGroup() as group:
        turns = on.begin(group)
        await passes()
        assert on.slots.waiting == 1
        turns.cancel()
    assert on.slots.waiting == 0


# --- turn after turn --------------------------------------------------------------------------


async def test_a_message_that_waits_gets_the_next_turn() -> None:
    validator = RequestValidator()
    seen: list[str] = []

    async def run(turn: Turn) -> Outcome:
        seen.append(text_of(turn.message.parts))
        return await validator.run(turn)

    on = Stage(run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        await validator.reached.wait()
        item = on.enqueue("one")
        item.stored.set_result(7)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        item.waiters.append(waiter)
        validator.opened.set()
    assert seen == ["hello", "one"]
    assert on.status.state is TaskState.COMPLETED
    assert not waiter.done()
    await on.commit()
    assert waiter.done()
    assert [write.inbox_taken for write in on.live.store.writes if write.inbox_taken] == [(7,)]


async def test_a_message_that_is_being_stored_is_waited_for() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        await validator.reached.wait()
        item = on.enqueue("one")
        validator.opened.set()
        await passes()
        assert not on.live.task.standing.has_ended
        item.stored.set_result(1)
    assert [message.message_id for message in on.live.task.history()] == ["m-1", "one"]


async def test_a_turn_stopped_while_a_message_is_being_stored_leaves_that_alone() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    async with asyncio.TaskGroup() as group:
        turns = on.begin(group)
        await validator.reached.wait()
        item = on.enqueue("one")
        validator.opened.set()
        await passes()
        turns.cancel()
    assert not item.stored.done()


async def test_a_message_that_could_not_be_stored_gets_no_turn() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        await validator.reached.wait()
        item = on.enqueue("one")
        validator.opened.set()
        await passes()
        on.live.task.inbox.remove(item)
        on.live.do(Withdraw())
        item.stored.set_exception(StoreUnavailableError("disk full"))
    assert on.status.state is TaskState.COMPLETED
    assert [message.message_id for message in on.live.task.history()] == ["m-1"]


async def test_a_task_canceled_while_a_message_is_being_stored_has_no_next_turn() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        await validator.reached.wait()
        item = on.enqueue("one")
        validator.opened.set()
        await passes()
        on.live.do(Cancel())
        item.stored.set_result(1)
    assert on.status.state is TaskState.CANCELED
    assert [message.message_id for message in on.live.task.history()] == ["m-1", "one"]


# --- a store that fails -----------------------------------------------------------------------


async def test_a_turn_begins_when_the_store_is_back() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    assert on.take_slot()
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        on.live.task.failure = UnavailableError()
        on.slots.give_back()
        await on.live.clock.until_asleep()
        assert not validator.reached.is_set()
        on.live.task.failure = None
        on.live.clock.advance(STORE_POLL_SECONDS)
        await validator.reached.wait()
        validator.opened.set()


async def test_a_turn_ends_when_the_store_is_back() -> None:
    validator = RequestValidator()
    on = Stage(validator.run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
        await validator.reached.wait()
        on.live.task.failure = UnavailableError()
        validator.opened.set()
        await on.live.clock.until_asleep()
        on.live.clock.advance(STORE_POLL_SECONDS)
        await on.live.clock.until_asleep()  # Not yet.
        on.live.task.failure = None
        on.live.clock.advance(STORE_POLL_SECONDS)
    assert on.status.state is TaskState.COMPLETED


async def test_a_turn_whose_output_was_lost_has_failed_and_says_so() -> None:
    async def run(turn: Turn) -> Outcome:
        del turn
        on.live.task.lost = UnavailableError("lost")
        return Completed(agent_message("all is well"))

    on = Stage(run)
    async with asyncio.TaskGroup() as group:
        on.begin(group)
    assert on.status.state is TaskState.FAILED
    assert "part of its output was lost" in text(on.status)
    assert on.live.task.lost is None


async def test_a_task_that_has_ended_is_not_ended_again() -> None:
    on = Stage()
    on.live.begin()
    on.live.do(Cancel())
    assert await on.turns.finish(on.live.task, Completed()) == ()
    assert on.status.state is TaskState.CANCELED


# --- direct answers ---------------------------------------------------------------------------


async def reply(request: SendMessageRequest) -> Message:
    return agent_message(f"to {request.message.message_id}")


async def answered(on: Stage) -> Message:
    """Have a message answered; either way, the slot is free after that."""
    future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    await on.turns.answer(DIRECT, REQUEST, "c-1", future, Slot(on.slots))
    assert on.take_slot()
    return future.result()


async def test_a_direct_answer_comes_from_the_worker() -> None:
    assert await answered(Stage(answer=reply)) == agent_message("to m-1")


async def test_an_error_of_a_direct_answer_that_is_meant_for_the_peer_is_told() -> None:
    async def fail(request: SendMessageRequest) -> Message:
        del request
        raise InvalidAgentResponseError("nothing to say")

    with pytest.raises(InvalidAgentResponseError, match="nothing to say"):
        await answered(Stage(answer=fail))


async def test_of_any_other_error_of_a_direct_answer_the_peer_gets_an_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(request: SendMessageRequest) -> Message:
        del request
        raise ValueError("password is hunter2")

    with pytest.raises(InternalError) as caught:
        await answered(Stage(answer=fail))
    assert caught.value.message == "The agent failed. Error id: id-1"
    assert caught.value.metadata == {"errorId": "id-1"}
    assert caplog.messages == ["a direct answer failed (error id id-1)"]


async def test_so_it_is_when_a_direct_answer_waits_for_what_was_canceled() -> None:
    async def answer(request: SendMessageRequest) -> Message:
        await waiting_in_vain()
        return await reply(request)

    with pytest.raises(InternalError) as caught:
        await answered(Stage(answer=answer))
    assert caught.value.metadata == {"errorId": "id-1"}


async def test_a_direct_answer_waits_for_its_slot() -> None:
    on = Stage(answer=reply)
    assert on.take_slot()
    future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        group.create_task(on.turns.answer(DIRECT, REQUEST, "c-1", future, Slot(on.slots)))
        await passes()
        assert not future.done()
        on.slots.give_back()
    assert future.done()


async def test_a_direct_answer_that_is_stopped_is_unavailable() -> None:
    async def wait(request: SendMessageRequest) -> Message:
        del request
        await asyncio.Event().wait()
        raise AssertionError

    on = Stage(answer=wait)
    future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        work = on.turns.answer(DIRECT, REQUEST, "c-1", future, Slot(on.slots))
        answering = group.create_task(work)
        await passes()
        answering.cancel()
    with pytest.raises(UnavailableError, match="shutting down"):
        future.result()
    assert answering.cancelled()
    assert on.take_slot()


# --- cleaning up ------------------------------------------------------------------------------


async def test_the_hook_sees_the_task_that_was_canceled() -> None:
    on = Stage()
    on.live.begin()
    on.live.do(Say(agent_message()), Cancel())
    await on.commit()
    await on.turns.clean_up(on.live.task)
    (turn,) = on.worker.canceled_turns
    assert (turn.task_id, turn.message) == ("t-1", user_message())
    assert turn.history() == on.live.task.history()


async def test_a_cleanup_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Clumsy(ScriptedWorker):
        async def canceled(self, turn: Turn) -> None:
            raise ValueError("broken")

    on = Stage(worker=Clumsy())
    on.live.begin()
    on.live.do(Cancel())
    await on.commit()
    await on.turns.clean_up(on.live.task)
    assert caplog.messages == ["task t-1: the cleanup hook failed"]


async def test_a_cleanup_needs_no_slot_and_has_nothing_more_to_say() -> None:
    class Talkative(ScriptedWorker):
        async def canceled(self, turn: Turn) -> None:
            with suppress(asyncio.CancelledError):
                await turn.say(agent_message("bye"))
            await super().canceled(turn)

    on = Stage(worker=Talkative())
    assert on.take_slot()
    on.live.begin()
    on.live.do(Cancel())
    await on.commit()
    await on.turns.clean_up(on.live.task)
    assert on.worker.cleaned_up.is_set()
    assert on.slots.waiting == 0
