from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from threading import Event, current_thread
from typing import cast

import pytest

from dragoman.otlp.posting import Away, Busy, Outcome, Refused, Taken
from dragoman.otlp.sending import ROOM, SpanSender
from dragoman.otlp.span import RecordedSpan
from tests.support.collector import until

LONG_SECONDS = 3600.0
"""A pause that no test waits for."""


def span(number: int) -> RecordedSpan:
    """Return what stands for a span: nobody here looks into it."""
    return cast("RecordedSpan", number)


def encode(spans: Sequence[RecordedSpan]) -> bytes:
    return ",".join(str(each) for each in spans).encode()


class Place:
    """Where batches are sent: takes them, unless told what to answer before."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.tries: list[bytes] = []
        self.taken: list[int] = []
        self.gate = Event()
        self.gate.set()
        self.hung_up = 0

    def hang_up(self) -> None:
        self.hung_up += 1

    def post(self, body: bytes) -> Outcome:
        self.tries.append(body)
        self.gate.wait(10)
        outcome = self.outcomes.pop(0) if self.outcomes else Taken()
        if isinstance(outcome, Taken):
            self.taken += [int(each) for each in body.split(b",")]
        return outcome

    def sender(
        self,
        *,
        pause_seconds: float = 0.01,
        first_wait_seconds: float = 0.001,
        encode: Callable[[Sequence[RecordedSpan]], bytes] = encode,
    ) -> SpanSender:
        return SpanSender(
            encode,
            self.post,
            "the collector",
            hang_up=self.hang_up,
            pause_seconds=pause_seconds,
            first_wait_seconds=first_wait_seconds,
        )


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_spans_are_sent_after_a_pause() -> None:
    place = Place()
    sender = place.sender()
    for number in range(3):
        sender.put(span(number))
    until(lambda: place.taken == [0, 1, 2])
    sender.shutdown(10)


def test_a_full_batch_does_not_wait() -> None:
    place = Place()
    sender = place.sender(pause_seconds=LONG_SECONDS)
    for number in range(512):
        sender.put(span(number))
    until(lambda: len(place.taken) == 512)
    assert len(place.tries) == 1
    sender.shutdown(10)


def test_shutdown_sends_what_waits_and_takes_nothing_more() -> None:
    place = Place()
    sender = place.sender(pause_seconds=LONG_SECONDS)
    for number in range(100):
        sender.put(span(number))
    sender.shutdown(10)
    assert place.taken == list(range(100))
    assert place.hung_up == 1
    sender.put(span(100))
    sender.shutdown(10)
    assert len(place.tries) == 1
    assert sender.lost == 1


def test_shutdown_without_a_span_has_nothing_to_do() -> None:
    place = Place()
    place.sender().shutdown(10)
    assert place.tries == []


def test_what_does_not_fit_is_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    place = Place()
    place.gate.clear()
    sender = place.sender()
    sender.put(span(0))
    until(lambda: len(place.tries) == 1)
    for number in range(1, ROOM + 10):
        sender.put(span(number))
    assert sender.lost == 9
    place.gate.set()
    sender.shutdown(10)
    # The oldest are kept: what began it is worth more than what came of it.
    assert place.taken == list(range(ROOM + 1))
    assert lines(caplog) == ["9 spans were not sent to the collector"]


def test_a_collector_that_is_away_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    # More often than a collector that answers would be asked.
    place = Place(*[Away("refused")] * 10)
    sender = place.sender()
    sender.put(span(1))
    until(lambda: place.taken == [1])
    assert len(place.tries) == 11
    sender.shutdown(10)
    assert sender.lost == 0
    assert lines(caplog) == [
        "the collector does not take spans: refused",
        "the collector takes spans again; 0 were lost",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_a_busy_collector_is_asked_a_few_times(caplog: pytest.LogCaptureFixture) -> None:
    place = Place(*[Busy("status 503")] * 6)
    sender = place.sender()
    sender.put(span(1))
    until(lambda: sender.lost == 1)
    assert len(place.tries) == 6
    sender.put(span(2))
    until(lambda: place.taken == [2])
    sender.shutdown(10)
    assert lines(caplog) == [
        "the collector does not take spans: status 503",
        "the collector takes spans again; 1 were lost",
        "1 spans were not sent to the collector",
    ]


def test_a_refusal_is_not_asked_about_again(caplog: pytest.LogCaptureFixture) -> None:
    place = Place(Refused("status 400"), Refused("status 500"))
    sender = place.sender()
    for number in range(3):
        sender.put(span(number))
        until(lambda number=number: len(place.tries) == number + 1)
    until(lambda: place.taken == [2])
    sender.shutdown(10)
    assert sender.lost == 2
    # Once, and not for every batch.
    assert lines(caplog)[:2] == [
        "the collector does not take spans: status 400",
        "the collector takes spans again; 2 were lost",
    ]


def test_spans_that_were_rejected_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    place = Place(Taken(2, "too old"))
    sender = place.sender()
    sender.put(span(1))
    until(lambda: sender.lost == 2)
    sender.shutdown(10)
    assert lines(caplog)[0] == "the collector does not take spans: 2 spans were rejected: too old"


def test_a_wait_ends_with_shutdown_and_one_last_try() -> None:
    place = Place(Busy("status 503", after_seconds=LONG_SECONDS))
    sender = place.sender(first_wait_seconds=LONG_SECONDS)
    sender.put(span(1))
    until(lambda: len(place.tries) == 1)
    sender.put(span(2))
    sender.shutdown(10)
    assert place.taken == [1, 2]
    assert sender.lost == 0


def test_a_collector_that_is_away_is_not_waited_for_at_the_end() -> None:
    place = Place(*[Away("refused")] * 100)
    sender = place.sender(first_wait_seconds=LONG_SECONDS)
    for number in range(600):
        sender.put(span(number))
    until(lambda: len(place.tries) == 1)
    sender.shutdown(10)
    # Once each.
    assert len(place.tries) == 3
    assert sender.lost == 600


def test_a_collector_that_is_too_slow_at_the_end_is_left() -> None:
    place = Place()
    place.gate.clear()
    sender = place.sender()
    sender.put(span(1))
    until(lambda: len(place.tries) == 1)
    sender.put(span(2))
    sender.shutdown(0)
    assert sender.lost == 1
    place.gate.set()


def test_spans_are_written_and_sent_by_a_thread_of_their_own() -> None:
    threads: set[str] = set()

    def look(spans: Sequence[RecordedSpan]) -> bytes:
        threads.add(current_thread().name)
        return encode(spans)

    place = Place()
    sender = place.sender(encode=look)
    sender.put(span(1))
    sender.shutdown(10)
    assert threads == {"dragoman-otlp"}


def test_what_cannot_be_written_does_not_stop_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    def choke(spans: Sequence[RecordedSpan]) -> bytes:
        if spans[0] == span(1):
            raise RuntimeError("changed while it was read")
        return encode(spans)

    place = Place()
    sender = place.sender(encode=choke)
    sender.put(span(1))
    until(lambda: sender.lost == 1)
    sender.put(span(2))
    sender.shutdown(10)
    assert place.taken == [2]
    assert lines(caplog)[0] == "1 spans could not be written"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_that_is_forked_sends_its_own_spans_alone() -> None:
    place = Place()
    sender = place.sender(pause_seconds=LONG_SECONDS)
    sender.put(span(1))
    child = os.fork()
    if not child:
        sender.put(span(2))
        sender.shutdown(10)
        # The connection of its parent, and then its own.
        os._exit(0 if (place.taken, place.hung_up) == ([2], 2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    sender.shutdown(10)
    assert place.taken == [1]
