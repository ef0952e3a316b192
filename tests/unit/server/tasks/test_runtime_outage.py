"""What the log says of a store that is away, however many notice it."""

import logging

import pytest

from dragoman.errors import StoreUnavailableError, UnavailableError
from dragoman.server.tasks.runtime import CALM_SECONDS, Outage
from dragoman.testing.clock import FakeClock

AWAY = "the store is away: connection refused; requests that need it are refused"


class Watched:
    """An outage, its clock, and a store that may know that it cannot write."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.is_down = False
        self.outage = Outage(self.clock, is_down=lambda: self.is_down)

    def refuse(self, count: int = 1) -> None:
        for _ in range(count):
            self.outage.refuse(StoreUnavailableError("connection refused"))

    def answer(self, *, after_seconds: float = CALM_SECONDS) -> None:
        self.clock.advance(after_seconds)
        self.outage.pass_by()


@pytest.fixture
def on() -> Watched:
    return Watched()


def test_it_has_a_line_when_it_begins_and_one_that_counts_when_it_is_over(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    on.refuse(201)
    assert caplog.messages == [AWAY]
    on.answer(after_seconds=8)
    assert caplog.messages[1:] == [
        "the store answers again, after 8 s; requests refused meanwhile: 201"
    ]
    on.answer()
    assert len(caplog.messages) == 2


def test_each_request_is_there_for_whoever_wants_to_know(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    on.refuse(2)
    assert caplog.messages == [AWAY] + ["a request is refused: connection refused"] * 2


def test_requests_that_found_out_by_other_ways_are_counted_as_well(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    on.refuse()
    on.outage.refuse(UnavailableError("The store is not available"))
    on.answer()
    assert caplog.messages[-1].endswith("refused meanwhile: 2")


def test_a_refusal_for_another_reason_is_no_outage(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    on.outage.refuse(UnavailableError("The server is stopping"))
    on.answer()
    assert caplog.messages == []


def test_what_the_store_has_told_itself_is_not_told_again_but_for_the_number(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    on.is_down = True
    on.outage.refuse(UnavailableError("The store is not available"))
    assert caplog.messages == []
    on.is_down = False
    on.answer()
    assert caplog.messages == ["the store answers again, after 2 s; requests refused meanwhile: 1"]


def test_an_outage_that_the_store_has_told_and_nobody_felt_has_no_line(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    on.is_down = True
    on.outage.meet(StoreUnavailableError("disk full"))
    on.is_down = False
    on.answer()
    assert caplog.messages == []


def test_a_store_that_fails_now_and_then_has_two_lines_for_all_of_it(
    on: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10):
        on.refuse()
        on.answer(after_seconds=1)
    assert caplog.messages == [AWAY]
    on.answer()
    assert len(caplog.messages) == 2


def test_the_next_one_is_counted_anew(on: Watched, caplog: pytest.LogCaptureFixture) -> None:
    on.refuse(5)
    on.answer()
    on.refuse(3)
    on.answer()
    assert caplog.messages[2] == AWAY
    assert caplog.messages[3].endswith("refused meanwhile: 3")
