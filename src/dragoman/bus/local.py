"""LocalBus: replicas within one process, as tests of several have them."""

from __future__ import annotations

import asyncio
from typing import Final

from dragoman.bus.base import (
    Hint,
    InboxFilled,
    Moved,
    OnHint,
    OnReconnect,
    Unfollow,
)
from dragoman.bus.listeners import Listeners

__all__ = ("LocalBus", "LocalExchange")


class LocalExchange:
    """What the buses of one process have in common: each hears what the others publish.

    It can be cut, to see what becomes of replicas that do not hear of each other.
    """

    def __init__(self) -> None:
        self._buses: dict[str, LocalBus] = {}
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """True between ``cut`` and ``mend``: hints are lost."""
        return self._is_cut

    def cut(self) -> None:
        """Lose whatever is published from now on."""
        self._is_cut = True

    def mend(self) -> None:
        """Carry hints again, and tell all that some may be missing."""
        self._is_cut = False
        for bus in tuple(self._buses.values()):
            bus.listeners.hear_again()

    def join(self, replica_id: str, bus: LocalBus) -> None:
        """Add a bus."""
        self._buses[replica_id] = bus

    def leave(self, replica_id: str) -> None:
        """Take a bus off."""
        self._buses.pop(replica_id, None)

    def carry(self, hint: Hint, sender: LocalBus) -> None:
        """Let all others hear a hint that is meant for them."""
        if self._is_cut:
            return
        for replica_id, bus in tuple(self._buses.items()):
            if bus is sender:
                continue
            if isinstance(hint, InboxFilled) and hint.holder not in ("", replica_id):
                continue
            bus.listeners.hear(hint)


class LocalBus:
    """The end of one replica."""

    def __init__(self, exchange: LocalExchange) -> None:
        self.listeners: Final = Listeners()
        self._exchange = exchange
        self._replica_id: str | None = None

    @property
    def is_connected(self) -> bool:
        """False while closed or cut."""
        return self._replica_id is not None and not self._exchange.is_cut

    async def open(self, replica_id: str, *, on_hint: OnHint, on_reconnect: OnReconnect) -> None:
        """Join the exchange."""
        self._loop = asyncio.get_running_loop()
        self._replica_id = replica_id
        self.listeners.begin(on_hint, on_reconnect)
        self._exchange.join(replica_id, self)

    async def close(self) -> None:
        """Leave the exchange."""
        if self._replica_id is not None:
            self._exchange.leave(self._replica_id)
            self._replica_id = None
            self.listeners.end()

    def publish(self, hint: Hint) -> None:
        """Tell the others in the next pass of the loop, as a network would: never within a call."""
        if self.is_connected:
            self._loop.call_soon(self._exchange.carry, hint, self)

    def follow(self, task_id: str, moved: Moved) -> Unfollow:
        """Hear of the moves of a task from now on."""
        return self.listeners.follow(task_id, moved)
