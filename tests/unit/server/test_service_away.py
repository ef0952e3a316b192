"""Tasks that are not in memory: put aside here, or at work in another process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from dragoman.model.messages import text_of
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.tasks import Task, TaskState
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from tests.support.server.agency import CALL, Agency, Held, ask, frames, send, serving
from tests.support.server.fakes import agent_message

# --- tasks that are put aside -------------------------------------------------------------------


@asynccontextmanager
async def parked() -> AsyncGenerator[tuple[Agency, str, int]]:
    """Have a task that waits for its client and was put aside; give its id and its lease."""
    async with serving(ask) as agency:
        task = await agency.send(send())
        await agency.pass_time(61)
        yield agency, task.id, await agency.lease(task.id)


async def test_a_task_that_was_put_aside_can_be_read_and_stays_where_it_is() -> None:
    async with parked() as (agency, task_id, lease):
        seen = (await agency.service.get_task(GetTaskRequest(id=task_id), CALL)).task()
        assert seen.status.state is TaskState.INPUT_REQUIRED
        assert await agency.lease(task_id) == lease


async def test_a_task_that_was_put_aside_takes_its_answer() -> None:
    async with parked() as (agency, task_id, lease):
        done = await agency.send(send("that", message_id="m-2", task_id=task_id))
        assert done.status.state is TaskState.COMPLETED
        assert [text_of(message.parts) for message in done.history] == ["hello", "which?", "that"]
        assert await agency.lease(task_id) == lease + 1


async def test_a_task_that_was_put_aside_can_be_followed_to_its_end() -> None:
    async with parked() as (agency, task_id, _):
        stream = await agency.service.subscribe_to_task(SubscribeToTaskRequest(id=task_id), CALL)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(frames(stream))
            await agency.send(send("that", message_id="m-2", task_id=task_id))
    assert following.result() == [(3, "task INPUT_REQUIRED"), (4, "WORKING"), (5, "COMPLETED")]


async def test_a_task_that_was_put_aside_can_be_canceled() -> None:
    async with parked() as (agency, task_id, _):
        canceled = await agency.service.cancel_task(CancelTaskRequest(id=task_id), CALL)
    assert canceled.task().status.state is TaskState.CANCELED


async def test_the_message_that_began_it_is_still_known() -> None:
    async with parked() as (agency, task_id, _):
        assert (await agency.send(send())).id == task_id
        stream = await agency.service.send_streaming_message(send(), CALL)
        assert await frames(stream) == [(3, "task INPUT_REQUIRED")]


async def test_a_task_that_is_followed_is_not_put_aside() -> None:
    async with serving(ask) as agency:
        task = await agency.send(send())
        request = SubscribeToTaskRequest(id=task.id)
        stream = await agency.service.subscribe_to_task(request, CALL)
        lease = await agency.lease(task.id)
        await agency.pass_time(61)
        await agency.send(send("that", message_id="m-2", task_id=task.id))
        assert await agency.lease(task.id) == lease
        await stream.aclose()


async def sleep(turn: Turn) -> Outcome:
    await turn.sleep(1000)
    return Completed(agent_message("done"))


@asynccontextmanager
async def parked_asleep() -> AsyncGenerator[tuple[Agency, str]]:
    """Have a task that sleeps and was put aside."""
    async with serving(sleep) as agency:
        task = await agency.send(send(return_immediately=True))
        await agency.clock.until_asleep(4)
        await agency.pass_time(61)
        yield agency, task.id


async def test_a_task_that_sleeps_is_woken_although_nobody_asks() -> None:
    async with parked_asleep() as (agency, task_id):
        await agency.pass_time(1000)
        assert (await agency.ended(task_id)).status.state is TaskState.COMPLETED


async def test_a_task_that_sleeps_is_woken_while_somebody_follows_it() -> None:
    async with parked_asleep() as (agency, task_id):
        request = SubscribeToTaskRequest(id=task_id)
        stream = await agency.service.subscribe_to_task(request, CALL)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(frames(stream))
            await agency.pass_time(1000)
    assert following.result() == [(2, "task WORKING"), (3, "COMPLETED")]


async def test_a_message_for_a_task_that_sleeps_gets_its_turn_when_it_wakes() -> None:
    async with parked_asleep() as (agency, task_id):
        more = send("more", message_id="m-2", task_id=task_id, return_immediately=True)
        assert (await agency.send(more)).status.state is TaskState.WORKING
        await agency.pass_time(1000)
        await agency.clock.until_asleep(4)  # The second turn sleeps, too.
        await agency.pass_time(1000)
        task = await agency.ended(task_id)
    assert [text_of(message.parts) for message in task.history] == ["hello", "done", "more"]


# --- tasks of another process -----------------------------------------------------------------


async def test_a_task_that_is_unfinished_in_the_store_is_taken_over() -> None:
    held = Held()
    async with serving() as agency, serving(held.run, store=agency.store) as other:
        task = await other.send(send(return_immediately=True))
        await held.reached.wait()
        canceled = await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
    assert canceled.task().status.state is TaskState.CANCELED


@asynccontextmanager
async def remote_tasks() -> AsyncGenerator[tuple[Agency, Agency, Held, Task]]:
    """Have a task at work in one process; there is another process on the same store."""
    held = Held()
    async with serving() as agency, serving(held.run, store=agency.store) as other:
        task = await other.send(send(return_immediately=True))
        await held.reached.wait()
        yield agency, other, held, task


async def test_a_task_of_another_process_is_read_and_left_to_it() -> None:
    async with remote_tasks() as (agency, other, held, task):
        before = await agency.lease(task.id)
        request = GetTaskRequest(id=task.id)
        seen = (await agency.service.get_task(request, CALL)).task()
        assert seen.status.state is TaskState.WORKING
        assert await agency.lease(task.id) == before
        held.released.set()
        assert (await other.send(send())).status.state is TaskState.COMPLETED
        later = (await agency.service.get_task(request, CALL)).task()
        assert later.status.state is TaskState.COMPLETED


@pytest.mark.parametrize(
    ("cursor", "first"), [(None, (2, "task WORKING")), (1, (1, "task SUBMITTED"))]
)
async def test_who_follows_a_task_of_another_process_takes_it_over(
    cursor: int | None, first: tuple[int, str]
) -> None:
    async with remote_tasks() as (agency, other, held, task):
        before = await agency.lease(task.id)
        request = SubscribeToTaskRequest(id=task.id)
        theirs = await other.service.subscribe_to_task(request, CALL)
        stream = await agency.service.subscribe_to_task(request, Call(cursor=cursor))
        assert await agency.lease(task.id) == before + 1
        held.released.set()
        assert await frames(theirs) == [(2, "task WORKING")]
        await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
        seen = await frames(stream)
        assert (seen[0], seen[-1]) == (first, (3, "CANCELED"))


async def test_who_sends_a_message_to_it_takes_it_over_too() -> None:
    async with remote_tasks() as (agency, _, _, task):
        before = await agency.lease(task.id)
        more = send("more", message_id="m-2", task_id=task.id, return_immediately=True)
        seen = await agency.send(more)
        assert [text_of(message.parts) for message in seen.history] == ["hello", "more"]
        assert await agency.lease(task.id) == before + 1


async def test_who_follows_a_task_that_is_taken_over_is_sent_away() -> None:
    async with remote_tasks() as (agency, other, held, task):
        request = SubscribeToTaskRequest(id=task.id)
        stream = await other.service.subscribe_to_task(request, CALL)
        await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
        held.released.set()
        assert await frames(stream) == [(2, "task WORKING")]
