from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.push.schedule import (
    Again,
    Answered,
    Dead,
    Done,
    Forbidden,
    Outcome,
    RetryPlan,
    Unanswered,
    asked_seconds,
)

NOW = 1_767_225_600_000
PLAN = RetryPlan()
DOWN = Answered(status=503)


def test_what_has_arrived_is_done() -> None:
    assert PLAN.next_step(Answered(status=204), attempts=7, now_ms=NOW, chance=0) == Done()


@pytest.mark.requirement("R-13.2-3")
def test_each_wait_is_twice_as_long_up_to_a_bound() -> None:
    plan = RetryPlan(first_seconds=1, most_seconds=20)
    assert [plan.delay(failures, 1.0) for failures in range(1, 8)] == [1, 2, 4, 8, 16, 20, 20]


def test_half_of_a_wait_is_left_to_chance() -> None:
    assert PLAN.delay(3, 0.0) == 2
    assert PLAN.delay(3, 0.5) == 3
    assert PLAN.delay(3, 1.0) == 4


def test_after_a_failure_it_is_tried_again() -> None:
    step = PLAN.next_step(DOWN, attempts=2, now_ms=NOW, chance=1.0)
    assert step == Again(NOW + 2000)


@pytest.mark.requirement("R-4.3.3-11")
def test_after_the_last_attempt_it_is_a_dead_letter() -> None:
    plan = RetryPlan(attempts=3)
    assert isinstance(plan.next_step(DOWN, attempts=2, now_ms=NOW, chance=0), Again)
    assert plan.next_step(DOWN, attempts=3, now_ms=NOW, chance=0) == Dead("HTTP status 503")


def test_what_looks_lasting_is_tried_a_few_times() -> None:
    missing = Answered(status=404)
    assert isinstance(PLAN.next_step(missing, attempts=3, now_ms=NOW, chance=0), Again)
    assert PLAN.next_step(missing, attempts=4, now_ms=NOW, chance=0) == Dead("HTTP status 404")
    # A plan of fewer attempts has fewer of these, too.
    once = RetryPlan(attempts=1)
    assert isinstance(once.next_step(missing, attempts=1, now_ms=NOW, chance=0), Dead)


@pytest.mark.parametrize(
    "outcome", [Answered(status=410), Answered(status=302), Forbidden(finding="its port")]
)
def test_what_is_lasting_is_not_tried_again(outcome: Outcome) -> None:
    assert PLAN.next_step(outcome, attempts=1, now_ms=NOW, chance=0) == Dead(outcome.finding)


def test_a_receiver_may_ask_for_a_longer_wait_within_bounds() -> None:
    def wait(retry_after: str) -> float:
        outcome = Answered(status=429, retry_after=retry_after)
        step = PLAN.next_step(outcome, attempts=1, now_ms=NOW, chance=1.0)
        assert isinstance(step, Again)
        return (step.at_ms - NOW) / 1000

    assert wait("90") == 90
    assert wait(formatdate(NOW / 1000 + 90, usegmt=True)) == 90
    # Neither a shorter one, nor one for ever.
    assert wait("0") == 1
    assert wait("99999999") == PLAN.most_asked_seconds


@pytest.mark.parametrize(
    "text",
    ["", "soon", "-5", "1.5", "٣", "Fri, 99 Foo 2026", formatdate(NOW / 1000 - 9, usegmt=True)],
)
def test_what_cannot_be_read_or_is_over_asks_for_nothing(text: str) -> None:
    assert asked_seconds(Answered(status=429, retry_after=text), NOW) == 0
    assert asked_seconds(Unanswered(finding="reset"), NOW) == 0


@given(st.text(max_size=40))
def test_no_header_breaks_the_plan(text: str) -> None:
    assert asked_seconds(Answered(status=429, retry_after=text), NOW) >= 0


def test_all_attempts_fit_into_the_memory_of_a_receiver() -> None:
    waits = [PLAN.delay(failures, 1.0) for failures in range(1, PLAN.attempts)]
    assert 10 * 3600 < sum(waits) < 24 * 3600
    # However long the plan is, its numbers stay numbers.
    assert RetryPlan(attempts=10_000).delay(9_999, 1.0) == PLAN.most_seconds
