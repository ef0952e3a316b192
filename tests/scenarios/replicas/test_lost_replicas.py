"""A replica may die, stand still and come back, or leave; hints may be lost. Nothing else is."""

import asyncio
import logging

import pytest

from dragoman.model.tasks import TaskState
from dragoman.server.replicas.lease import ReplicaNumbers
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import StoredTask
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import Steps, relay, told
from tests.support.server.agency import Held, frames, send
from tests.support.server.fakes import SCOPE

pytestmark = pytest.mark.anyio

COMPLETED = TaskState.COMPLETED
CANCELED = TaskState.CANCELED
FAILED = TaskState.FAILED
INPUT_REQUIRED = TaskState.INPUT_REQUIRED


async def until_state(replicas: Replicas, member: Member, task_id: str, state: TaskState) -> None:
    async def is_so() -> bool:
        return (await member.get(task_id)).status.state is state

    await replicas.until(is_so)


async def until_artifacts(replicas: Replicas, member: Member, task_id: str, count: int) -> None:
    async def is_so() -> bool:
        return len((await member.get(task_id)).artifacts) == count

    await replicas.until(is_so)


def numbers_of(member: Member) -> ReplicaNumbers:
    numbers = member.runtime.replica
    assert numbers is not None
    return numbers


async def log_of(member: Member, task_id: str) -> list[int]:
    return [event.seq for event in await member.store.read_events(task_id, after=0, limit=99)]


# --- death --------------------------------------------------------------------------------------


async def test_work_of_a_dead_replica_is_taken_over(replicas: Replicas) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)
    await until_artifacts(replicas, b, task.id, 1)
    a.stand_still()
    second.allow(1)
    await until_state(replicas, b, task.id, COMPLETED)
    ended = await b.get(task.id)
    assert [artifact.artifact_id for artifact in ended.artifacts] == ["a-0", "a-1"]


async def test_what_changes_hands_is_counted_on_both_sides(replicas: Replicas) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)
    await until_artifacts(replicas, b, task.id, 1)
    stream = asyncio.ensure_future(frames(await b.subscribe(task.id)))
    before = numbers_of(b)
    assert (before.has_bus, before.has_lease, before.followed) == (True, True, 1)
    a.stand_still()
    await replicas.until(lambda: second.runs == 1)
    a.go_on()
    await replicas.until(lambda: numbers_of(a).lapses == 1)
    second.allow(1)
    await replicas.wait_for(stream)
    loser, taker = numbers_of(a), numbers_of(b)
    assert (loser.lapses, loser.lost, loser.taken_over) == (1, 1, 0)
    assert (taker.lapses, taker.lost, taker.taken_over) == (0, 0, 1)
    assert taker.followed == 0


async def test_work_of_a_living_replica_is_left_to_it(replicas: Replicas) -> None:
    first, second = Steps(1), Steps(1)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    await replicas.pass_leases(3)
    assert second.runs == 0
    first.allow(1)
    await until_state(replicas, b, task.id, COMPLETED)
    assert (first.runs, second.runs) == (1, 0)


async def test_a_stream_goes_on_when_the_replica_that_works_dies(replicas: Replicas) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    c = await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)
    await until_artifacts(replicas, b, task.id, 1)
    streams = [await member.subscribe(task.id) for member in (b, c)]
    following = asyncio.gather(*map(frames, streams))
    a.stand_still()
    second.allow(1)
    for seen in await replicas.wait_for(following):
        numbers = [number for number, _ in seen]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert seen[-1][1] == "COMPLETED"
        assert [kind for _, kind in seen].count("artifact") == 1


async def test_who_waits_for_the_answer_of_a_replica_that_dies_gets_it(replicas: Replicas) -> None:
    held, free = Held(), Held()
    free.released.set()
    a, b = await replicas.start(held.run), await replicas.start(free.run)
    first = asyncio.ensure_future(a.send(send()))
    await replicas.until(held.reached.is_set)
    sending = asyncio.ensure_future(b.send(send()))
    await asyncio.sleep(0)
    a.stand_still()
    task = await replicas.wait_for(sending)
    assert task.status.state is COMPLETED
    first.cancel()


