"""Tasks that wait: who is woken, who is put aside, and what the code of one notices of it."""

import asyncio

import pytest

from dragoman.errors import NoAnswerError, StoreUnavailableError, UnavailableError
from dragoman.model.messages import text_of
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import Answer, decode_answer
from dragoman.server.tasks.streams import Follower
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.turns import INTERRUPTED_REASON
from dragoman.service.worker import Completed, Outcome, Suspended, Turn
from tests.support.server.fakes import SCOPE, agent_message
from tests.support.server.resuming import Run, Successor, killed, now_and_then, plan, successor
from tests.support.server.running import (
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    WORKING,
    ask,
    status_text,
)


async def sleep(turn: Turn) -> Outcome:
    await turn.sleep(1000)
    return Completed(agent_message("awake"))


async def ask_for_a_while(turn: Turn) -> Outcome:
    try:
        answer = await turn.ask(agent_message("which?"), timeout_seconds=1000)
    except NoAnswerError:
        return Completed(agent_message("so none"))
    return Completed(agent_message(f"so {text_of(answer.parts)}"))


# --- those that sleep -------------------------------------------------------------------------


async def test_a_task_that_sleeps_is_woken_when_its_time_has_come() -> None:
    async with successor(sleep) as on, killed(on, sleep) as stored:
        assert stored.wake_at_ms == on.clock.now_ms() + 1_000_000
        on.clock.advance(999)
        await on.resumption.wake_due()
        assert on.supervisor.tasks() == ()
        on.clock.advance(1)
        await on.resumption.wake_due()
        await on.wait_for_end()
        assert status_text(await on.task("t-0")) == "awake"
        assert (await on.stored("t-0")).wake_at_ms == 0


async def test_the_journal_remembers_when_not_how_long() -> None:
    async with successor(sleep) as on, killed(on, sleep):
        on.clock.advance(600)
        on.supervisor.run_again(await on.supervisor.adopt(await on.stored("t-0")))
        await on.clock.until_asleep()
        on.clock.advance(399)
        await now_and_then()
        assert (await on.stored("t-0")).state is WORKING
        on.clock.advance(1)
        await on.wait_for_end()


async def test_one_that_has_a_timer_of_its_own_is_left_alone() -> None:
    runs: list[str] = []

    async def run(turn: Turn) -> Outcome:
        runs.append(turn.task_id)
        return await sleep(turn)

    async with successor(run) as on:
        live = on.begin()
        settled = live.settled()
        await on.clock.until_asleep()
        on.clock.advance(1000)
        await on.resumption.wake_due()
        await settled
        assert live.epoch == (await on.stored()).epoch
    assert runs == ["t-1"]


async def test_one_that_is_in_memory_without_a_turn_is_woken_too() -> None:
    async with successor(sleep) as on, killed(on, sleep):
        live = await on.supervisor.adopt(await on.stored("t-0"))
        follower = Follower(live.channel, first=None, cursor=live.standing.seq)
        on.clock.advance(1000)
        await on.resumption.wake_due()
        events = [event.seq async for batch in follower for event in batch]
    assert events == [3]


async def test_while_it_works_on_it_is_not_due_any_more() -> None:
    reached, release = asyncio.Event(), asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        await turn.sleep(1000)
        await turn.flush()
        reached.set()
        await release.wait()
        return Completed()

    async with successor(run) as on, killed(on, run):
        on.clock.advance(1000)
        await on.resumption.wake_due()
        await reached.wait()
        assert await on.store.due(now_ms=on.clock.now_ms(), limit=10) == ()
        (at_work,) = await on.store.at_work(after_id="", limit=10)
        assert at_work.id == "t-0"
        release.set()
        await on.wait_for_end()


async def test_a_second_sleep_does_not_forget_when_the_first_is_replayed() -> None:
    async def twice(turn: Turn) -> Outcome:
        await turn.sleep(10)
        return await sleep(turn)

    async with successor(twice) as on:
        on.begin(task_id="t-0")
        await on.clock.until_asleep()
        on.clock.advance(10)
        await on.clock.until_asleep()
        (live,) = on.supervisor.tasks()
        wake_at_ms = (await on.stored("t-0")).wake_at_ms
        assert wake_at_ms == on.clock.now_ms() + 1_000_000
        on.supervisor.put_aside(live)
        on.supervisor.run_again(await on.supervisor.adopt(await on.stored("t-0")))
        await on.clock.until_asleep()
        await now_and_then()
        assert (await on.stored("t-0")).wake_at_ms == wake_at_ms


