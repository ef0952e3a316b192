import asyncio
import logging

import pytest

from dragoman.server.tasks.background import Nursery, ended


async def test_a_child_runs_by_itself() -> None:
    nursery = Nursery()
    done = asyncio.Event()

    async def child() -> None:
        done.set()

    nursery.spawn(child(), name="child")
    await done.wait()


async def test_a_child_has_its_name() -> None:
    nursery = Nursery()
    assert nursery.spawn(asyncio.sleep(0), name="turns of t-1").get_name() == "turns of t-1"
    await nursery.close()


async def test_a_failure_is_logged_and_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    nursery = Nursery()

    async def fail() -> None:
        raise ValueError("broken")

    healthy = nursery.spawn(asyncio.sleep(60), name="healthy")
    broken = nursery.spawn(fail(), name="broken")
    await asyncio.wait([broken])
    assert not healthy.done()
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (
        logging.ERROR,
        "background task broken failed",
    )
    assert record.exc_info is not None
    await nursery.close()


async def test_closing_cancels_the_children_and_waits_for_them() -> None:
    nursery = Nursery()
    steps: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("tidied")

    nursery.spawn(tidy(), name="tidy")
    await asyncio.sleep(0)
    await nursery.close()
    assert steps == ["tidied"]


async def test_closing_is_silent_about_those_who_go(caplog: pytest.LogCaptureFixture) -> None:
    nursery = Nursery()
    nursery.spawn(asyncio.sleep(60), name="sleeper")
    await nursery.close()
    assert caplog.records == []


async def test_one_that_will_not_go_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    nursery = Nursery()
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = nursery.spawn(stubborn(), name="stubborn")
    await asyncio.sleep(0)
    await nursery.close(patience_seconds=0)
    assert caplog.messages == ["stubborn ignores cancellation; it is left behind"]
    release.set()
    await task


async def test_who_comes_after_that_never_begins_until_it_is_opened_again() -> None:
    nursery = Nursery()
    await nursery.close()
    late = nursery.spawn(asyncio.sleep(0), name="late")
    await asyncio.wait([late])
    assert late.cancelled()
    nursery.open()
    await nursery.spawn(asyncio.sleep(0), name="next")


async def test_closing_an_empty_nursery_is_nothing() -> None:
    await Nursery().close()


# --- waiting for tasks to end -------------------------------------------------------------------


@pytest.mark.parametrize("why", ["they end", "time is over", "there is hurry"])
async def test_the_wait_for_tasks_ends_and_leaves_them_as_they_are(why: str) -> None:
    gate, hurry = asyncio.Event(), asyncio.Event()
    tasks = [asyncio.ensure_future(waiting(gate)) for _ in range(2)]
    {"they end": gate.set, "time is over": gate.clear, "there is hurry": hurry.set}[why]()
    seconds = 0.0 if why == "time is over" else 60.0
    await ended(tasks, seconds=seconds, hurry=hurry)
    assert {task.done() for task in tasks} == {why == "they end"}
    gate.set()
    await asyncio.gather(*tasks)


async def waiting(gate: asyncio.Event) -> None:
    await gate.wait()
