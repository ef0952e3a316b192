"""The database is away for longer than a lease lasts: then all leases have run out, and all live.

Who is first to reach it again finds the leases of all others run out, and its own. What it does
before it has renewed its own, and before the others had the time to, must not harm anybody. Which
comes first, a renewal or a sweep, depends on when the database comes back.
"""

import asyncio
from typing import Final

import pytest

from dragoman.errors import UnavailableError
from dragoman.model.messages import text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import Steps, relay, told
from tests.support.server.agency import Held, send
from tests.support.server.fakes import agent_message

pytestmark = pytest.mark.anyio

COMPLETED: Final = TaskState.COMPLETED
WORKING: Final = TaskState.WORKING

OUTAGE_SECONDS: Final = 15.0
"""A lease has 10."""

LATER_SECONDS: Final = (
    0.0,  # The lease is renewed as soon as anything else can be done.
    7.0,  # There is a sweep before that: there is one every 5 seconds.
)


def leave(*members: Member) -> None:
    """Let the database be away for some replicas."""
    for member in members:
        hold(member).is_away = hold(member).is_lease_away = True


async def come_back(replicas: Replicas, *members: Member, later_seconds: float) -> None:
    """Let the database be back; it takes longer until leases can be renewed."""
    for member in members:
        hold(member).is_away = False
    await replicas.pass_seconds(later_seconds)
    for member in members:
        hold(member).is_lease_away = False


@pytest.mark.parametrize("later_seconds", LATER_SECONDS)
async def test_a_replica_does_not_take_its_own_work_for_that_of_the_dead(
    in_hand: Replicas, later_seconds: float
) -> None:
    held = Held()
    a = await in_hand.start(held.run, resumes=False)
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    leave(a)
    await in_hand.pass_seconds(OUTAGE_SECONDS)
    await come_back(in_hand, a, later_seconds=later_seconds)
    await in_hand.pass_leases(3)
    assert (await a.get(task.id)).status.state is WORKING
    held.released.set()
    await in_hand.pass_leases(1)
    assert (await a.get(task.id)).status.state is COMPLETED


@pytest.mark.parametrize("later_seconds", LATER_SECONDS)
async def test_nobody_takes_work_from_a_replica_that_could_not_renew_its_lease_either(
    in_hand: Replicas, later_seconds: float
) -> None:
    first, second = Steps(1), Steps(1)
    a, b = await in_hand.start(first.run), await in_hand.start(second.run)
    task = await a.send(send(return_immediately=True))
    await settle()
    leave(a, b)
    await in_hand.pass_seconds(OUTAGE_SECONDS)
    await come_back(in_hand, a, b, later_seconds=later_seconds)
    await in_hand.pass_leases(3)
    assert (first.runs, second.runs) == (1, 0)
    first.allow(1)
    await in_hand.pass_leases(1)
    assert (await b.get(task.id)).status.state is COMPLETED
    assert (first.runs, second.runs) == (1, 0)


@pytest.mark.parametrize("later_seconds", LATER_SECONDS)
async def test_nobody_wakes_what_its_replica_has_woken_while_the_database_was_away(
    in_hand: Replicas, later_seconds: float
) -> None:
    async def nap(turn: Turn) -> Outcome:
        await turn.sleep(OUTAGE_SECONDS - 2)
        return Completed()

    a, b = await in_hand.start(nap, resumes=False), await in_hand.start(nap, resumes=False)
    task = await a.send(send(return_immediately=True))
    await settle()
    # What it writes meanwhile waits, until it has found out that the database is back.
    hold(a).writing.close()
    leave(a, b)
    await in_hand.pass_seconds(OUTAGE_SECONDS)
    await come_back(in_hand, a, b, later_seconds=later_seconds)
    await in_hand.pass_seconds(1.5)
    hold(a).let_writes_go()
    await in_hand.pass_leases(2)
    ended = await b.get(task.id)
    assert ended.status.state is COMPLETED, told(ended)


@pytest.mark.parametrize(
    "is_left_before",
    [
        # The answer lies in the inbox when the database comes back, and is found by a sweep.
        True,
        # It is sent to a replica that has just got its database back.
        False,
    ],
)
async def test_an_answer_is_left_to_who_has_asked_although_no_lease_speaks_for_it(
    in_hand: Replicas,
    is_left_before: bool,  # noqa: FBT001 - a row of a table
) -> None:
    a, b = await in_hand.start(relay, resumes=False), await in_hand.start(relay, resumes=False)
    task = await a.send(send())
    in_hand.exchange.cut()
    answer = send("blue", message_id="m-2", task_id=task.id, return_immediately=True)
    leave(a)
    if is_left_before:
        await b.send(answer)
    leave(b)
    await in_hand.pass_seconds(OUTAGE_SECONDS)
    # One of them gets it back before the other.
    hold(b).is_away = False
    if not is_left_before:
        await b.send(answer)
    await in_hand.pass_seconds(LATER_SECONDS[-1])
    assert b.runtime.live_tasks == 0
    hold(b).is_lease_away = False
    await come_back(in_hand, a, later_seconds=0)
    await in_hand.pass_leases(1)
    ended = await b.get(task.id)
    assert (ended.status.state, told(ended)[-1]) == (COMPLETED, "blue")