async def test_to_be_woken_is_no_attempt_after_a_crash() -> None:
    counts: list[int] = []

    async def run(turn: Turn) -> Outcome:
        await turn.sleep(1000)
        await turn.flush()
        counts.append((await on.stored(turn.task_id)).attempts)
        return Completed()

    async with successor(run, attempts=0) as on, killed(on, sleep):
        on.clock.advance(1000)
        await on.resumption.wake_due()
        await on.wait_for_end()
        assert (await on.stored("t-0")).state is COMPLETED
    assert counts == [0]


async def test_one_that_brings_the_process_down_when_it_wakes_is_given_up() -> None:
    async with successor(attempts=2) as on, killed(on, sleep, attempts=2):
        on.clock.advance(1000)
        await on.resumption.wake_due()
        task = await on.task("t-0")
    assert task.status.state is FAILED
    assert "3 attempts" in status_text(task)


async def test_one_that_is_tried_again_after_a_while_is_tried_once() -> None:
    runs: list[int] = []

    async def run(turn: Turn) -> Outcome:
        runs.append((await on.stored(turn.task_id)).attempts)
        await asyncio.Event().wait()
        raise AssertionError

    async with successor(run) as on, killed(on, sleep, attempts=1):
        on.clock.advance(1000)
        for _ in range(3):
            await on.resumption.wake_due()
        await on.clock.until_asleep()
        assert on.clock.sleepers == 1
        on.clock.advance(1)
        await now_and_then()
        await on.resumption.wake_due()
        await now_and_then()
    assert runs == [2]


async def test_one_that_may_not_be_run_again_is_ended_when_it_should_wake() -> None:
    async with successor(resumes=False) as on, killed(on, sleep):
        on.clock.advance(1000)
        await on.resumption.wake_due()
        task = await on.task("t-0")
    assert (task.status.state, status_text(task)) == (FAILED, INTERRUPTED_REASON)


async def test_one_that_another_has_taken_does_not_keep_the_others_asleep(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        successor(sleep) as on,
        killed(on, sleep, task_id="t-0") as first,
        killed(on, sleep, task_id="t-1"),
    ):
        await plan(on, first, wake_at_ms=on.clock.now_ms() + 1)
        on.clock.advance(1000)
        on.store.stolen = "t-0"
        await on.resumption.wake_due()
        await on.wait_for_end("t-1")
        assert (await on.stored("t-0")).state is WORKING
    assert caplog.messages == []  # Nothing is wrong with that.


# --- those that ask for a while ---------------------------------------------------------------


@pytest.mark.parametrize(("is_auth", "name"), [(False, "input"), (True, "auth")])
async def test_a_question_whose_time_is_over_is_answered_by_that(
    is_auth: bool,  # noqa: FBT001 - a column of a table
    name: str,
) -> None:
    async def run(turn: Turn) -> Outcome:
        with pytest.raises(NoAnswerError):
            await turn.ask(agent_message("which?"), is_auth=is_auth, timeout_seconds=1000)
        return Completed(agent_message("so none"))

    async with successor(run) as on, killed(on, run) as stored:
        assert stored.state.is_interrupted
        on.clock.advance(1000)
        await on.resumption.wake_due()
        await on.wait_for_end()
        assert status_text(await on.task("t-0")) == "so none"
        timer, answer = await on.store.read_journal("t-0")
    assert (timer.kind, answer.kind, answer.name) == ("timer", "ask", name)
    assert decode_answer(answer.result) == Answer(is_late=True)


async def test_an_answer_before_that_is_taken_and_the_time_means_nothing_any_more() -> None:
    async with successor(ask_for_a_while) as on, killed(on, ask_for_a_while):
        live = await on.supervisor.adopt(await on.stored("t-0"))
        await (await on.deliver(live, "that"))
        assert status_text(await on.task("t-0")) == "so that"
        assert await on.store.due(now_ms=on.clock.now_ms() + 10**9, limit=10) == ()


async def test_a_question_that_somebody_follows_is_ended_in_time_too() -> None:
    async with successor(ask_for_a_while) as on, killed(on, ask_for_a_while):
        live = await on.supervisor.adopt(await on.stored("t-0"))
        follower = Follower(live.channel, first=None, cursor=live.standing.seq)
        on.clock.advance(1000)
        await on.resumption.wake_due()
        events = [event.seq async for batch in follower for event in batch]
    assert events == [4, 5]


async def test_so_is_one_that_has_lived_through_an_outage() -> None:
    async with successor(ask_for_a_while) as on:
        live = on.begin()
        await live.settled()
        on.store.failure = StoreUnavailableError("disk full")
        with pytest.raises(UnavailableError, match="store is not available"):
            await on.deliver(live, "lost")
        await on.clock.until_asleep()
        on.store.failure = None
        on.clock.advance(1)
        await now_and_then()
        assert live.standing.state is INPUT_REQUIRED
        settled = live.settled()
        on.clock.advance(1000)
        await on.resumption.wake_due()
        await settled
        assert status_text(await on.task()) == "so none"


