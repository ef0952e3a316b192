"""A message that is sent again is answered as the first one was, and by what is durable."""

import asyncio

import pytest

from dragoman.errors import UnavailableError
from dragoman.model.messages import text_of
from dragoman.model.tasks import Task, TaskState
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.support.server.agency import Held, frames, send
from tests.support.server.fakes import agent_message

pytestmark = pytest.mark.anyio

INPUT_REQUIRED = TaskState.INPUT_REQUIRED


async def asked_before_a_message(in_hand: Replicas) -> tuple[Member, Member, Task]:
    """Return two replicas, and a task of the first that asks while a message waits for its turn."""
    released = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        if text_of(turn.message.parts) == "hello":
            await released.wait()
            await turn.ask(agent_message("which?"))
        return Completed()

    a, b = await in_hand.start(run), await in_hand.start(run)
    task = await a.send(send(return_immediately=True))
    await a.send(send("more", message_id="m-2", task_id=task.id, return_immediately=True))
    released.set()
    await settle()
    assert (await b.get(task.id)).status.state is INPUT_REQUIRED
    return a, b, task


@pytest.mark.parametrize("is_first", [True, False])
async def test_nobody_is_kept_waiting_while_the_task_asks(
    in_hand: Replicas, *, is_first: bool
) -> None:
    a, b, task = await asked_before_a_message(in_hand)
    again = send() if is_first else send("more", message_id="m-2", task_id=task.id)
    for member in (a, b):
        answered = await in_hand.wait_for(member.send(again))
        assert answered.status.state is INPUT_REQUIRED


async def test_no_stream_stays_open_while_the_task_asks(in_hand: Replicas) -> None:
    a, b, _ = await asked_before_a_message(in_hand)
    for member in (a, b):
        seen = await in_hand.wait_for(frames(await member.stream(send())))
        assert [kind for _, kind in seen] == ["task INPUT_REQUIRED"]


async def test_nobody_waits_for_what_is_undone_because_its_write_was_lost(
    in_hand: Replicas,
) -> None:
    async def run(turn: Turn) -> Outcome:
        await turn.ask(agent_message("which?"))
        await turn.flush()
        return Completed()

    a = await in_hand.start(run)
    task = await a.send(send())
    hold(a).writing.close()
    answering = asyncio.ensure_future(a.send(send("blue", message_id="m-2", task_id=task.id)))
    await hold(a).writing.until_reached()
    hold(a).is_away = True
    hold(a).lose_writes()
    with pytest.raises(UnavailableError):
        await in_hand.wait_for(answering)
    with pytest.raises(UnavailableError):
        await in_hand.wait_for(a.send(send()))
    hold(a).is_away = False
    await in_hand.pass_leases(3)
    assert (await in_hand.wait_for(a.send(send()))).status.state is INPUT_REQUIRED


async def test_an_end_that_is_refused_is_not_streamed(in_hand: Replicas) -> None:
    first, others = Held(), Held()

    async def run(turn: Turn) -> Outcome:
        await (first if text_of(turn.message.parts) == "hello" else others).run(turn)
        return Completed()

    a, b = await in_hand.start(run), await in_hand.start(run)
    task = await a.send(send(return_immediately=True))
    await in_hand.until(first.reached.is_set)
    in_hand.exchange.cut()
    # While the inbox is looked into, the turn ends, and the inbox gets something after all.
    hold(a).read.close()
    streaming = asyncio.ensure_future(a.stream(send()))
    await hold(a).read.until_reached()
    hold(a).writing.close()
    first.released.set()
    await hold(a).writing.until_reached()
    await b.send(send("more", message_id="m-2", task_id=task.id, return_immediately=True))
    hold(a).read.open()
    await settle()
    hold(a).let_writes_go()
    stream = await in_hand.wait_for(streaming)
    others.released.set()
    seen = await in_hand.wait_for(frames(stream))
    log = [event.seq for event in await b.store.read_events(task.id, after=0, limit=99)]
    assert seen[0][1] == "task WORKING"
    assert seen[-1] == (log[-1], "COMPLETED")
    assert [number for number, _ in seen] == log[-len(seen) :]
