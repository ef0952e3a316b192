import pytest

from dragoman.push.receiving.receiver import Seen, Verdict
from dragoman.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def seen(clock: FakeClock) -> Seen:
    return Seen(seconds=60, most=3, clock=clock)


def taken(seen: Seen, **marks: str) -> Verdict:
    verdict = seen.begin(marks)
    if verdict is Verdict.NEW:
        seen.keep(marks)
    return verdict


@pytest.mark.requirement("R-4.3.3-5")
def test_what_was_taken_is_known_again(seen: Seen) -> None:
    assert taken(seen, a="1") is Verdict.NEW
    assert taken(seen, a="1") is Verdict.REPEATED
    assert taken(seen, b="1") is Verdict.NEW


@pytest.mark.requirement("R-T.str-12")
def test_a_mark_that_stands_for_something_else_is_misused(seen: Seen) -> None:
    assert taken(seen, a="1", jwt="1") is Verdict.NEW
    assert taken(seen, a="2") is Verdict.MISUSED
    assert taken(seen, b="3", jwt="3") is Verdict.MISUSED
    # Nothing of what was refused is kept.
    assert taken(seen, b="4") is Verdict.NEW


def test_a_retry_may_have_another_mark_beside_the_known_one(seen: Seen) -> None:
    assert taken(seen, a="1", jwt="x") is Verdict.NEW
    assert taken(seen, a="1", other="y") is Verdict.REPEATED


def test_what_is_being_taken_is_not_taken_twice(seen: Seen) -> None:
    assert seen.begin({"a": "1"}) is Verdict.NEW
    assert seen.begin({"a": "1"}) is Verdict.PENDING
    assert seen.begin({"a": "2"}) is Verdict.MISUSED
    seen.keep({"a": "1"})
    assert seen.begin({"a": "1"}) is Verdict.REPEATED


def test_what_was_not_taken_may_come_again(seen: Seen) -> None:
    assert seen.begin({"a": "1"}) is Verdict.NEW
    seen.drop({"a": "1"})
    assert seen.begin({"a": "1"}) is Verdict.NEW


def test_marks_are_forgotten_in_time(seen: Seen, clock: FakeClock) -> None:
    assert taken(seen, a="1") is Verdict.NEW
    clock.advance(59)
    assert taken(seen, b="1") is Verdict.NEW
    clock.advance(1)
    assert taken(seen, b="1") is Verdict.REPEATED
    assert taken(seen, a="1") is Verdict.NEW


def test_there_is_room_for_so_many_and_the_oldest_goes_first(seen: Seen) -> None:
    for mark in "abcd":
        assert taken(seen, **{mark: "1"}) is Verdict.NEW
    assert taken(seen, d="1") is Verdict.REPEATED
    assert taken(seen, b="1") is Verdict.REPEATED
    assert taken(seen, a="1") is Verdict.NEW


def test_nothing_is_known_of_what_has_no_marks(seen: Seen) -> None:
    assert taken(seen) is Verdict.NEW
    assert taken(seen) is Verdict.NEW
