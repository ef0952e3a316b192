"""What is taken up after a start, how often, and when it is given up."""

import asyncio
import logging
from typing import NoReturn

import pytest

from dragoman.errors import StoreUnavailableError
from dragoman.model.messages import text_of
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.turns import INTERRUPTED_REASON
from dragoman.service.worker import Completed, Outcome, Turn
from tests.support.server.fakes import SCOPE, RequestValidator, agent_message
from tests.support.server.resuming import killed, now_and_then, successor
from tests.support.server.running import (
    CANCELED,
    COMPLETED,
    FAILED,
    INPUT_REQUIRED,
    WORKING,
    ask,
    status_text,
)


async def pay_and_wait(turn: Turn) -> Outcome:
    """Say something, pay, say more; then wait until the process is killed."""
    await turn.say(agent_message("paying"))
    if turn.recall("step", "pay") is None:
        await turn.record("step", "pay", b'"receipt"')
    await turn.say(agent_message("paid"))
    await asyncio.Event().wait()
    raise AssertionError


# --- what was under way -----------------------------------------------------------------------


async def test_what_was_under_way_goes_on_with_its_results() -> None:
    results: list[bytes | None] = []

    async def run(turn: Turn) -> Outcome:
        await turn.say(agent_message("in other words"))
        results.append(turn.recall("step", "pay"))
        await turn.say(agent_message("paid"))
        return Completed(agent_message("done"))

    async with successor(run) as on, killed(on, pay_and_wait):
        await on.resumption.resume_all()
        await on.wait_for_end()
        task = await on.task("t-0")
    assert results == [b'"receipt"']
    assert (task.status.state, status_text(task)) == (COMPLETED, "done")
    assert [text_of(message.parts) for message in task.history] == ["hello", "paying", "paid"]


async def test_a_task_that_had_not_begun_to_work_is_begun() -> None:
    validator = RequestValidator()
    async with successor() as on, killed(on, validator.run) as stored:
        assert stored.state is WORKING
        await on.resumption.resume_all()
        await on.wait_for_end()
    assert (await on.stored("t-0")).state is COMPLETED


async def test_every_task_under_way_is_taken_up_and_the_log_counts_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    validator = RequestValidator()
    count = 450
    async with successor() as on, killed(on, validator.run):
        for number in range(1, count):
            on.begin(task_id=f"t-{number}")
        # They are of another process as far as this runner knows.
        for live in on.supervisor.tasks():
            on.supervisor.put_aside(live)
        await now_and_then()
        caplog.set_level(logging.WARNING)
        await on.resumption.resume_all()
        for number in range(count):
            await on.wait_for_end(f"t-{number}")
    assert caplog.messages == [f"tasks that the last stop cut off: {count} are continued"]


async def test_where_nothing_was_left_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async with successor() as on:
        await on.resumption.resume_all()
    assert caplog.messages == []


async def test_what_may_not_be_run_again_has_failed_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with successor(resumes=False) as on, killed(on, pay_and_wait):
        await on.resumption.resume_all()
        task = await on.task("t-0")
    assert (task.status.state, status_text(task)) == (FAILED, INTERRUPTED_REASON)
    assert caplog.messages == ["tasks that the last stop cut off: 1 given up"]


