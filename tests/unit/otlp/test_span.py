from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceState
from opentelemetry.util import types

from dragoman.otlp.span import (
    MOST_ATTRIBUTES,
    MOST_EVENTS,
    MOST_LINKS,
    Event,
    RecordedSpan,
    Scope,
)

CONTEXT = SpanContext(1, 2, is_remote=False)
OTHER = SpanContext(3, 4, is_remote=True)
NOBODY = SpanContext(0, 0, is_remote=False)


@pytest.fixture
def taken() -> list[RecordedSpan]:
    """The spans that have ended."""
    return []


@pytest.fixture
def span(taken: list[RecordedSpan]) -> RecordedSpan:
    """A span that began at 100; each look at the clock is one later."""
    return new(taken)


def new(
    taken: list[RecordedSpan],
    attributes: types.Attributes = None,
    *,
    records: bool = True,
    has_status: bool = True,
) -> RecordedSpan:
    ticks: Iterator[int] = count(101)
    return RecordedSpan(
        Scope("tests"),
        "work",
        CONTEXT,
        None,
        SpanKind.INTERNAL,
        100,
        attributes,
        take=taken.append,
        now_ns=lambda: next(ticks),
        records_errors=records,
        has_status_of_errors=has_status,
    )


def test_a_span_is_handed_on_once_when_it_ends(
    span: RecordedSpan, taken: list[RecordedSpan]
) -> None:
    assert span.is_recording()
    assert taken == []
    span.end()
    span.end(500)
    assert taken == [span]
    assert (span.start_ns, span.end_ns) == (100, 101)
    assert not span.is_recording()
    assert span.get_span_context() is CONTEXT


def test_an_end_may_have_been_before(span: RecordedSpan) -> None:
    span.end(0)
    assert span.end_ns == 0


def test_attributes_are_set_and_replaced(taken: list[RecordedSpan]) -> None:
    span = new(taken, {"a": 1, "b": 2})
    span.set_attribute("a", "x")
    span.set_attributes({"b": [1], "c": None})
    assert span.attributes == {"a": "x", "b": [1], "c": None}


def test_what_a_span_is_begun_with_is_its_own(taken: list[RecordedSpan]) -> None:
    given = {"a": 1}
    span = new(taken, given)
    span.set_attribute("b", 2)
    given["a"] = 7
    assert given == {"a": 7}
    assert span.attributes == {"a": 1, "b": 2}


def test_events_have_the_time_they_are_given_or_the_present(span: RecordedSpan) -> None:
    span.add_event("now", {"n": 1})
    span.add_event("then", timestamp=7)
    assert span.events == [Event("now", 101, {"n": 1}), Event("then", 7, {})]


def test_links_are_kept_with_what_is_said_of_them(span: RecordedSpan) -> None:
    span.add_link(OTHER, {"why": "because"})
    span.add_link(CONTEXT)
    assert span.links == [(OTHER, {"why": "because"}), (CONTEXT, {})]


def test_a_link_to_nobody_counts_only_if_it_says_something(span: RecordedSpan) -> None:
    span.add_link(NOBODY)
    assert span.links is None
    noted = SpanContext(0, 0, is_remote=False, trace_state=TraceState([("a", "1")]))
    span.add_link(NOBODY, {"queue": "lost"})
    span.add_link(noted)
    assert span.links == [(NOBODY, {"queue": "lost"}), (noted, {})]