async def test_a_message_left_for_a_replica_that_dies_is_delivered(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start(relay)
    task = await a.send(send())
    a.stand_still()
    replicas.exchange.cut()
    left = await b.send(send("blue", message_id="m-2", task_id=task.id, return_immediately=True))
    assert left.status.state is INPUT_REQUIRED
    await until_state(replicas, b, task.id, COMPLETED)
    assert told(await b.get(task.id))[-1] == "blue"


async def test_word_to_cancel_that_is_left_for_a_replica_that_dies_counts(
    replicas: Replicas,
) -> None:
    held = Held()
    a, b = await replicas.start(held.run), await replicas.start(held.run)
    task = await a.send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    a.stand_still()
    replicas.exchange.cut()
    assert (await replicas.wait_for(b.cancel(task.id))).status.state is CANCELED


async def test_a_skill_that_is_not_to_be_run_again_fails_with_its_replica(
    replicas: Replicas,
) -> None:
    held = Held()
    a = await replicas.start(held.run, resumes=False)
    b = await replicas.start(held.run, resumes=False)
    task = await a.send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    a.stand_still()
    await until_state(replicas, b, task.id, FAILED)


async def test_who_sleeps_at_a_replica_that_dies_is_woken_at_another(replicas: Replicas) -> None:
    async def nap(turn: Turn) -> Outcome:
        await turn.sleep(replicas.lease_seconds * 2)
        return Completed()

    a, b = await replicas.start(nap), await replicas.start(nap)
    task = await a.send(send(return_immediately=True))
    a.stand_still()
    await until_state(replicas, b, task.id, COMPLETED)


async def test_a_question_that_is_asked_as_the_task_is_taken_over_stays_asked(
    in_hand: Replicas,
) -> None:
    may_ask = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        await turn.flush()
        await may_ask.wait()
        return await relay(turn)

    a, b = await in_hand.start(run), await in_hand.start(run)
    task = await a.send(send(return_immediately=True))
    await settle()
    hold(b).taking.close()
    a.stand_still()
    await in_hand.until(lambda: hold(b).taking.is_reached)
    # It was found at work, and asks before anybody keeps it from writing.
    may_ask.set()
    await settle()
    hold(b).taking.open()
    await in_hand.pass_leases(2)
    assert (await b.get(task.id)).status.state is INPUT_REQUIRED
    answered = await in_hand.wait_for(b.send(send("blue", message_id="m-2", task_id=task.id)))
    assert (answered.status.state, told(answered)[-1]) == (COMPLETED, "blue")


async def test_a_question_stays_asked_although_its_task_was_to_be_run_again_here(
    in_hand: Replicas,
) -> None:
    async def stuck(turn: Turn) -> Outcome:
        await turn.flush()
        await asyncio.Event().wait()
        raise AssertionError

    a = await in_hand.start(stuck)
    task = await a.send(send(return_immediately=True))
    await settle()
    b = await in_hand.start(stuck)
    a.stand_still()

    async def stored() -> StoredTask:
        found = await b.store.load(SCOPE, task.id)
        assert found is not None
        return found

    async def is_tried_again() -> bool:
        return (await stored()).attempts == 1

    async def is_asked() -> bool:
        return (await stored()).state is INPUT_REQUIRED

    await in_hand.until(is_tried_again)
    # After two deaths it is not run again at once: both of these are to do so in a while.
    c, d = await in_hand.start(relay), await in_hand.start(relay)
    b.stand_still()
    await in_hand.until(is_asked)
    is_first = (await stored()).holder == c.runtime.replica_id
    asking, other = (c, d) if is_first else (d, c)
    await asking.stop()
    await in_hand.pass_leases(2)
    assert (await other.get(task.id)).status.state is INPUT_REQUIRED
    answered = await in_hand.wait_for(other.send(send("blue", message_id="m-2", task_id=task.id)))
    assert (answered.status.state, told(answered)[-1]) == (COMPLETED, "blue")


# --- standing still -----------------------------------------------------------------------------


async def test_a_replica_that_comes_back_cannot_write(
    replicas: Replicas, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)
    await until_artifacts(replicas, b, task.id, 1)
    a.stand_still()
    await replicas.until(lambda: second.runs == 1)
    # Its code goes on before it finds out that time has passed.
    with caplog.at_level(logging.WARNING):
        first.allow(1)
        await replicas.until(lambda: a.runtime.live_tasks == 0)
    assert len((await b.get(task.id)).artifacts) == 1
    a.go_on()
    second.allow(1)
    await until_state(replicas, a, task.id, COMPLETED)
    numbers = await log_of(a, task.id)
    assert numbers == list(range(1, len(numbers) + 1))
    assert any("its turn is stopped here" in message for message in caplog.messages)


async def test_the_streams_of_a_replica_that_comes_back_go_on(replicas: Replicas) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)
    await until_artifacts(replicas, b, task.id, 1)
    stream = asyncio.ensure_future(frames(await a.subscribe(task.id)))
    a.stand_still()
    await replicas.until(lambda: second.runs == 1)
    second.allow(1)
    await until_state(replicas, b, task.id, COMPLETED)
    a.go_on()
    seen = await replicas.wait_for(stream)
    numbers = [number for number, _ in seen]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert seen[-1][1] == "COMPLETED"


