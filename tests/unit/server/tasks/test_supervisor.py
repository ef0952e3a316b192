"""A task from its beginning: turns, further messages, cancel."""

import asyncio
from contextlib import suppress

import pytest
from msgspec.structs import replace

from dragoman.errors import (
    InvalidParamsError,
    RateLimitedError,
    StoreUnavailableError,
    TaskNotCancelableError,
    UnavailableError,
)
from dragoman.model.messages import Message, text_of
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import Answer, Delivery, decode_answer
from dragoman.server.tasks.secrets import TaskSecrets
from dragoman.server.tasks.streams import Follower
from dragoman.server.tasks.turns import INTERRUPTED_REASON
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import (
    Scope,
    SendKey,
    SendRecord,
)
from tests.support.server.fakes import (
    NEW_TASK,
    SCOPE,
    RequestValidator,
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
    WORKING,
    ask,
    put_aside,
    stage,
    status_text,
    unfinished,
)

# --- a task from beginning to end -------------------------------------------------------------


async def test_a_task_at_work_can_be_found_by_its_owner_alone() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    assert on.supervisor.find(SCOPE, "t-1") is live
    assert on.supervisor.find(Scope("", "somebody else"), "t-1") is None
    assert on.supervisor.find(SCOPE, "t-2") is None
    validator.opened.set()
    await live.settled()


async def test_a_task_that_is_over_leaves_memory_and_says_so() -> None:
    on = await stage()
    live = on.begin()
    left: list[str] = []
    live.epilogue.append(lambda: left.append("left"))
    await live.settled()
    assert on.supervisor.find(SCOPE, "t-1") is None
    assert left == ["left"]


async def test_a_follower_reads_from_the_log_what_is_not_at_hand() -> None:
    on = await stage()
    live = on.begin()
    await live.settled()
    follower = Follower(live.channel, first=None, cursor=0)
    assert [event.seq async for batch in follower for event in batch] == [1, 2, 3]


# --- how many at once -------------------------------------------------------------------------


async def test_no_more_turns_run_than_there_are_slots() -> None:
    validator = RequestValidator()
    on = await stage(validator.run, running_turns=1)
    first, second = on.begin(task_id="t-1"), on.begin(task_id="t-2")
    ends = [first.settled(), second.settled()]
    await validator.reached.wait()
    await second.durable()
    assert second.standing.state is TaskState.SUBMITTED
    validator.opened.set()
    await asyncio.gather(*ends)


async def test_a_full_queue_takes_no_more() -> None:
    validator = RequestValidator()
    on = await stage(validator.run, running_turns=1, waiting_turns=0)
    live = on.begin()
    # It counts at once, not only when its turn gets to run.
    with pytest.raises(UnavailableError, match="busy"):
        on.begin(task_id="t-2")
    validator.opened.set()
    await live.settled()


async def test_direct_answers_count_too() -> None:
    release = asyncio.Event()

    async def answer(request: SendMessageRequest) -> Message:
        await release.wait()
        return agent_message(f"to {request.message.message_id}")

    on = await stage(answer=answer, running_turns=1, waiting_turns=0)
    async with asyncio.TaskGroup() as group:
        group.create_task(on.supervisor.answer(DIRECT, REQUEST, "c-1"))
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="busy"):
            on.begin()
        release.set()


async def test_a_task_canceled_before_its_turn_began_frees_its_place() -> None:
    validator = RequestValidator()
    on = await stage(validator.run, running_turns=1, waiting_turns=1)
    first, second = on.begin(task_id="t-1"), on.begin(task_id="t-2")
    await validator.reached.wait()
    await on.supervisor.cancel(second)
    await on.worker.cleaned_up.wait()
    on.supervisor.check()
    validator.opened.set()
    await first.settled()


async def test_while_the_store_is_down_nothing_is_begun() -> None:
    on = await stage()
    on.store.is_down = True
    with pytest.raises(UnavailableError, match="store is not available"):
        on.begin()


# --- further messages -------------------------------------------------------------------------


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
    delivery = on.supervisor.deliver(live, Delivery(message=user_message("that", "that")), record)
    await delivery.stored
    await delivery.settled
    assert await on.store.find_send(record.key, 0) == record


@pytest.mark.parametrize(("is_auth", "name"), [(False, "input"), (True, "auth")])
async def test_an_answer_is_in_the_journal_with_what_came_with_it(
    is_auth: bool,  # noqa: FBT001 - a column of a table
    name: str,
) -> None:
    async def run(turn: Turn) -> Outcome:
        await turn.ask(agent_message("which?"), is_auth=is_auth)
        return Completed()

    on = await stage(run)
    live = on.begin()
    await live.settled()
    errand = Delivery(message=user_message("that", "that"), metadata={"k": 1})
    delivery = on.supervisor.deliver(live, errand, None)
    await delivery.stored
    (entry,) = await on.store.read_journal("t-1")
    assert (entry.kind, entry.name) == ("ask", name)
    assert decode_answer(entry.result) == Answer(errand=errand)
    await delivery.settled


