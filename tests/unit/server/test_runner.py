import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from msgspec.structs import replace

from dragoman.engine.commands import Say
from dragoman.errors import (
    ConflictError,
    StoreUnavailableError,
    TaskNotCancelableError,
    UnavailableError,
)
from dragoman.model.messages import Message, text_of
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import Task, TaskState
from dragoman.server.hub import Follower, Hub
from dragoman.server.live import Errand, LiveTask
from dragoman.server.runner import Limits, Runner
from dragoman.service.worker import Completed, Outcome, Plan, Turn
from dragoman.stores.base import (
    Done,
    InboxItem,
    Scope,
    SendKey,
    SendRecord,
    StoredTask,
    TaskWrite,
)
from dragoman.stores.memory import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.unit.server.fakes import (
    NEW_TASK,
    SCOPE,
    Gate,
    ScriptedWorker,
    agent_message,
    user_message,
)

COMPLETED = TaskState.COMPLETED
FAILED = TaskState.FAILED
CANCELED = TaskState.CANCELED
WORKING = TaskState.WORKING
INPUT_REQUIRED = TaskState.INPUT_REQUIRED

REQUEST = SendMessageRequest(message=user_message())
DIRECT = Plan(skill_id="echo", is_direct=True)

Run = Callable[[Turn], Awaitable[Outcome]]


