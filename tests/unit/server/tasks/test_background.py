import asyncio
import logging

import pytest

from dragoman.server.tasks.background import BackgroundTasks, ended


async def test_a_child_runs_by_itself() -> None:
    background = BackgroundTasks()
    done = asyncio.Event()

    async def child() -> None:
        done.set()

    background.spawn(child(), name="child")
    await done.wait()


async def test_a_child_has_its_name() -> None:
    background = BackgroundTasks()
    assert background.spawn(asyncio.sleep(0), name="turns of t-1").get_name() == "turns of t-1"
    await background.close()


async def test_a_failure_is_logged_and_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    background = BackgroundTasks()

    async def fail() -> None:
        raise ValueError("broken")

    healthy = background.spawn(asyncio.sleep(60), name="healthy")
    broken = background.spawn(fail(), name="broken")
    await asyncio.wait([broken])
    assert not healthy.done()
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.ERROR,
        "background task broken failed",
    )
    assert record.exc_info is not None
    await background.close()


async def test_closing_cancels_the_children_and_waits_for_them() -> None:
    background = BackgroundTasks()
    steps: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("tidied")

    background.spawn(tidy(), name="tidy")
    await asyncio.sleep(0)
    await background.close()
    assert steps == ["tidied"]


async def test_closing_is_silent_about_those_who_go(caplog: pytest.LogCaptureFixture) -> None:
    background = BackgroundTasks()
    background.spawn(asyncio.sleep(60), name="sleeper")
    await background.close()
    assert caplog.records == []


async def test_one_that_will_not_go_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    background = BackgroundTasks()
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = background.spawn(stubborn(), name="stubborn")
    await asyncio.sleep(0)
    await background.close(patience_seconds=0)
    assert caplog.messages == ["stubborn ignores cancellation; it is left behind"]
    release.set()
    await task


async def test_who_comes_after_that_never_begins_until_it_is_opened_again() -> None:
    background = BackgroundTasks()
    await background.close()
    late = background.spawn(asyncio.sleep(0), name="late")
    await asyncio.wait([late])
    assert late.cancelled()
    background.open()
    await background.spawn(asyncio.sleep(0), name="next")


async def test_closing_an_empty_nursery_is_nothing() -> None:
    await BackgroundTasks().close()


# --- waiting for tasks to end -------------------------------------------------------------------


@pytest.mark.parametrize("why", ["they end", "time is over", "there is hurry"])
async def test_the_wait_for_tasks_ends_and_leaves_them_as_they_are(why: str) -> None:
    validator, hurry = asyncio.Event(), asyncio.Event()
    tasks = [asyncio.ensure_future(waiting(validator)) for _ in range(2)]
    {"they end": validator.set, "time is over": validator.clear, "there is hurry": hurry.set}[why]()
    seconds = 0.0 if why == "time is over" else 60.0
    await ended(tasks, seconds=seconds, hurry=hurry)
    assert {task.done() for task in tasks} == {why == "they end"}
    validator.set()
    await asyncio.gather(*tasks)


async def waiting(validator: asyncio.Event) -> None:
    await validator.wait()
