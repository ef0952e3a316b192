"""Resumption: which tasks are taken up again, which are woken, and which are put aside.

A task that only waits, for its client or for a time, need not be in memory: its journal is enough
to go on from. What was under way when the process ended is run again, a few times at most: a task
that takes the process down with it must not do so forever.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Final

from dragoman.clock import Clock
from dragoman.engine.commands import GoOn
from dragoman.errors import A2AError, StoreError, UnavailableError
from dragoman.model.tasks import TaskState
from dragoman.server.settings import TaskSettings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.delivery import Answer, encode
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.tasks.turn import ASK, question_name
from dragoman.server.tasks.turns import INTERRUPTED_REASON
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.service.worker import Worker
from dragoman.stores.base import SharedTaskStore, StoredTask, TaskStore

__all__ = ("Resumption",)

_logger = logging.getLogger(__name__)

_BATCH: Final = 200

_FIRST_DELAY_SECONDS: Final = 1.0
_MAX_DELAY_SECONDS: Final = 60.0
"""From the second attempt on: who brings the process down should not do so at once again, and those
beside it should get some work done meanwhile."""


_HANDED_OVER: Final = "tasks that another replica has handed over"
_LEFT_BY_THE_DEAD: Final = "tasks that a replica that is gone has left"
_LEFT_BY_THE_LAST: Final = "tasks that the last stop cut off"


class _Fate(Enum):
    """What has become of a task that was found cut off, as the log says it of a number of them."""

    CONTINUED = "%d are continued"
    LATER = "%d to be continued after a pause (cut off before)"
    GIVEN_UP = "%d given up"
    UNSTORED = "%d left alone for now (the store did not answer)"
    UNREADABLE = "%d left alone (cannot be read)"


_CALM: Final = frozenset({_Fate.CONTINUED, _Fate.LATER})
"""What is to be expected when a replica is stopped; nobody need do anything."""


class Resumption:
    """Decides about tasks that are not at work here and now.

    Args:
        may_take: tells of a task that no living replica has whether it may be taken up here.
    """

    def __init__(
        self,
        *,
        worker: Worker,
        store: TaskStore,
        supervisor: TaskSupervisor,
        clock: Clock,
        background: BackgroundTasks,
        settings: TaskSettings,
        may_take: Callable[[StoredTask], bool] = lambda _: True,
    ) -> None:
        self._worker = worker
        self._store = store
        self._supervisor = supervisor
        self._clock = clock
        self._background = background
        self._settings = settings
        self._may_take = may_take
        self._is_shared = isinstance(store, SharedTaskStore)
        self._left = _LEFT_BY_THE_DEAD if self._is_shared else _LEFT_BY_THE_LAST
        # What is to be run again after a while.
        self._delayed: set[str] = set()
        # What has been told to be damaged; it is found again by every sweep.
        self._unreadable: set[str] = set()

    async def resume_all(self) -> None:
        """Take up what another process has left under way, and tell how much that was.

        Nothing is taken up by a server that stops, least of all what it has just handed over. What
        another replica was faster to take up is not spoken of: that one does.
        """
        if self._supervisor.is_draining:
            return
        fates: dict[str, Counter[_Fate]] = {_HANDED_OVER: Counter(), self._left: Counter()}
        after_id = ""
        while batch := await self._store.at_work(after_id=after_id, limit=_BATCH):
            # What is at work here is nobody's to take up, whatever a lease says.
            left = [
                stored
                for stored in batch
                if self._supervisor.held(stored.id) is None and self._may_take(stored)
            ]
            # Together, so that they share commits.
            found = await asyncio.gather(*map(self._try_to_resume, left))
            for stored, fate in zip(left, found, strict=True):
                if fate is not None:
                    fates[self._cause(stored)][fate] += 1
            after_id = batch[-1].id
        for cause, counts in fates.items():
            if counts:
                is_calm = cause == _HANDED_OVER and counts.keys() <= _CALM
                told = ", ".join(fate.value % counts[fate] for fate in _Fate if counts[fate])
                _logger.log(logging.INFO if is_calm else logging.WARNING, "%s: %s", cause, told)

    def _cause(self, stored: StoredTask) -> str:
        # Who stops in order lets go of each task; the dead are still named as its holder.
        return _HANDED_OVER if self._is_shared and not stored.holder else self._left

    async def _try_to_resume(self, stored: StoredTask) -> _Fate | None:
        """Resume a task; what keeps it from that is no reason not to serve others.

        None if there is nothing to say of it, or nothing new.
        """
        try:
            fate = await self._resume(stored)
        except TaskLostError:
            return None  # Another replica was faster.
        except (StoreError, UnavailableError) as error:
            _logger.debug("task %s cannot be taken up for now: %s", stored.id, error)
            return None if self._supervisor.is_draining else _Fate.UNSTORED
        except Exception as error:
            if stored.id in self._unreadable:
                _logger.debug("task %s still cannot be taken up: %s", stored.id, error)
                return None
            self._unreadable.add(stored.id)
            _logger.exception("task %s cannot be taken up; it stays as it is", stored.id)
            return _Fate.UNREADABLE
        self._unreadable.discard(stored.id)
        return fate

    async def wake_due(self) -> None:
        """Take up tasks whose time has come and that no turn waits for."""
        if self._supervisor.is_draining:
            return
        for stored in await self._store.due(now_ms=self._clock.now_ms(), limit=_BATCH):
            live = self._supervisor.find(stored.scope, stored.id)
            if live is not None and live.turn is not None:
                continue  # It has a timer of its own.
            if live is None and not self._may_take(stored):
                continue
            try:
                if stored.state.is_interrupted:
                    await self._end_question(stored)
                else:
                    await self._resume(stored)
            except TaskLostError:
                continue  # Another replica was faster.
            except A2AError as error:
                _logger.warning("task %s could not be woken: %s", stored.id, error.message)
            except StoreError:
                raise
            except Exception:
                # One that cannot be read must not keep all others from being woken.
                _logger.exception("task %s cannot be woken; it stays as it is", stored.id)

    def park_idle(self) -> None:
        """Put aside what has waited long enough and nobody looks at."""
        before_ms = self._clock.now_ms() - round(self._settings.park_after_seconds * 1000)
        for live in self._supervisor.tasks():
            if (
                0 < live.paused_ms <= before_ms
                # What it waited for may just have come.
                and not (live.pause is not None and live.pause.done())
                and not live.is_watched
                and not live.backlog
                and live.failure is None
                and not live.is_stopping
                and self._worker.resumes(live.record.skill_id)
            ):
                self._supervisor.put_aside(live)

    async def _resume(self, stored: StoredTask) -> _Fate | None:
        """Run a task again, or give it up; None if it is already to be run again after a while."""
        if not self._worker.resumes(stored.skill_id):
            await self._supervisor.give_up(stored, INTERRUPTED_REASON)
            return _Fate.GIVEN_UP
        if stored.attempts >= self._settings.max_attempts:
            _logger.error(
                "task %s is given up: the server has stopped in each of %d attempts to run it",
                stored.id,
                stored.attempts + 1,
            )
            reason = (
                f"The server stopped in each of {stored.attempts + 1} attempts to run this task; "
                "it is given up"
            )
            await self._supervisor.give_up(stored, reason)
            return _Fate.GIVEN_UP
        if stored.attempts <= 0:
            await self._run_again(stored)
            return _Fate.CONTINUED
        if stored.id in self._delayed:
            return None
        self._delayed.add(stored.id)
        self._background.spawn(self._resume_later(stored), name=f"resumption of {stored.id}")
        return _Fate.LATER

    async def _resume_later(self, stored: StoredTask) -> None:
        """Run a task again after a while. That it was to be is no attempt: it has not begun."""
        delay = min(_MAX_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 4 ** (stored.attempts - 1))
        try:
            while True:
                await self._clock.sleep(delay)
                try:
                    current = await self._store.load(stored.scope, stored.id)
                    if current is None or current.is_elsewhere or not self._may_take(current):
                        return  # If it is left undone, a sweep finds it again.
                    # Another replica may have run it as far as its end, or a question.
                    if not (current.state.is_terminal or current.state.is_interrupted):
                        await self._run_again(current)
                except (StoreError, UnavailableError) as error:
                    _logger.debug("task %s has to wait for its store: %s", stored.id, error)
                else:
                    return
        finally:
            self._delayed.discard(stored.id)

    async def _run_again(self, stored: StoredTask) -> None:
        live = await self._supervisor.adopt(stored)
        # Whoever had it may have asked something before it was taken over.
        if live.turn is None and not live.standing.has_ended and not live.is_questioned:
            live.count_attempt()
            self._supervisor.run_again(live)

    async def _end_question(self, stored: StoredTask) -> None:
        """Let a task go on whose client has not answered in time."""
        is_auth = stored.state is TaskState.AUTH_REQUIRED
        live = await self._supervisor.adopt(stored)
        if live.is_questioned and live.turn is None:
            live.note(ASK, question_name(is_auth=is_auth), encode(Answer(is_late=True)))
            live.execute(GoOn())
            self._supervisor.run_again(live)