async def test_a_secret_is_kept_under_the_number_of_its_answer() -> None:
    on = await stage(ask)
    live = on.begin()
    await live.settled()
    errand = Delivery(message=user_message("[not shown]", "that"))
    sealed = TaskSecrets().seal("t-1", user_message("hush"))
    delivery = on.supervisor.deliver(live, replace(errand, sealed=sealed), None)
    await delivery.stored
    (entry,) = await on.store.read_journal("t-1")
    assert decode_answer(entry.result) == Answer(errand=replace(errand, secret=entry.n))
    assert b"hush" not in entry.result
    await delivery.settled
    # The turn had another vault, and could not make anything of it.
    assert (await on.task()).status.state is FAILED
    assert await on.store.read_secret("t-1", entry.n) is None


async def test_a_secret_that_comes_late_is_not_taken() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    with pytest.raises(InvalidParamsError, match="comes too late"):
        on.supervisor.deliver(
            live, Delivery(message=user_message("[not shown]"), sealed=b"s"), None
        )
    validator.opened.set()
    await live.settled()
    assert [text_of(message.parts) for message in (await on.task()).history] == ["hello"]


async def test_an_answer_that_no_turn_waits_for_brings_the_turn_back() -> None:
    turns: list[str] = []

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        return await ask(turn)

    on = await stage(run)
    on.begin()
    live = await put_aside(on)
    assert live.turn is None
    await (await on.deliver(live, "that"))
    assert turns == ["hello", "hello"]
    task = await on.task()
    assert (task.status.state, status_text(task)) == (COMPLETED, "so that")
    assert [text_of(message.parts) for message in task.history] == ["hello", "which?", "that"]


async def test_a_turn_that_is_brought_back_counts_among_those_of_its_owner() -> None:
    async def run(turn: Turn) -> Outcome:
        await turn.ask(agent_message("which?"))
        await asyncio.Event().wait()
        return Completed()

    on = await stage(run, turns_per_owner=1)
    ada = Scope("", "ada")
    errand = Delivery(message=user_message())
    live = on.supervisor.begin("t-1", replace(NEW_TASK, scope=ada), errand, None)
    await live.settled()
    on.supervisor.put_aside(live)
    assert live.turn is not None
    await asyncio.wait([live.turn])
    on.supervisor.check("ada")
    stored = await on.store.load(ada, "t-1")
    assert stored is not None
    await on.deliver(await on.supervisor.adopt(stored), "that")
    with pytest.raises(RateLimitedError):
        on.supervisor.check("ada")
    await on.supervisor.drain(0)


async def test_an_answer_to_what_cannot_be_run_again_ends_it() -> None:
    on = await stage(ask, resumes=False)
    on.begin()
    live = await put_aside(on)
    await (await on.deliver(live, "that"))
    task = await on.task()
    assert (task.status.state, status_text(task)) == (FAILED, INTERRUPTED_REASON)
    assert [text_of(message.parts) for message in task.history] == ["hello", "which?", "that"]


async def test_an_answer_to_a_question_that_is_given_up_in_the_same_moment_is_a_message() -> None:
    turns: list[str] = []

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        asking = asyncio.ensure_future(turn.ask(agent_message("which?")))
        await given_up.wait()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        return Completed()

    given_up = asyncio.Event()
    on = await stage(run)
    live = on.begin()
    await live.settled()
    assert live.pause is not None
    live.pause.cancel()
    settled = await on.deliver(live, "that")
    given_up.set()
    await settled
    assert turns == ["hello", "that"]
    entries = await on.store.read_journal("t-1")
    assert decode_answer(entries[0].result) == Answer()


async def test_a_message_for_a_busy_task_gets_the_next_turn() -> None:
    turns: list[str] = []
    validator = RequestValidator()

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        return await validator.run(turn)

    on = await stage(run)
    live = on.begin()
    await validator.reached.wait()
    first, second = await on.deliver(live, "one"), await on.deliver(live, "two")
    validator.opened.set()
    await asyncio.gather(first, second)
    assert turns == ["hello", "one", "two"]
    task = await on.task()
    assert [text_of(message.parts) for message in task.history] == ["hello", "one", "two"]
    stored = await on.store.load(SCOPE, "t-1")
    assert stored is not None
    assert stored.inbox == ()


async def test_a_message_that_cannot_be_stored_is_refused_and_gets_no_turn() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    on.store.failure = StoreUnavailableError("disk full")
    with pytest.raises(UnavailableError, match="store is not available"):
        await on.deliver(live, "one")
    on.store.failure = None
    validator.opened.set()
    await live.settled()
    task = await on.task()
    assert task.status.state is COMPLETED
    assert [text_of(message.parts) for message in task.history] == ["hello"]


