import asyncio
import gc
import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from dragoman.agent.context import Context
from dragoman.errors import DivergedError, NoAnswerError, UsageError
from dragoman.model.messages import Message
from dragoman.service.branches import branch
from dragoman.service.worker import Suspended, Waits
from tests.support.agent.remembering import RememberingTurn


async def test_results_come_in_order_whoever_is_done_first() -> None:
    turn = RememberingTurn()
    ctx = Context(turn)
    gate = asyncio.Event()

    async def slow() -> str:
        await gate.wait()
        return "slow"

    async def quick() -> str:
        gate.set()
        return "quick"

    assert await ctx.gather(ctx.step(slow), ctx.step(quick)) == ["slow", "quick"]


async def test_what_was_recorded_is_found_again_whatever_the_order() -> None:
    calls: list[str] = []

    async def work(ctx: Context, *, is_reversed: bool) -> list[str]:
        turns: asyncio.Queue[None] = asyncio.Queue()

        def take(name: str) -> str:
            calls.append(name)
            return name

        async def first() -> str:
            if is_reversed:
                await turns.get()
            found = await ctx.step(lambda: take("first"), name="s")
            await turns.put(None)
            return found

        async def second() -> str:
            if not is_reversed:
                await turns.get()
            found = await ctx.step(lambda: take("second"), name="s")
            await turns.put(None)
            return found

        return await ctx.gather(first(), second())

    turn = RememberingTurn()
    assert await work(Context(turn), is_reversed=False) == ["first", "second"]
    assert await work(Context(turn.again()), is_reversed=True) == ["first", "second"]
    assert calls == ["first", "second"]


async def test_a_turn_that_was_cut_off_goes_on_where_each_branch_was() -> None:
    calls: list[str] = []

    def take(name: str) -> str:
        calls.append(name)
        return name

    async def pair(ctx: Context, name: str, *, is_cut: bool) -> str:
        one = await ctx.step(take, f"{name}1", name="one")
        if is_cut:
            await asyncio.Event().wait()
        return one + await ctx.step(take, f"{name}2", name="two")

    turn = RememberingTurn()
    ctx = Context(turn)
    cut = asyncio.ensure_future(
        ctx.gather(pair(ctx, "a", is_cut=True), pair(ctx, "b", is_cut=False))
    )
    await turn.grown(4)
    turn.put_aside()
    cut.cancel()
    await asyncio.gather(cut, return_exceptions=True)
    ctx = Context(turn.again())
    done = await ctx.gather(pair(ctx, "a", is_cut=False), pair(ctx, "b", is_cut=False))
    assert done == ["a1a2", "b1b2"]
    assert sorted(calls) == ["a1", "a2", "b1", "b2"]


async def test_questions_are_asked_one_after_the_other_and_recorded() -> None:
    async def work(ctx: Context) -> list[str]:
        return await ctx.gather(ctx.ask("one?"), ctx.ask("two?"))

    turn = RememberingTurn(answers=["1", "2"])
    assert await work(Context(turn)) == ["1", "2"]
    again = turn.again()
    assert await work(Context(again)) == ["1", "2"]
    assert again.asked == []


async def test_who_was_asked_for_and_got_no_answer_is_told_in_its_branch() -> None:
    ctx = Context(RememberingTurn(answers=[None]))

    async def ask() -> str:
        try:
            return await ctx.ask("which?", timeout=1)
        except NoAnswerError:
            return "none"

    assert await ctx.gather(ask(), ctx.step(lambda: "x", name="x")) == ["none", "x"]


async def test_the_first_that_fails_ends_the_others() -> None:
    ctx = Context(RememberingTurn())
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await ctx.gather(wait(), fail())
    assert ended == ["waiting"]


