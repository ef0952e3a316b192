import asyncio
import signal

import pytest

from dragoman.cli.chat.terminal import heeding, interruptible, raising

BOTH = (signal.SIGINT, signal.SIGTERM)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in BOTH]


def test_at_the_prompt_signals_are_raised() -> None:
    before = handlers()
    with pytest.raises(KeyboardInterrupt), raising():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(EOFError), raising():
        signal.raise_signal(signal.SIGTERM)
    assert handlers() == before


async def test_at_work_signals_are_told() -> None:
    before = handlers()
    told: asyncio.Queue[str] = asyncio.Queue()
    with heeding(lambda: told.put_nowait("interrupt"), lambda: told.put_nowait("end")):
        for number in BOTH:
            signal.raise_signal(number)
        assert [await told.get(), await told.get()] == ["interrupt", "end"]
    assert handlers() == before


@pytest.mark.parametrize("number", BOTH)
async def test_work_can_be_interrupted(number: signal.Signals) -> None:
    async def work() -> None:
        signal.raise_signal(number)
        await asyncio.sleep(3600)

    assert not await interruptible(work())


async def test_work_that_is_not_interrupted_is_done() -> None:
    done: list[bool] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append(True)

    assert await interruptible(work())
    assert done == [True]


async def test_inside_work_a_signal_may_mean_something_else() -> None:
    told = asyncio.Event()

    async def work() -> None:
        with heeding(told.set, told.set):
            signal.raise_signal(signal.SIGINT)
            await told.wait()

    assert await interruptible(work())
