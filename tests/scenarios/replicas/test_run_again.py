"""Turns that are cut off and run again elsewhere: nothing they do is lost, doubled or mixed up."""

import asyncio
from collections.abc import Callable

import pytest

from dragoman import Agent, Context
from dragoman.model.messages import text_of
from dragoman.model.tasks import Task, TaskState
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.unit.server.agency import send
from tests.unit.server.fakes import agent_message

pytestmark = pytest.mark.anyio


async def ended_on(in_hand: Replicas, member: Member, task_id: str) -> Task:
    async def has_ended() -> bool:
        return (await member.get(task_id)).status.state.is_terminal

    await in_hand.until(has_ended)
    return await member.get(task_id)


def results(task: Task) -> list[str]:
    return [text_of(each.parts) for each in task.artifacts]


async def again(in_hand: Replicas, make: Callable[[], Agent], is_reached: asyncio.Event) -> Task:
    """Run an agent until it is where it is cut off, then again elsewhere to its end."""
    a = await in_hand.serve(make())
    task = await a.send(send(return_immediately=True))
    await in_hand.until(is_reached.is_set)
    await in_hand.pass_seconds(1)
    b = await in_hand.serve(make())
    a.stand_still()
    return await ended_on(in_hand, b, task.id)


# --- keys -------------------------------------------------------------------------------------


