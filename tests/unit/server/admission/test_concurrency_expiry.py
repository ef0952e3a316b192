"""Streams whose callers' credentials end while they are open."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dragoman.model.documents import EventDocument
from dragoman.server.admission.concurrency import LEEWAY_SECONDS, ExpiringStream
from dragoman.testing.clock import FakeClock

SECOND = 1000


class Beats:
    """A stream of numbered frames; before each, the clock moves on by a second."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._seq = 0
        self.is_closed = False

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        return self

    async def __anext__(self) -> tuple[EventDocument, ...]:
        self._clock.advance(1)
        self._seq += 1
        return (EventDocument(self._seq, b"{}"),)

    async def aclose(self) -> None:
        self.is_closed = True


async def seen(stream: ExpiringStream) -> list[int]:
    return [event.seq async for batch in stream for event in batch]


async def test_what_is_ready_before_the_end_is_handed_out_and_nothing_after_it() -> None:
    clock = FakeClock()
    stream = ExpiringStream(Beats(clock), clock.now_ms() + 3 * SECOND, clock)
    # The third is ready at the end itself, when nothing is good any more.
    assert await seen(stream) == [1, 2]


async def test_the_end_is_told_to_the_millisecond() -> None:
    clock = FakeClock()
    stream = ExpiringStream(Beats(clock), clock.now_ms() + 3 * SECOND + 1, clock)
    assert await seen(stream) == [1, 2, 3]


async def test_a_stream_with_nothing_to_say_ends_at_its_heartbeat() -> None:
    class Silence(Beats):
        async def __anext__(self) -> tuple[EventDocument, ...]:
            await super().__anext__()
            return ()

    clock = FakeClock()
    stream = ExpiringStream(Silence(clock), clock.now_ms() + 3 * SECOND, clock)
    assert [batch async for batch in stream] == [(), ()]


async def test_whoever_was_let_in_is_shown_the_first_batch() -> None:
    clock = FakeClock()
    stream = ExpiringStream(Beats(clock), clock.now_ms() + 1, clock)
    assert await seen(stream) == [1]


async def test_whoever_was_let_in_after_the_end_has_a_while() -> None:
    clock = FakeClock()
    stream = ExpiringStream(Beats(clock), clock.now_ms(), clock)
    assert len(await seen(stream)) == LEEWAY_SECONDS - 1


async def test_closing_it_closes_what_it_shows() -> None:
    clock = FakeClock()
    beats = Beats(clock)
    await ExpiringStream(beats, clock.now_ms() + SECOND, clock).aclose()
    assert beats.is_closed
