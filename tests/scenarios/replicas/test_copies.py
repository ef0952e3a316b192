"""The same answer reaches the replica that holds the task, and another: it counts once.

That is what a client does that lost its connection, behind a balancer. The other replica leaves its
copy in the inbox, and the store then refuses what the holder writes: this message is known. What
the holder has made of it stands all the same.
"""

import asyncio
from typing import Final

import pytest

from dragoman.errors import TaskEndedError, UnavailableError
from dragoman.model.messages import text_of
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import Task, TaskState
from dragoman.server.settings import TaskSettings
from dragoman.server.tasks.retention import Retention
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.service.branches import branch
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import InboxItem
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send
from tests.support.server.fakes import agent_message

pytestmark = pytest.mark.anyio

COMPLETED: Final = TaskState.COMPLETED


class Asking:
    """Turns of which the first one asks; all of them then wait until the test releases them."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.released = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        """Note what the turn is about; the answer to the question is about nothing new."""
        text = text_of(turn.message.parts)
        self.turns.append(text)
        if text == "hello":
            await turn.ask(agent_message("which?"))
        await turn.flush()
        await self.released.wait()
        return Completed()


async def asked(
    replicas: Replicas, script: Asking, *, resumes: bool
) -> tuple[Member, Member, Task]:
    """Return two replicas, and a task of the first that waits for an answer."""
    a = await replicas.start(script.run, resumes=resumes)
    b = await replicas.start(resumes=resumes)
    task = await a.send(send())
    assert task.status.state is TaskState.INPUT_REQUIRED
    return a, b, task


def blue(task: Task, *, return_immediately: bool = False) -> SendMessageRequest:
    """Return the answer."""
    return send("blue", message_id="m-2", task_id=task.id, return_immediately=return_immediately)


async def test_a_copy_that_is_read_while_the_answer_is_refused_leads_to_no_turn(
    in_hand: Replicas,
) -> None:
    script = Asking()
    a, b, task = await asked(in_hand, script, resumes=True)
    store = hold(a)
    store.writing.close()
    store.read.close()
    at_a = asyncio.ensure_future(a.send(blue(task)))
    await store.writing.until_reached()
    at_b = asyncio.ensure_future(b.send(blue(task)))
    # The holder has heard of it, and what it finds in the inbox is on its way.
    await store.read.until_reached()
    store.let_writes_go()
    await settle()
    store.read.open()
    await settle()
    script.released.set()
    first, second = await in_hand.wait_for(asyncio.gather(at_a, at_b))
    assert first.status.state is second.status.state is COMPLETED
    assert script.turns == ["hello"]
    assert told(await b.get(task.id)).count("blue") == 1


async def test_a_replica_that_stops_while_it_looks_for_a_copy_leaves_the_task_to_others(
    in_hand: Replicas,
) -> None:
    script = Asking()
    script.released.set()
    a, b = await in_hand.start(script.run), await in_hand.start(script.run)
    task = await a.send(send())
    in_hand.exchange.cut()
    store = hold(a)
    store.writing.close()
    store.read.close()
    at_a = asyncio.ensure_future(a.send(blue(task)))
    await store.writing.until_reached()
    at_b = asyncio.ensure_future(b.send(blue(task)))
    await settle()
    store.let_writes_go()
    await store.read.until_reached()
    await a.stop()
    with pytest.raises(UnavailableError):
        await at_a
    assert (await in_hand.wait_for(at_b)).status.state is COMPLETED
    assert told(await b.get(task.id)).count("blue") == 1


async def test_who_sends_again_what_is_lost_with_its_task_is_not_told_that_it_was_delivered(
    in_hand: Replicas,
) -> None:
    a, b, task = await asked(in_hand, Asking(), resumes=True)
    store = hold(a)
    store.writing.close()
    first = asyncio.ensure_future(a.send(blue(task)))
    await store.writing.until_reached()
    a.stand_still()
    await in_hand.pass_leases(3)
    # The same message again, while it is looked whether the task is still held here: it is.
    store.losing.close()
    again = asyncio.ensure_future(a.send(blue(task)))
    await store.losing.until_reached()
    await b.cancel(task.id)
    store.let_writes_go()
    with pytest.raises(TaskEndedError):
        await in_hand.wait_for(first)
    store.losing.open()
    with pytest.raises(TaskEndedError):
        await in_hand.wait_for(again)
    assert "blue" not in told(await b.get(task.id))


async def test_a_further_message_that_is_on_its_way_when_the_answer_is_refused_gets_one_turn(
    in_hand: Replicas,
) -> None:
    script = Asking()
    a, b, task = await asked(in_hand, script, resumes=True)
    in_hand.exchange.cut()
    store = hold(a)
    store.writing.close()
    store.posted.close()
    at_a = asyncio.ensure_future(a.send(blue(task)))
    await store.writing.until_reached()
    at_b = asyncio.ensure_future(b.send(blue(task)))
    await settle()
    more = asyncio.ensure_future(a.send(send("more", message_id="m-3", task_id=task.id)))
    # It is in the store, of which the holder does not know yet.
    await store.posted.until_reached()
    store.let_writes_go()
    await settle()
    store.posted.open()
    script.released.set()
    answers = await in_hand.wait_for(asyncio.gather(at_a, at_b, more))
    assert [each.status.state for each in answers] == [COMPLETED] * 3
    assert script.turns == ["hello", "more"]
    ended = told(await b.get(task.id))
    assert (ended.count("blue"), ended.count("more")) == (1, 1)


async def test_who_sent_the_second_copy_is_answered_like_who_sent_the_first(
    in_hand: Replicas,
) -> None:
    script = Asking()
    a, b, task = await asked(in_hand, script, resumes=True)
    hold(a).writing.close()
    at_a = asyncio.ensure_future(a.send(blue(task, return_immediately=True)))
    await hold(a).writing.until_reached()
    await b.send(blue(task, return_immediately=True))
    hold(a).let_writes_go()
    left = await in_hand.wait_for(at_a)
    assert (left.status.state, told(left).count("blue")) == (TaskState.WORKING, 1)
    script.released.set()


@pytest.mark.parametrize(
    "is_told",
    [
        # The holder finds the copy in its inbox before it hears that its write is refused.
        True,
        # It hears of the copy by the refusal alone.
        False,
    ],
)
async def test_a_second_copy_does_not_fail_a_skill_that_is_not_to_be_run_again(
    in_hand: Replicas,
    is_told: bool,  # noqa: FBT001 - a row of a table
) -> None:
    script = Asking()
    script.released.set()
    a, b, task = await asked(in_hand, script, resumes=False)
    if not is_told:
        in_hand.exchange.cut()
    hold(a).writing.close()
    at_a = asyncio.ensure_future(a.send(blue(task)))
    await hold(a).writing.until_reached()
    at_b = asyncio.ensure_future(b.send(blue(task)))
    await settle()
    hold(a).let_writes_go()
    first, second = await in_hand.wait_for(asyncio.gather(at_a, at_b))
    assert first.status.state is second.status.state is COMPLETED
    assert script.turns == ["hello"]
    assert await b.store.read_inbox(task.id) == ()


async def test_an_answer_that_reaches_two_replicas_at_once_is_taken_once(
    replicas: Replicas,
) -> None:
    """Nothing is held back here: who is first is up to the store."""
    script = Asking()
    script.released.set()
    a = await replicas.start(script.run, resumes=False)
    b = await replicas.start(resumes=False)
    for number, order in enumerate(((a, b), (b, a)) * 3):
        task = await a.send(send(message_id=f"first-{number}"))
        answer = send("blue", message_id=f"second-{number}", task_id=task.id)
        sending = asyncio.gather(*(member.send(answer) for member in order))
        for ended in await replicas.wait_for(sending):
            assert (ended.status.state, told(ended).count("blue")) == (COMPLETED, 1), told(ended)
    assert set(script.turns) == {"hello"}


async def test_who_sends_an_answer_again_to_its_holder_is_not_asked_again(
    replicas: Replicas,
) -> None:
    script = Asking()
    script.released.set()
    a, b, task = await asked(replicas, script, resumes=True)
    # The holder hears nothing of what was left for it.
    replicas.exchange.cut()
    await b.send(blue(task, return_immediately=True))
    again = await replicas.wait_for(a.send(blue(task)))
    assert (again.status.state, told(again).count("blue")) == (COMPLETED, 1), told(again)


class Hurried:
    """The first turn ends when the test lets it; the turn of one message asks a question."""

    def __init__(self, asking: str) -> None:
        self.turns: list[str] = []
        self.answers: list[str] = []
        self.released = asyncio.Event()
        self._asking = asking

    async def run(self, turn: Turn) -> Outcome:
        """Note what the turn is about, and what it was answered."""
        text = text_of(turn.message.parts)
        self.turns.append(text)
        if text == "hello":
            await self.released.wait()
        if text == self._asking:
            answer = await turn.ask(agent_message("which?"))
            self.answers.append(text_of(answer.parts))
        return Completed()


@pytest.mark.parametrize(
    "asking",
    [
        "more",  # The copy has become a turn, which asks.
        "other",  # The copy waits for the turn after that of another message, which asks.
    ],
)
async def test_a_message_that_waits_for_an_end_is_no_answer_to_what_its_copy_leads_to(
    in_hand: Replicas, asking: str
) -> None:
    script = Hurried(asking)
    a, b = await in_hand.start(script.run), await in_hand.start(script.run)
    task = await a.send(send(return_immediately=True))
    await settle()
    hold(a).writing.close()
    script.released.set()
    await hold(a).writing.until_reached()
    more = send("more", message_id="m-2", task_id=task.id, return_immediately=True)
    # It waits until it is known whether the task has ended; the store is going to refuse that.
    at_a = asyncio.ensure_future(a.send(more))
    await settle()
    if asking == "other":
        other = send("other", message_id="m-3", task_id=task.id, return_immediately=True)
        await b.send(other)
    await b.send(more)
    hold(a).let_writes_go()
    await in_hand.wait_for(at_a)
    await in_hand.pass_leases(1)
    assert script.answers == []
    assert script.turns.count("more") == (asking == "more")
    assert told(await b.get(task.id)).count("more") == 1


async def test_of_two_answers_that_are_on_their_way_each_is_known_by_its_copy(
    in_hand: Replicas,
) -> None:
    turns: list[str] = []

    async def ask_twice(turn: Turn) -> Outcome:
        turns.append(text_of(turn.message.parts))
        if turns[-1] == "hello":
            await turn.ask(agent_message("which?"))
            await turn.ask(agent_message("and which?"))
        return Completed()

    a, b = await in_hand.start(ask_twice), await in_hand.start(ask_twice)
    task = await a.send(send())
    in_hand.exchange.cut()
    hold(a).writing.close()
    first = asyncio.ensure_future(a.send(blue(task, return_immediately=True)))
    await hold(a).writing.until_reached()
    await settle()
    await b.send(blue(task, return_immediately=True))
    red = send("red", message_id="m-3", task_id=task.id, return_immediately=True)
    second = asyncio.ensure_future(a.send(red))
    await settle()
    hold(a).let_writes_go()
    await in_hand.wait_for(asyncio.gather(first, second))
    await in_hand.pass_leases(2)
    ended = await b.get(task.id)
    assert (ended.status.state, turns) == (COMPLETED, ["hello"])
    assert [told(ended).count(text) for text in ("blue", "red")] == [1, 1]


class AskingTwice:
    """A turn that asks twice, and records something beside that when the test says so."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.recording = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        """Note what the turn is about."""
        self.turns.append(text_of(turn.message.parts))
        if self.turns[-1] == "hello":
            beside = asyncio.ensure_future(self._record(turn))
            await turn.ask(agent_message("which?"))
            await turn.ask(agent_message("and which?"))
            await beside
        return Completed()

    async def _record(self, turn: Turn) -> None:
        branch.set("beside")
        await self.recording.wait()
        await turn.record("step", "beside", b"1")


async def test_of_two_answers_that_wait_for_the_same_write_each_is_known(in_hand: Replicas) -> None:
    script = AskingTwice()
    a, b = await in_hand.start(script.run), await in_hand.start(script.run)
    task = await a.send(send())
    in_hand.exchange.cut()
    hold(a).writing.close()
    script.recording.set()
    await hold(a).writing.until_reached()
    answers = [
        send("blue", message_id="m-2", task_id=task.id, return_immediately=True),
        send("red", message_id="m-3", task_id=task.id, return_immediately=True),
    ]
    sends: list[asyncio.Future[Task]] = []
    for member, answer in ((a, answers[0]), (a, answers[1]), (b, answers[0])):
        sends.append(asyncio.ensure_future(member.send(answer)))
        await settle()
    hold(a).let_writes_go()
    await in_hand.wait_for(asyncio.gather(*sends))
    await in_hand.pass_leases(2)
    for answer in answers:
        ended = await in_hand.wait_for(b.send(answer))
        assert [told(ended).count(text) for text in ("blue", "red")] == [1, 1]
    assert "blue" not in script.turns


class Patient:
    """A turn that asks, and a replica that ends it for want of an answer when the test says so."""

    def __init__(self, questions: int = 1) -> None:
        self._questions = questions
        self.answers: list[str] = []

    async def run(self, turn: Turn) -> Outcome:
        """Note what was answered."""
        for _ in range(self._questions):
            self.answers.append(text_of((await turn.ask(agent_message("which?"))).parts))
        return Completed()

    async def begin(self, in_hand: Replicas) -> tuple[Member, Member, Task]:
        """Return two replicas, and a task of the first for which the second has an answer."""
        a, b = await in_hand.start(self.run), await in_hand.start(self.run)
        task = await a.send(send())
        await in_hand.pass_seconds(5)
        in_hand.exchange.cut()
        await b.send(blue(task, return_immediately=True))
        return a, b, task


def runner_of(member: Member) -> TaskSupervisor:
    return member.runtime._supervisor  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - there is no other way


async def expire(member: Member) -> None:
    """End what has waited for a second, if it has not been answered."""
    ages = TaskSettings(input_expiry_days=1 / 86_400, retention_days=0)
    clock = member.runtime.clock
    retention = Retention(
        store=member.store, supervisor=runner_of(member), clock=clock, settings=ages
    )
    await retention.enforce()


async def test_an_answer_that_is_not_known_yet_keeps_a_task_from_ending_for_want_of_it(
    in_hand: Replicas,
) -> None:
    script = Patient()
    a, b, task = await script.begin(in_hand)
    await expire(a)
    await in_hand.pass_seconds(10)
    ended = await b.get(task.id)
    assert (ended.status.state, script.answers) == (COMPLETED, ["blue"])


async def test_so_does_one_that_gets_known_just_when_that_end_is_refused(
    in_hand: Replicas,
) -> None:
    script = Patient()
    a, b, task = await script.begin(in_hand)
    hold(a).read.close()
    hold(a).writing.close()
    expiring = asyncio.ensure_future(expire(a))
    await hold(a).writing.until_reached()
    live = runner_of(a).held(task.id)
    assert live is not None
    taking = asyncio.ensure_future(runner_of(a).take_in(live))
    await hold(a).read.until_reached()
    hold(a).let_writes_go(beside=hold(a).read.open)
    await in_hand.wait_for(asyncio.gather(expiring, taking))
    await in_hand.pass_seconds(10)
    ended = await b.get(task.id)
    assert (ended.status.state, script.answers) == (COMPLETED, ["blue"])


async def test_so_does_one_after_which_the_task_asks_again(
    in_hand: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Patient(questions=2)
    a, b, task = await script.begin(in_hand)
    read_inbox = hold(a).read_inbox
    is_reading, may_go_on = asyncio.Event(), asyncio.Event()

    async def read_slowly(task_id: str) -> tuple[InboxItem, ...]:
        monkeypatch.setattr(hold(a), "read_inbox", read_inbox)
        is_reading.set()
        await may_go_on.wait()
        return await read_inbox(task_id)

    monkeypatch.setattr(hold(a), "read_inbox", read_slowly)
    expiring = asyncio.ensure_future(expire(a))
    await in_hand.until(is_reading.is_set)  # The end was refused.
    live = runner_of(a).held(task.id)
    assert live is not None
    await runner_of(a).take_in(live)  # Word of the answer comes, and this reader is faster.
    await settle()
    assert script.answers == ["blue"]
    may_go_on.set()
    await in_hand.wait_for(expiring)
    await in_hand.pass_seconds(3)
    assert (await b.get(task.id)).status.state is TaskState.INPUT_REQUIRED
