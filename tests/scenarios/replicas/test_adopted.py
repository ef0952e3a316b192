"""A task is run by who takes it over, in whichever moment it was left.

Its old holder may make it go on just before it is taken over as one that waits: the lease of that
replica has run out, but nobody had taken anything from it yet.
"""

import asyncio

import pytest

from dragoman.model.messages import text_of
from dragoman.model.tasks import Task, TaskState
from dragoman.service.branches import branch
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import Done, TaskWrite
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send
from tests.support.server.fakes import agent_message

pytestmark = pytest.mark.anyio


class Asking:
    """The first turn asks, and when it is answered does nothing until it is run again."""

    def __init__(self) -> None:
        self._begun = 0

    async def run(self, turn: Turn) -> Outcome:
        if text_of(turn.message.parts) == "hello":
            self._begun += 1
            await turn.ask(agent_message("which?"))
            if self._begun == 1:
                await asyncio.Event().wait()
        return Completed()


async def asked(in_hand: Replicas, *, resumes: bool) -> tuple[Member, Member, Task]:
    """Return a replica that stands still, another one, and a task of the first that waits."""
    script = Asking()
    a = await in_hand.start(script.run, resumes=resumes)
    b = await in_hand.start(script.run, resumes=resumes)
    task = await a.send(send())
    assert task.status.state is TaskState.INPUT_REQUIRED
    a.stand_still()
    return a, b, task


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_task_that_is_taken_over_for_a_message_is_run(
    in_hand: Replicas, *, resumes: bool
) -> None:
    a, b, task = await asked(in_hand, resumes=resumes)
    await in_hand.pass_leases(2)
    hold(b).taking.close()
    more = send("more", message_id="m-3", task_id=task.id, return_immediately=True)
    sending = asyncio.ensure_future(b.send(more))
    await hold(b).taking.until_reached()
    blue = send("blue", message_id="m-2", task_id=task.id, return_immediately=True)
    assert (await a.send(blue)).status.state is TaskState.WORKING
    hold(b).taking.open()
    await in_hand.wait_for(sending)
    await in_hand.pass_seconds(30)
    assert (await b.get(task.id)).status.state.is_terminal


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_task_that_is_taken_over_for_an_answer_is_run(
    in_hand: Replicas, *, resumes: bool
) -> None:
    a, b, task = await asked(in_hand, resumes=resumes)
    in_hand.exchange.cut()
    blue = send("blue", message_id="m-2", task_id=task.id, return_immediately=True)
    await b.send(blue)
    hold(b).taking.close()
    await in_hand.until(lambda: hold(b).taking.is_reached)
    # Sent again to the holder, it is found in the inbox.
    assert (await a.send(blue)).status.state is TaskState.WORKING
    hold(b).taking.open()
    await in_hand.pass_seconds(30)
    assert (await b.get(task.id)).status.state.is_terminal


@pytest.mark.parametrize("is_killed", [True, False])
async def test_a_question_with_a_deadline_is_asked_by_who_takes_over(
    in_hand: Replicas, monkeypatch: pytest.MonkeyPatch, *, is_killed: bool
) -> None:
    recording = asyncio.Event()

    async def record(turn: Turn) -> None:
        branch.set("beside")
        await recording.wait()
        await turn.record("step", "beside", b"1")

    async def run(turn: Turn) -> Outcome:
        async with asyncio.TaskGroup() as group:
            group.create_task(record(turn))
            await turn.ask(agent_message("first?"))
            await turn.ask(agent_message("second?"), timeout_seconds=36_000)
        return Completed()

    a = await in_hand.start(run)
    task = await a.send(send())
    # Something else of the task is on its way to the store when the answer comes.
    store = hold(a)
    store.writing.close()
    recording.set()
    await store.writing.until_reached()
    answer = send("1", message_id="m-2", task_id=task.id, return_immediately=True)
    answering = asyncio.ensure_future(a.send(answer))
    await settle()
    append = store.append

    def append_up_to_the_deadline(write: TaskWrite, done: Done) -> None:
        append(write, done)
        if any(entry.kind == "timer" for entry in write.journal):
            store.writing.close()

    monkeypatch.setattr(store, "append", append_up_to_the_deadline)
    store.let_writes_go()
    await in_hand.wait_for(answering)
    b = await in_hand.start(run)
    if is_killed:
        a.stand_still()
    else:
        await a.stop()
    await in_hand.pass_leases(4)
    found = await b.get(task.id)
    assert (found.status.state, told(found)[-1]) == (TaskState.INPUT_REQUIRED, "second?")
