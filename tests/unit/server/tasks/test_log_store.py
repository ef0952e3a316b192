"""Snapshots, the document, and what a live task does while its store is slow or fails."""

import asyncio
import gc
from collections.abc import Awaitable

import pytest

from dragoman.engine.commands import Ask, Cancel, Deliver, Finish, Say
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import (
    ConflictError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.events import TaskStatusUpdateEvent
from dragoman.model.tasks import TaskState, TaskStatus
from dragoman.server.tasks.pending_write import SNAPSHOT_EVENTS
from tests.support.server.fakes import (
    Live,
    agent_message,
    chunk,
    user_message,
)
from tests.support.server.living import (
    COMPLETED,
    DOWN,
    WORKING,
    asked,
    begun,
    pass_over,
    queue,
)

# --- snapshots --------------------------------------------------------------------------------


async def test_there_is_no_snapshot_of_a_task_at_work() -> None:
    live = await begun()
    assert live.store.writes[-1].snapshot is None


@pytest.mark.parametrize("is_auth", [False, True])
async def test_a_pause_brings_a_snapshot(is_auth: bool) -> None:  # noqa: FBT001 - a row of a table
    live = await begun()
    live.do(Ask(agent_message("which?"), is_auth=is_auth))
    await pass_over()
    assert live.store.writes[-1].snapshot == live.task.document()


async def test_the_end_brings_a_snapshot() -> None:
    live = await begun()
    live.do(Finish(COMPLETED, agent_message("done")))
    await pass_over()
    snapshot = live.store.writes[-1].snapshot
    assert snapshot is not None
    assert snapshot.task().status.message == agent_message("done")


async def grow(live: Live, count: int) -> list[int]:
    """Publish events one write each; return after how many events there was a snapshot."""
    for number in range(count):
        live.do(chunk(append=number > 0))
        await pass_over()
        live.store.commit()
    return [
        write.expected_seq + write.events
        for write in live.store.writes
        if write.snapshot is not None
    ]


async def test_a_long_task_gets_snapshots_less_and_less_often() -> None:
    live = await begun()
    assert await grow(live, 4 * SNAPSHOT_EVENTS) == [1000, 2000, 3000]


async def test_from_then_on_whenever_the_log_has_grown_by_half() -> None:
    standing = Standing(task_id="t-1", context_id="c-1", state=WORKING, seq=4000)
    live = Live(standing=standing, fold=working_fold())
    assert await grow(live, 2001) == [6000]


async def long_task() -> Live:
    """Return a task at work that has more events than lie between snapshots."""
    live = await begun()
    for number in range(SNAPSHOT_EVENTS + 1):
        live.do(chunk(append=number > 0))
    await pass_over()
    live.store.commit()
    return live


async def test_the_last_chunks_of_a_long_task_do_not_wait_for_its_snapshot() -> None:
    live = await long_task()
    live.do(chunk(append=True), chunk(append=True, last_chunk=True), Finish(COMPLETED))
    await pass_over()
    chunks = live.store.writes[-1]
    assert (chunks.events, chunks.state, chunks.snapshot) == (2, None, None)
    live.store.commit()
    end = live.store.writes[-1]
    assert (end.expected_seq, end.events, end.state) == (
        chunks.expected_seq + 2,
        1,
        COMPLETED,
    )
    assert end.snapshot is not None


async def test_what_nobody_took_up_stays_with_the_end_of_a_long_task() -> None:
    live = await long_task()
    queue(live, "unread", number=1)
    live.do(Cancel())
    await pass_over()
    assert live.store.writes[-1].state is TaskState.CANCELED
    assert live.store.writes[-1].events == 1


async def test_a_message_that_waits_is_not_in_the_snapshot() -> None:
    live = await begun()
    queue(live, "later", number=1)
    live.do(Ask(agent_message("which?"), is_auth=False))
    await pass_over()
    snapshot = live.store.writes[-1].snapshot
    assert snapshot is not None
    assert snapshot.task().history == (user_message(),)
    assert live.task.document().task().history[-1] == user_message("later", "later")


def working_fold() -> TaskFold:
    fold = TaskFold("t-1", "c-1")
    fold.record(user_message())
    fold.apply(
        TaskStatusUpdateEvent(task_id="t-1", context_id="c-1", status=TaskStatus(state=WORKING))
    )
    return fold


# --- the document -----------------------------------------------------------------------------


async def test_a_document_is_made_once_per_event() -> None:
    live = await begun()
    first = live.task.document()
    assert live.task.document() is first
    live.do(chunk())
    assert live.task.document() is not first


async def test_a_document_shows_what_is_enqueued() -> None:
    live = Live()
    live.begin()
    assert live.task.document().task().status.state is WORKING


# --- waiting for the store --------------------------------------------------------------------


async def test_durable_waits_for_the_commit_of_what_was_enqueued() -> None:
    live = Live()
    live.begin()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(live.task.durable())
        await pass_over()
        live.do(chunk())
        second = group.create_task(live.task.durable())
        await pass_over()
        live.store.commit()
        assert await first == 2
        assert not second.done()
        live.store.commit()
    assert second.result() == 3


async def test_durable_does_not_wait_for_what_is_stored() -> None:
    live = await begun()
    assert await live.task.durable() == 2


async def test_a_waiter_that_was_canceled_is_passed_over() -> None:
    live = Live()
    live.begin()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(live.task.durable())
        await pass_over()
        waiting.cancel()
    live.store.commit()
    assert live.task.backlog == 0


async def test_settled_waits_for_a_durable_end() -> None:
    live = await begun()
    settled = live.task.settled()
    live.do(chunk())
    await pass_over()
    live.store.commit()
    assert not settled.done()
    live.do(Finish(COMPLETED))
    await pass_over()
    assert not settled.done()
    live.store.commit()
    assert settled.done()


async def test_settled_waits_for_the_next_pause_not_for_the_last() -> None:
    live = await asked()
    live.do(Deliver(user_message("that")))
    settled = live.task.settled()
    await pass_over()
    live.store.commit()
    assert not settled.done()
    live.do(Ask(agent_message("and?"), is_auth=False))
    await pass_over()
    live.store.commit()
    assert settled.done()


async def test_a_pause_on_its_way_is_not_the_next_one() -> None:
    live = await begun()
    live.do(Ask(agent_message("which?"), is_auth=False))
    await pass_over()
    live.do(Deliver(user_message("that")))
    settled = live.task.settled()
    live.store.commit()
    assert not settled.done()


async def test_others_may_join_in_waiting() -> None:
    live = await begun()
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    live.task.join_settled([waiter])
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit()
    assert waiter.done()


# --- a write that is lost ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "told"),
    [
        # Another replica owns the task now.
        (ConflictError("t-1"), "taken over by another server"),
        # Nobody can write.
        (DOWN, "store is not available"),
    ],
)
async def test_a_lost_write_is_told_to_everybody(
    error: ConflictError | StoreUnavailableError, told: str
) -> None:
    live = Live()
    live.begin()
    item = queue(live, "later", number=1)
    inbox_waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    item.waiters.append(inbox_waiter)
    settled = live.task.settled()
    async with asyncio.TaskGroup() as group:
        durable = group.create_task(fails(live.task.durable()))
        await pass_over()
        live.store.commit(error)
    assert told in durable.result()
    assert told in str(settled.exception())
    assert told in str(inbox_waiter.exception())
    assert live.watcher.lost == [(live.task, error)]


