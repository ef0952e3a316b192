"""What is read of a runtime when measurements are collected."""

from __future__ import annotations

import asyncio
import gc

import pytest

from dragoman.clock import Clock
from dragoman.errors import StoreUnavailableError
from dragoman.push.notification import PushCounters
from dragoman.server.http import observability
from dragoman.server.replicas.lease import ReplicaNumbers
from dragoman.stores.webhooks import PendingOverview
from dragoman.testing.clock import FakeClock
from tests.support.tracing import Traced


class Process:
    """A runtime with a few numbers."""

    def __init__(self) -> None:
        self.clock: Clock = FakeClock(10_000)
        self.is_ready = True
        self.live_tasks = 3
        self.replica: ReplicaNumbers | None = None
        self.open_streams = 2
        self.running_turns = 7
        self.waiting_turns = 6
        self.push_counters = PushCounters()
        self.overview = PendingOverview(webhooks=9, pending=4, oldest_ms=7_500, dead_letters=1)
        self.is_broken = False

    async def push_overview(self) -> PendingOverview | None:
        if self.is_broken:
            raise StoreUnavailableError("gone")
        return self.overview


AT_HAND = {
    "a2a.streams": 2,
    "a2a.tasks.live": 3,
    "dragoman.turns.running": 7,
    "dragoman.turns.waiting": 6,
}


async def test_all_numbers_are_read_by_a_collector_with_a_thread_of_its_own() -> None:
    traced, process = Traced(), Process()
    observability.observe(traced.telemetry, process)
    assert await asyncio.to_thread(traced.gauges) == {
        **AT_HAND,
        "dragoman.push.pending": 4,
        "dragoman.push.oldest": 2.5,
        "dragoman.push.dead_letters": 1,
    }


async def test_of_several_runtimes_the_longest_wait_is_told_and_the_sum_of_the_rest() -> None:
    traced, one, other = Traced(), Process(), Process()
    other.overview = PendingOverview(webhooks=1, pending=1, oldest_ms=9_000, dead_letters=0)
    for each in (one, other):
        observability.observe(traced.telemetry, each)
    found = await asyncio.to_thread(traced.gauges)
    assert found["dragoman.push.oldest"] == 2.5
    assert found["dragoman.push.pending"] == 5
    assert found["dragoman.turns.waiting"] == 12


async def test_what_the_store_cannot_tell_is_left_out() -> None:
    traced, process = Traced(), Process()
    process.is_broken = True
    observability.observe(traced.telemetry, process)
    assert await asyncio.to_thread(traced.gauges) == AT_HAND


async def test_a_store_that_does_not_answer_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observability, "_STORE_SECONDS", 0.01)
    was_cut_off = asyncio.Event()

    class Stuck(Process):
        async def push_overview(self) -> PendingOverview | None:
            try:
                await asyncio.Event().wait()
            finally:
                was_cut_off.set()
            return None

    traced, process = Traced(), Stuck()
    observability.observe(traced.telemetry, process)
    assert await asyncio.to_thread(traced.gauges) == AT_HAND
    async with asyncio.timeout(10):
        await was_cut_off.wait()


async def test_a_collector_on_the_loop_goes_without_what_it_would_wait_for() -> None:
    traced, process = Traced(), Process()
    observability.observe(traced.telemetry, process)
    assert traced.gauges() == AT_HAND


async def test_a_runtime_that_is_gone_is_not_kept_for_its_numbers() -> None:
    traced, process = Traced(), Process()
    observability.observe(traced.telemetry, process)
    del process
    gc.collect()
    assert await asyncio.to_thread(traced.gauges) == {}


def test_after_the_end_of_the_loop_nobody_is_asked() -> None:
    traced, process = Traced(), Process()

    async def observe() -> None:
        observability.observe(traced.telemetry, process)

    asyncio.run(observe())
    assert traced.gauges() == AT_HAND
