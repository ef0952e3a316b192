"""Looks sends up, many at once.

Nearly every request begins with the question whether it was there before. Questions that come while
one is on its way wait together and are asked as one.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.stores.base import SendKey, SendRecord
from dragoman.stores.postgres.connection import Pool
from dragoman.stores.postgres.rows import columns
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.texts import storable

__all__ = ("SendLookups",)

_MOST_KEYS: Final = 500
"""In one question."""

_logger = logging.getLogger(__name__)

Answer = asyncio.Future[SendRecord | None]


class SendLookups:
    """Finds records of sends by their keys. Owns the task that asks."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: list[tuple[SendKey, Answer]] = []
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Get ready to ask."""
        # Owned here: close waits for it.
        self._task = asyncio.get_running_loop().create_task(self._run(), name="lookups of sends")

    async def close(self) -> None:
        """Stop; whoever still waits is told so."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        _fail(self._waiting, StoreUnavailableError("the store is closed"))

    async def find(self, key: SendKey) -> SendRecord | None:
        """Return the record of a send, None if there is none."""
        if self._task is None:
            raise StoreUnavailableError("the store is closed")
        answer: Answer = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer))
        self._wakeup.set()
        return await answer

    async def _run(self) -> None:
        while True:
            await self._wakeup.wait()
            asked, self._waiting = self._waiting[:_MOST_KEYS], self._waiting[_MOST_KEYS:]
            if not self._waiting:
                self._wakeup.clear()
            try:
                await self._answer(asked)
            except Exception as error:
                # Were this task to die, every caller would wait for ever.
                _logger.critical("a defect failed %d lookups", len(asked), exc_info=error)
                _fail(asked, StoreUnavailableError(f"unexpected {type(error).__name__}"))
            finally:
                _fail(asked, StoreUnavailableError("the store is closed"))

    async def _answer(self, asked: list[tuple[SendKey, Answer]]) -> None:
        """Answer all; a key that PostgreSQL does not take is told so alone."""
        try:
            _tell(asked, await self._ask([key for key, _ in asked]))
        except StoreError as error:
            if isinstance(error, StoreUnavailableError) or len(asked) == 1:
                _fail(asked, error)
                return
            for each in asked:
                await self._answer([each])

    async def _ask(self, keys: list[SendKey]) -> dict[int, SendRecord]:
        """Return the records that there are, by the places of their keys from 1."""
        rows = [
            (storable(key.scope.tenant), storable(key.scope.owner), storable(key.message_id))
            for key in keys
        ]
        found: dict[int, SendRecord] = {}
        for row in await self._pool.fetch(QUERIES["select_sends"], *columns(rows)):
            place: int = row[0]
            _, digest, at_ms, task_id, reply = row
            found[place] = SendRecord(
                key=keys[place - 1], digest=digest, at_ms=at_ms, task_id=task_id, reply=reply
            )
        return found


def _tell(asked: list[tuple[SendKey, Answer]], found: dict[int, SendRecord]) -> None:
    for place, (_, answer) in enumerate(asked, 1):
        # Whoever waited may have been cancelled meanwhile.
        if not answer.done():
            answer.set_result(found.get(place))


def _fail(asked: list[tuple[SendKey, Answer]], error: StoreError) -> None:
    for _, answer in asked:
        if not answer.done():
            answer.set_exception(error)
