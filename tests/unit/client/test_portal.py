import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from dragoman.client.portal import Portal, entered


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


def test_calls_are_carried_out_in_another_thread(portal: Portal) -> None:
    async def where() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert portal.call(where()) == portal.call(where()) == "dragoman client"


def test_what_is_raised_there_is_raised_here(portal: Portal) -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        portal.call(fail())


def test_an_interrupt_cancels_the_call(portal: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
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
            portal.call(wait())
    assert ended.wait(5)


def test_an_async_generator_is_iterated_over_and_closed(portal: Portal) -> None:
    closed: list[bool] = []

    async def numbers() -> AsyncGenerator[int]:
        try:
            for number in range(5):
                yield number
        finally:
            closed.append(True)

    assert list(portal.iterate(numbers())) == [0, 1, 2, 3, 4]
    part = portal.iterate(numbers())
    assert next(part) == 0
    part.close()
    assert closed == [True, True]


def test_closing_ends_the_thread() -> None:
    before = threading.active_count()
    portal = Portal()
    assert threading.active_count() == before + 1
    portal.close()
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
    with entered(room(doings)) as (opened, portal):
        assert opened == "dragoman client"
        assert portal.call(asyncio.sleep(0, "there")) == "there"
        assert doings == ["in"]
    assert doings == ["in", "out"]
    assert "dragoman client" not in [thread.name for thread in threading.enumerate()]


def test_what_is_entered_is_left_by_an_error_too() -> None:
    doings: list[str] = []
    with pytest.raises(KeyError), entered(room(doings)):
        raise KeyError("x")
    assert doings == ["in", "out"]