async def test_a_task_that_cannot_be_taken_up_does_not_keep_the_server_from_starting(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(stored: object) -> NoReturn:
        del stored
        raise ValueError("damaged")

    async with successor() as on, killed(on, pay_and_wait):
        monkeypatch.setattr(on.supervisor, "adopt", fail)
        await on.resumption.resume_all()
        # Once is enough: it is found again by every sweep.
        await on.resumption.resume_all()
        monkeypatch.undo()
    assert caplog.messages == [
        "task t-0 cannot be taken up; it stays as it is",
        "tasks that the last stop cut off: 1 left alone (cannot be read)",
    ]


async def test_a_task_that_its_store_keeps_from_being_taken_up_is_left_alone_for_now(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with successor() as on, killed(on, pay_and_wait):
        on.store.failure = StoreUnavailableError("disk full")
        await on.resumption.resume_all()
        on.store.failure = None
    assert caplog.messages == [
        "tasks that the last stop cut off: 1 left alone for now (the store did not answer)"
    ]


async def sleep(turn: Turn) -> Outcome:
    await turn.sleep(1000)
    return Completed()


async def test_what_waits_is_left_where_it_is() -> None:
    async with (
        successor() as on,
        killed(on, ask, task_id="t-0") as asking,
        killed(on, sleep, task_id="t-1") as sleeping,
    ):
        assert (asking.state, sleeping.state) == (INPUT_REQUIRED, WORKING)
        await on.resumption.resume_all()
        assert on.supervisor.tasks() == ()
        assert await on.stored("t-0") == asking
        assert await on.stored("t-1") == sleeping


# --- attempts ---------------------------------------------------------------------------------


async def test_an_attempt_counts_before_the_code_runs() -> None:
    counts: list[int] = []

    async def run(turn: Turn) -> Outcome:
        counts.append((await on.stored(turn.task_id)).attempts)
        await turn.say(agent_message("this is no progress"))
        await turn.flush()
        counts.append((await on.stored(turn.task_id)).attempts)
        await turn.record("step", "but this is", b"1")
        counts.append((await on.stored(turn.task_id)).attempts)
        return Completed()

    validator = RequestValidator()
    async with successor(run) as on, killed(on, validator.run):
        await on.resumption.resume_all()
        await on.wait_for_end()
    assert counts == [1, 1, 0]


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [
        # The first time it may have been anything; from then on it is suspected.
        (1, 1),
        (2, 4),
        (3, 16),
        # And never longer than a minute.
        (4, 60),
        (9, 60),
    ],
)
async def test_whoever_was_tried_before_is_tried_again_after_a_while(
    attempts: int, seconds: int
) -> None:
    validator = RequestValidator()
    async with successor(attempts=10) as on, killed(on, validator.run, attempts=attempts):
        await on.resumption.resume_all()
        await on.clock.until_asleep()
        assert (await on.stored("t-0")).attempts == attempts
        on.clock.advance(seconds - 0.1)
        await now_and_then()
        assert (await on.stored("t-0")).state is WORKING
        on.clock.advance(0.1)
        await on.wait_for_end()
        assert (await on.stored("t-0")).attempts == attempts + 1


async def test_that_a_task_has_to_wait_for_its_next_attempt_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with successor() as on, killed(on, RequestValidator().run, attempts=1):
        await on.resumption.resume_all()
        await on.resumption.resume_all()
    assert caplog.messages == [
        "tasks that the last stop cut off: 1 to be continued after a pause (cut off before)"
    ]


async def test_a_task_that_brings_every_process_down_is_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    validator = RequestValidator()
    caplog.set_level(logging.ERROR)
    async with successor(attempts=2) as on, killed(on, validator.run, attempts=2):
        await on.resumption.resume_all()
        task = await on.task("t-0")
    assert task.status.state is FAILED
    told = "The server stopped in each of 3 attempts to run this task; it is given up"
    assert status_text(task) == told
    assert caplog.messages == [
        "task t-0 is given up: the server has stopped in each of 3 attempts to run it"
    ]


async def test_a_task_that_was_canceled_before_its_next_attempt_is_not_run() -> None:
    validator = RequestValidator()
    runs: list[str] = []

    async def run(turn: Turn) -> Outcome:
        runs.append(turn.task_id)
        return Completed()

    async with successor(run) as on, killed(on, validator.run, attempts=1):
        await on.resumption.resume_all()
        await on.clock.until_asleep()
        await on.supervisor.cancel(await on.supervisor.adopt(await on.stored("t-0")))
        on.clock.advance(1)
        await now_and_then()
        assert (await on.stored("t-0")).state is CANCELED
    assert runs == []


async def test_a_task_that_somebody_looks_at_meanwhile_is_run_once_and_counted() -> None:
    validator = RequestValidator()
    runs: list[int] = []

    async def run(turn: Turn) -> Outcome:
        runs.append((await on.stored(turn.task_id)).attempts)
        return Completed()

    async with successor(run) as on, killed(on, validator.run, attempts=1):
        await on.resumption.resume_all()
        await on.clock.until_asleep()
        live = await on.supervisor.adopt(await on.stored("t-0"))
        settled = live.settled()
        on.clock.advance(1)
        await settled
    assert runs == [2]


async def test_a_store_that_is_gone_when_the_time_has_come_is_waited_for() -> None:
    validator = RequestValidator()
    async with successor() as on, killed(on, validator.run, attempts=1):
        await on.resumption.resume_all()
        await on.clock.until_asleep()
        on.store.failure = StoreUnavailableError("disk gone")
        on.clock.advance(1)
        await on.clock.until_asleep()
        on.store.failure = None
        assert (await on.stored("t-0")).state is WORKING
        on.clock.advance(1)
        await on.wait_for_end()
    assert (await on.stored("t-0")).state is COMPLETED


async def test_a_stop_by_the_operator_is_no_attempt() -> None:
    validator = RequestValidator()
    async with successor(validator.run) as on:
        live = on.begin(task_id="t-0")
        await validator.reached.wait()
        await live.durable()
        await on.supervisor.drain(0)
        left = await on.stored("t-0")
        assert left.state is WORKING
        counts: list[int] = []

        async def run(turn: Turn) -> Outcome:
            counts.append((await then.stored(turn.task_id)).attempts)
            return Completed()

        async with successor(run, attempts=0) as then:
            then.take_store_of(on)
            await then.resumption.resume_all()
            await then.wait_for_end()
    assert counts == [0]


async def test_however_often_it_happens_it_gives_no_more_attempts() -> None:
    async with successor(ask) as first:
        await first.begin(task_id="t-0").settled()
        await first.supervisor.drain(0)
        once = (await first.stored("t-0")).attempts
        async with successor(ask) as second:
            second.take_store_of(first)
            await second.supervisor.adopt(await second.stored("t-0"))
            await second.supervisor.drain(0)
            assert (await second.stored("t-0")).attempts == once


async def test_who_is_found_by_its_owner_is_the_one_that_is_run() -> None:
    validator, again = RequestValidator(), RequestValidator()
    async with successor(again.run) as on, killed(on, validator.run):
        await on.resumption.resume_all()
        await again.reached.wait()
        live = on.supervisor.find(SCOPE, "t-0")
        assert live is not None
        assert live.standing.state is TaskState.WORKING
        again.opened.set()
        await live.settled()
