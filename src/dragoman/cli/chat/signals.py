"""What Ctrl-C and SIGTERM do in a chat: at the prompt they are raised, at work they are told.

Each holds inside its block alone; outside, the program is interrupted as with every command.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ("heeding", "interruptible", "raising")


@contextmanager
def raising() -> Generator[None]:
    """Raise KeyboardInterrupt for Ctrl-C, and EOFError for SIGTERM: there is nothing more to read.

    Only for code that reads from the terminal and does not await: the event loop would not see
    either of them there.
    """
    with _handled(_interrupt, _end):
        yield


@contextmanager
def heeding(interrupt: Callable[[], object], end: Callable[[], object]) -> Generator[None]:
    """Have the running event loop call ``interrupt`` for Ctrl-C and ``end`` for SIGTERM."""
    loop = asyncio.get_running_loop()
    with _handled(
        lambda: loop.call_soon_threadsafe(interrupt), lambda: loop.call_soon_threadsafe(end)
    ):
        yield


async def interruptible(work: Coroutine[Any, Any, None]) -> bool:
    """Do some work; tell whether it was done, as Ctrl-C and SIGTERM cancel it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        with heeding(task.cancel, task.cancel):
            await asyncio.wait({task})
    return not task.cancelled()


@contextmanager
def _handled(interrupt: Callable[[], object], end: Callable[[], object]) -> Generator[None]:
    # Python runs handlers between two steps of the main thread, so they may raise. The loop's own
    # way to add handlers is not used: it is not to be had on every system.
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda _number, _frame: interrupt()),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda _number, _frame: end()),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


def _end() -> NoReturn:
    raise EOFError
