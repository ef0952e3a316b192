import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any

import pytest

from dragoman.server.tasks.streams import SharedTimeout

SECONDS = 1000.0
"""Long against what a test takes, as real time goes on beside the time that is moved by hand."""


class TravelLoop(asyncio.SelectorEventLoop):
    """A loop that can be moved into the future, and that counts its timers."""

    def __init__(self) -> None:
        super().__init__()
        self._travelled = 0.0
        self.timers = 0

    def time(self) -> float:
        return super().time() + self._travelled

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback, *args, context=context)

    async def travel(self, seconds: float) -> None:
        """Let time pass, and everybody look."""
        self._travelled += seconds
        for _ in range(3):
            await asyncio.sleep(0)


class Waiting:
    """Waits of one SharedTimeout, each in a task of its own."""

    def __init__(self, loop: TravelLoop, seconds: float = SECONDS) -> None:
        self._loop = loop
        self._patience = SharedTimeout(seconds)

    async def begin(self) -> tuple[asyncio.Task[None], asyncio.Future[None]]:
        """Begin a wait."""
        future: asyncio.Future[None] = self._loop.create_future()
        task = self._loop.create_task(self._patience.wait(future))
        await asyncio.sleep(0)
        return task, future


Run = Callable[[Callable[[TravelLoop], Coroutine[object, object, None]]], None]


@pytest.fixture
def run() -> Generator[Run]:
    """Run a coroutine function on a loop that travels; used as a decorator."""
    loop = TravelLoop()
    yield lambda test: loop.run_until_complete(test(loop))
    loop.close()


def test_a_wait_ends_with_what_is_waited_for(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        task, future = await Waiting(loop).begin()
        assert not task.done()
        future.set_result(None)
        await task


def test_a_wait_ends_when_its_time_is_up(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        task, future = await Waiting(loop).begin()
        await loop.travel(SECONDS - 100)
        assert not task.done()
        await loop.travel(100)
        await task
        assert future.done()


def test_no_time_at_all_is_up_at_once(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        task, _ = await Waiting(loop, 0).begin()
        await task


def test_every_wait_has_all_of_its_time(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        waiting = Waiting(loop)
        first, _ = await waiting.begin()
        await loop.travel(400)
        second, _ = await waiting.begin()
        await loop.travel(600)
        assert (first.done(), second.done()) == (True, False)
        await loop.travel(300)
        assert not second.done()
        await loop.travel(100)
        await second


def test_a_wait_that_is_over_does_not_end_others(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        waiting = Waiting(loop)
        first, future = await waiting.begin()
        future.set_result(None)
        await first
        await loop.travel(400)
        second, _ = await waiting.begin()
        await loop.travel(600)
        assert not second.done()
        await loop.travel(400)
        await second


def test_one_timer_serves_many_waits(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        waiting = Waiting(loop)
        for _ in range(10):
            task, future = await waiting.begin()
            future.set_result(None)
            await task
        assert loop.timers == 1


def test_a_wait_after_a_quiet_time_is_watched_again(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        waiting = Waiting(loop)
        task, _ = await waiting.begin()
        await loop.travel(SECONDS)
        await task
        late, _ = await waiting.begin()
        assert not late.done()
        await loop.travel(SECONDS)
        await late


def test_who_stops_waiting_leaves_nothing_behind(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        task, future = await Waiting(loop).begin()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()
        await loop.travel(SECONDS)
        assert loop.timers == 1


def test_what_fails_fails_the_wait(run: Run) -> None:
    @run
    async def _(loop: TravelLoop) -> None:
        task, future = await Waiting(loop).begin()
        future.set_exception(RuntimeError("lost"))
        with pytest.raises(RuntimeError, match="lost"):
            await task
        await loop.travel(SECONDS)