class BreakableStore(MemoryTaskStore):
    """A store in memory that fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: StoreUnavailableError | ConflictError | None = None
        self.is_down = False
        # A message for the inbox waits for this on its way.
        self.takes_messages = asyncio.Event()
        self.takes_messages.set()

    @property
    def is_available(self) -> bool:
        return super().is_available and not self.is_down

    def append(self, write: TaskWrite, done: Done) -> None:
        if self.failure is None:
            super().append(write, done)
        else:
            asyncio.get_running_loop().call_soon(done, self.failure)

    async def put_inbox(self, task_id: str, message: bytes, send: SendRecord | None) -> int:
        await self.takes_messages.wait()
        if self.failure is not None:
            raise self.failure
        return await super().put_inbox(task_id, message, send)

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        if isinstance(self.failure, StoreUnavailableError):
            raise self.failure
        return await super().load(scope, task_id)


class Stage:
    """A runner, and all that it runs on."""

    def __init__(self, worker: ScriptedWorker, limits: Limits) -> None:
        self.worker = worker
        self.store = BreakableStore()
        self.clock = FakeClock()
        self.hub = Hub()
        self.runner = Runner(
            worker=worker, store=self.store, clock=self.clock, hub=self.hub, limits=limits
        )

    def begin(self, text: str = "hello", *, task_id: str = "t-1") -> LiveTask:
        return self.runner.begin(task_id, NEW_TASK, Errand(message=user_message(text)), None)

    async def task(self, task_id: str = "t-1") -> Task:
        """Return the task as the store has it."""
        stored = await self.store.load(SCOPE, task_id)
        assert stored is not None
        assert stored.snapshot is not None
        return stored.snapshot.task()

    async def deliver(self, live: LiveTask, text: str) -> "asyncio.Future[None]":
        """Hand a further message to a task, durably."""
        delivery = self.runner.deliver(live, Errand(message=user_message(text, text)), None)
        await delivery.stored
        return delivery.settled


async def stage(
    run: Run | None = None,
    *,
    answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
    running_turns: int = 10,
    waiting_turns: int = 10,
) -> Stage:
    limits = Limits(
        running_turns=running_turns, waiting_turns=waiting_turns, cancel_grace_seconds=0
    )
    made = Stage(ScriptedWorker(run, answer=answer), limits)
    await made.store.open()
    return made


def status_text(task: Task) -> str:
    return "" if task.status.message is None else text_of(task.status.message.parts)


# --- a task from beginning to end -------------------------------------------------------------


async def test_a_task_at_work_can_be_found_by_its_owner_alone() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    assert on.runner.find(SCOPE, "t-1") is live
    assert on.runner.find(Scope("", "somebody else"), "t-1") is None
    assert on.runner.find(SCOPE, "t-2") is None
    gate.opened.set()
    await live.settled()


async def test_a_task_that_is_over_leaves_memory_and_says_so() -> None:
    on = await stage()
    live = on.begin()
    left: list[str] = []
    live.epilogue.append(lambda: left.append("left"))
    await live.settled()
    assert on.runner.find(SCOPE, "t-1") is None
    assert left == ["left"]


async def test_a_follower_reads_from_the_log_what_is_not_at_hand() -> None:
    on = await stage()
    live = on.begin()
    await live.settled()
    follower = Follower(live.channel, first=None, cursor=0)
    assert [event.seq async for batch in follower for event in batch] == [1, 2, 3]


# --- how many at once -------------------------------------------------------------------------


async def test_no_more_turns_run_than_there_are_slots() -> None:
    gate = Gate()
    on = await stage(gate.run, running_turns=1)
    first, second = on.begin(task_id="t-1"), on.begin(task_id="t-2")
    ends = [first.settled(), second.settled()]
    await gate.reached.wait()
    await second.durable()
    assert second.standing.state is TaskState.SUBMITTED
    gate.opened.set()
    await asyncio.gather(*ends)


async def test_a_full_queue_takes_no_more() -> None:
    gate = Gate()
    on = await stage(gate.run, running_turns=1, waiting_turns=0)
    live = on.begin()
    # It counts at once, not only when its turn gets to run.
    with pytest.raises(UnavailableError, match="busy"):
        on.begin(task_id="t-2")
    gate.opened.set()
    await live.settled()


async def test_direct_answers_count_too() -> None:
    release = asyncio.Event()

    async def answer(request: SendMessageRequest) -> Message:
        await release.wait()
        return agent_message(f"to {request.message.message_id}")

    on = await stage(answer=answer, running_turns=1, waiting_turns=0)
    async with asyncio.TaskGroup() as group:
        group.create_task(on.runner.answer(DIRECT, REQUEST, "c-1"))
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="busy"):
            on.begin()
        release.set()


async def test_a_task_canceled_before_its_turn_began_frees_its_place() -> None:
    gate = Gate()
    on = await stage(gate.run, running_turns=1, waiting_turns=1)
    first, second = on.begin(task_id="t-1"), on.begin(task_id="t-2")
    await gate.reached.wait()
    await on.runner.cancel(second)
    await on.worker.cleaned_up.wait()
    on.runner.check()
    gate.opened.set()
    await first.settled()


async def test_while_the_store_is_down_nothing_is_begun() -> None:
    on = await stage()
    on.store.is_down = True
    with pytest.raises(UnavailableError, match="store is not available"):
        on.begin()


# --- further messages -------------------------------------------------------------------------


async def ask(turn: Turn) -> Outcome:
    answer = await turn.ask(agent_message("which?"))
    return Completed(agent_message(f"so {text_of(answer.parts)}"))


async def test_an_answer_goes_to_the_turn_that_asked() -> None:
    on = await stage(ask)
    live = on.begin()
    await live.settled()
    assert live.standing.state is INPUT_REQUIRED
    await (await on.deliver(live, "that"))
    assert status_text(await on.task()) == "so that"


async def test_the_send_of_an_answer_is_remembered_with_it() -> None:
    on = await stage(ask)
    live = on.begin()
    await live.settled()
    record = SendRecord(key=SendKey(SCOPE, "that"), digest=b"d", at_ms=1, task_id="t-1")
    delivery = on.runner.deliver(live, Errand(message=user_message("that", "that")), record)
    await delivery.stored
    await delivery.settled
    assert await on.store.find_send(record.key, 0) == record


async def test_an_answer_nobody_waits_for_is_recorded_all_the_same() -> None:
    on = await stage(ask)
    live = on.begin()
    await live.settled()
    assert live.answer is not None
    live.answer = None
    delivery = on.runner.deliver(live, Errand(message=user_message("that", "that")), None)
    await delivery.stored
    assert live.history()[-1] == user_message("that", "that")


async def test_a_message_for_a_busy_task_gets_the_next_turn() -> None:
    turns: list[str] = []
    gate = Gate()

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        return await gate.run(turn)

    on = await stage(run)
    live = on.begin()
    await gate.reached.wait()
    first, second = await on.deliver(live, "one"), await on.deliver(live, "two")
    gate.opened.set()
    await asyncio.gather(first, second)
    assert turns == ["hello", "one", "two"]
    task = await on.task()
    assert [text_of(message.parts) for message in task.history] == ["hello", "one", "two"]
    stored = await on.store.load(SCOPE, "t-1")
    assert stored is not None
    assert stored.inbox == ()


async def test_a_message_that_cannot_be_stored_is_refused_and_gets_no_turn() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    on.store.failure = StoreUnavailableError("disk full")
    with pytest.raises(UnavailableError, match="store is not available"):
        await on.deliver(live, "one")
    on.store.failure = None
    gate.opened.set()
    await live.settled()
    task = await on.task()
    assert task.status.state is COMPLETED
    assert [text_of(message.parts) for message in task.history] == ["hello"]


async def test_a_task_canceled_while_a_message_is_being_stored_has_no_next_turn() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    delivery = on.runner.deliver(live, Errand(message=user_message("one", "one")), None)
    gate.opened.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # The turn is over and waits for the message.
    async with asyncio.TaskGroup() as group:
        group.create_task(on.runner.cancel(live))
        await delivery.stored
    assert live.turn is not None
    await asyncio.wait([live.turn])
    task = await on.task()
    assert task.status.state is CANCELED
    assert [m.message_id for m in task.history] == ["m-1", "one"]


async def test_a_message_that_fails_to_be_stored_after_its_task_was_canceled_is_refused() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    on.store.takes_messages.clear()
    delivery = on.runner.deliver(live, Errand(message=user_message("one", "one")), None)
    await on.runner.cancel(live)
    on.store.failure = StoreUnavailableError("disk full")
    on.store.takes_messages.set()
    with pytest.raises(UnavailableError):
        await delivery.stored
    assert live.standing.unread == 0


async def test_a_message_whose_sender_is_gone_is_stored_and_gets_its_turn() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    on.store.takes_messages.clear()
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(on.deliver(live, "one"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        sending.cancel()
    settled = live.settled()
    gate.opened.set()
    on.store.takes_messages.set()
    await settled
    task = await on.task()
    assert task.status.state is COMPLETED
    assert [m.message_id for m in task.history] == ["m-1", "one"]


async def test_a_task_ends_though_the_message_of_a_sender_who_is_gone_cannot_be_stored() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await live.durable()
    on.store.takes_messages.clear()
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(on.deliver(live, "one"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        sending.cancel()
    on.store.failure = StoreUnavailableError("disk full")
    on.store.takes_messages.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    on.store.failure = None
    settled = live.settled()
    gate.opened.set()
    await settled
    assert [m.message_id for m in (await on.task()).history] == ["m-1"]


# --- cancel -----------------------------------------------------------------------------------


async def test_a_canceled_task_is_canceled_at_once_and_its_turn_stopped() -> None:
    stopped = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        del turn
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    on = await stage(run)
    live = on.begin()
    await live.durable()
    await on.runner.cancel(live)
    assert (await on.task()).status.state is CANCELED
    await stopped.wait()


async def test_then_the_agent_may_clean_up() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await on.runner.cancel(live)
    await on.worker.cleaned_up.wait()
    (turn,) = on.worker.canceled_turns
    assert (turn.task_id, turn.message) == ("t-1", user_message())


async def test_a_turn_that_ignores_it_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    reached, release = asyncio.Event(), asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        del turn
        reached.set()
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()
        return Completed()

    on = await stage(run)
    live = on.begin()
    await reached.wait()
    await on.runner.cancel(live)
    await on.worker.cleaned_up.wait()
    assert caplog.messages == ["task t-1: its code ignores cancellation; it is left behind"]
    release.set()
    assert live.turn is not None
    await live.turn
    assert (await on.task()).status.state is CANCELED


async def test_a_task_is_canceled_once() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    await on.runner.cancel(live)
    with pytest.raises(TaskNotCancelableError):
        await on.runner.cancel(live)
    await on.runner.drain(0)


async def test_a_message_that_waits_when_its_task_is_canceled_joins_the_history() -> None:
    gate = Gate()
    on = await stage(gate.run)
    live = on.begin()
    await gate.reached.wait()
    settled = await on.deliver(live, "one")
    await on.runner.cancel(live)
    await settled
    assert [m.message_id for m in (await on.task()).history] == ["m-1", "one"]
    await on.runner.drain(0)


async def test_an_adopted_task_has_no_turn_to_stop() -> None:
    on = await stage()
    live = await on.runner.adopt(await unfinished(on))
    await on.runner.cancel(live)
    assert (await on.task("t-0")).status.state is CANCELED
    assert on.worker.canceled_turns == []


# --- tasks of the store -----------------------------------------------------------------------


async def unfinished(on: Stage, *, inbox: tuple[InboxItem, ...] = ()) -> StoredTask:
    """Leave a task in the store that another process has begun."""
    other = Stage(ScriptedWorker(Gate().run), Limits())
    other.store = on.store
    other.runner = Runner(
        worker=other.worker, store=on.store, clock=on.clock, hub=on.hub, limits=Limits()
    )
    live = other.begin(task_id="t-0")
    await live.durable()
    await other.runner.drain(0)
    stored = await on.store.load(SCOPE, "t-0")
    assert stored is not None
    return replace(stored, inbox=inbox)


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
