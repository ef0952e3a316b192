"""A task is taken over as one that waits, but its old holder makes it go on just before that.

The lease of that replica has run out, but nobody had taken anything from it yet.
"""

import asyncio

import pytest

from dragoman.model.messages import text_of
from dragoman.model.tasks import Task, TaskState
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import hold
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.unit.server.agency import send
from tests.unit.server.fakes import agent_message

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