# --- those that are put aside -----------------------------------------------------------------


async def waiting(on: Successor, *, seconds: float = 60) -> LiveTask:
    """Return a task that has waited for some time."""
    live = on.begin()
    await now_and_then()
    on.clock.advance(seconds)
    return live


def is_here(on: Successor) -> bool:
    return on.supervisor.find(SCOPE, "t-1") is not None


@pytest.mark.parametrize("run", [ask, ask_for_a_while, sleep])
async def test_a_task_that_only_waits_is_put_aside_after_a_while(
    run: Run,
) -> None:
    async with successor(run) as on:
        live = await waiting(on, seconds=59)
        on.resumption.park_idle()
        assert is_here(on)
        on.clock.advance(1)
        before = await on.stored()
        on.resumption.park_idle()
        assert not is_here(on)
        assert live.turn is not None
        await asyncio.wait([live.turn])
        assert live.turn.exception() is None
        assert await on.stored() == before


async def test_a_task_at_work_is_not_put_aside() -> None:
    async def work(turn: Turn) -> Outcome:
        del turn
        await asyncio.Event().wait()
        raise AssertionError

    async with successor(work) as on:
        await waiting(on)
        on.resumption.park_idle()
        assert is_here(on)


async def test_a_task_that_somebody_follows_is_not_put_aside() -> None:
    async with successor(ask) as on:
        live = await waiting(on)
        follower = Follower(live.channel, first=None, cursor=live.standing.seq)
        on.resumption.park_idle()
        assert is_here(on)
        await follower.aclose()
        on.resumption.park_idle()
        assert not is_here(on)


async def test_a_task_that_somebody_waits_for_is_not_put_aside() -> None:
    async with successor(sleep) as on:
        live = await waiting(on)
        settled = live.settled()
        on.resumption.park_idle()
        assert is_here(on)
        settled.cancel()
        on.resumption.park_idle()
        assert not is_here(on)


async def test_a_task_that_may_not_be_run_again_is_not_put_aside() -> None:
    async with successor(ask, resumes=False) as on:
        await waiting(on)
        on.resumption.park_idle()
        assert is_here(on)


async def test_a_task_whose_store_is_gone_is_not_put_aside() -> None:
    async with successor(ask) as on:
        live = await waiting(on)
        on.store.failure = StoreUnavailableError("disk full")
        with pytest.raises(UnavailableError, match="store is not available"):
            await on.deliver(live, "lost")
        on.resumption.park_idle()
        assert is_here(on)
        on.store.failure = None
        on.clock.advance(1)


async def test_a_task_whose_time_has_come_in_this_moment_is_not_put_aside() -> None:
    async with successor(sleep) as on:
        live = await waiting(on, seconds=1000)
        pause = live.pause
        assert pause is not None
        async with asyncio.timeout(5):
            while not pause.done():  # noqa: ASYNC110 - to be there before the turn is
                await asyncio.sleep(0)
        assert live.paused_ms
        on.resumption.park_idle()
        await on.wait_for_end("t-1")
        assert status_text(await on.task()) == "awake"


# --- what the code of one notices of it -------------------------------------------------------


async def test_code_that_is_put_aside_is_left_by_suspended_and_cleans_up() -> None:
    heard: list[str] = []

    async def run(turn: Turn) -> Outcome:
        try:
            return await ask(turn)
        except Suspended:
            heard.append("suspended")
            raise
        finally:
            heard.append("finally")

    async with successor(run) as on:
        live = await waiting(on)
        on.resumption.park_idle()
        assert live.turn is not None
        await live.turn
    assert heard == ["suspended", "finally"]


async def go_on(turn: Turn) -> Outcome:
    try:
        return await ask(turn)
    except BaseException:  # noqa: BLE001 - what an author may do
        return Completed(agent_message("never mind"))


async def fail(turn: Turn) -> Outcome:
    try:
        return await ask(turn)
    except BaseException as error:
        raise RuntimeError("something is wrong") from error


async def in_a_group(turn: Turn) -> Outcome:
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(ask(turn))
    return asking.result()


async def speak(turn: Turn) -> Outcome:
    try:
        return await ask(turn)
    finally:
        await turn.say(agent_message("last words"))


@pytest.mark.parametrize("run", [go_on, fail, in_a_group, speak])
async def test_whatever_code_makes_of_it_nothing_comes_of_that(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async with successor(run) as on:
        live = await waiting(on)
        before = await on.stored()
        on.resumption.park_idle()
        assert live.turn is not None
        await asyncio.wait([live.turn])
        await now_and_then()
        assert live.turn.exception() is None
        assert await on.stored() == before
        assert caplog.messages == []
        back = await on.supervisor.adopt(before)
        await (await on.deliver(back, "that"))
        assert (await on.stored()).state is TaskState.COMPLETED
