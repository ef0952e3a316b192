"""Retention: what becomes of tasks because of their age.

A task that has ended is removed after a while, with all that belongs to it. One that waits for a
client who never comes back can be ended first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from dragoman.clock import Clock
from dragoman.errors import A2AError
from dragoman.server.settings import TaskSettings
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.stores.base import StoredTask, TaskStore

__all__ = ("Retention",)

_logger = logging.getLogger(__name__)

_DAY_MS: Final = 24 * 60 * 60 * 1000

_PAUSE_MS: Final = 60 * 60 * 1000
"""Ages count in days; and who has many old tasks that stay should not have all of them looked at
every minute."""

_BATCH: Final = 200


class Retention:
    """Ends and removes tasks that have become too old.

    Args:
        may_take: tells of a task that no living replica has whether it may be taken up here.
    """

    def __init__(
        self,
        *,
        store: TaskStore,
        supervisor: TaskSupervisor,
        clock: Clock,
        settings: TaskSettings,
        may_take: Callable[[StoredTask], bool] = lambda _: True,
    ) -> None:
        self._store = store
        self._supervisor = supervisor
        self._clock = clock
        self._settings = settings
        self._may_take = may_take
        self._due_ms = 0

    async def enforce(self) -> None:
        """Do what is due, once an hour at most.

        Raises:
            StoreError: the store has failed; the next call begins anew.
        """
        now_ms = self._clock.now_ms()
        if now_ms < self._due_ms:
            return
        if self._settings.input_expiry_days:
            await self._expire_waiting(self._days_ago(self._settings.input_expiry_days))
        if self._settings.retention_days:
            removed = await self._store.delete_ended(self._days_ago(self._settings.retention_days))
            if removed:
                _logger.info(
                    "removed %d tasks that ended more than %g days ago",
                    removed,
                    self._settings.retention_days,
                )
        self._due_ms = now_ms + _PAUSE_MS

    async def _expire_waiting(self, before_ms: int) -> None:
        ended = 0
        after_id = ""
        while batch := await self._store.waiting(
            before_ms=before_ms, after_id=after_id, limit=_BATCH
        ):
            left = [
                stored
                for stored in batch
                if self._supervisor.held(stored.id) is not None or self._may_take(stored)
            ]
            # Together, so that they share commits.
            ended += sum(await asyncio.gather(*map(self._expire, left)))
            after_id = batch[-1].id
        if ended:
            _logger.warning("ended %d tasks whose client has not answered", ended)

    async def _expire(self, stored: StoredTask) -> bool:
        """End a task if nobody has answered it meanwhile; tell whether that was so."""
        days = self._settings.input_expiry_days
        reason = f"No answer came within {days:g} day{'' if days == 1 else 's'}; the task is ended"
        try:
            live = await self._supervisor.adopt(stored)
            if not live.is_questioned:
                return False
            await self._supervisor.abandon(live, reason)
        except TaskLostError:
            return False  # Another replica was faster.
        except A2AError as error:
            _logger.warning("task %s could not be ended: %s", stored.id, error.message)
            return False
        except Exception:
            # One that cannot be read must not keep all others from their end.
            _logger.exception("task %s could not be ended", stored.id)
            return False
        return True

    def _days_ago(self, days: float) -> int:
        return self._clock.now_ms() - round(days * _DAY_MS)
