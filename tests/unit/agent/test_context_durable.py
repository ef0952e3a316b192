"""The durable calls of a context; those of a plain function do the same."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from dragoman.agent.context import ASK_TRIES, Context
from dragoman.agent.sync_context import SyncContext, ThreadCalls, Threads
from dragoman.errors import DivergedError, InvalidParamsError, NoAnswerError, UsageError
from dragoman.model.messages import Message, text_of
from dragoman.service.worker import Waits
from dragoman.testing.turn import RecordingTurn, user_message
from tests.support.agent.remembering import RememberingTurn

T = TypeVar("T")


async def in_a_thread(turn: RecordingTurn, use: Callable[[SyncContext], T]) -> T:
    """Let a plain function use a context."""
    calls, threads = ThreadCalls(), Threads(1)
    try:
        return await threads.run(use, (SyncContext(turn, calls),), calls)
    finally:
        threads.shutdown()


class ImpatientTurn(RecordingTurn):
    """A turn that remembers how long it was to wait for each answer."""

    def __init__(self, answers: list[object]) -> None:
        super().__init__("hi", answers=answers)
        self.limits: list[float | None] = []

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        self.limits.append(timeout_seconds)
        return await super().ask(
            message, is_auth=is_auth, timeout_seconds=timeout_seconds, waits=waits
        )


# --- asking for a while -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timeout", "seconds"), [(None, None), (90, 90), (0.5, 0.5), (timedelta(minutes=2), 120.0)]
)
async def test_a_question_waits_as_long_as_it_is_told(
    timeout: float | timedelta | None,  # noqa: ASYNC109 - a column of a table
    seconds: float | None,
) -> None:
    turn = ImpatientTurn(["a", "b", "c"])
    await Context(turn).ask("which?", timeout=timeout)
    await Context(turn).require_auth("log in", timeout=timeout)
    await in_a_thread(turn, lambda ctx: ctx.ask("which?", timeout=timeout))
    assert turn.limits == [seconds] * 3


async def test_without_an_answer_it_goes_on_with_the_default() -> None:
    turn = RecordingTurn("hi", answers=[None, None])
    assert await Context(turn).ask("how many?", int, timeout=5, default=3) == 3
    assert await in_a_thread(turn, lambda c: c.ask("how many?", int, timeout=5, default="x")) == "x"


async def test_none_is_a_default() -> None:
    turn = RecordingTurn("hi", answers=[None])
    assert await Context(turn).ask("how many?", int, timeout=5, default=None) is None


async def test_without_a_default_it_is_raised_and_the_task_fails_by_it() -> None:
    turn = RecordingTurn("hi", answers=[None, None, None])
    with pytest.raises(NoAnswerError, match="No answer came in the time"):
        await Context(turn).ask("which?", timeout=5)
    with pytest.raises(TimeoutError):
        await Context(turn).require_auth("log in", timeout=5)
    with pytest.raises(NoAnswerError):
        await in_a_thread(turn, lambda ctx: ctx.ask("which?", timeout=5))


async def test_an_answer_that_comes_in_time_is_the_answer() -> None:
    turn = RecordingTurn("hi", answers=["4"])
    assert await Context(turn).ask("how many?", int, timeout=5, default=3) == 4


async def test_the_time_for_an_answer_begins_again_with_each_question() -> None:
    turn = ImpatientTurn(["many", None])
    assert await Context(turn).ask("how many?", int, timeout=5, default=3) == 3
    assert turn.limits == [5, 5]


# --- answers that do not fit ------------------------------------------------------------------


@pytest.mark.parametrize(("tries", "asked"), [(1, 1), (3, 3), (0, 1), (ASK_TRIES, 5)])
async def test_after_so_many_answers_that_do_not_fit_it_is_enough(tries: int, asked: int) -> None:
    turn = RecordingTurn("hi", answers=["many"] * 10)
    with pytest.raises(InvalidParamsError):
        await Context(turn).ask("how many?", int, tries=tries)
    assert len(turn.asked) == asked
    turn = RecordingTurn("hi", answers=["many"] * 10)
    with pytest.raises(InvalidParamsError):
        await in_a_thread(turn, lambda ctx: ctx.ask("how many?", int, tries=tries))
    assert len(turn.asked) == asked


async def test_unless_told_otherwise_five_are_borne() -> None:
    turn = RecordingTurn("hi", answers=[*["many"] * 4, "4"])
    assert await Context(turn).ask("how many?", int) == 4
    assert text_of(turn.asked[0].parts) == "how many?"
    complaint, question = turn.asked[1].parts[:2]
    assert (complaint.text != "how many?", question.text) == (True, "how many?")
    turn = RecordingTurn("hi", answers=["many"] * 10)
    with pytest.raises(InvalidParamsError):
        await Context(turn).ask("how many?", int)
    assert len(turn.asked) == ASK_TRIES == 5


async def test_a_default_is_not_for_answers_that_do_not_fit() -> None:
    turn = RecordingTurn("hi", answers=["many"])
    with pytest.raises(InvalidParamsError):
        await Context(turn).ask("how many?", int, timeout=5, default=3, tries=1)


# --- steps and sleeping -----------------------------------------------------------------------


async def test_a_step_of_a_plain_function_is_taken_once_too() -> None:
    taken: list[str] = []

    def pay(amount: int, idempotency_key: str) -> str:
        taken.append(idempotency_key)
        return f"paid {amount}"

    turn = RememberingTurn()
    assert await in_a_thread(turn, lambda ctx: ctx.step(pay, 5)) == "paid 5"
    assert await in_a_thread(turn.again(), lambda ctx: ctx.step(pay, 5)) == "paid 5"
    assert taken == ["task-1/1/pay"]
    turn = RememberingTurn()
    await in_a_thread(turn, lambda ctx: ctx.step(pay, 5, name="payment"))
    assert turn.noted == [("step", "payment")]


@pytest.mark.parametrize("time", [90, 90.0, timedelta(seconds=90)])
async def test_a_sleep_is_in_seconds_or_a_timedelta(time: float | timedelta) -> None:
    turn = RecordingTurn("hi")
    await Context(turn).sleep(time)
    await in_a_thread(turn, lambda ctx: ctx.sleep(time))
    assert turn.slept == [90.0, 90.0]


# --- time and ids -----------------------------------------------------------------------------


async def test_the_time_is_that_of_the_first_run() -> None:
    turn = RememberingTurn()
    ctx = Context(turn)
    first = ctx.now()
    await ctx.sleep(60)
    second = ctx.now()
    assert (first, second - first) == (datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1))
    again = Context(turn.again())
    assert (again.now(), again.now()) == (first, second)
    twin = await in_a_thread(turn.again(), lambda c: (c.now(), c.now()))
    assert twin == (first, second)


async def test_an_id_is_fresh_and_that_of_the_first_run() -> None:
    turn = RememberingTurn()
    ids = (Context(turn).random_id(), Context(turn).random_id())
    assert len(set(ids)) == 2
    again = turn.again()
    again.new_id()  # A message has taken one this time.
    assert (Context(again).random_id(), Context(again).random_id()) == ids
    assert await in_a_thread(turn.again(), lambda c: (c.random_id(), c.random_id())) == ids


async def test_time_and_ids_have_their_place_in_the_journal() -> None:
    turn = RememberingTurn()
    Context(turn).now()
    with pytest.raises(DivergedError, match="now was recorded here, and now it made id"):
        Context(turn.again()).random_id()


# --- further messages -------------------------------------------------------------------------


class BusyTurn(RecordingTurn):
    """A turn to which another message comes while it reads those that came."""

    def __init__(self) -> None:
        super().__init__("hi")
        self.waiting += [user_message(text, message_id=text) for text in ("one", "two")]

    def check_secrecy(self) -> None:
        pass

    async def take_message(self) -> Message | None:
        taken = await super().take_message()
        if taken is not None and taken.message_id == "two":
            self.waiting.append(user_message("three", message_id="three"))
        return taken


async def test_messages_are_read_until_none_is_left() -> None:
    turn = BusyTurn()
    read = [message.message_id async for message in Context(turn).messages()]
    assert read == ["one", "two", "three"]
    assert [m.message_id for m in turn.history()][1:] == read
    assert [m async for m in Context(turn).messages()] == []


async def test_a_plain_function_reads_them_too() -> None:
    turn = BusyTurn()
    read = await in_a_thread(turn, lambda ctx: [m.message_id for m in ctx.messages()])
    assert read == ["one", "two", "three"]


async def test_who_stops_reading_leaves_the_others_where_they_are() -> None:
    turn = BusyTurn()
    async for message in Context(turn).messages():
        assert message.message_id == "one"
        break
    assert [message.message_id for message in turn.waiting] == ["two"]
    assert await in_a_thread(turn, lambda ctx: next(ctx.messages()).message_id) == "two"
    assert [message.message_id for message in turn.waiting] == ["three"]


# --- one after the other ----------------------------------------------------------------------


async def test_durable_calls_that_overlap_are_refused() -> None:
    context = Context(RecordingTurn("hi"))

    async def outer() -> str:
        return context.random_id()

    with pytest.raises(UsageError, match=r"ctx\.random_id was called while ctx\.step is under way"):
        await context.step(outer)
    # The one that failed is over.
    assert context.random_id() == "id-1"
