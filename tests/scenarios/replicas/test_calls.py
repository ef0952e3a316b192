"""Agents that call other agents, run again by another replica."""

from __future__ import annotations

import asyncio

import pytest

from dragoman import Agent, Context, Reply
from dragoman.agent.children import sub_task_of
from dragoman.agent.peers import Callee
from dragoman.client.errors import ClientError, TimedOutError
from dragoman.errors import A2AError
from dragoman.model.tasks import Task, TaskState
from tests.scenarios.replicas.cutting import ended_on, results
from tests.scenarios.replicas.holding import hold
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tasks of the agents that are called where they leave nothing behind."""
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")


class Other:
    """An agent that is called; one of its skills ends when the test says so.

    Attributes:
        begun: how many tasks of that skill have begun.
    """

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()
        self.agent = Agent("Other", "Is called.")

        @self.agent.skill
        async def slow(text: str) -> str:
            """Take time."""
            self.begun += 1
            await self.may_end.wait()
            return text

        @self.agent.skill
        async def directly(text: str) -> Reply:
            """Answer without a task."""
            return Reply(text)


class Undaunted:
    """An agent that does without what it cannot have; the run that is told so first is cut off.

    Attributes:
        problems: what each run was told.
    """

    def __init__(self, callee: Callee, skill: str = "", timeout: float | None = None) -> None:
        self.problems: list[Exception] = []
        self._callee = callee
        self._skill = skill
        self._timeout = timeout

    @property
    def is_told(self) -> bool:
        """Tell whether a run was told that there is nothing to be had."""
        return bool(self.problems)

    def agent(self) -> Agent:
        """Return it, for one replica."""
        agent = Agent("Travel", "Calls another.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Call, or do without."""
            try:
                await ctx.call(self._callee, "Rome", skill=self._skill, timeout=self._timeout)
            except (A2AError, ClientError) as problem:
                await ctx.step(lambda: 1, name="do without")
                self.problems.append(problem)
                if len(self.problems) == 1:
                    await asyncio.Event().wait()
            return "done"

        return agent


async def told_again(in_hand: Replicas, undaunted: Undaunted, holder: Member, task: Task) -> None:
    """Run a task again whose code was told of a failure; it must be told the same."""
    await in_hand.until(lambda: undaunted.is_told)
    last = await in_hand.serve(undaunted.agent())
    holder.stand_still()
    ended = await ended_on(in_hand, last, task.id)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["done"])
    first, second = undaunted.problems
    assert (type(first), str(first)) == (type(second), str(second))


async def test_a_call_that_was_not_done_in_time_is_not_so_again(in_hand: Replicas) -> None:
    other = Other()
    undaunted = Undaunted(other.agent, "slow", timeout=in_hand.lease_seconds / 2)
    a = await in_hand.serve(undaunted.agent())
    task = await a.send(send(return_immediately=True))
    await in_hand.until(lambda: other.begun == 1)
    b = await in_hand.serve(undaunted.agent())
    # The time is over before another takes it up.
    a.stand_still()
    await told_again(in_hand, undaunted, b, task)
    assert isinstance(undaunted.problems[0], TimedOutError)
    assert other.begun == 1


async def test_a_call_that_nobody_took_is_so_again(in_hand: Replicas) -> None:
    undaunted = Undaunted("http://127.0.0.1:1")
    a = await in_hand.serve(undaunted.agent())
    task = await a.send(send(return_immediately=True))
    await told_again(in_hand, undaunted, a, task)


async def test_a_call_that_was_refused_is_so_again(in_hand: Replicas) -> None:
    undaunted = Undaunted(Other().agent, "unknown")
    a = await in_hand.serve(undaunted.agent())
    task = await a.send(send(return_immediately=True))
    await told_again(in_hand, undaunted, a, task)


