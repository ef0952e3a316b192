"""What callers hold at once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman.errors import RateLimitedError
from dragoman.model.documents import EventDocument
from dragoman.server.admission.concurrency import HeldStream, Quota


class Events:
    """A stream of one batch that says whether it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        yield (EventDocument(1, b"{}"),)

    async def aclose(self) -> None:
        self.closed += 1


def test_a_caller_may_hold_as_much_as_the_limit_and_no_more() -> None:
    holdings = Quota(2, "streams")
    holdings.take("a")
    holdings.take("a")
    with pytest.raises(
        RateLimitedError, match="You have 2 streams at once, which is the limit"
    ) as e:
        holdings.take("a")
    assert e.value.retry_after_seconds == 1
    holdings.take("b")
    holdings.give_back("a")
    holdings.take("a")


def test_who_is_refused_holds_no_more_than_before() -> None:
    holdings = Quota(1, "streams")
    holdings.take("a")
    with pytest.raises(RateLimitedError):
        holdings.take("a")
    holdings.give_back("a")
    assert len(holdings) == 0


def test_what_goes_on_anyway_counts_as_well() -> None:
    holdings = Quota(1, "turns")
    holdings.count("a")
    holdings.count("a")
    with pytest.raises(RateLimitedError):
        holdings.check("a")
    holdings.give_back("a")
    with pytest.raises(RateLimitedError):
        holdings.check("a")
    holdings.give_back("a")
    holdings.check("a")


async def test_a_stream_is_held_until_it_is_closed() -> None:
    holdings, events = Quota(1, "streams"), Events()
    holdings.take("a")
    held = HeldStream(events, holdings, "a")
    assert [event.seq async for batch in held for event in batch] == [1]
    assert len(holdings) == 1
    await held.aclose()
    assert (events.closed, len(holdings)) == (1, 0)


async def test_a_stream_closed_twice_is_given_back_once() -> None:
    holdings, events = Quota(5, "streams"), Events()
    holdings.take("a")
    holdings.take("a")
    held = HeldStream(events, holdings, "a")
    await held.aclose()
    await held.aclose()
    assert len(holdings) == 1
