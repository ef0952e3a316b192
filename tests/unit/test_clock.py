import time
import uuid
from itertools import pairwise

import pytest

from dragoman.clock import Clock, SystemClock


def test_the_system_clock_is_a_clock() -> None:
    clock: Clock = SystemClock()
    assert clock.new_id()


def test_time_is_that_of_the_machine() -> None:
    clock = SystemClock()
    before = time.time_ns() // 1_000_000
    now = clock.now_ms()
    assert before <= now <= time.time_ns() // 1_000_000


def test_time_never_goes_backwards() -> None:
    clock = SystemClock()
    times = [clock.now_ms() for _ in range(10_000)]
    assert times == sorted(times)


def test_a_clock_of_the_machine_that_is_set_back_counts_as_standing_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SystemClock()
    hour = 3600 * 1_000_000_000
    now = clock.now_ms()
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - hour)
    assert clock.now_ms() >= now
    assert clock.now_ms() == clock.now_ms()


def test_how_long_something_takes_is_not_told_by_a_clock_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SystemClock()
    before = clock.uptime_ms()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    after = clock.uptime_ms()
    assert 0 < before <= after < before + 3600 * 1000


def test_an_id_is_a_uuid_of_version_7() -> None:
    for _ in range(5_000):
        text = SystemClock().new_id()
        parsed = uuid.UUID(text)
        assert str(parsed) == text
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)


def test_an_id_tells_when_it_was_made() -> None:
    clock = SystemClock()
    before = clock.now_ms()
    made = int(clock.new_id().replace("-", "")[:12], 16)
    assert before <= made <= clock.now_ms()


def test_ids_sort_by_time() -> None:
    clock = SystemClock()
    ids = [clock.new_id() for _ in range(10_000)]
    assert all(first[:13] <= second[:13] for first, second in pairwise(ids))


def test_ids_are_unique() -> None:
    clock = SystemClock()
    assert len({clock.new_id() for _ in range(100_000)}) == 100_000


def test_two_clocks_do_not_make_the_same_ids() -> None:
    one, two = SystemClock(), SystemClock()
    assert {one.new_id() for _ in range(1000)}.isdisjoint(two.new_id() for _ in range(1000))


async def test_a_sleep_of_nothing_lets_others_run() -> None:
    await SystemClock().sleep(0)