def test_what_there_is_no_room_for_is_counted(taken: list[RecordedSpan]) -> None:
    span = new(taken, {f"a{n}": n for n in range(MOST_ATTRIBUTES + 2)})
    span.set_attribute("late", 1)
    span.set_attribute("a0", "still replaced")
    for number in range(MOST_EVENTS + 4):
        span.add_event(str(number))
    for _ in range(MOST_LINKS + 5):
        span.add_link(OTHER)
    assert len(span.attributes) == MOST_ATTRIBUTES
    assert span.attributes["a0"] == "still replaced"
    assert len(span.events or ()) == MOST_EVENTS
    assert len(span.links or ()) == MOST_LINKS
    assert (span.lost_attributes, span.lost_events, span.lost_links) == (3, 4, 5)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The last error counts, with what is said of it.
        (
            [Status(StatusCode.ERROR, "one"), Status(StatusCode.ERROR, "two")],
            (StatusCode.ERROR, "two"),
        ),
        # OK is the last word, and has nothing to say.
        ([Status(StatusCode.ERROR, "one"), StatusCode.OK], (StatusCode.OK, "")),
        ([StatusCode.OK, StatusCode.ERROR], (StatusCode.OK, "")),
        # Nothing is unset again.
        ([StatusCode.ERROR, StatusCode.UNSET], (StatusCode.ERROR, "")),
        ([Status()], (StatusCode.UNSET, "")),
    ],
)
def test_a_status_is_replaced_by_what_says_more(
    span: RecordedSpan, given: list[Status | StatusCode], expected: tuple[StatusCode, str]
) -> None:
    for status in given:
        span.set_status(status)
    assert (span.status, span.status_text) == expected


def test_an_error_may_be_described(span: RecordedSpan) -> None:
    span.set_status(StatusCode.ERROR, "broken")
    assert span.status_text == "broken"


class OwnError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("no"), "ValueError"), (OwnError("no"), f"{__name__}.OwnError")],
)
def test_an_error_is_an_event(span: RecordedSpan, error: Exception, kind: str) -> None:
    span.record_exception(error, {"extra": 1}, timestamp=5, escaped=True)
    (event,) = span.events or []
    assert (event.name, event.at_ns) == ("exception", 5)
    found = dict(event.attributes)
    assert f"{type(error).__name__}: no" in str(found.pop("exception.stacktrace"))
    assert found == {
        "exception.type": kind,
        "exception.message": "no",
        "exception.escaped": "True",
        "extra": 1,
    }


def test_a_block_ends_its_span(span: RecordedSpan, taken: list[RecordedSpan]) -> None:
    with span as same:
        assert same is span
    assert taken == [span]
    assert span.status is StatusCode.UNSET


def test_an_error_that_leaves_a_block_is_told(taken: list[RecordedSpan]) -> None:
    span = new(taken)
    with pytest.raises(ValueError, match="no"), span:
        raise ValueError("no")
    assert [event.name for event in span.events or ()] == ["exception"]
    assert (span.status, span.status_text) == (StatusCode.ERROR, "ValueError: no")
    assert taken == [span]


def test_an_error_that_leaves_a_block_is_not_told_if_that_is_not_wanted(
    taken: list[RecordedSpan],
) -> None:
    span = new(taken, records=False, has_status=False)
    with pytest.raises(ValueError, match="no"), span:
        raise ValueError("no")
    assert (span.events, span.status) == (None, StatusCode.UNSET)
    assert taken == [span]


def test_what_is_no_error_is_not_told_as_one(taken: list[RecordedSpan]) -> None:
    span = new(taken)
    with pytest.raises(GeneratorExit), span:
        raise GeneratorExit
    assert (span.events, span.status) == (None, StatusCode.UNSET)


def test_a_span_that_has_ended_does_not_change(span: RecordedSpan) -> None:
    span.end()
    span.set_attribute("a", 1)
    span.set_attributes({"b": 2})
    span.add_event("late")
    span.add_link(OTHER)
    span.update_name("other")
    span.set_status(StatusCode.ERROR)
    span.record_exception(ValueError())
    assert (span.name, span.attributes, span.events, span.links) == ("work", {}, None, None)
    assert span.status is StatusCode.UNSET
    assert (span.lost_attributes, span.lost_events, span.lost_links) == (0, 0, 0)


def test_a_span_may_be_renamed(span: RecordedSpan) -> None:
    span.update_name("other")
    assert span.name == "other"
