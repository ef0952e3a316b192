"""Rates by GCRA: pure, with the time in the hands of the test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import UsageError
from dragoman.server.admission.rate_limits import Rate, Verdict, charge, parse_rate, weigh

NOW = 1_700_000_000_000
PER_SECOND = Rate(10, 1000)


def ask(rate: Rate, *times_ms: int, cost: int = 1) -> list[Verdict]:
    """Ask at these times, and keep what is to be kept."""
    full, verdicts = 0, list[Verdict]()
    for time_ms in times_ms:
        verdict = weigh(rate, full, cost, NOW + time_ms)
        full = verdict.full
        verdicts.append(verdict)
    return verdicts


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("600/min", Rate(600, 60_000)),
        ("600 / minute", Rate(600, 60_000)),
        ("10/s", Rate(10, 1000)),
        ("10/sec", Rate(10, 1000)),
        ("10/second", Rate(10, 1000)),
        ("1/h", Rate(1, 3_600_000)),
        ("1/HOUR", Rate(1, 3_600_000)),
        (" 5/day ", Rate(5, 86_400_000)),
    ],
)
def test_a_rate_is_a_number_per_period(text: str, rate: Rate) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "600", "600/", "/min", "0/s", "-1/s", "1.5/s", "9/week", "٣/s"]
)
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"write a number per s, min, h or day: 600/min"):
        parse_rate(text)


def test_the_whole_allowance_may_come_at_once_and_not_one_more() -> None:
    verdicts = ask(PER_SECOND, *[0] * 11)
    assert [one.is_allowed for one in verdicts] == [True] * 10 + [False]
    assert [one.remaining for one in verdicts] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0]


def test_the_refused_are_told_when_to_come_back_and_may_then() -> None:
    *_, refused = ask(PER_SECOND, *[0] * 11)
    assert refused.retry_ms == 100
    assert not ask(PER_SECOND, *[0] * 10, 99)[-1].is_allowed
    assert ask(PER_SECOND, *[0] * 10, 100)[-1].is_allowed


def test_the_allowance_comes_back_evenly() -> None:
    # There is no window at whose edge all of it is back at once.
    verdicts = ask(PER_SECOND, *[0] * 10, *[550] * 6)[10:]
    assert [one.is_allowed for one in verdicts] == [True] * 5 + [False]


def test_a_refusal_costs_nothing() -> None:
    refused = ask(PER_SECOND, *[0] * 30)[-1]
    assert refused.retry_ms == 100


def test_reset_is_when_all_is_back() -> None:
    first, second = ask(PER_SECOND, 0, 0)
    assert (first.reset_ms - NOW, second.reset_ms - NOW) == (100, 200)
    assert ask(PER_SECOND, 0, 100)[-1].reset_ms - NOW == 200


def test_weight_counts() -> None:
    verdicts = ask(PER_SECOND, 0, 0, 0, cost=5)
    assert [(one.is_allowed, one.remaining) for one in verdicts] == [
        (True, 5),
        (True, 0),
        (False, 0),
    ]
    assert verdicts[-1].retry_ms == 500


def test_what_weighs_nothing_is_always_allowed() -> None:
    full = ask(PER_SECOND, *[0] * 10)[-1].full
    assert weigh(PER_SECOND, full, 0, NOW).is_allowed


@given(
    units=st.integers(1, 1000),
    period_ms=st.sampled_from([1000, 60_000, 3_600_000]),
    pauses_ms=st.lists(st.integers(0, 5000), max_size=100),
)
def test_in_no_period_more_than_twice_the_rate_gets_through(
    units: int, period_ms: int, pauses_ms: list[int]
) -> None:
    times = [sum(pauses_ms[: index + 1]) for index in range(len(pauses_ms))]
    verdicts = ask(Rate(units, period_ms), *times)
    allowed = [time for time, one in zip(times, verdicts, strict=True) if one.is_allowed]
    for start in allowed:
        within = sum(1 for time in allowed if start <= time < start + period_ms)
        # One burst, and what has come back meanwhile.
        assert within <= 2 * units
    for time, one in zip(times, verdicts, strict=True):
        assert 0 <= one.remaining <= units
        assert one.is_allowed or one.reset_ms > NOW + time


# --- what somebody else has granted -------------------------------------------------------------


def test_what_others_have_granted_is_missing_here() -> None:
    full = charge(PER_SECOND, 0, 4, NOW)
    assert weigh(PER_SECOND, full, 1, NOW).remaining == 5


def test_it_comes_back_like_what_was_granted_here() -> None:
    here = weigh(PER_SECOND, 0, 4, NOW).full
    assert charge(PER_SECOND, 0, 4, NOW) == here
    assert weigh(PER_SECOND, here, 1, NOW + 400).remaining == 9


@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_however_much_others_have_granted_all_is_back_after_a_period(units: int, age: int) -> None:
    full = weigh(PER_SECOND, 0, 10, NOW - age).full
    full = charge(PER_SECOND, full, units, NOW)
    assert weigh(PER_SECOND, full, 1, NOW + PER_SECOND.period_ms).remaining == 9