async def test_a_task_canceled_while_a_message_is_being_stored_has_no_next_turn() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    delivery = on.supervisor.deliver(live, Delivery(message=user_message("one", "one")), None)
    validator.opened.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # The turn is over and waits for the message.
    async with asyncio.TaskGroup() as group:
        group.create_task(on.supervisor.cancel(live))
        await delivery.stored
    assert live.turn is not None
    await asyncio.wait([live.turn])
    task = await on.task()
    assert task.status.state is CANCELED
    assert [m.message_id for m in task.history] == ["m-1", "one"]


async def test_a_message_that_fails_to_be_stored_after_its_task_was_canceled_is_refused() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    on.store.takes_messages.clear()
    delivery = on.supervisor.deliver(live, Delivery(message=user_message("one", "one")), None)
    await on.supervisor.cancel(live)
    on.store.failure = StoreUnavailableError("disk full")
    on.store.takes_messages.set()
    with pytest.raises(UnavailableError):
        await delivery.stored
    assert live.standing.unread == 0


async def test_a_message_whose_sender_is_gone_is_stored_and_gets_its_turn() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    on.store.takes_messages.clear()
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(on.deliver(live, "one"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        sending.cancel()
    settled = live.settled()
    validator.opened.set()
    on.store.takes_messages.set()
    await settled
    task = await on.task()
    assert task.status.state is COMPLETED
    assert [m.message_id for m in task.history] == ["m-1", "one"]


async def test_a_task_ends_though_the_message_of_a_sender_who_is_gone_cannot_be_stored() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
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
    validator.opened.set()
    await settled
    assert [m.message_id for m in (await on.task()).history] == ["m-1"]


@pytest.mark.parametrize("is_store_broken", [True, False])
async def test_a_message_that_cannot_be_stored_for_whatever_reason_is_refused(
    *, is_store_broken: bool
) -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await live.durable()
    on.store.defect = RuntimeError("unexpected") if is_store_broken else None
    # What cannot be written as UTF-8 comes from a caller in the same process.
    errand = Delivery(message=user_message("more" if is_store_broken else "\ud800", "m-2"))
    with pytest.raises(UnavailableError):
        await on.supervisor.deliver(live, errand, None).stored
    assert (list(live.inbox), live.standing.unread) == ([], 0)
    settled = live.settled()
    validator.opened.set()
    await settled
    assert live.standing.state is COMPLETED


async def test_a_task_whose_question_waits_for_a_slot_is_at_work() -> None:
    given_up, busy = asyncio.Event(), asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        if turn.task_id == "t-2":
            busy.set()
            await asyncio.Event().wait()
        asking = asyncio.ensure_future(turn.ask(agent_message("first?")))
        await given_up.wait()
        asking.cancel()
        await asyncio.wait([asking])
        await turn.ask(agent_message("second?"), timeout_seconds=36_000)
        return Completed()

    on = await stage(run, running_turns=1)
    await on.begin().settled()
    other = on.begin(task_id="t-2")
    await busy.wait()
    await other.durable()
    given_up.set()
    for _ in range(20):
        await asyncio.sleep(0)
    # One that has a deadline, and no question yet, would look like one that sleeps.
    assert (await on.stored()).state is WORKING
    assert [each.id for each in await on.store.at_work(after_id="", limit=9)] == ["t-1", "t-2"]


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
    await on.supervisor.cancel(live)
    assert (await on.task()).status.state is CANCELED
    await stopped.wait()


async def test_then_the_agent_may_clean_up() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await on.supervisor.cancel(live)
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
    await on.supervisor.cancel(live)
    await on.worker.cleaned_up.wait()
    assert caplog.messages == ["task t-1: its code ignores cancellation; it is left behind"]
    release.set()
    assert live.turn is not None
    await live.turn
    assert (await on.task()).status.state is CANCELED


async def test_a_task_is_canceled_once() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    await on.supervisor.cancel(live)
    with pytest.raises(TaskNotCancelableError):
        await on.supervisor.cancel(live)
    await on.supervisor.drain(0)


async def test_a_message_that_waits_when_its_task_is_canceled_joins_the_history() -> None:
    validator = RequestValidator()
    on = await stage(validator.run)
    live = on.begin()
    await validator.reached.wait()
    settled = await on.deliver(live, "one")
    await on.supervisor.cancel(live)
    await settled
    assert [m.message_id for m in (await on.task()).history] == ["m-1", "one"]
    await on.supervisor.drain(0)


async def test_a_task_without_a_turn_is_canceled_and_cleaned_up_after() -> None:
    on = await stage()
    live = await on.supervisor.adopt(await unfinished(on))
    await on.supervisor.cancel(live)
    assert (await on.task("t-0")).status.state is CANCELED
    await on.worker.cleaned_up.wait()
    (turn,) = on.worker.canceled_turns
    assert (turn.task_id, turn.message) == ("t-0", user_message())