async def test_who_waits_at_a_replica_that_comes_back_gets_what_others_made(
    replicas: Replicas,
) -> None:
    first, second = Steps(1), Steps(1)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    sending = asyncio.ensure_future(a.send(send()))
    await replicas.until(lambda: first.runs == 1)
    a.stand_still()
    await replicas.until(lambda: second.runs == 1)
    a.go_on()
    await replicas.until(lambda: a.runtime.live_tasks == 0)
    second.allow(1)
    task = await replicas.wait_for(sending)
    assert (task.status.state, len(task.artifacts)) == (COMPLETED, 1)
    assert await b.get(task.id) == task


async def test_a_replica_that_stood_still_does_not_answer_from_memory(replicas: Replicas) -> None:
    first, second = Steps(1), Steps(1)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    a.stand_still()
    second.allow(1)
    await until_state(replicas, b, task.id, COMPLETED)
    # The first thing it does when it comes back, before it can find out about its lease.
    assert (await a.get(task.id)).status.state is COMPLETED


async def test_a_replica_that_stood_still_and_lost_nothing_goes_on(replicas: Replicas) -> None:
    steps = Steps(1)
    a = await replicas.start(steps.run)
    task = await a.send(send(return_immediately=True))
    a.stand_still()
    await replicas.pass_leases(2)
    assert (await a.get(task.id)).status.state is TaskState.WORKING
    a.go_on()
    steps.allow(1)
    await until_state(replicas, a, task.id, COMPLETED)
    assert steps.runs == 1


# --- leaving ------------------------------------------------------------------------------------


async def test_a_replica_that_stops_hands_its_work_over_at_once(replicas: Replicas) -> None:
    first, second = Steps(2), Steps(2)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    first.allow(1)
    await until_artifacts(replicas, b, task.id, 1)
    stream = asyncio.ensure_future(frames(await b.subscribe(task.id)))
    second.allow(1)
    await a.stop()
    # No time passes: it is a hint that makes the other take it up.
    async with asyncio.timeout(10):
        seen = await stream
    assert seen[-1][1] == "COMPLETED"
    stored = await b.store.load(SCOPE, task.id)
    assert stored is not None
    assert stored.attempts == 0


