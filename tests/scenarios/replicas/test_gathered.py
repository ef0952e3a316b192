"""Agents that do things side by side, run again by another replica."""

import asyncio

import pytest

from dragoman import Agent, Context
from dragoman.model.tasks import Artifact
from tests.scenarios.replicas.replicas import Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send

pytestmark = pytest.mark.anyio


class Careless:
    """An agent that goes on when one of two things fails; the first run of it never ends."""

    def __init__(self) -> None:
        self.runs = 0
        self.is_reached = asyncio.Event()

    def agent(self) -> Agent:
        """Return it, for one replica."""
        agent = Agent("Careless", "Does two things at once.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Say how it goes."""
            self.runs += 1
            is_first = self.runs == 1
            has_worked = asyncio.Event()

            async def fail() -> None:
                await ctx.step(lambda: 1, name="begin")
                if is_first:
                    await has_worked.wait()
                raise ValueError

            async def work_on() -> None:
                if not is_first:
                    await asyncio.Event().wait()
                for number in range(3):
                    await ctx.step(lambda: 1, name=f"step {number}")
                has_worked.set()
                await asyncio.Event().wait()

            try:
                await ctx.gather(fail(), work_on())
            except ValueError:
                await ctx.say("one has failed")
            await ctx.step(lambda: 1, name="look")
            if is_first:
                self.is_reached.set()
                await asyncio.Event().wait()
            await ctx.say("never mind")
            return "done"

        return agent


def text(artifact: Artifact) -> str | None:
    return artifact.parts[0].text


async def test_what_is_said_after_a_branch_has_failed_is_said_once_and_not_lost(
    in_hand: Replicas,
) -> None:
    careless = Careless()
    a = await in_hand.serve(careless.agent())
    task = await a.send(send(return_immediately=True))
    await in_hand.until(careless.is_reached.is_set)
    await in_hand.pass_seconds(1)
    b = await in_hand.serve(careless.agent())
    a.stand_still()

    async def has_ended() -> bool:
        return (await b.get(task.id)).status.state.is_terminal

    await in_hand.until(has_ended)
    ended = await b.get(task.id)
    assert told(ended) == ["hello", "one has failed", "never mind"]
    assert [text(each) for each in ended.artifacts] == ["done"]


async def test_a_question_keeps_its_deadline_while_another_branch_gets_on(
    in_hand: Replicas,
) -> None:
    go_on = asyncio.Event()

    def patient() -> Agent:
        agent = Agent("Patient", "Asks, and works meanwhile.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Ask for a minute, beside a step."""

            async def later() -> None:
                await go_on.wait()
                await ctx.step(lambda: 1, name="later")

            try:
                await ctx.gather(ctx.ask("Which?", timeout=60), later())
            except TimeoutError:
                return "nobody has answered"
            return "answered"

        return agent

    a = await in_hand.serve(patient())
    task = await a.send(send())
    go_on.set()
    await in_hand.pass_seconds(5)
    b = await in_hand.serve(patient())
    a.stand_still()
    await in_hand.pass_seconds(120)
    ended = await b.get(task.id)
    assert [text(each) for each in ended.artifacts] == ["nobody has answered"]


class Chatty:
    """An agent whose branches say something after work that is not recorded; it is cut off once."""

    def __init__(self) -> None:
        self.runs = 0
        self.is_reached = asyncio.Event()

    def agent(self) -> Agent:
        """Return it, for one replica."""
        agent = Agent("Chatty", "Says how two things go.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Say what came of both."""
            self.runs += 1
            is_first = self.runs == 1
            has_spoken = asyncio.Event()

            async def think() -> None:
                await ctx.step(lambda: 1, name="look")
                if is_first:
                    await has_spoken.wait()
                    self.is_reached.set()
                    await asyncio.Event().wait()
                await ctx.say("thought about it")

            async def tell() -> None:
                await ctx.step(lambda: 1, name="read")
                await ctx.say("read it")
                has_spoken.set()
                if is_first:
                    await asyncio.Event().wait()

            await ctx.gather(think(), tell())
            return "done"

        return agent


async def test_what_a_branch_did_not_get_to_say_is_said_when_it_is_run_again(
    in_hand: Replicas,
) -> None:
    chatty = Chatty()
    a = await in_hand.serve(chatty.agent())
    task = await a.send(send(return_immediately=True))
    await in_hand.until(chatty.is_reached.is_set)
    await in_hand.pass_seconds(1)
    b = await in_hand.serve(chatty.agent())
    a.stand_still()

    async def has_ended() -> bool:
        return (await b.get(task.id)).status.state.is_terminal

    await in_hand.until(has_ended)
    assert told(await b.get(task.id)) == ["hello", "read it", "thought about it"]


async def test_a_question_of_a_gathering_within_another_is_answered_when_it_is_run_again(
    in_hand: Replicas,
) -> None:
    def nested() -> Agent:
        agent = Agent("Nested", "Asks from deep inside.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Ask in a branch of a branch, then once more."""

            async def inner() -> str:
                (colour,) = await ctx.gather(ctx.ask("Which colour?"))
                return colour

            (colour,) = await ctx.gather(inner())
            return f"{colour}, {await ctx.ask('Which size?')}"

        return agent

    a = await in_hand.serve(nested())
    task = await a.send(send())
    await a.send(send("red", task_id=task.id, message_id="m-2"))
    b = await in_hand.serve(nested())
    a.stand_still()
    await in_hand.pass_seconds(60)
    ended = await b.send(send("large", task_id=task.id, message_id="m-3"))
    assert [text(each) for each in ended.artifacts] == ["red, large"]
