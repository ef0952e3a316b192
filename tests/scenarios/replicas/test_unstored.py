"""A message that could not be stored was never sent; who sends it again is told no other."""

import asyncio

import pytest

from dragoman.errors import UnavailableError
from dragoman.model.messages import text_of
from dragoman.model.tasks import Task, TaskState
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import HoldingStore, hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import Held, send
from tests.support.server.fakes import agent_message

pytestmark = pytest.mark.anyio


async def at_work(in_hand: Replicas, held: Held) -> tuple[Member, Task]:
    """Return a replica, and a task of it whose turn waits for the test."""
    a = await in_hand.start(held.run)
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    return a, task


async def lose_message(store: HoldingStore) -> None:
    """Let a message fail to get into the inbox that was stopped on its way there."""
    store.is_away = True
    store.putting.open()
    await settle()
    store.is_away = False


async def test_who_sends_a_message_again_while_it_is_on_its_way_hears_what_became_of_it(
    in_hand: Replicas,
) -> None:
    held = Held()
    a, task = await at_work(in_hand, held)
    more = send("more", message_id="m-2", task_id=task.id)
    hold(a).putting.close()
    sends = [asyncio.ensure_future(a.send(more))]
    await settle()
    sends.append(asyncio.ensure_future(a.send(more)))
    await settle()
    assert [sending.done() for sending in sends] == [False, False]
    await lose_message(hold(a))
    outcomes = await in_hand.wait_for(asyncio.gather(*sends, return_exceptions=True))
    assert [type(outcome) for outcome in outcomes] == [UnavailableError, UnavailableError]
    # It can be sent once more.
    sending = asyncio.ensure_future(a.send(more))
    await settle()
    held.released.set()
    assert told(await in_hand.wait_for(sending)).count("more") == 1


async def test_a_message_whose_sender_has_left_before_it_was_lost_can_be_sent_again(
    in_hand: Replicas,
) -> None:
    held = Held()
    a, task = await at_work(in_hand, held)
    more = send("more", message_id="m-2", task_id=task.id)
    hold(a).putting.close()
    streaming = asyncio.ensure_future(a.stream(more))
    await settle()
    streaming.cancel()
    await settle()
    await lose_message(hold(a))
    sending = asyncio.ensure_future(a.send(more))
    await settle()
    held.released.set()
    assert told(await in_hand.wait_for(sending)).count("more") == 1


async def test_an_answer_whose_sender_has_left_before_it_was_lost_can_be_sent_again(
    in_hand: Replicas,
) -> None:
    async def run(turn: Turn) -> Outcome:
        answer = await turn.ask(agent_message("which?"))
        return Completed(agent_message(text_of(answer.parts)))

    a = await in_hand.start(run)
    task = await a.send(send())
    hold(a).writing.close()
    blue = send("blue", message_id="m-2", task_id=task.id)
    streaming = asyncio.ensure_future(a.stream(blue))
    await hold(a).writing.until_reached()
    streaming.cancel()
    await settle()
    hold(a).lose_writes()
    await in_hand.pass_seconds(2)
    assert (await a.get(task.id)).status.state is TaskState.INPUT_REQUIRED
    again = await in_hand.wait_for(a.send(blue))
    assert again.status.state is TaskState.COMPLETED


async def test_an_end_that_was_lost_is_no_reason_to_begin_anew_under_the_same_name(
    in_hand: Replicas,
) -> None:
    released = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        del turn
        await released.wait()
        return Completed()

    a = await in_hand.start(run)
    named = Call(alias="mine", begins_anew=True)
    task = await a.send(send(return_immediately=True), named)
    await settle()
    hold(a).writing.close()
    released.set()
    await hold(a).writing.until_reached()
    released.clear()
    hold(a).is_away = True
    hold(a).lose_writes()
    await settle()
    hold(a).is_away = False
    more = send("more", message_id="m-2", return_immediately=True)
    with pytest.raises(UnavailableError):
        await a.send(more, named)
    await in_hand.pass_seconds(5)
    assert (await a.send(more, named)).id == task.id


async def test_who_sends_a_first_message_again_that_cannot_be_stored_is_not_told_of_no_task(
    in_hand: Replicas,
) -> None:
    a = await in_hand.start(Held().run)
    hello = send(return_immediately=True)
    hold(a).writing.close()
    first = asyncio.ensure_future(a.send(hello))
    await hold(a).writing.until_reached()
    hold(a).read.close()
    second = asyncio.ensure_future(a.send(hello))
    await hold(a).read.until_reached()
    hold(a).lose_writes()
    await settle()
    hold(a).read.open()
    with pytest.raises(UnavailableError):
        await in_hand.wait_for(first)
    # The store is back by then, so that it begins the task.
    begun = await in_hand.wait_for(second)
    assert (await a.get(begun.id)).id == begun.id
