"""An end that the store may refuse: until it is durable nobody sees it, or is refused for it."""

import asyncio

import pytest
from msgspec import Struct

from dragoman.errors import TaskEndedError, TaskNotCancelableError
from dragoman.model.messages import text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import Done, Scope, SendRecord, SharedTaskStore, StoredTask, TaskWrite
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import relay, told
from tests.support.server.agency import Held, frames, send
from tests.support.server.fakes import SCOPE, ScriptedWorker, agent_message

pytestmark = pytest.mark.anyio

COMPLETED = TaskState.COMPLETED
CANCELED = TaskState.CANCELED
WORKING = TaskState.WORKING

NAMED = Call(alias="mine", begins_anew=True)


class HeldEnds:
    """Keeps the writes of one replica that end a task, until the test lets them go."""

    def __init__(self, store: SharedTaskStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self._append = store.append
        self._writes: list[tuple[TaskWrite, Done]] = []
        self._is_open = False
        monkeypatch.setattr(store, "append", self.append)

    def append(self, write: TaskWrite, done: Done) -> None:
        if self._is_open or write.state is None or not write.state.is_terminal:
            self._append(write, done)
        else:
            self._writes.append((write, done))

    def has_any(self) -> bool:
        return bool(self._writes)

    def let_go(self) -> None:
        self._is_open = True
        for write, done in self._writes:
            self._append(write, done)


class Script:
    """Turns that repeat their message; each waits until the test releases it."""

    def __init__(self) -> None:
        self.first = Held()
        self.others = Held()

    async def run(self, turn: Turn) -> Outcome:
        text = text_of(turn.message.parts)
        await (self.first if text == "one" else self.others).run(turn)
        return Completed(agent_message(f"done with {text}"))


class Stage(Struct):
    """A task at ``a`` whose end is on its way to the store."""

    a: Member
    b: Member
    task: Task
    script: Script
    ends: HeldEnds

    async def leave_word(self) -> None:
        """Let the other replica acknowledge a message that the end does not know of."""
        await self.b.send(
            send("two", message_id="m-2", task_id=self.task.id, return_immediately=True)
        )


async def ending(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> Stage:
    script = Script()
    a, b = await replicas.start(script.run), await replicas.start()
    task = await a.send(send("one", return_immediately=True), NAMED)
    await replicas.until(script.first.reached.is_set)
    ends = HeldEnds(a.store, monkeypatch)
    script.first.released.set()
    await replicas.until(ends.has_any)
    return Stage(a, b, task, script, ends)


async def look_around() -> None:
    """Let a request that was just made get as far as it can without the store."""
    for _ in range(10):
        await asyncio.sleep(0)


async def states_of(member: Member, task_id: str) -> list[str]:
    """Return what the log tells of a task, in the words of ``frames``."""
    return [kind for _, kind in await frames(await member.subscribe(task_id, cursor=1))][1:]


# --- an end that is refused ---------------------------------------------------------------------


async def test_an_end_that_is_refused_is_not_read(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    await at.leave_word()
    reading = asyncio.ensure_future(at.a.get(at.task.id))
    await look_around()
    at.ends.let_go()
    task = await replicas.wait_for(reading)
    assert (task.status.state, told(task)[-1]) == (WORKING, "two")


async def test_an_end_that_is_refused_is_not_followed(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    await at.leave_word()
    subscribing = asyncio.ensure_future(at.a.subscribe(at.task.id))
    await look_around()
    at.ends.let_go()
    stream = await replicas.wait_for(subscribing)
    at.script.others.released.set()
    seen = await replicas.wait_for(frames(stream))
    log = [event.seq for event in await at.b.store.read_events(at.task.id, after=0, limit=99)]
    assert seen[0][1] == "task WORKING"
    assert seen[-1] == (log[-1], "COMPLETED")
    assert [number for number, _ in seen] == log[-len(seen) :]


async def test_a_message_is_delivered_although_the_task_has_an_end_that_is_refused(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    await at.leave_word()
    sending = asyncio.ensure_future(at.a.send(send("three", message_id="m-3", task_id=at.task.id)))
    await look_around()
    at.ends.let_go()
    at.script.others.released.set()
    task = await replicas.wait_for(sending)
    assert task.status.state is COMPLETED
    # Who was acknowledged first is first.
    assert told(task)[-4:] == ["two", "done with two", "three", "done with three"]


async def test_a_task_with_an_end_that_is_refused_can_be_canceled(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    await at.leave_word()
    canceling = asyncio.ensure_future(at.a.cancel(at.task.id))
    await look_around()
    at.ends.let_go()
    task = await replicas.wait_for(canceling)
    assert (task.status.state, "two" in told(task)) == (CANCELED, True)
    kinds = await states_of(at.b, at.task.id)
    assert [kind for kind in kinds if kind in ("COMPLETED", "CANCELED")] == ["CANCELED"]


async def test_a_task_with_an_end_that_is_refused_keeps_its_name(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    await at.leave_word()
    sending = asyncio.ensure_future(
        at.a.send(send("three", message_id="m-3", return_immediately=True), NAMED)
    )
    await look_around()
    at.ends.let_go()
    assert (await replicas.wait_for(sending)).id == at.task.id


async def test_the_answer_to_a_message_has_no_end_that_is_refused(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    a, b = await replicas.start(held.run), await replicas.start()
    task = await a.send(send(return_immediately=True))
    await replicas.until(held.reached.is_set)
    ends = HeldEnds(a.store, monkeypatch)
    put_inbox = a.store.put_inbox
    is_putting, may_put = asyncio.Event(), asyncio.Event()

    async def put_slowly(task_id: str, body: bytes, send: SendRecord | None, *, epoch: int) -> int:
        is_putting.set()
        await may_put.wait()
        return await put_inbox(task_id, body, send, epoch=epoch)

    monkeypatch.setattr(a.store, "put_inbox", put_slowly)
    more = send("more", message_id="m-2", task_id=task.id, return_immediately=True)
    sending = asyncio.ensure_future(a.send(more))
    await replicas.until(is_putting.is_set)
    canceling = asyncio.ensure_future(a.cancel(task.id))
    await replicas.until(ends.has_any)
    await b.send(send("two", message_id="m-3", task_id=task.id, return_immediately=True))
    may_put.set()

    async def is_put() -> bool:
        return len(await a.store.read_inbox(task.id)) == 2

    await replicas.until(is_put)
    await look_around()
    assert not sending.done()
    ends.let_go()
    answer, canceled = await replicas.wait_for(asyncio.gather(sending, canceling))
    assert answer == canceled == await b.get(task.id)
    assert set(told(answer)) == {"hello", "more", "two"}


# --- an end that stands -------------------------------------------------------------------------


async def test_an_end_is_read_once_it_is_durable(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    reading = asyncio.ensure_future(at.a.get(at.task.id))
    await look_around()
    assert not reading.done()
    at.ends.let_go()
    assert (await replicas.wait_for(reading)).status.state is COMPLETED


async def test_a_message_is_refused_once_the_end_is_durable(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    sending = asyncio.ensure_future(at.a.send(send("more", message_id="m-2", task_id=at.task.id)))
    await look_around()
    assert not sending.done()
    at.ends.let_go()
    with pytest.raises(TaskEndedError):
        await replicas.wait_for(sending)


async def test_a_cancellation_is_refused_once_the_end_is_durable(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = await ending(replicas, monkeypatch)
    canceling = asyncio.ensure_future(at.a.cancel(at.task.id))
    await look_around()
    assert not canceling.done()
    at.ends.let_go()
    with pytest.raises(TaskNotCancelableError):
        await replicas.wait_for(canceling)


async def test_who_asks_for_an_end_that_another_replica_has_overtaken_is_told_of_the_task(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, second = Script(), Script()
    a, b = await replicas.start(script.run), await replicas.start(second.run)
    task = await a.send(send("one", return_immediately=True))
    await replicas.until(script.first.reached.is_set)
    ends = HeldEnds(a.store, monkeypatch)
    script.first.released.set()
    await replicas.until(ends.has_any)
    reading = asyncio.ensure_future(a.get(task.id))
    await look_around()
    a.stand_still()
    await replicas.until(second.first.reached.is_set)
    ends.let_go()
    assert (await replicas.wait_for(reading)).status.state is WORKING
    assert (await b.get(task.id)).status.state is WORKING


# --- a task that comes to life meanwhile --------------------------------------------------------


async def parked(replicas: Replicas) -> tuple[Member, Task]:
    """Return a task that waits and is in no replica's memory."""
    a = await replicas.start(relay)
    task = await a.send(send())

    async def is_free() -> bool:
        stored = await a.store.load(SCOPE, task.id)
        return stored is not None and stored.holder == ""

    await replicas.until(is_free)
    return a, task


async def test_of_two_who_cancel_a_task_one_is_refused_once_the_end_is_durable(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, task = await parked(replicas)
    ends = HeldEnds(a.store, monkeypatch)
    canceling = [asyncio.ensure_future(a.cancel(task.id)) for _ in range(2)]
    await replicas.until(ends.has_any)
    await look_around()
    assert not any(each.done() for each in canceling)
    ends.let_go()
    results = await replicas.wait_for(asyncio.gather(*canceling, return_exceptions=True))
    refused = [each for each in results if isinstance(each, TaskNotCancelableError)]
    canceled = [each for each in results if isinstance(each, Task)]
    assert (len(refused), [each.status.state for each in canceled]) == (1, [CANCELED])


async def test_who_finds_a_task_waiting_that_is_being_canceled_is_refused_once_it_is(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, task = await parked(replicas)
    ends = HeldEnds(a.store, monkeypatch)
    load = a.store.load
    has_read, may_go_on = asyncio.Event(), asyncio.Event()

    async def load_slowly(scope: Scope, task_id: str) -> StoredTask | None:
        stored = await load(scope, task_id)
        monkeypatch.setattr(a.store, "load", load)
        has_read.set()
        await may_go_on.wait()
        return stored

    monkeypatch.setattr(a.store, "load", load_slowly)
    sending = asyncio.ensure_future(a.send(send("blue", message_id="m-2", task_id=task.id)))
    await replicas.until(has_read.is_set)
    canceling = asyncio.ensure_future(a.cancel(task.id))
    await replicas.until(ends.has_any)
    may_go_on.set()
    await look_around()
    assert not sending.done()
    ends.let_go()
    with pytest.raises(TaskEndedError):
        await replicas.wait_for(sending)
    assert (await replicas.wait_for(canceling)).status.state is CANCELED


async def test_what_two_replicas_are_asked_to_cancel_is_cleaned_up_once(
    in_hand: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    worker = ScriptedWorker(held.run)
    a, b = await in_hand.serve(worker), await in_hand.start()
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    ends = HeldEnds(a.store, monkeypatch)
    canceling = [asyncio.ensure_future(a.cancel(task.id))]
    await in_hand.until(ends.has_any)
    canceling.append(asyncio.ensure_future(b.cancel(task.id)))
    await settle()
    ends.let_go()
    canceled = await in_hand.wait_for(asyncio.gather(*canceling))
    await in_hand.pass_seconds(20)
    assert [each.status.state for each in canceled] == [CANCELED, CANCELED]
    assert len(worker.canceled_turns) == 1


async def test_what_has_come_to_another_end_is_not_cleaned_up_after_as_if_canceled(
    in_hand: Replicas,
) -> None:
    held = Held()
    worker = ScriptedWorker(held.run)
    a, b = await in_hand.serve(worker), await in_hand.start()
    task = await a.send(send(return_immediately=True))
    await in_hand.until(held.reached.is_set)
    in_hand.exchange.cut()
    store = hold(a)
    await b.send(send("more", message_id="m-2", task_id=task.id, return_immediately=True))
    # The cancellation is refused for that message. While the inbox is read, the turn ends.
    store.read.close()
    canceling = asyncio.ensure_future(a.cancel(task.id))
    await store.read.until_reached()
    store.writing.close()
    held.released.set()
    await store.writing.until_reached()
    store.read.open()
    await settle()
    store.let_writes_go()
    with pytest.raises(TaskNotCancelableError):
        await in_hand.wait_for(canceling)
    await in_hand.pass_seconds(20)
    ended = await b.get(task.id)
    assert (ended.status.state, told(ended)[-1]) == (COMPLETED, "more")
    assert worker.canceled_turns == []


class Publishing:
    """Turns that publish what they were sent, when the test lets them; they are counted."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.at_work: set[str] = set()
        self.most = 0
        self.first, self.later = asyncio.Event(), asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        """Publish once; the very first turn has a gate of its own."""
        text = text_of(turn.message.parts)
        self.runs.append(text)
        gate = self.first if self.runs == ["one"] else self.later
        self.at_work.add(text)
        self.most = max(self.most, len(self.at_work))
        try:
            await turn.flush()
            await gate.wait()
            artifact = Artifact(artifact_id=text, parts=(Part(text=text),))
            await turn.artifact(artifact, last_chunk=True)
        finally:
            self.at_work.discard(text)
        return Completed()


async def test_a_task_that_is_run_again_while_its_end_is_decided_anew_does_not_end_by_that(
    in_hand: Replicas,
) -> None:
    script = Publishing()
    a, b = await in_hand.start(script.run), await in_hand.start(script.run)
    task = await a.send(send("one", return_immediately=True))
    await in_hand.until(lambda: script.runs == ["one"])
    await settle()
    in_hand.exchange.cut()
    store = hold(a)
    await b.send(send("two", message_id="m-2", task_id=task.id, return_immediately=True))
    store.read.close()
    script.first.set()
    await store.read.until_reached()  # The end was refused; the inbox is being read.
    store.writing.close()
    canceling = asyncio.ensure_future(a.cancel(task.id))
    await store.writing.until_reached()
    store.lose_writes()
    await in_hand.until(lambda: script.runs.count("one") == 2)
    store.read.open()
    await settle()
    script.later.set()
    await in_hand.wait_for(asyncio.gather(canceling, return_exceptions=True))
    await in_hand.pass_leases(2)
    ended = await b.get(task.id)
    assert {each.artifact_id for each in ended.artifacts} == {"one", "two"}
    assert script.most == 1