async def test_a_failure_comes_first_again_though_another_branch_has_a_question_by_then() -> None:
    async def work(ctx: Context, *, is_again: bool) -> str:
        can_fail, can_ask = asyncio.Event(), asyncio.Event()

        async def fail() -> None:
            if is_again:
                await can_fail.wait()
            raise ZeroDivisionError

        async def ask() -> None:
            if not is_again:
                await can_ask.wait()
            asking = asyncio.ensure_future(ctx.ask("which?"))
            await asyncio.sleep(0)
            can_fail.set()
            await asking

        try:
            await ctx.gather(ask(), fail())
        except ZeroDivisionError:
            return await ctx.step(lambda: "failed", name="note")
        return "asked"

    turn = RememberingTurn()
    assert await work(Context(turn), is_again=False) == "failed"
    assert await work(Context(turn.again()), is_again=True) == "failed"


async def test_a_question_comes_first_again_though_another_branch_has_failed_by_then() -> None:
    async def work(ctx: Context, *, is_again: bool) -> str:
        can_fail, can_ask = asyncio.Event(), asyncio.Event()

        async def fail() -> None:
            if not is_again:
                await can_fail.wait()
            can_ask.set()
            raise ZeroDivisionError

        async def ask() -> str:
            if is_again:
                await can_ask.wait()
                await asyncio.sleep(0)
            answer = await ctx.ask("which?")
            can_fail.set()
            return answer

        try:
            await ctx.gather(ask(), fail())
        except ZeroDivisionError:
            return await ctx.step(lambda: "failed", name="note")
        return "all is well"

    turn = RememberingTurn(answers=["blue"])
    assert await work(Context(turn), is_again=False) == "failed"
    assert await work(Context(turn.again()), is_again=True) == "failed"


async def test_a_branch_that_does_not_fail_again_has_taken_another_course() -> None:
    async def work(ctx: Context, *, is_again: bool) -> None:
        async def fail() -> None:
            if not is_again:
                raise ZeroDivisionError

        await ctx.gather(fail(), ctx.step(lambda: 1))

    turn = RememberingTurn()
    with pytest.raises(ZeroDivisionError):
        await work(Context(turn), is_again=False)
    with pytest.raises(DivergedError):
        await work(Context(turn.again()), is_again=True)


async def test_what_was_stopped_before_it_began_is_not_complained_of() -> None:
    class Stopped(RememberingTurn):
        def recall(self, kind: str, name: str) -> bytes | None:
            raise Suspended

    ctx = Context(Stopped())
    with warnings.catch_warnings(record=True) as complaints:
        with pytest.raises(Suspended):
            await ctx.gather(asyncio.sleep(0), asyncio.sleep(0))
        gc.collect()
    assert complaints == []


async def test_gatherings_within_gatherings_have_names_of_their_own() -> None:
    ctx = Context(RememberingTurn())

    async def name() -> str:
        return branch.get()

    async def inner() -> list[str]:
        return await ctx.gather(name(), name())

    assert await ctx.gather(inner(), inner()) == [["1.0/1.0", "1.0/1.1"], ["1.1/1.0", "1.1/1.1"]]
    assert await ctx.gather(name()) == ["2.0"]


async def test_nothing_is_gathered_to_nothing() -> None:
    assert await Context(RememberingTurn()).gather() == []


@pytest.mark.parametrize("call", ["sleep", "messages"])
async def test_what_has_no_order_is_refused_in_a_branch(call: str) -> None:
    ctx = Context(RememberingTurn())

    async def use() -> None:
        if call == "sleep":
            await ctx.sleep(1)
        else:
            async for _ in ctx.messages():
                pass

    with pytest.raises(UsageError, match=rf"ctx\.{call} cannot be called"):
        await ctx.gather(use())


async def test_two_at_once_without_gather_are_still_refused() -> None:
    ctx = Context(RememberingTurn())

    async def use() -> None:
        await ctx.step(ctx.step, lambda: 1)

    with pytest.raises(UsageError, match=r"or together with ctx\.gather"):
        await use()


# --- who is at work -----------------------------------------------------------------------------


