"""Turns that are cut off and run again elsewhere: nothing they do is lost, doubled or mixed up."""

import asyncio
from contextlib import suppress

import pytest

from dragoman import Agent, Context
from dragoman.model.messages import text_of
from dragoman.model.tasks import TaskState
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.cutting import CutOff, Run, ended_on, results
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send
from tests.support.server.fakes import agent_message

pytestmark = pytest.mark.anyio


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

    async def work(ctx: Context, run: Run) -> str:
        async def fail() -> None:
            if not run.is_first:
                # A little slower this time.
                await settle()
            raise ValueError

        async def other() -> None:
            for _ in range(3):
                await asyncio.sleep(0)
            ctx.random_id()
            await asyncio.Event().wait()

        async def pay(idempotency_key: str) -> int:
            keys.append(idempotency_key)
            await run.reach()
            return 1

        with suppress(ValueError):
            await ctx.gather(fail(), other())
        await ctx.step(pay)
        return "paid"

    await CutOff(work).run(in_hand)
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

    async def work(ctx: Context, run: Run) -> str:
        async def pay(idempotency_key: str) -> int:
            keys.append(idempotency_key)
            await run.reach()
            return 1

        await ctx.gather(ctx.say("looking"))
        if not run.is_first:
            await ctx.say("as a language model, I pay now")
        await ctx.step(pay)
        return "paid"

    await CutOff(work).run(in_hand)
    assert len(keys) == 2
    assert keys[0] == keys[1]


# --- what was published -----------------------------------------------------------------------


async def test_what_branches_append_to_an_artifact_of_the_turn_is_not_lost(
    in_hand: Replicas,
) -> None:
    async def work(ctx: Context, run: Run) -> None:
        report = await ctx.artifact("head ", artifact_id="report")

        async def chapter() -> None:
            await ctx.artifact("chapter", artifact_id=report, append=True)
            await ctx.step(lambda: 1, name="look")
            await run.reach()

        await ctx.gather(chapter())

    assert results(await CutOff(work).run(in_hand)) == ["head chapter"]


async def test_two_branches_that_append_to_one_artifact_lose_nothing(in_hand: Replicas) -> None:
    async def work(ctx: Context, run: Run) -> None:
        report = await ctx.artifact("head ", artifact_id="report")
        await ctx.step(lambda: 1, name="begin")

        async def one() -> None:
            await ctx.artifact("one ", artifact_id=report, append=True)
            await run.never()

        async def two() -> None:
            await asyncio.sleep(0)
            await ctx.artifact("two ", artifact_id=report, append=True)
            await ctx.step(lambda: 1, name="look")
            await run.reach()

        await ctx.gather(one(), two())

    (report,) = results(await CutOff(work).run(in_hand))
    assert sorted(report.split()) == ["head", "one", "two"]


async def test_what_is_said_after_a_new_result_is_not_taken_for_said(in_hand: Replicas) -> None:
    async def work(ctx: Context, run: Run) -> None:
        await ctx.say("thinking")
        if run.is_first:
            await ctx.say("thinking hard")
        await run.reach()
        await ctx.step(lambda: 1, name="look")
        await ctx.say("found it")

    assert told(await CutOff(work).run(in_hand))[-1] == "found it"


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
    async def work(ctx: Context, run: Run) -> str:
        if run.is_first:
            await ctx.step(lambda: 1, name="pay")
        await run.reach()
        return "nothing"

    ended = await CutOff(work).run(in_hand)
    assert ended.status.state is TaskState.FAILED
    assert "step 'pay' was recorded here, and now it made the end of the turn" in told(ended)[-1]


# --- waiting ----------------------------------------------------------------------------------


async def test_a_gathering_that_its_author_has_stopped_waiting_for_is_run_again(
    in_hand: Replicas,
) -> None:
    async def work(ctx: Context, run: Run) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await ctx.gather(asyncio.Event().wait(), ctx.step(lambda: 1, name="quick"))
        await ctx.step(lambda: 1, name="after")
        await run.reach()
        return "done"

    ended = await CutOff(work).run(in_hand)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["done"])


async def test_a_branch_that_stops_waiting_for_an_answer_goes_on(in_hand: Replicas) -> None:
    is_over = asyncio.Event()
    agent = Agent("Hasty", "Waits for a moment only.")

    @agent.skill
    async def work(ctx: Context) -> str:
        """Ask in a branch, and go on without an answer."""

        async def ask() -> str:
            try:
                async with asyncio.timeout(0.05):
                    return await ctx.ask("Which?")
            except TimeoutError:
                is_over.set()
                await ctx.say("never mind")
                return "any"

        (which,) = await ctx.gather(ask())
        return which

    a = await in_hand.serve(agent)
    task = await a.send(send())
    await asyncio.wait_for(is_over.wait(), 10)
    ended = await ended_on(in_hand, a, task.id)
    assert (ended.status.state, results(ended)) == (TaskState.COMPLETED, ["any"])


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