async def fails(waiting: Awaitable[object]) -> str:
    with pytest.raises(UnavailableError) as caught:
        await waiting
    return str(caught.value)


async def test_a_loss_that_nobody_looks_at_makes_no_noise() -> None:
    noise: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: noise.append(context))
    live = Live()
    live.begin()
    live.task.settled()
    await pass_over()
    live.store.commit(DOWN)
    gc.collect()
    assert noise == []


async def test_a_waiter_that_is_done_is_not_told() -> None:
    live = Live()
    live.begin()
    settled = live.task.settled()
    settled.cancel()
    await pass_over()
    live.store.commit(DOWN)
    assert settled.cancelled()


async def test_nothing_of_a_lost_write_is_visible() -> None:
    live = Live()
    live.begin()
    await pass_over()
    live.store.commit(DOWN)
    assert live.channel.seq == 0


async def test_after_a_lost_write_commands_are_refused() -> None:
    live = Live()
    live.begin()
    await pass_over()
    live.do(chunk())
    live.store.commit(DOWN)
    with pytest.raises(UnavailableError, match="store is not available"):
        live.do(chunk())
    await pass_over()
    assert live.store.held == 0


async def test_after_a_lost_write_nobody_waits_for_what_will_not_come() -> None:
    live = Live()
    live.begin()
    await pass_over()
    live.store.commit(DOWN)
    with pytest.raises(UnavailableError, match="store is not available"):
        await live.task.durable()