async def test_keys_of_steps_in_branches_differ_from_turn_to_turn(in_hand: Replicas) -> None:
    keys: list[str] = []
    go_on = asyncio.Event()
    agent = Agent("Payer", "Pays.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Pay in a branch."""

        async def pay(idempotency_key: str) -> int:
            keys.append(idempotency_key)
            return 1

        await ctx.gather(ctx.step(pay))
        await go_on.wait()
        return "paid"

    a = await in_hand.serve(agent)
    task = await a.send(send("pay 10", return_immediately=True))
    await settle()
    await a.send(send("pay 20", task_id=task.id, message_id="m-2", return_immediately=True))
    await settle()
    go_on.set()
    await ended_on(in_hand, a, task.id)
    assert len(keys) == 2
    assert keys[0] != keys[1]


async def test_the_key_of_a_step_after_a_gathering_that_failed_is_the_same_again(
    in_hand: Replicas,
) -> None:
    keys: list[str] = []
    runs = 0
    is_reached = asyncio.Event()

    def payer() -> Agent:
        agent = Agent("Payer", "Pays.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Pay when one of two things has failed."""
            nonlocal runs
            runs += 1
            is_first = runs == 1

            async def fail() -> None:
                if not is_first:
                    # A little slower this time.
                    await settle()
                raise ValueError

            async def other() -> None:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                ctx.random_id()
                await asyncio.Event().wait()

            async def pay(idempotency_key: str) -> int:
                keys.append(idempotency_key)
                if is_first:
                    is_reached.set()
                    await asyncio.Event().wait()
                return 1

            try:
                await ctx.gather(fail(), other())
            except ValueError:
                await ctx.step(pay)
            return "paid"

        return agent

    a = await in_hand.serve(payer())
    task = await a.send(send(return_immediately=True))
    await in_hand.until(is_reached.is_set)
    b = await in_hand.serve(payer())
    a.stand_still()
    await ended_on(in_hand, b, task.id)
    assert len(keys) == 2
    assert keys[0] == keys[1]


async def test_the_key_of_a_call_is_not_that_of_one_that_failed_before(in_hand: Replicas) -> None:
    keys: list[str] = []
    agent = Agent("Payer", "Pays.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Pay one way, or else another."""

        async def by_card(idempotency_key: str) -> int:
            keys.append(idempotency_key)
            raise ValueError

        async def by_invoice(idempotency_key: str) -> int:
            keys.append(idempotency_key)
            return 1

        try:
            await ctx.step(by_card)
        except ValueError:
            await ctx.step(by_invoice)
        return "paid"

    a = await in_hand.serve(agent)
    await a.send(send())
    assert keys[0] != keys[1]


async def test_the_key_of_a_step_does_not_depend_on_what_is_said_before_it(
    in_hand: Replicas,
) -> None:
    keys: list[str] = []
    runs = 0
    is_reached = asyncio.Event()

    def make() -> Agent:
        agent = Agent("Payer", "Finds other words each time.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Pay, after something was said in a branch."""
            nonlocal runs
            runs += 1
            is_first = runs == 1

            async def pay(idempotency_key: str) -> int:
                keys.append(idempotency_key)
                if is_first:
                    is_reached.set()
                    await asyncio.Event().wait()
                return 1

            await ctx.gather(ctx.say("looking"))
            if not is_first:
                await ctx.say("as a language model, I pay now")
            await ctx.step(pay)
            return "paid"

        return agent

    await again(in_hand, make, is_reached)
    assert len(keys) == 2
    assert keys[0] == keys[1]


# --- what was published -----------------------------------------------------------------------


async def test_what_branches_append_to_an_artifact_of_the_turn_is_not_lost(
    in_hand: Replicas,
) -> None:
    runs = 0
    is_reached = asyncio.Event()

    def make() -> Agent:
        agent = Agent("Writer", "Writes a report.")

        @agent.skill
        async def work(ctx: Context) -> None:
            """Write a head, and let a branch write the rest."""
            nonlocal runs
            runs += 1
            is_first = runs == 1
            report = await ctx.artifact("head ", artifact_id="report")

            async def chapter() -> None:
                await ctx.artifact("chapter", artifact_id=report, append=True)
                await ctx.step(lambda: 1, name="look")
                if is_first:
                    is_reached.set()
                    await asyncio.Event().wait()

            await ctx.gather(chapter())

        return agent

    ended = await again(in_hand, make, is_reached)
    assert results(ended) == ["head chapter"]


async def test_two_branches_that_append_to_one_artifact_lose_nothing(in_hand: Replicas) -> None:
    runs = 0
    is_reached = asyncio.Event()

    def make() -> Agent:
        agent = Agent("Writer", "Writes a report.")

        @agent.skill
        async def work(ctx: Context) -> None:
            """Write a head, and let two branches write the rest."""
            nonlocal runs
            runs += 1
            is_first = runs == 1
            report = await ctx.artifact("head ", artifact_id="report")
            await ctx.step(lambda: 1, name="begin")

            async def one() -> None:
                await ctx.artifact("one ", artifact_id=report, append=True)
                if is_first:
                    await asyncio.Event().wait()

            async def two() -> None:
                await asyncio.sleep(0)
                await ctx.artifact("two ", artifact_id=report, append=True)
                await ctx.step(lambda: 1, name="look")
                if is_first:
                    is_reached.set()
                    await asyncio.Event().wait()

            await ctx.gather(one(), two())

        return agent

    ended = await again(in_hand, make, is_reached)
    (report,) = results(ended)
    assert sorted(report.split()) == ["head", "one", "two"]


async def test_what_is_said_after_a_new_result_is_not_taken_for_said(in_hand: Replicas) -> None:
    runs = 0
    is_reached = asyncio.Event()

    def make() -> Agent:
        agent = Agent("Model", "Uses other words each time.")

        @agent.skill
        async def work(ctx: Context) -> None:
            """Say more the first time, then take a step and tell what came of it."""
            nonlocal runs
            runs += 1
            await ctx.say("thinking")
            if runs == 1:
                await ctx.say("thinking hard")
                is_reached.set()
                await asyncio.Event().wait()
            await ctx.step(lambda: 1, name="look")
            await ctx.say("found it")

        return agent

    ended = await again(in_hand, make, is_reached)
    assert told(ended)[-1] == "found it"


async def test_what_a_turn_ends_with_is_said_once_though_it_is_cut_off_before_the_next(
    in_hand: Replicas,
) -> None:
    go_on = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        text = text_of(turn.message.parts)
        await turn.flush()
        await go_on.wait()
        return Completed(agent_message(f"did {text}"))

    a = await in_hand.start(run)
    task = await a.send(send("one", return_immediately=True))
    await settle()
    hold(a).putting.close()
    second = asyncio.ensure_future(a.send(send("two", task_id=task.id, message_id="m-2")))
    await hold(a).putting.until_reached()
    go_on.set()
    await settle()
    b = await in_hand.start(run)
    a.stand_still()
    ended = await ended_on(in_hand, b, task.id)
    second.cancel()
    hold(a).putting.open()
    assert told(ended) == ["one", "did one"]


async def test_a_turn_that_ends_sooner_than_before_fails_and_says_so(in_hand: Replicas) -> None:
    runs = 0
    is_reached = asyncio.Event()

    def make() -> Agent:
        agent = Agent("Fickle", "Does less each time.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Take a step, the first time only."""
            nonlocal runs
            runs += 1
            if runs == 1:
                await ctx.step(lambda: 1, name="pay")
                is_reached.set()
                await asyncio.Event().wait()
            return "nothing"

        return agent

    ended = await again(in_hand, make, is_reached)
    assert ended.status.state is TaskState.FAILED
    assert "step 'pay' was recorded here, and now it made the end of the turn" in told(ended)[-1]


# --- waiting ----------------------------------------------------------------------------------


async def test_a_gathering_that_its_author_has_stopped_waiting_for_is_run_again(
    in_hand: Replicas,
) -> None:
    runs = 0
    is_reached = asyncio.Event()

    def make() -> Agent:
        agent = Agent("Hasty", "Waits for a moment only.")

        @agent.skill
        async def work(ctx: Context) -> str:
            """Give two things a moment, and go on without them."""
            nonlocal runs
            runs += 1
            is_first = runs == 1
            try:
                async with asyncio.timeout(0.05):
                    await ctx.gather(asyncio.Event().wait(), ctx.step(lambda: 1, name="quick"))
            except TimeoutError:
                pass
            await ctx.step(lambda: 1, name="after")
            if is_first:
                is_reached.set()
                await asyncio.Event().wait()
            return "done"

        return agent

    a = await in_hand.serve(make())
    task = await a.send(send(return_immediately=True))
    async with asyncio.timeout(5):
        await is_reached.wait()
    b = await in_hand.serve(make())
    a.stand_still()
    ended = await ended_on(in_hand, b, task.id)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["done"])


async def test_a_branch_that_stops_waiting_for_an_answer_goes_on(in_hand: Replicas) -> None:
    agent = Agent("Hasty", "Waits for a moment only.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask in a branch, and go on without an answer."""

        async def ask() -> str:
            try:
                async with asyncio.timeout(0.05):
                    return await ctx.ask("Which?")
            except TimeoutError:
                await ctx.say("never mind")
                return "any"

        (which,) = await ctx.gather(ask())
        return which

    a = await in_hand.serve(agent)
    task = await a.send(send())
    await asyncio.sleep(0.2)
    await settle()
    ended = await a.get(task.id)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["any"])


async def test_a_branch_that_fails_ends_the_others_though_one_of_them_has_asked(
    in_hand: Replicas,
) -> None:
    go_on = asyncio.Event()
    agent = Agent("Careful", "Fails at once.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask, and fail beside that."""

        async def fail() -> None:
            await go_on.wait()
            raise ValueError

        await ctx.gather(ctx.ask("Which?"), fail())
        return "done"

    a = await in_hand.serve(agent)
    task = await a.send(send())
    go_on.set()
    await settle()
    ended = await a.get(task.id)
    assert ended.status.state is TaskState.FAILED


async def test_a_branch_that_works_is_not_put_aside_because_another_has_asked(
    in_hand: Replicas,
) -> None:
    begun = 0
    go_on = asyncio.Event()
    agent = Agent("Busy", "Works while it waits.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask, and work meanwhile."""

        async def long() -> int:
            nonlocal begun
            begun += 1
            await go_on.wait()
            return 1

        which, _ = await ctx.gather(ctx.ask("Which?"), ctx.step(long))
        return str(which)

    a = await in_hand.serve(agent)
    task = await a.send(send())
    await in_hand.pass_seconds(200)
    go_on.set()
    ended = await a.send(send("this", task_id=task.id, message_id="m-2"))
    assert results(ended) == ["this"]
    assert begun == 1
