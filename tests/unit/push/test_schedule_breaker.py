import pytest

from dragoman.push.schedule import (
    Answered,
    BreakerRules,
    Breakers,
    Forbidden,
    Outcome,
    Unanswered,
    Unsendable,
    is_failure_of_host,
)

RULES = BreakerRules(failures=3, first_seconds=10, most_seconds=30, trial_seconds=60)
DOWN = Unanswered(finding="refused")
UP = Answered(status=204)
HOST = "a.example"


def opened() -> Breakers:
    """Return breakers of which that of ``HOST`` has opened, until 10 000."""
    breakers = Breakers(RULES)
    for _ in range(RULES.failures):
        breakers.begin(HOST, 0)
        breakers.note(HOST, DOWN, 0)
    return breakers


def test_a_host_may_be_called_until_it_fails_often_in_a_row() -> None:
    breakers = Breakers(RULES)
    for _ in range(RULES.failures - 1):
        breakers.note(HOST, DOWN, 0)
        assert breakers.wait_ms(HOST, 0) == 0
    breakers.note(HOST, UP, 0)
    assert len(breakers) == 0
    breakers.note(HOST, DOWN, 0)
    assert breakers.wait_ms(HOST, 0) == 0


def test_a_host_that_fails_is_left_alone_and_others_are_not() -> None:
    breakers = opened()
    assert breakers.wait_ms(HOST, 0) == 10_000
    assert breakers.wait_ms(HOST, 9_999) == 1
    assert breakers.wait_ms("b.example", 0) == 0


def test_it_is_known_which_hosts_are_left_alone() -> None:
    breakers = opened()
    breakers.note("b.example", DOWN, 0)
    assert breakers.resting(9_999) == {HOST}
    assert breakers.resting(10_000) == set()


def test_after_the_pause_one_may_try() -> None:
    breakers = opened()
    assert breakers.wait_ms(HOST, 10_000) == 0
    breakers.begin(HOST, 10_000)
    assert breakers.wait_ms(HOST, 10_001) > 0
    breakers.note(HOST, UP, 10_002)
    assert breakers.wait_ms(HOST, 10_002) == 0
    assert len(breakers) == 0


def test_a_trial_that_fails_makes_the_pause_longer_up_to_a_bound() -> None:
    breakers = opened()
    now = 10_000
    waits: list[int] = []
    for _ in range(3):
        breakers.begin(HOST, now)
        breakers.note(HOST, DOWN, now)
        waits.append(breakers.wait_ms(HOST, now))
        now += waits[-1]
    assert waits == [20_000, 30_000, 30_000]


def test_calls_that_began_before_the_pause_do_not_make_it_longer() -> None:
    breakers = opened()
    breakers.note(HOST, DOWN, 5_000)
    assert breakers.wait_ms(HOST, 5_000) == 5_000


def test_a_trial_that_nobody_hears_of_again_is_repeated() -> None:
    breakers = opened()
    breakers.begin(HOST, 10_000)
    assert breakers.wait_ms(HOST, 69_999) == 1
    assert breakers.wait_ms(HOST, 70_000) == 0


def test_a_host_that_is_down_for_a_year_can_still_be_tried() -> None:
    breakers, now = opened(), 10_000
    for _ in range(5_000):
        breakers.begin(HOST, now)
        breakers.note(HOST, DOWN, now)
        now += breakers.wait_ms(HOST, now)
    assert breakers.wait_ms(HOST, now) == 0


def test_the_memory_is_bounded() -> None:
    breakers = Breakers(RULES, most=10)
    for number in range(100):
        breakers.note(f"{number}.example", DOWN, 0)
    assert len(breakers) == 10


@pytest.mark.parametrize(
    ("outcome", "is_failure"),
    [
        (DOWN, True),
        (Answered(status=500), True),
        (Answered(status=429), True),
        # The host is well; it is this webhook that is not.
        (UP, False),
        (Answered(status=404), False),
        (Answered(status=410), False),
        # Nobody was called.
        (Forbidden(finding="private"), False),
        (Unsendable(finding="token"), False),
    ],
)
def test_what_is_the_fault_of_a_host(outcome: Outcome, is_failure: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_failure_of_host(outcome) is is_failure