def reset(live: Live) -> None:
    """Bring a task back to where it was after ``begun``."""
    standing = Standing(task_id="t-1", context_id="c-1", state=WORKING, seq=2)
    live.task.reset(standing, working_fold(), journal_n=0)


async def test_a_task_goes_on_from_what_the_store_has() -> None:
    live = await begun()
    live.do(chunk(), chunk(append=True))
    await pass_over()
    live.do(chunk(append=True))
    live.store.commit(DOWN)
    reset(live)
    assert live.task.backlog == 0
    live.do(Finish(TaskState.FAILED))
    await pass_over()
    write = live.store.writes[-1]
    assert (write.expected_seq, write.events) == (2, 1)


async def test_what_was_seen_of_the_lost_part_is_gone() -> None:
    live = await begun()
    live.do(chunk())
    assert live.task.document().task().artifacts
    await pass_over()
    live.store.commit(DOWN)
    reset(live)
    live.do(Say(agent_message()))
    assert not live.task.document().task().artifacts


async def test_what_was_to_go_with_a_lost_write_is_gone() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    live.task.note("ask", "input", b"1")
    live.task.take_up(3)
    live.store.commit(DOWN)
    reset(live)
    live.do(chunk())
    await pass_over()
    write = live.store.writes[-1]
    assert (write.journal, write.inbox_taken) == ((), ())


async def test_who_began_to_wait_during_the_outage_hears_of_the_end() -> None:
    live = await begun()
    live.do(chunk(), chunk(append=True))
    await pass_over()
    live.store.commit(DOWN)
    settled = live.task.settled()
    reset(live)
    live.do(Finish(TaskState.FAILED))
    await pass_over()
    live.store.commit()
    assert settled.done()


async def test_a_pause_that_was_lost_does_not_end_a_stream() -> None:
    live = await begun()
    live.do(Ask(agent_message("which?"), is_auth=False))
    await pass_over()
    live.store.commit(DOWN)
    reset(live)
    live.do(chunk())
    await pass_over()
    live.store.commit()
    assert live.channel.paused_at == 0


async def test_a_status_that_was_lost_is_not_stored_later() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    live.do(Say(agent_message()))
    live.store.commit(DOWN)
    reset(live)
    live.do(chunk())
    await pass_over()
    assert live.store.writes[-1].state is None


async def test_what_was_not_handed_over_when_the_task_was_reset_is_not_written() -> None:
    live = await begun()
    live.do(chunk())
    reset(live)
    await pass_over()
    assert live.store.held == 0


async def test_a_write_that_is_reported_twice_counts_once() -> None:
    live = await begun()
    live.store.report_again()
    assert live.task.backlog == 0


# --- a task that another replica has taken over ---------------------------------------------------


async def test_a_task_that_is_another_replicas_publishes_nothing_any_more() -> None:
    live = await begun()
    seq = live.channel.seq
    live.do(chunk())
    await pass_over()
    live.task.retire()
    # It was written in time, but nobody had heard of that; meanwhile others may have gone on.
    live.store.commit()
    assert (live.channel.seq, live.task.backlog) == (seq, 1)
    with pytest.raises(UnavailableError):
        live.do(chunk())
