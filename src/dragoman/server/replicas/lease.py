"""ReplicaLease: this process as one of several on a shared store, and the lease it works under.

A replica whose lease has run out counts as dead: others take over what it held. It may not know,
because it was the one that stood still (a machine put to sleep, a swap storm). Its writes are
refused then, by the epoch of each task. What it has in memory may be out of date, so it is not to
be shown to anybody before the store was asked; ``is_sure`` tells whether that is necessary.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from dragoman.clock import Clock
from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.stores.base import SharedTaskStore, StoredTask

__all__ = ("ReplicaLease", "ReplicaNumbers")

_logger = logging.getLogger(__name__)

_BEATS_PER_LEASE: Final = 3
"""Two beats in a row may be lost, or late, before anybody takes notice."""

_TRIES_PER_LEASE: Final = 20
"""How soon one that failed is tried again: it has taken a part of the time that there is."""


class ReplicaNumbers(Struct, frozen=True, kw_only=True, gc=False):
    """How one of several servers stands with the others.

    Attributes:
        has_lease: nobody can have taken anything from it.
        lapses: how often its lease had run out when it was renewed.
        has_bus: hints are sent and heard.
        followed: tasks of others that somebody follows here.
        taken_over: tasks that it has from replicas that are gone.
        lost: tasks that others have taken over from it.
    """

    id: str
    has_lease: bool
    lapses: int
    has_bus: bool
    followed: int
    taken_over: int
    lost: int


class ReplicaLease:
    """An identity, new at every start, and a lease that is renewed for as long as it works.

    Attributes:
        id: which replica this is; "" before ``join``.
        is_in_touch: the store answered when the lease was last to be renewed. One who writes knows
            sooner that it is gone; one who has nothing to write knows it by this.
        lapses: how often the lease had run out when it was renewed.
    """

    def __init__(self, store: SharedTaskStore, clock: Clock, *, lease_seconds: float) -> None:
        self.id: str = ""
        self._store = store
        self.clock: Final = clock
        self._lease_seconds = lease_seconds
        self.is_in_touch: bool = True
        self.lapses: int = 0
        self._renewed_ms = self._late_ms = -math.inf
        self._has_left = False
        # A renewal that is on its way would undo the end of the lease.
        self._renewing = asyncio.Lock()

    @property
    def is_sure(self) -> bool:
        """Tell whether nobody can have taken anything from this replica.

        Counted from before the lease was last renewed, so this ends before the lease does.
        """
        is_renewed = self.clock.uptime_ms() - self._renewed_ms < self._lease_seconds * 1000
        return is_renewed and not self._has_left

    @property
    def may_judge(self) -> bool:
        """Tell whether this replica can know which others are dead.

        Not while it cannot renew its own lease, nor for the time of a lease after that, or after
        its start: most likely the store was out of reach, for all of them, and the others just have
        not been heard of yet.
        """
        is_steady = self.clock.uptime_ms() - self._late_ms >= self._lease_seconds * 1000
        return is_steady and self.is_in_touch and self.is_sure

    def may_take(self, stored: StoredTask) -> bool:
        """Tell whether a task that no lease speaks for may be taken from whoever has it."""
        return stored.holder in ("", self.id) or self.may_judge

    async def join(self) -> None:
        """Begin the lease, as soon as the store is there."""
        # Not before: the processes that fork from one which has loaded the application differ.
        self.id = self.clock.new_id()
        while True:
            self._renewed_ms = self._late_ms = self.clock.uptime_ms()
            try:
                await self._store.join(self.id, lease_seconds=self._lease_seconds)
            except StoreUnavailableError as error:
                _logger.warning("no lease yet: %s", error)
                await self.clock.sleep(self._lease_seconds / _BEATS_PER_LEASE)
            else:
                _logger.info("this is replica %s, process %d", self.id, os.getpid())
                return

    async def leave(self) -> None:
        """End the lease: what is still held is for others to take over at once."""
        self._has_left = True
        async with self._renewing:
            await self._store.leave()

    async def keep(self, was_late: Callable[[], Awaitable[None]]) -> None:
        """Renew the lease until it is given up.

        Args:
            was_late: called when it had run out meanwhile, until it could tell what was lost.
        """
        is_late = False
        pause = between = self._lease_seconds / _BEATS_PER_LEASE
        while True:
            await self.clock.sleep(pause)
            # Asked beforehand: the answer that it was too late may be lost, and the next one good.
            is_late = is_late or not self.is_sure
            began_ms = self.clock.uptime_ms()
            pause = self._lease_seconds / _TRIES_PER_LEASE
            try:
                async with self._renewing:
                    if self._has_left:
                        return
                    is_late = not await self._store.beat() or is_late
                if is_late:
                    self._late_ms = self.clock.uptime_ms()
                    _logger.warning("the lease had run out; others may have taken over tasks")
                    await was_late()
            except StoreError as error:
                level = logging.WARNING if self.is_in_touch else logging.DEBUG
                _logger.log(level, "the lease is not renewed: %s; trying until it works", error)
                self.is_in_touch = False
                continue
            except Exception:
                # Were this to end, the lease would run out for good.
                self.is_in_touch = False
                _logger.exception("the lease could not be renewed")
                continue
            if not self.is_in_touch:
                self._late_ms = self.clock.uptime_ms()
                _logger.warning("the lease is renewed again")
            self.is_in_touch = True
            # Nobody is sure of anything before it is known what was lost.
            self.lapses += is_late
            is_late = False
            self._renewed_ms = began_ms
            pause = max(0.0, between - (self.clock.uptime_ms() - began_ms) / 1000)
