"""A request is taken once."""

import pytest

from dragoman.errors import UnavailableError
from dragoman.extensions.xpr.auth import MemoryReplays
from dragoman.testing.clock import FakeClock


async def test_a_request_is_taken_once() -> None:
    replays = MemoryReplays(FakeClock())
    assert await replays.claim(b"one")
    assert not await replays.claim(b"one")
    assert await replays.claim(b"two")


async def test_it_is_remembered_for_as_long_as_it_could_be_good() -> None:
    clock = FakeClock()
    replays = MemoryReplays(clock)
    assert await replays.claim(b"one")
    clock.advance(599.999)
    assert not await replays.claim(b"one")
    clock.advance(0.001)
    assert await replays.claim(b"one")


async def test_when_it_is_full_nobody_is_let_in() -> None:
    clock = FakeClock()
    replays = MemoryReplays(clock, most=2)
    assert await replays.claim(b"one")
    clock.advance(100)
    assert await replays.claim(b"two")
    with pytest.raises(UnavailableError) as caught:
        await replays.claim(b"three")
    assert caught.value.retry_after_seconds == 500
    # What is known is still told from what is new.
    assert not await replays.claim(b"one")
    clock.advance(500)
    assert await replays.claim(b"three")
