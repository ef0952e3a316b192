"""Sweep: what one replica looks after now and then, so that no lost hint and no dead replica hurts.

One question each, whatever the number of tasks: which of those that are held here others have taken
over, which of those that are followed have moved, which inboxes have something in them, and which
work lies about because its replica is dead. It comes every few seconds, soon after a lease has run
out, and at once when there is reason to.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Final

from dragoman.bus.base import InboxFilled, WorkReleased
from dragoman.clock import Clock
from dragoman.errors import A2AError, StoreError
from dragoman.server.replicas.remote_tasks import RemoteTasks
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.inbox import queue_of
from dragoman.server.tasks.resuming import Resumption
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.stores.base import Scope

__all__ = ("Sweep",)

_logger = logging.getLogger(__name__)

_SPREAD: Final = 0.1
"""Over which part of the time between two sweeps those are spread that a lease has called."""


class Sweep:
    """Repairs what hints have missed, and takes over what the dead have left."""

    def __init__(
        self,
        *,
        supervisor: TaskSupervisor,
        resumption: Resumption,
        remote_tasks: RemoteTasks,
        clock: Clock,
        background: BackgroundTasks,
        alarm: asyncio.Event,
        seconds: float,
    ) -> None:
        self._supervisor = supervisor
        self._resumption = resumption
        self._remote_tasks = remote_tasks
        self._clock = clock
        self._background = background
        self._alarm = alarm
        self._seconds = seconds

    def hear(self, hint: InboxFilled | WorkReleased) -> None:
        """Act on a hint that is meant for this replica."""
        if isinstance(hint, InboxFilled):
            live = self._supervisor.held(hint.task_id)
            if live is not None:
                self._background.spawn(
                    self._supervisor.take_in(live), name=f"inbox of {hint.task_id}"
                )
                return
        self._alarm.set()

    async def run(self) -> None:
        """Sweep for ever."""
        seconds = self._seconds
        while True:
            await self._pause(seconds)
            seconds = self._seconds
            try:
                await self.sweep()
                seconds = await self._until_next()
            except StoreError as error:
                _logger.debug("no sweep while the store is gone: %s", error)
            except Exception:
                _logger.exception("a sweep failed")

    async def sweep(self) -> None:
        """Look after everything once, unless the server stops: then all of it is for others."""
        if self._supervisor.is_draining:
            return
        await self._let_go_of_lost()
        known = self._remote_tasks.known()
        if known:
            self._remote_tasks.look_at(await self._remote_tasks.store.moved(known))
        # Before the inboxes, of which there may be many: nobody does this work.
        await self._resumption.resume_all()
        for scope, task_id in await self._remote_tasks.store.filled():
            try:
                await self._look_into(scope, task_id)
            except StoreError:
                raise
            except Exception:
                # One that cannot be read must not keep all others from being taken over.
                _logger.exception("the inbox of task %s cannot be taken up", task_id)

    async def check_held(self) -> None:
        """Let go of tasks that others have taken over, after the lease had run out."""
        await self._let_go_of_lost()
        self._alarm.set()

    async def _let_go_of_lost(self) -> None:
        """Let go of tasks that others have.

        Not only when the lease is known to have run out: the answer that said so may have been
        lost, and the next one says that all is well. A task at work would find out by its next
        write. One that waits would not, and whoever followed it here would hear nothing any more.
        """
        held = {live.task_id: live for live in self._supervisor.tasks() if live.is_stored}
        epochs = {task_id: live.epoch for task_id, live in held.items()}
        lost = await self._remote_tasks.store.lost(epochs)
        # A sweep and a late renewal may ask at the same time; whoever comes second finds them gone.
        gone = [task_id for task_id in lost if self._supervisor.held(task_id) is held[task_id]]
        for task_id in gone:
            self._supervisor.let_go(held[task_id])
        if gone:
            _logger.warning("tasks that others have taken over: %d of %d", len(gone), len(held))

    async def _look_into(self, scope: Scope, task_id: str) -> None:
        """Have it taken up what lies in the inbox of a task."""
        live = self._supervisor.held(task_id)
        if live is not None:
            await self._supervisor.take_in(live)
        else:
            await self._adopt(scope, task_id)

    async def _adopt(self, scope: Scope, task_id: str) -> None:
        """Take up a task that nobody holds, if what it waits for is there, or it is to be canceled.

        One that is at work is resumed with the rest of the dead's; one that sleeps has time, and so
        has a message that waits for the turn after this one.
        """
        stored = await self._remote_tasks.store.load(scope, task_id)
        if stored is None or stored.state.is_terminal or not self._remote_tasks.is_free(stored):
            return
        _, urgent = queue_of(stored)
        if not urgent:
            return
        try:
            await self._supervisor.adopt(stored)
        except A2AError as error:
            _logger.debug("task %s is left to another replica: %s", task_id, error.message)

    async def _until_next(self) -> float:
        """Return how many seconds to wait for the next time.

        If a lease is not renewed, that is when it has run out; not for all at one moment.
        """
        lapse = await self._remote_tasks.store.next_lapse()
        if lapse is None:
            return self._seconds
        spread = self._seconds * random.uniform(0.01, _SPREAD)  # noqa: S311 - no secret
        return min(self._seconds, lapse + spread)

    async def _pause(self, seconds: float) -> None:
        """Wait so long, or for an alarm."""
        alarm = asyncio.ensure_future(self._alarm.wait())
        timer = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait((alarm, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
            timer.cancel()
        self._alarm.clear()
