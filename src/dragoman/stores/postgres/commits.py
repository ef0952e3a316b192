"""Group commit on the event loop: whatever waits is written in one batch, again and again.

The same idea as in ``stores/shared/group_commit.py``, without a thread: the driver waits for
PostgreSQL on the event loop anyway. A lost connection does not fail the batch that was on its way;
it waits until another connection has told what became of it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from typing import TYPE_CHECKING, Final

from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.stores.postgres.batch import Write, is_urgent, size_of
from dragoman.stores.postgres.connection import reason_of
from dragoman.stores.postgres.writer import Batch, BatchWriter, LostError
from dragoman.stores.shared.group_commit import FIRST_PROBE_SECONDS, LONGEST_PROBE_SECONDS, Report

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("MOST_BYTES", "MOST_WRITES", "REPLACE_SECONDS", "LoopCommit")

MOST_WRITES: Final = 1000
MOST_BYTES: Final = 16 * 1024 * 1024
"""In one batch, but for its last write: some ten milliseconds of the event loop, and of the locks
that it takes. PostgreSQL takes no message of more than 1 GB."""

REPLACE_SECONDS: Final = 1.0
"""How long another connection may take, when one is lost, before PostgreSQL counts as down. Writes
that somebody waits for wait as long."""

_logger = logging.getLogger(__name__)

Item = tuple[Write, Report]


class LoopCommit:
    """Owns the task that writes.

    Promised: writes of one task are committed and reported in the order they were handed over. When
    PostgreSQL cannot write, the batch on its way is told so, writes handed over meanwhile wait, but
    for those that somebody waits for, and PostgreSQL is tried until it works again. A connection
    that is lost and can be replaced at once fails nothing: the server has been down, or moved,
    while nobody wrote.
    """

    def __init__(self, name: str, writer: BatchWriter) -> None:
        self._name = name
        self._writer = writer
        self._waiting: deque[Item] = deque()
        self._wakeup = asyncio.Event()
        self._is_closing = False
        self._is_available = True
        self._task: asyncio.Task[None] | None = None

    @property
    def is_available(self) -> bool:
        """False from a failure until the writer has written again."""
        return self._is_available

    def start(self) -> None:
        """Start to write, on a connection that is open."""
        self._loop = asyncio.get_running_loop()
        # Owned here: close waits for it.
        self._task = self._loop.create_task(self._run(), name=f"commits of {self._name}")

    def submit(self, write: Write, report: Report) -> None:
        """Hand over a write; returns at once."""
        if self._is_closing:
            self._loop.call_soon(report, StoreUnavailableError(f"{self._name} is closed"))
        elif not self._is_available and is_urgent(write):
            self._loop.call_soon(report, StoreUnavailableError(f"{self._name} is down"))
        else:
            self._waiting.append((write, report))
            self._wakeup.set()

    async def close(self) -> None:
        """Commit what was handed over. While PostgreSQL is down it is tried once more."""
        self._is_closing = True
        self._wakeup.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while items := await self._take():
            batch = Batch([write for write, _ in items])
            await self._work_off(batch)
            self._tell(items, batch.outcomes)
            if not self._is_available and not await self._recover():
                self._give_up()

    async def _take(self) -> list[Item]:
        """Wait for work and return it; empty once closed and drained."""
        waiting = self._waiting
        while not waiting:
            if self._is_closing:
                return []
            self._wakeup.clear()
            # Woken in a later pass of the loop: all that the first one handed over goes together.
            await self._wakeup.wait()
        items: list[Item] = []
        size = 0
        while waiting and len(items) < MOST_WRITES and size < MOST_BYTES:
            items.append(waiting.popleft())
            size += size_of(items[-1][0])
        return items

    async def _work_off(self, batch: Batch) -> None:
        """Have a batch written, over as many connections as it takes."""
        was_replaced = False
        while batch.steps:
            try:
                await self._writer.run(batch)
            except LostError as error:
                reason = f"the connection is lost ({_cause_of(error)})"
                # One that does not answer is no better for being opened anew, nor is a second one.
                if not was_replaced and not isinstance(error.__cause__, TimeoutError):
                    was_replaced = True
                    if await self._replace(reason):
                        continue
                else:
                    self._fail(reason)
                if not await self._recover():
                    batch.fail(_given_up(self._name))
            except StoreUnavailableError as error:
                self._fail(str(error))
                batch.fail(error)
            except Exception as error:
                # Were this task to die, every caller would wait for ever.
                _logger.critical("%s: a defect failed a batch", self._name, exc_info=error)
                self._fail("a defect")
                batch.fail(StoreUnavailableError(f"unexpected {type(error).__name__}"))

    async def _replace(self, reason: str) -> bool:
        """Open another connection at once; if that is not possible, PostgreSQL is down."""
        try:
            async with asyncio.timeout(REPLACE_SECONDS):
                await self._writer.open()
        except Exception as error:  # noqa: BLE001 - were this task to die, all would wait for ever
            self._fail(f"{reason}, and there is no other ({reason_of(error)})")
            return False
        _logger.info("%s: %s; it was replaced", self._name, reason)
        return True

    def _fail(self, reason: str) -> None:
        self._is_available = False
        _logger.error("%s: %s; trying until it works", self._name, reason)
        waiting = list(self._waiting)
        urgent = [item for item in waiting if is_urgent(item[0])]
        self._waiting = deque(item for item in waiting if not is_urgent(item[0]))
        self._tell(urgent, [StoreUnavailableError(f"{self._name} is down")] * len(urgent))

    async def _recover(self) -> bool:
        """Open connections until one works; False when closed before that."""
        delay = 0.0
        while True:
            is_last = self._is_closing
            if delay and not is_last:
                await self._pause(delay)
            try:
                await self._writer.open()
            except Exception as error:  # noqa: BLE001 - were this task to die, all would wait for ever
                _logger.debug("%s: not yet: %s", self._name, error)
                if is_last:
                    return False
                delay = min(max(delay * 2, FIRST_PROBE_SECONDS), LONGEST_PROBE_SECONDS)
                continue
            self._is_available = True
            _logger.warning("%s: it works again", self._name)
            return True

    async def _pause(self, seconds: float) -> None:
        """Wait a while, not all replicas alike; not at all once closed."""
        deadline = self._loop.time() + seconds * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        while not self._is_closing and (rest := deadline - self._loop.time()) > 0:
            self._wakeup.clear()
            try:
                await asyncio.wait_for(self._wakeup.wait(), rest)
            except TimeoutError:
                return

    def _give_up(self) -> None:
        items = list(self._waiting)
        self._waiting.clear()
        if items:
            _logger.error("%s: closed while down; %d writes are lost", self._name, len(items))
        self._tell(items, [_given_up(self._name)] * len(items))

    def _tell(self, items: Iterable[Item], outcomes: Iterable[StoreError | None]) -> None:
        for (_, report), outcome in zip(items, outcomes, strict=True):
            try:
                report(outcome)
            except Exception as error:  # noqa: BLE001 - one caller's defect must not silence the others
                self._loop.call_exception_handler(
                    {"message": f"{self._name}: a report failed", "exception": error}
                )


def _cause_of(error: LostError) -> str:
    return "closed" if error.__cause__ is None else reason_of(error.__cause__)


def _given_up(name: str) -> StoreUnavailableError:
    return StoreUnavailableError(f"{name} was closed while PostgreSQL was down")
