"""Cluster: this server as one of several on a shared store."""

from __future__ import annotations

import asyncio
from typing import Final

from dragoman.bus.base import Bus, ReplicaHint, Spent, WorkReleased
from dragoman.errors import StoreError
from dragoman.server.admission.rate_limits import RateLimits
from dragoman.server.replicas.lease import ReplicaLease, ReplicaNumbers
from dragoman.server.replicas.remote_tasks import RemoteTasks
from dragoman.server.replicas.sweep import Sweep
from dragoman.server.tasks.background import BackgroundTasks

__all__ = ("Cluster",)


class Cluster:
    """The lease, the bus and the sweep of a replica; from ``join`` to ``leave``.

    Args:
        alarm: makes the sweep come at once.
        rates: limits that hold for all replicas together.
    """

    def __init__(
        self,
        *,
        lease: ReplicaLease,
        remote_tasks: RemoteTasks,
        sweep: Sweep,
        bus: Bus,
        background: BackgroundTasks,
        alarm: asyncio.Event,
        rates: RateLimits | None,
    ) -> None:
        self.lease: Final = lease
        self._remote_tasks = remote_tasks
        self._sweep = sweep
        self._bus = bus
        self._background = background
        self._alarm = alarm
        self._rates = rates

    @property
    def numbers(self) -> ReplicaNumbers:
        """How this replica stands with the others."""
        lease, remote_tasks = self.lease, self._remote_tasks
        return ReplicaNumbers(
            id=lease.id,
            has_lease=lease.is_sure,
            lapses=lease.lapses,
            has_bus=self._bus.is_connected,
            followed=len(remote_tasks.known()),
            taken_over=remote_tasks.taken_over,
            lost=remote_tasks.lost,
        )

    async def join(self) -> None:
        """Begin the lease, and listen for hints. Nothing is written before this."""
        await self.lease.join()
        self._background.spawn(self.lease.keep(self._sweep.check_held), name="lease")
        if self._rates is not None:
            self._rates.share(self._bus.publish)
        await self._bus.open(self.lease.id, on_hint=self._hear, on_reconnect=self._alarm.set)

    def begin(self) -> None:
        """Sweep from now on, and at once: there may be work that nobody does."""
        self._alarm.set()
        self._background.spawn(self._sweep.run(), name="sweep")

    async def leave(self) -> None:
        """Give up the lease, and tell the others that there is work to take."""
        try:
            await self.lease.leave()
        except StoreError:
            return  # Then it runs out by itself.
        self._bus.publish(WorkReleased())

    async def close(self) -> None:
        """Stop listening."""
        await self._bus.close()

    def _hear(self, hint: ReplicaHint) -> None:
        if not isinstance(hint, Spent):
            self._sweep.hear(hint)
        elif self._rates is not None:
            self._rates.hear(hint)