class CountedTurn(RememberingTurn):
    """A turn that counts which of its strands are at work.

    Attributes:
        at_work: how many are now.
        seen: how many were when it was asked for an answer.
        may_answer: lets answers come.
    """

    def __init__(self) -> None:
        super().__init__(answers=["1", "2"])
        self.at_work = 1
        self.seen: list[int] = []
        self.may_answer = asyncio.Event()

    def rest(self) -> None:
        self.at_work -= 1

    def join(self, strands: int = 1) -> None:
        self.at_work += strands

    @asynccontextmanager
    async def away(self) -> AsyncGenerator[None]:
        self.rest()
        try:
            yield
        finally:
            self.join()

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        if waits is not None:
            waits(is_asked=True)
        async with self.away():
            await self.may_answer.wait()
            self.seen.append(self.at_work)
        return await super().ask(message, is_auth=is_auth, timeout_seconds=timeout_seconds)


async def passes() -> None:
    """Let everybody get as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_branches_are_at_work_until_they_end() -> None:
    turn = CountedTurn()
    ctx = Context(turn)
    seen: list[int] = []
    gate = asyncio.Event()

    async def quick() -> None:
        seen.append(turn.at_work)

    async def slow() -> None:
        await gate.wait()
        seen.append(turn.at_work)

    gathering = asyncio.ensure_future(ctx.gather(quick(), slow()))
    await passes()
    gate.set()
    await gathering
    assert (seen, turn.at_work) == ([2, 1], 1)


async def test_who_waits_for_an_answer_or_to_be_allowed_to_speak_is_not_at_work() -> None:
    turn = CountedTurn()
    ctx = Context(turn)
    gate = asyncio.Event()

    async def speak() -> None:
        await gate.wait()
        await ctx.say("me too")

    gathering = asyncio.ensure_future(ctx.gather(ctx.ask("a?"), ctx.ask("b?"), speak()))
    await passes()
    assert turn.at_work == 1
    gate.set()
    await passes()
    assert turn.at_work == 0
    turn.may_answer.set()
    assert await gathering == ["1", "2", None]
    assert (turn.seen[0], turn.at_work) == (0, 1)


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_all_is_as_before_when_a_gathering_is_stopped(is_stopped: bool) -> None:  # noqa: FBT001 - a case
    turn = CountedTurn()
    ctx = Context(turn)

    async def fail() -> None:
        await passes()
        raise ValueError

    waiting = asyncio.Event().wait() if is_stopped else fail()
    gathering = asyncio.ensure_future(ctx.gather(ctx.ask("a?"), ctx.ask("b?"), waiting))
    await passes()
    if is_stopped:
        gathering.cancel()
    with pytest.raises(asyncio.CancelledError if is_stopped else ValueError):
        await gathering
    assert turn.at_work == 1


# --- waiting that is given up -------------------------------------------------------------------


async def test_a_gathering_that_was_left_is_left_again() -> None:
    async def work(ctx: Context, said: list[str]) -> None:
        gathering = asyncio.ensure_future(ctx.gather(asyncio.Event().wait()))
        await passes()
        said.append("left" if not gathering.done() else "done")
        gathering.cancel()
        await asyncio.gather(gathering, return_exceptions=True)
        await ctx.step(lambda: 1, name="after")

    said: list[str] = []
    turn = RememberingTurn()
    await work(Context(turn), said)
    await work(Context(turn.again()), said)
    assert said == ["left", "left"]
    assert [entry.kind for entry in turn.journal] == ["gather", "floor", "step"]


async def test_a_journal_that_does_not_say_that_a_gathering_begins_will_do() -> None:
    turn = RememberingTurn()
    ctx = Context(turn)
    assert await ctx.gather(ctx.step(lambda: 1, name="one")) == [1]
    journal = [entry for entry in turn.journal if entry.kind != "gather"]
    again = RememberingTurn(turn.message, journal)
    ctx = Context(again)
    assert await ctx.gather(ctx.step(lambda: 2, name="one")) == [1]
    assert again.journal == journal


async def test_that_a_branch_was_stopped_is_not_recorded_as_its_failure() -> None:
    """The task had ended, or so it seemed; if it goes on after all, the branch is run again."""
    turn = RememberingTurn()
    ctx = Context(turn)

    async def stopped() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ctx.gather(stopped(), asyncio.Event().wait())
    assert [entry.kind for entry in turn.journal] == ["gather"]