class Cut:
    """An agent that calls another; of its first run, the store has the record of that at most."""

    def __init__(self, in_hand: Replicas, other: Other, skill: str) -> None:
        self._in_hand = in_hand
        self._other = other
        self._skill = skill
        self._first: Member | None = None

    def agent(self) -> Agent:
        """Return it, for one replica."""
        agent = Agent("Travel", "Calls another.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Call, and tell what came of it."""
            await ctx.step(lambda: 1, name="begin")
            first, self._first = self._first, None
            if first is not None:
                # All before it is durable: the next write has the record of the call.
                hold(first).writing.close()
            found = await ctx.call(self._other.agent, "Rome", skill=self._skill)
            await ctx.say("found something")
            return found.text

        return agent

    async def run(self) -> Task:
        """Cut it off behind the record of the call, go on elsewhere, and return what came of it."""
        a = self._first = await self._in_hand.serve(self.agent())
        writing = hold(a).writing
        task = await a.send(send(return_immediately=True))
        await self._in_hand.until(lambda: writing.is_reached)
        hold(a).let_writes_go(beside=writing.close)
        await self._in_hand.until(lambda: writing.is_reached)
        b = await self._in_hand.serve(self.agent())
        a.stand_still()
        self._other.may_end.set()
        return await ended_on(self._in_hand, b, task.id)


async def test_that_another_was_asked_is_told_though_that_was_lost(in_hand: Replicas) -> None:
    ended = await Cut(in_hand, Other(), "slow").run()
    assert results(ended) == ["Rome"]
    assert told(ended) == ["hello", "Asked Other", "found something"]
    child = sub_task_of(ended.history[1].metadata)
    assert child is not None
    assert child.task_id


async def test_an_answer_without_a_task_is_not_lost(in_hand: Replicas) -> None:
    ended = await Cut(in_hand, Other(), "directly").run()
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["Rome"])
    assert told(ended) == ["hello", "found something"]


async def test_that_another_was_asked_is_told_once(in_hand: Replicas) -> None:
    other = Other()
    runs = 0

    def travel() -> Agent:
        agent = Agent("Travel", "Calls another.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Call, and tell what came of it."""
            nonlocal runs
            runs += 1
            found = await ctx.call(other.agent, "Rome", skill="slow")
            await ctx.say("found something")
            return found.text

        return agent

    a = await in_hand.serve(travel())
    task = await a.send(send(return_immediately=True))

    async def is_asked() -> bool:
        return "Asked Other" in told(await a.get(task.id))

    await in_hand.until(is_asked)
    b = await in_hand.serve(travel())
    a.stand_still()
    await in_hand.until(lambda: runs == 2)
    other.may_end.set()
    ended = await ended_on(in_hand, b, task.id)
    assert results(ended) == ["Rome"]
    assert told(ended) == ["hello", "Asked Other", "found something"]
    assert other.begun == 1


async def test_an_outage_of_the_store_cancels_no_child(in_hand: Replicas) -> None:
    other = Other()
    may_step = asyncio.Event()
    agent = Agent("Travel", "Calls another, and does something beside that.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Call, and take a step."""

        async def call() -> str:
            return (await ctx.call(other.agent, "Rome", skill="slow")).text

        found, _ = await ctx.gather(call(), ctx.step(may_step.wait, name="step"))
        return str(found)

    a = await in_hand.serve(agent)
    task = await a.send(send(return_immediately=True))

    async def is_asked() -> bool:
        return "Asked Other" in told(await a.get(task.id))

    await in_hand.until(is_asked)
    store = hold(a)
    store.writing.close()
    may_step.set()
    await store.writing.until_reached()
    store.is_away = True
    store.lose_writes()
    await in_hand.pass_seconds(2)
    store.is_away = False
    await in_hand.pass_seconds(2)
    other.may_end.set()
    ended = await ended_on(in_hand, a, task.id)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["Rome"])
    assert other.begun == 1


async def test_a_task_that_waits_for_an_answer_has_no_slot_though_a_call_came_back(
    in_hand: Replicas,
) -> None:
    other = Other()
    agent = Agent("Travel", "Calls another, and asks meanwhile.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Call, and ask."""

        async def call() -> str:
            return (await ctx.call(other.agent, "Rome", skill="slow", show=False)).text

        found, which = await ctx.gather(call(), ctx.ask("Which?"))
        return f"{found}, {which}"

    a = await in_hand.serve(agent)
    task = await a.send(send())
    assert task.status.state is TaskState.INPUT_REQUIRED
    await in_hand.until(lambda: other.begun == 1)
    other.may_end.set()
    await in_hand.pass_seconds(2)
    # It waits for its client, and for being allowed to say that it has called.
    assert a.runtime.running_turns == 0
    ended = await in_hand.wait_for(a.send(send("this", task_id=task.id, message_id="m-2")))
    assert results(ended) == ["Rome, this"]
