import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from dragoman.client.sync import LoopThread, entered_in_thread


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


def test_calls_are_carried_out_in_another_thread(thread: LoopThread) -> None:
    async def where() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert thread.call(where()) == thread.call(where()) == "dragoman client"


def test_what_is_raised_there_is_raised_here(thread: LoopThread) -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        thread.call(fail())


def test_an_interrupt_cancels_the_call(thread: LoopThread, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("concurrent.futures.Future.result", interrupt)
        with pytest.raises(KeyboardInterrupt):
            thread.call(wait())
    assert ended.wait(5)


def test_an_async_generator_is_iterated_over_and_closed(thread: LoopThread) -> None:
    closed: list[bool] = []

    async def numbers() -> AsyncGenerator[int]:
        try:
            for number in range(5):
                yield number
        finally:
            closed.append(True)

    assert list(thread.iterate(numbers())) == [0, 1, 2, 3, 4]
    part = thread.iterate(numbers())
    assert next(part) == 0
    part.close()
    assert closed == [True, True]


def test_closing_ends_the_thread() -> None:
    before = threading.active_count()
    thread = LoopThread()
    assert threading.active_count() == before + 1
    thread.close()
    assert threading.active_count() == before


@asynccontextmanager
async def room(doings: list[str]) -> AsyncGenerator[str]:
    doings.append("in")
    try:
        yield threading.current_thread().name
    finally:
        doings.append("out")


def test_what_is_entered_is_left_with_the_block() -> None:
    doings: list[str] = []
    with entered_in_thread(room(doings)) as (opened, thread):
        assert opened == "dragoman client"
        assert thread.call(asyncio.sleep(0, "there")) == "there"
        assert doings == ["in"]
    assert doings == ["in", "out"]
    assert "dragoman client" not in [thread.name for thread in threading.enumerate()]


def test_what_is_entered_is_left_by_an_error_too() -> None:
    doings: list[str] = []
    with pytest.raises(KeyError), entered_in_thread(room(doings)):
        raise KeyError("x")
    assert doings == ["in", "out"]