# --- a write is lost ----------------------------------------------------------------------------


class Publishing:
    """A first turn that publishes when it may; of all turns it is noted what they are about."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.may_publish = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        """Publish, and be done."""
        self.turns.append(text_of(turn.message.parts))
        await turn.flush()
        await self.may_publish.wait()
        await turn.artifact(Artifact(artifact_id="a", parts=(Part(text="x"),)), last_chunk=True)
        await turn.flush()
        return Completed()


async def test_a_message_that_is_on_its_way_when_a_write_is_lost_gets_one_turn(
    in_hand: Replicas,
) -> None:
    script = Publishing()
    a = await in_hand.start(script.run)
    task = await a.send(send(return_immediately=True))
    await settle()
    store = hold(a)
    store.posted.close()
    more = send("more", message_id="m-2", task_id=task.id, return_immediately=True)
    sending = asyncio.ensure_future(a.send(more))
    # It is in the store, of which nobody here knows yet.
    await store.posted.until_reached()
    store.writing.close()
    script.may_publish.set()
    await store.writing.until_reached()
    script.may_publish.clear()
    store.lose_writes()
    await settle()
    store.posted.open()
    # Its sender cannot be told what has become of the task, and may send it again.
    await in_hand.wait_for(asyncio.gather(sending, return_exceptions=True))
    script.may_publish.set()
    await in_hand.pass_leases(1)
    assert (await a.get(task.id)).status.state is COMPLETED
    assert script.turns == ["hello", "hello", "more"]


async def test_a_message_that_is_read_from_the_inbox_when_a_write_is_lost_gets_one_turn(
    in_hand: Replicas,
) -> None:
    script = Publishing()
    a, b = await in_hand.start(script.run), await in_hand.start()
    task = await a.send(send(return_immediately=True))
    await settle()
    store = hold(a)
    store.read.close()
    await b.send(send("more", message_id="m-2", task_id=task.id, return_immediately=True))
    # Its holder has heard of it, and what it finds in the inbox is on its way.
    await store.read.until_reached()
    store.writing.close()
    script.may_publish.set()
    await store.writing.until_reached()
    script.may_publish.clear()
    store.lose_writes()
    await settle()
    store.read.open()
    await settle()
    script.may_publish.set()
    await in_hand.pass_leases(1)
    assert (await b.get(task.id)).status.state is COMPLETED
    assert script.turns == ["hello", "hello", "more"]


async def test_a_cancellation_is_left_to_the_holder_although_no_lease_speaks_for_it(
    in_hand: Replicas,
) -> None:
    held = Held()
    a, b = await in_hand.start(held.run), await in_hand.start()
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    leave(a, b)
    await in_hand.pass_seconds(OUTAGE_SECONDS)
    await come_back(in_hand, a, b, later_seconds=0)
    canceled = await in_hand.wait_for(b.cancel(task.id))
    assert canceled.status.state is TaskState.CANCELED
    numbers = b.runtime.replica
    assert numbers is not None
    assert numbers.taken_over == 0


async def test_a_message_from_before_a_question_does_not_answer_it_when_a_write_is_lost(
    in_hand: Replicas,
) -> None:
    held = Held()
    answers: list[str] = []

    async def ask_then(turn: Turn) -> Outcome:
        await held.run(turn)
        answers.append(text_of((await turn.ask(agent_message("which?"))).parts))
        await turn.flush()
        return Completed()

    a, b = await in_hand.start(ask_then), await in_hand.start(ask_then)
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    await b.send(send("early", message_id="m-2", task_id=task.id, return_immediately=True))
    await settle()
    held.released.set()
    await settle()
    hold(a).writing.close()
    answer = send("blue", message_id="m-3", task_id=task.id, return_immediately=True)
    lost = asyncio.ensure_future(a.send(answer))
    await hold(a).writing.until_reached()
    hold(a).lose_writes()
    with pytest.raises(UnavailableError):
        await in_hand.wait_for(lost)
    await in_hand.pass_leases(1)
    assert "early" not in answers
    assert (await b.get(task.id)).status.state is TaskState.INPUT_REQUIRED
