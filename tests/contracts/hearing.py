"""The buses that are held against the contract, each with a network that can be cut.

A bus joins by a line in ``NETWORKS``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

from dragoman.bus.base import Bus, ReplicaHint, TaskMoved, Unfollow
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.bus.nats.bus import NatsBus
from dragoman.bus.postgres import PostgresBus
from tests.durability.waiting import PATIENCE_SECONDS
from tests.support.nats import nats_server
from tests.support.postgres import database_for
from tests.support.proxy import Proxy, proxied

__all__ = ("NETWORKS", "Ear", "Network", "hear_of", "tell_until")


class Network:
    """What buses are connected by."""

    def __init__(
        self, bus: Callable[[], Bus], cut: Callable[[], None], mend: Callable[[], None]
    ) -> None:
        self.bus = bus
        self.cut = cut
        self.mend = mend


class Ear:
    """A replica that only listens, and notes what it hears."""

    def __init__(self, bus: Bus, replica_id: str) -> None:
        self.bus = bus
        self.replica_id = replica_id
        self.hints: list[ReplicaHint] = []
        self.moves: list[TaskMoved] = []
        self.gaps = 0

    async def open(self) -> None:
        """Open the bus."""
        await self.bus.open(self.replica_id, on_hint=self.hints.append, on_reconnect=self._note_gap)

    def follow(self, task_id: str) -> Unfollow:
        """Follow a task, and note its moves."""
        return self.bus.follow(task_id, lambda seq: self.moves.append(TaskMoved(task_id, seq)))

    def latest(self, task_id: str) -> int:
        """Return the highest number heard of a task, 0 if none was."""
        return max((move.seq for move in self.moves if move.task_id == task_id), default=0)

    def _note_gap(self) -> None:
        self.gaps += 1


async def hear_of(speaker: Ear, hearer: Ear, task_id: str) -> None:
    """Wait until what one says of a task is heard by the other; hints may be lost before that."""
    await tell_until(speaker, TaskMoved(task_id, 1), lambda: hearer.latest(task_id) > 0)


async def tell_until(
    speaker: Ear, hint: TaskMoved | ReplicaHint, is_heard: Callable[[], bool]
) -> None:
    """Say something again and again until it was heard."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_heard():
            speaker.bus.publish(hint)
            await asyncio.sleep(0.01)


@asynccontextmanager
async def _local(_: Path) -> AsyncGenerator[Network]:
    exchange = LocalExchange()
    yield Network(lambda: LocalBus(exchange), exchange.cut, exchange.mend)


@asynccontextmanager
async def _nats(_: Path) -> AsyncGenerator[Network]:
    with nats_server() as server:
        async with proxied(server.url) as proxy:
            yield _through(proxy, lambda: NatsBus(proxy.url.replace("http:", "nats:")))


@asynccontextmanager
async def _postgres(folder: Path) -> AsyncGenerator[Network]:
    url = database_for(folder)
    async with proxied(url) as proxy:
        address = proxy.url.removeprefix("http://")
        database = url.rpartition("/")[2]
        yield _through(proxy, lambda: PostgresBus(f"postgres://postgres@{address}/{database}"))


def _through(proxy: Proxy, bus: Callable[[], Bus]) -> Network:
    def cut() -> None:
        proxy.is_refusing = True
        proxy.cut_all()

    def mend() -> None:
        proxy.is_refusing = False

    return Network(bus, cut, mend)


NETWORKS: Final[Mapping[str, Callable[[Path], AbstractAsyncContextManager[Network]]]] = {
    "local": _local,
    "postgres": _postgres,
    "nats": _nats,
}
