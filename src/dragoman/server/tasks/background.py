"""Background tasks: the one place where they are started and awaited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Coroutine

__all__ = ("BackgroundTasks", "ended")

_logger = logging.getLogger(__name__)


class BackgroundTasks:
    """Background tasks with one owner.

    Unlike a TaskGroup, the failure of one child does not end the others: turns of different callers
    have nothing to do with each other. A child is expected to handle its own errors; one that does
    not is logged.
    """

    def __init__(self) -> None:
        # A set in the order of birth, in which they are ended: chance is to have no part in that.
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that its children run on."""
        if self._loop is None:
            # Asked once: the answer costs a system call, and this stays with its loop.
            self._loop = asyncio.get_running_loop()
        return self._loop

    def open(self) -> None:
        """Take children again."""
        self._is_closed = False

    def spawn(self, work: Coroutine[object, object, None], *, name: str) -> asyncio.Task[None]:
        """Start a child; it begins with the next pass of the loop, or never once it is closed."""
        task = self.loop.create_task(work, name=name)
        if self._is_closed:
            task.cancel()
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    async def close(self, patience_seconds: float = 5.0) -> None:
        """Cancel all children and wait until they are gone; one that will not go is left behind."""
        self._is_closed = True
        tasks = tuple(self._tasks)
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        _, stubborn = await asyncio.wait(tasks, timeout=patience_seconds)
        for task in stubborn:
            _logger.warning("%s ignores cancellation; it is left behind", task.get_name())

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.error("background task %s failed", task.get_name(), exc_info=error)


async def ended(
    tasks: Collection[asyncio.Task[None]], *, seconds: float, hurry: asyncio.Event
) -> None:
    """Wait until tasks have ended, for so long at most, or until there is hurry; end none."""
    waits = [asyncio.ensure_future(asyncio.wait(tasks)), asyncio.ensure_future(hurry.wait())]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
