"""Branches of a turn that wait, for the caller or for each other, and give up waiting."""

import asyncio
from contextlib import suppress

import pytest

from dragoman import Agent, Context
from dragoman.errors import DragomanError
from dragoman.model.messages import text_of
from dragoman.model.tasks import Task, TaskState
from tests.scenarios.replicas.cutting import CutOff, Run, ended_on, results
from tests.scenarios.replicas.holding import settle
from tests.scenarios.replicas.replicas import Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send

pytestmark = pytest.mark.anyio

MOMENT_SECONDS = 0.05
"""How long the authors' code of these tests waits; time for them is what the machine says."""


class Long:
    """Work that is done when the test says so.

    Attributes:
        begun: how often it was begun.
        most: how often at the same time.
    """

    def __init__(self) -> None:
        self.begun = self.most = self._now = 0
        self.has_begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def step(self) -> int:
        """Do it."""
        self.begun += 1
        self.has_begun.set()
        self._now += 1
        self.most = max(self.most, self._now)
        await self.go_on.wait()
        self._now -= 1
        return 1


def asked(task: Task) -> str:
    """Return what a task asks."""
    assert task.status.message is not None
    return text_of(task.status.message.parts)


# --- given up -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_nested", [True, False])
async def test_a_gathering_that_was_left_while_it_asked_is_left_again(
    in_hand: Replicas,
    is_nested: bool,  # noqa: FBT001 - a row of a table
) -> None:
    async def work(ctx: Context, run: Run) -> str:
        async def hurry() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(MOMENT_SECONDS):
                    await ctx.gather(ctx.ask("Which?"), ctx.step(lambda: "", name="quick"))
            await ctx.step(lambda: 1, name="after")
            await run.reach()

        await (ctx.gather(hurry()) if is_nested else hurry())
        return "done"

    ended = await CutOff(work).run(in_hand)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["done"])


async def test_a_branch_that_fails_ends_the_others_though_they_ask(in_hand: Replicas) -> None:
    go_on = asyncio.Event()
    agent = Agent("Careful", "Fails at once.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask two things, and fail beside that."""

        async def fail() -> str:
            await go_on.wait()
            raise ValueError

        await ctx.gather(ctx.ask("One?"), ctx.ask("Two?"), fail())
        return "done"

    a = await in_hand.serve(agent)
    task = await a.send(send())
    go_on.set()
    ended = await ended_on(in_hand, a, task.id)
    assert ended.status.state is TaskState.FAILED
    assert "Two?" not in told(ended)


# --- slots --------------------------------------------------------------------------------------


async def test_a_task_whose_branches_wait_to_be_allowed_to_speak_has_no_slot(
    in_hand: Replicas,
) -> None:
    agent = Agent("Chatty", "Has much to say.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask two things, and say some."""

        async def say(at: int) -> str:
            for _ in range(4):
                await asyncio.sleep(0)
            await ctx.say(f"said {at}")
            return ""

        await ctx.gather(ctx.ask("One?"), ctx.ask("Two?"), *map(say, range(6)))
        return "done"

    a = await in_hand.serve(agent)
    task = await a.send(send())
    await settle()
    assert a.runtime.running_turns == 0
    task = await a.send(send("1", task_id=task.id, message_id="m-2"))
    await settle()
    assert (asked(task), a.runtime.running_turns) == ("Two?", 0)
    ended = await in_hand.wait_for(a.send(send("2", task_id=task.id, message_id="m-3")))
    assert sorted(text for text in told(ended) if text.startswith("said")) == [
        f"said {at}" for at in range(6)
    ]


async def test_a_branch_that_works_on_after_giving_up_its_question_is_not_put_aside(
    in_hand: Replicas,
) -> None:
    long = Long()
    agent = Agent("Busy", "Works while it waits.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask three things, of which one is not waited for."""

        async def hasty() -> str:
            with suppress(TimeoutError):
                async with asyncio.timeout(MOMENT_SECONDS):
                    await ctx.ask("Two?")
            await ctx.step(long.step)
            return ""

        await ctx.gather(ctx.ask("One?"), hasty(), ctx.ask("Three?"))
        return "done"

    a = await in_hand.serve(agent)
    task = await a.send(send())
    await asyncio.wait_for(long.has_begun.wait(), 10)
    task = await a.send(send("1", task_id=task.id, message_id="m-2"))
    assert asked(task) == "Three?"
    await in_hand.pass_seconds(200)
    long.go_on.set()
    ended = await in_hand.wait_for(a.send(send("3", task_id=task.id, message_id="m-3")))
    assert (results(ended), long.begun) == (["done"], 1)


@pytest.mark.parametrize("wait", ["ask", "gather", "call"])
async def test_who_works_on_without_what_it_waited_for_has_a_slot_for_that(
    in_hand: Replicas, wait: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    long = Long()
    other = Agent("Other", "Never ends.")

    @other.skill
    async def forever(text: str) -> str:
        """Take all the time there is."""
        await asyncio.Event().wait()
        return text

    agent = Agent("Slow", "Does one thing at a time.")

    @agent.skill
    async def work(ctx: Context, text: str) -> str:
        """Wait in vain, then work."""
        with suppress(DragomanError, TimeoutError):
            if text == "ask":
                await ctx.ask("Which?", timeout=10)
            elif text == "gather":
                await ctx.gather(ctx.ask("Which?", timeout=10))
            elif text == "call":
                await ctx.call(other, "x", timeout=MOMENT_SECONDS)
        await ctx.step(long.step)
        return "done"

    a = await in_hand.serve(agent, max_running_turns=1)
    one = await a.send(send(wait, return_immediately=True))
    await settle()
    two = await a.send(send("work", message_id="m-2", return_immediately=True))
    await in_hand.until(lambda: long.begun == 1)
    await asyncio.sleep(4 * MOMENT_SECONDS)
    await in_hand.pass_seconds(20)
    long.go_on.set()
    for task in (one, two):
        await ended_on(in_hand, a, task.id)
    assert (long.begun, long.most) == (2, 1)


async def test_a_branch_at_work_has_the_grace_period_though_another_has_asked(
    in_hand: Replicas,
) -> None:
    long = Long()
    agent = Agent("Busy", "Works while it waits.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask, and work meanwhile."""
        await ctx.gather(ctx.ask("Which?"), ctx.step(long.step))
        return "done"

    a = await in_hand.serve(agent, shutdown_grace_seconds=1)
    task = await a.send(send())
    assert long.begun == 1
    stopping = asyncio.ensure_future(a.stop())
    await settle()
    long.go_on.set()
    await in_hand.wait_for(stopping)
    b = await in_hand.serve(agent)
    ended = await in_hand.wait_for(b.send(send("this", task_id=task.id, message_id="m-2")))
    assert (results(ended), long.begun) == (["done"], 1)