async def test_a_replica_that_has_handed_its_work_over_tells_what_became_of_it(
    replicas: Replicas,
) -> None:
    first, second = Steps(1), Steps(1)
    a, b = await replicas.start(first.run), await replicas.start(second.run)
    task = await a.send(send(return_immediately=True))
    await replicas.until(lambda: first.runs == 1)
    # It still answers what it is asked.
    await a.runtime.drain()
    second.allow(1)
    await until_state(replicas, b, task.id, COMPLETED)
    assert (await a.get(task.id)).status.state is COMPLETED


async def test_a_replica_that_still_hands_over_knows_of_what_it_has_handed_over(
    in_hand: Replicas,
) -> None:
    first, second = Steps(1), Steps(1)
    a, b = await in_hand.start(first.run), await in_hand.start(second.run)
    task = await a.send(send(return_immediately=True))
    await settle()
    # The other task has something on its way to the store, so it takes longer to hand it over.
    hold(a).writing.close()
    sending = asyncio.ensure_future(a.send(send(message_id="m-2")))
    await hold(a).writing.until_reached()
    draining = asyncio.ensure_future(a.runtime.drain())
    second.allow(1)
    await until_state(in_hand, b, task.id, COMPLETED)
    assert numbers_of(a).has_lease
    assert (await a.get(task.id)).status.state is COMPLETED
    hold(a).let_writes_go()
    await draining
    await asyncio.gather(sending, return_exceptions=True)


async def test_a_question_is_answered_after_its_replica_has_left(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start(relay)
    task = await a.send(send())
    await a.stop()
    answered = await replicas.wait_for(b.send(send("blue", message_id="m-2", task_id=task.id)))
    assert (answered.status.state, told(answered)[-1]) == (COMPLETED, "blue")


# --- lost hints ---------------------------------------------------------------------------------


async def test_a_stream_is_whole_although_no_hint_arrives(replicas: Replicas) -> None:
    steps = Steps(3)
    a, b = await replicas.start(steps.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    stream = asyncio.ensure_future(frames(await b.subscribe(task.id)))
    replicas.exchange.cut()
    steps.allow(3)
    seen = await replicas.wait_for(stream)
    numbers = [number for number, _ in seen]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert seen[-1][1] == "COMPLETED"


async def test_a_message_is_delivered_although_no_hint_arrives(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start()
    task = await a.send(send())
    replicas.exchange.cut()
    answered = await replicas.wait_for(b.send(send("blue", message_id="m-2", task_id=task.id)))
    assert told(answered)[-1] == "blue"


async def test_what_was_missed_is_made_up_for_as_soon_as_hints_arrive_again(
    replicas: Replicas,
) -> None:
    steps = Steps(1)
    a, b = await replicas.start(steps.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    stream = asyncio.ensure_future(frames(await b.subscribe(task.id)))
    replicas.exchange.cut()
    steps.allow(1)
    await until_state(replicas, a, task.id, COMPLETED)
    replicas.exchange.mend()
    # No time passes.
    async with asyncio.timeout(10):
        assert (await stream)[-1][1] == "COMPLETED"


async def test_who_sends_again_as_the_task_changes_hands_gets_what_becomes_of_it(
    in_hand: Replicas,
) -> None:
    first, second = Steps(1), Steps(1)
    second.allow(1)
    a, b = await in_hand.start(first.run), await in_hand.start(second.run)
    task = await a.send(send(return_immediately=True))
    await in_hand.pass_leases(2)
    # It is recognised, and the inbox is looked into; meanwhile the replica stands still.
    hold(a).read.close()
    again = asyncio.ensure_future(a.send(send()))
    await hold(a).read.until_reached()
    a.stand_still()
    await until_state(in_hand, b, task.id, COMPLETED)
    a.go_on()
    await in_hand.until(lambda: a.runtime.live_tasks == 0)
    hold(a).read.open()
    assert (await in_hand.wait_for(again)).status.state is COMPLETED
