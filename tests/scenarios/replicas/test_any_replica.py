"""Any replica answers any request: whatever is asked of one that does not hold the task."""

import asyncio

import pytest

from dragoman.errors import (
    TaskEndedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.documents import EventDocument
from dragoman.model.messages import text_of
from dragoman.model.operations import ListTasksRequest
from dragoman.model.tasks import TaskState
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Replicas
from tests.scenarios.replicas.telling import Steps, relay, repeat, told
from tests.support.server.agency import CALL, Held, ask, frames, send
from tests.support.server.fakes import SCOPE, agent_message

pytestmark = pytest.mark.anyio

COMPLETED = TaskState.COMPLETED
CANCELED = TaskState.CANCELED
WORKING = TaskState.WORKING
INPUT_REQUIRED = TaskState.INPUT_REQUIRED


# --- reading ------------------------------------------------------------------------------------


async def test_a_task_of_one_replica_is_read_at_another(replicas: Replicas) -> None:
    held = Held()
    a, b = await replicas.start(held.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    assert (await b.get(task.id)).status.state in (TaskState.SUBMITTED, WORKING)
    held.released.set()

    async def has_ended() -> bool:
        return (await b.get(task.id)).status.state is COMPLETED

    await replicas.until(has_ended)


async def test_a_stream_at_one_replica_shows_what_happens_at_another(replicas: Replicas) -> None:
    steps = Steps(3)
    a, b = await replicas.start(steps.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    here, there = await a.subscribe(task.id), await b.subscribe(task.id)
    following = asyncio.gather(frames(here), frames(there))
    steps.allow(3)
    seen_here, seen_there = await replicas.wait_for(following)
    assert seen_there[1:] == seen_here[1:][-len(seen_there[1:]) :]
    assert [kind for _, kind in seen_there[-4:]] == ["artifact"] * 3 + ["COMPLETED"]
    numbers = [number for number, _ in seen_there]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


async def test_a_stream_goes_on_at_another_replica_from_where_it_was(replicas: Replicas) -> None:
    steps = Steps(4)
    a, b = await replicas.start(steps.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    steps.allow(2)

    async def has_two() -> bool:
        return len((await b.get(task.id)).artifacts) == 2

    await replicas.until(has_two)
    stream = await b.subscribe(task.id, cursor=3)
    steps.allow(2)
    seen = await replicas.wait_for(frames(stream))
    assert [number for number, _ in seen] == [3, 4, 5, 6, 7]
    assert seen[-1] == (7, "COMPLETED")


async def test_many_follow_one_task_elsewhere_and_leave_nothing_behind(replicas: Replicas) -> None:
    steps = Steps(2)
    a, b = await replicas.start(steps.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    streams = [await b.subscribe(task.id) for _ in range(5)]
    following = asyncio.gather(*map(frames, streams[1:]))
    await streams[0].aclose()
    steps.allow(2)
    seen = await replicas.wait_for(following)
    assert all(each[-1][1] == "COMPLETED" for each in seen)
    assert len(b.runtime.hub) == 0
    assert not b.bus.listeners.is_followed(task.id)


# --- further messages ---------------------------------------------------------------------------


async def test_a_question_of_one_replica_is_answered_at_another(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start()
    task = await a.send(send())
    assert task.status.state is INPUT_REQUIRED
    answered = await replicas.wait_for(b.send(send("blue", message_id="m-2", task_id=task.id)))
    assert (answered.status.state, told(answered)[-1]) == (COMPLETED, "blue")


async def test_an_answer_at_another_replica_is_followed_to_the_end(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start()
    task = await a.send(send())
    stream = await b.stream(send("blue", message_id="m-2", task_id=task.id))
    kinds = [kind for _, kind in await replicas.wait_for(frames(stream))]
    # Its holder may be done with it before the stream begins; then that is the task it begins with.
    assert kinds[-2:] == ["WORKING", "COMPLETED"] or kinds == ["task COMPLETED"]


async def test_an_answer_may_be_left_at_another_replica_without_waiting(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start()
    task = await a.send(send())
    left = await b.send(send("blue", message_id="m-2", task_id=task.id, return_immediately=True))
    assert "blue" in told(left)

    async def has_ended() -> bool:
        return (await a.get(task.id)).status.state is COMPLETED

    await replicas.until(has_ended)


async def test_a_message_for_a_task_at_work_elsewhere_gets_a_turn_of_its_own(
    replicas: Replicas,
) -> None:
    held = Held()

    async def run(turn: Turn) -> Outcome:
        await held.run(turn)
        return await repeat(turn)

    a, b = await replicas.start(run), await replicas.start()
    task = await a.send(send("one", return_immediately=True))
    sending = asyncio.ensure_future(b.send(send("two", message_id="m-2", task_id=task.id)))
    await replicas.until(lambda: bool(a.runtime.live_tasks) and held.reached.is_set())

    async def is_there() -> bool:
        return "two" in told(await a.get(task.id))

    await replicas.until(is_there)
    held.released.set()
    ended = await replicas.wait_for(sending)
    assert ended.status.state is COMPLETED
    assert [text for text in told(ended) if text in ("one", "two")] == ["one", "one", "two", "two"]


async def test_a_message_that_comes_as_the_task_ends_is_not_left_behind(
    replicas: Replicas,
) -> None:
    held = Held()

    async def run(turn: Turn) -> Outcome:
        await held.run(turn)
        return await repeat(turn)

    a, b = await replicas.start(run), await replicas.start()
    task = await a.send(send("one", return_immediately=True))
    await replicas.until(held.reached.is_set)
    # The holder does not hear of it, so it ends the task: the store knows better.
    replicas.exchange.cut()
    left = await b.send(send("two", message_id="m-2", task_id=task.id, return_immediately=True))
    assert "two" in told(left)
    held.released.set()

    async def has_ended() -> bool:
        return (await b.get(task.id)).status.state is COMPLETED

    await replicas.until(has_ended)
    ended = await b.get(task.id)
    assert [text for text in told(ended) if text in ("one", "two")] == ["one", "one", "two", "two"]
    numbers = [event.seq for event in await b.store.read_events(task.id, after=0, limit=99)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_messages_get_their_turns_in_the_order_of_their_acknowledgement(
    replicas: Replicas,
) -> None:
    held = Held()

    async def run(turn: Turn) -> Outcome:
        if text_of(turn.message.parts) == "one":
            await held.run(turn)
        return await repeat(turn)

    a, b = await replicas.start(run), await replicas.start()
    task = await a.send(send("one", return_immediately=True))
    await replicas.until(held.reached.is_set)
    # The holder does not hear of the second before it gets the third.
    replicas.exchange.cut()
    await b.send(send("two", message_id="m-2", task_id=task.id, return_immediately=True))
    await a.send(send("three", message_id="m-3", task_id=task.id, return_immediately=True))
    held.released.set()
    # Sent again, it waits for the end.
    ended = await replicas.wait_for(a.send(send("three", message_id="m-3", task_id=task.id)))
    turns = ["one", "one", "two", "two", "three", "three"]
    assert [text for text in told(ended) if text in turns] == turns


async def test_no_turn_is_begun_before_it_is_known_what_was_acknowledged_first(
    in_hand: Replicas,
) -> None:
    held = Held()
    turns: list[str] = []

    async def run(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        if turns == ["one"]:
            await held.run(turn)
        return Completed()

    a, b = await in_hand.start(run), await in_hand.start()
    task = await a.send(send("one", return_immediately=True))
    await in_hand.until(held.reached.is_set)
    in_hand.exchange.cut()
    await b.send(send("two", message_id="m-2", task_id=task.id, return_immediately=True))
    hold(a).read.close()
    await a.send(send("three", message_id="m-3", task_id=task.id, return_immediately=True))
    held.released.set()
    await settle()
    assert turns == ["one"]
    hold(a).read.open()
    await in_hand.until(lambda: len(turns) == 3)
    assert turns == ["one", "two", "three"]


async def test_a_turn_that_looks_for_messages_gets_them_in_that_order(replicas: Replicas) -> None:
    held = Held()
    found: list[str] = []

    async def run(turn: Turn) -> Outcome:
        await held.run(turn)
        while len(found) < 2:
            if (message := await turn.take_message()) is not None:
                found.append(text_of(message.parts))
            await asyncio.sleep(0)
        return Completed()

    a, b = await replicas.start(run), await replicas.start()
    task = await a.send(send("one", return_immediately=True))
    await replicas.until(held.reached.is_set)
    replicas.exchange.cut()
    await b.send(send("two", message_id="m-2", task_id=task.id, return_immediately=True))
    await a.send(send("three", message_id="m-3", task_id=task.id, return_immediately=True))
    held.released.set()
    await replicas.until(lambda: len(found) == 2)
    assert found == ["two", "three"]


@pytest.mark.parametrize(
    "at",
    [
        0,  # the replica that holds the task
        1,  # another one, whose hints get lost, so that the holder finds the message late
    ],
)
async def test_a_message_that_was_sent_before_the_question_is_no_answer_to_it(
    replicas: Replicas, at: int
) -> None:
    held = Held()
    answers: list[str] = []

    async def run(turn: Turn) -> Outcome:
        if text_of(turn.message.parts) != "hello":
            return await repeat(turn)
        await held.run(turn)
        answer = await turn.ask(agent_message("delete everything?"))
        answers.append(text_of(answer.parts))
        return Completed()

    members = await replicas.start(run), await replicas.start(run)
    task = await members[0].send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    replicas.exchange.cut()
    copying = send("cc Bob", message_id="m-2", task_id=task.id, return_immediately=True)
    assert (await members[at].send(copying)).status.state is WORKING
    held.released.set()

    async def is_asked() -> bool:
        return (await members[1].get(task.id)).status.state is INPUT_REQUIRED

    await replicas.until(is_asked)
    await replicas.pass_leases(2)
    assert answers == []
    assert await is_asked()
    # It waits for the turn after this one.
    answer = send("no", message_id="m-3", task_id=task.id)
    ended = await replicas.wait_for(members[1].send(answer))
    assert (ended.status.state, answers) == (COMPLETED, ["no"])
    assert told(ended).count("cc Bob") == 2  # the message, and the agent's echo of it


async def test_a_message_for_a_task_that_ended_elsewhere_is_refused(replicas: Replicas) -> None:
    a, b = await replicas.start(), await replicas.start()
    task = await a.send(send())
    with pytest.raises(TaskEndedError):
        await b.send(send("more", message_id="m-2", task_id=task.id))


async def test_a_task_that_was_put_aside_is_answered_anywhere(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start(relay)
    task = await a.send(send())
    await replicas.until(lambda: a.runtime.live_tasks == 0)

    async def is_free() -> bool:
        stored = await b.store.load(SCOPE, task.id)
        return stored is not None and stored.holder == ""

    await replicas.until(is_free)
    answered = await replicas.wait_for(b.send(send("blue", message_id="m-2", task_id=task.id)))
    assert (answered.status.state, told(answered)[-1]) == (COMPLETED, "blue")


async def test_a_task_that_was_put_aside_with_a_message_for_its_next_turn_is_left_alone(
    replicas: Replicas,
) -> None:
    held = Held()

    async def run(turn: Turn) -> Outcome:
        await held.run(turn)
        return await relay(turn)

    a, b = await replicas.start(run), await replicas.start(run)
    task = await a.send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    await a.send(send("two", message_id="m-2", task_id=task.id, return_immediately=True))
    held.released.set()

    async def is_free() -> bool:
        stored = await b.store.load(SCOPE, task.id)
        return stored is not None and stored.holder == ""

    await replicas.until(is_free)
    before = await b.store.load(SCOPE, task.id)
    await replicas.pass_leases(4)
    assert await b.store.load(SCOPE, task.id) == before


# --- cancel -------------------------------------------------------------------------------------


async def test_a_task_of_one_replica_is_canceled_at_another(replicas: Replicas) -> None:
    held = Held()
    a, b = await replicas.start(held.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    canceled = await replicas.wait_for(b.cancel(task.id))
    assert canceled.status.state is CANCELED
    assert (await a.get(task.id)).status.state is CANCELED
    await replicas.until(lambda: a.runtime.live_tasks == 0)
    with pytest.raises(TaskNotCancelableError):
        await b.cancel(task.id)


async def test_a_task_that_waits_elsewhere_is_canceled(replicas: Replicas) -> None:
    a, b = await replicas.start(ask), await replicas.start()
    task = await a.send(send())
    assert (await replicas.wait_for(b.cancel(task.id))).status.state is CANCELED


async def test_a_task_that_ends_before_it_can_be_canceled_is_not_cancelable(
    replicas: Replicas,
) -> None:
    held = Held()
    a, b = await replicas.start(held.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    replicas.exchange.cut()
    canceling = asyncio.ensure_future(b.cancel(task.id))

    async def is_left() -> bool:
        return bool(await a.store.read_inbox(task.id))

    await replicas.until(is_left)
    # Word of it was left first, so it counts: the end is decided anew, and is a cancellation.
    held.released.set()
    assert (await replicas.wait_for(canceling)).status.state is CANCELED


async def test_another_owners_task_is_found_at_no_replica(replicas: Replicas) -> None:
    a, b = await replicas.start(ask), await replicas.start()
    task = await a.send(send())
    for member in (a, b):
        with pytest.raises(TaskNotFoundError):
            await member.send(send("x", message_id="m-3", task_id=f"{task.id}x"))


# --- the same message twice ---------------------------------------------------------------------


async def test_the_same_message_at_two_replicas_makes_one_task(replicas: Replicas) -> None:
    a, b = await replicas.start(repeat), await replicas.start(repeat)
    first, second = await replicas.wait_for(asyncio.gather(a.send(send()), b.send(send())))
    assert first == second
    assert first.status.state is COMPLETED


async def test_the_same_message_streamed_at_two_replicas_shows_one_task(
    replicas: Replicas,
) -> None:
    a, b = await replicas.start(repeat), await replicas.start(repeat)
    streams = await asyncio.gather(a.stream(send()), b.stream(send()))
    first, second = await replicas.wait_for(asyncio.gather(*map(frames, streams)))
    assert first[-1][0] == second[-1][0]
    assert (await a.service.list_tasks(ListTasksRequest(), CALL)).total_size == 1


async def test_a_message_that_is_sent_again_elsewhere_gets_what_the_first_one_got(
    replicas: Replicas,
) -> None:
    held = Held()
    a, b = await replicas.start(held.run), await replicas.start()
    first = asyncio.ensure_future(a.send(send()))
    await replicas.until(held.reached.is_set)
    second = asyncio.ensure_future(b.send(send()))
    await asyncio.sleep(0)
    held.released.set()
    assert await replicas.wait_for(first) == await replicas.wait_for(second)


async def test_an_answer_that_is_sent_at_two_replicas_counts_once(replicas: Replicas) -> None:
    a, b = await replicas.start(relay), await replicas.start()
    task = await a.send(send())
    answer = send("blue", message_id="m-2", task_id=task.id)
    first, second = await replicas.wait_for(asyncio.gather(a.send(answer), b.send(answer)))
    assert first.status.state is second.status.state is COMPLETED
    assert told(await a.get(task.id)).count("blue") == 2  # the answer, and the agent's echo of it


async def test_who_sends_a_message_as_a_question_comes_up_is_told_of_the_question(
    in_hand: Replicas,
) -> None:
    """The message was sent before there was a question, so it waits; its sender must not."""
    held = Held()

    async def ask_then(turn: Turn) -> Outcome:
        await held.run(turn)
        return await relay(turn)

    a, b = await in_hand.start(ask_then), await in_hand.start(ask_then)
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    hold(b).posting.close()
    sending = asyncio.ensure_future(b.send(send("more", message_id="m-2", task_id=task.id)))
    await hold(b).posting.until_reached()
    held.released.set()
    await settle()
    hold(b).posting.open()
    told_of = await in_hand.wait_for(sending)
    assert told_of.status.state is TaskState.INPUT_REQUIRED


async def test_who_waits_for_a_task_of_another_is_told_when_the_replica_stops(
    in_hand: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    a, b = await in_hand.start(held.run), await in_hand.start(held.run)
    task = await b.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    is_reading = asyncio.Event()

    async def read_for_ever(
        task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:  # As when the database takes its time.
        del task_id, after, limit
        is_reading.set()
        await asyncio.Event().wait()
        return ()

    monkeypatch.setattr(hold(a), "read_events", read_for_ever)
    sending = asyncio.ensure_future(a.send(send("more", message_id="m-2", task_id=task.id)))
    await in_hand.until(is_reading.is_set)
    await in_hand.wait_for(a.stop())
    with pytest.raises(UnavailableError):
        await in_hand.wait_for(sending)
