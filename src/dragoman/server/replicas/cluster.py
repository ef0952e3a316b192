"""Cluster: what a server has besides when it is one of several on a shared store."""

from __future__ import annotations

import asyncio
from typing import Final

from dragoman.bus.base import Bus, ReplicaHint, Spent, WorkReleased
from dragoman.clock import Clock
from dragoman.errors import StoreError
from dragoman.server.admission.rate_limits import RateLimits
from dragoman.server.replicas.lease import ReplicaLease, ReplicaNumbers
from dragoman.server.replicas.remote_tasks import RemoteTasks
from dragoman.server.replicas.sweep import Sweep
from dragoman.server.settings import Settings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.resuming import Resumption
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.stores.base import SharedTaskStore

__all__ = ("Cluster",)


class Cluster:
    """The replica, its bus, and its sweep; from ``join`` to ``leave``.

    Args:
        rates: limits that hold for all replicas together.
    """

    def __init__(
        self,
        store: SharedTaskStore,
        bus: Bus,
        *,
        clock: Clock,
        hub: Hub,
        background: BackgroundTasks,
        settings: Settings,
        rates: RateLimits | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._background = background
        self._settings = settings
        self._rates = rates
        self._alarm = asyncio.Event()
        self._sweep: Sweep | None = None
        self.replica: Final = ReplicaLease(store, clock, lease_seconds=settings.lease_seconds)
        self.remote_tasks: Final = RemoteTasks(
            store=store,
            replica=self.replica,
            bus=bus,
            hub=hub,
            background=background,
            alarm=self._alarm,
        )

    @property
    def numbers(self) -> ReplicaNumbers:
        """How this replica stands with the others."""
        replica, remote_tasks = self.replica, self.remote_tasks
        return ReplicaNumbers(
            id=replica.id,
            has_lease=replica.is_sure,
            lapses=replica.lapses,
            has_bus=self._bus.is_connected,
            followed=len(remote_tasks.known()),
            taken_over=remote_tasks.taken_over,
            lost=remote_tasks.lost,
        )

    async def join(self) -> None:
        """Begin the lease, and hear hints. Nothing is written before this."""
        await self.replica.join()
        self._background.spawn(self.replica.keep(self._check_held), name="lease")
        if self._rates is not None:
            self._rates.share(self._bus.publish)
        await self._bus.open(self.replica.id, on_hint=self._hear, on_reconnect=self._alarm.set)

    def begin(self, supervisor: TaskSupervisor, resumption: Resumption) -> None:
        """Sweep from now on, and at once: there may be work that nobody does."""
        self._sweep = Sweep(
            supervisor=supervisor,
            resumption=resumption,
            remote_tasks=self.remote_tasks,
            clock=self._clock,
            background=self._background,
            alarm=self._alarm,
            seconds=self._settings.sweep_seconds,
        )
        self._alarm.set()
        self._background.spawn(self._sweep.run(), name="sweep")

    async def leave(self) -> None:
        """Give up the lease, and tell the others that there is work to take."""
        try:
            await self.replica.leave()
        except StoreError:
            return  # Then it runs out by itself.
        self._bus.publish(WorkReleased())

    async def close(self) -> None:
        """Hear nothing any more."""
        await self._bus.close()

    async def _check_held(self) -> None:
        if self._sweep is not None:
            await self._sweep.check_held()

    def _hear(self, hint: ReplicaHint) -> None:
        if isinstance(hint, Spent):
            if self._rates is not None:
                self._rates.hear(hint)
        elif self._sweep is not None:
            self._sweep.hear(hint)
