"""Several servers of one agent on one store, in one process: each can stand still, and come back.

A store joins by a line in ``KINDS``. Time is made for all of them: ``until`` moves it on.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dragoman import Agent
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.clock import Clock, SystemClock
from dragoman.model.documents import TaskDocument
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.tasks import Task
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import Settings
from dragoman.service.service import Call, EventStream
from dragoman.service.worker import Outcome, Turn, Worker
from dragoman.stores.base import SharedTaskStore
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryRecords
from dragoman.stores.postgres.store import PostgresTaskStore
from dragoman.testing.clock import FakeClock
from tests.scenarios.webhooks import INNER
from tests.support.postgres import new_database
from tests.support.server.agency import CALL
from tests.support.server.fakes import ScriptedWorker

__all__ = ("KINDS", "Member", "Replicas", "Run", "in_memory", "replicas_on")

T = TypeVar("T")
Run = Callable[[Turn], Awaitable[Outcome]]

_PUSH: Final[Mapping[str, Any]] = {**INNER, "push_signing": "none"}
"""Webhooks are on this machine; whoever they are told by has no keys."""

_PASSES: Final = 25
"""Passes of the loop in which all that time has caused gets done, when nothing is real."""


class Kind(Struct, frozen=True):
    """What the replicas stand on.

    Attributes:
        store: makes unopened stores, all on the same records.
        clock: the time of all replicas.
        tick: lets some time pass.
        settings: of the leases.
    """

    store: Callable[[], SharedTaskStore]
    clock: Clock
    tick: Callable[[], Awaitable[None]]
    settings: Settings


class PausableClock:
    """A Clock for one replica. While it is paused, nobody who sleeps wakes up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_running = asyncio.Event()
        self._is_running.set()

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def uptime_ms(self) -> int:
        return self._clock.uptime_ms()

    def new_id(self) -> str:
        return self._clock.new_id()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self._is_running.wait()

    def pause(self) -> None:
        self._is_running.clear()

    def go_on(self) -> None:
        self._is_running.set()


class Member:
    """One server."""

    def __init__(self, kind: Kind, exchange: LocalExchange, worker: Worker) -> None:
        self._clock = PausableClock(kind.clock)
        self._exchange = exchange
        self.store = kind.store()
        self.bus = LocalBus(exchange)
        self.runtime = build_runtime(
            worker, kind.settings, clock=self._clock, store=self.store, bus=self.bus
        )

    async def open(self) -> None:
        self.service = await self.runtime.service()

    def stand_still(self) -> None:
        """Do nothing that time would cause: no lease is renewed, nothing is swept."""
        self._clock.pause()

    def go_on(self) -> None:
        """Come back, perhaps from the dead."""
        self._clock.go_on()

    async def stop(self) -> None:
        self.go_on()
        await self.runtime.stop()

    async def send(self, request: SendMessageRequest, call: Call = CALL) -> Task:
        answer = await self.service.send_message(request, call)
        assert isinstance(answer, TaskDocument)
        return answer.task()

    async def stream(self, request: SendMessageRequest, call: Call = CALL) -> EventStream:
        return await self.service.send_streaming_message(request, call)

    async def get(self, task_id: str) -> Task:
        return (await self.service.get_task(GetTaskRequest(id=task_id), CALL)).task()

    async def cancel(self, task_id: str) -> Task:
        return (await self.service.cancel_task(CancelTaskRequest(id=task_id), CALL)).task()

    async def subscribe(self, task_id: str, cursor: int | None = None) -> EventStream:
        call = Call(cursor=cursor)
        return await self.service.subscribe_to_task(SubscribeToTaskRequest(id=task_id), call)


class Replicas:
    """All of them."""

    def __init__(self, kind: Kind, resources: AsyncExitStack) -> None:
        self._kind = kind
        self._resources = resources
        self.exchange = LocalExchange()

    async def start(self, run: Run | None = None, *, resumes: bool = True) -> Member:
        """Start one more, whose turns go by this script."""
        return await self.serve(ScriptedWorker(run, resumes=resumes))

    async def serve(self, served: Worker | Agent, **settings: Any) -> Member:
        """Start one more, for any agent, with further settings."""
        kind = replace(self._kind, settings=dataclasses.replace(self._kind.settings, **settings))
        worker = served.worker if isinstance(served, Agent) else served
        member = Member(kind, self.exchange, worker)
        await member.open()
        self._resources.push_async_callback(member.stop)
        return member

    @property
    def lease_seconds(self) -> float:
        """How long a lease runs."""
        return self._kind.settings.lease_seconds

    async def pass_leases(self, count: int) -> None:
        """Let the time of so many leases pass."""
        await self.pass_seconds(count * self.lease_seconds)

    async def pass_seconds(self, seconds: float) -> None:
        """Let so much time pass."""
        end_ms = self._kind.clock.now_ms() + seconds * 1000
        await self.until(lambda: self._kind.clock.now_ms() >= end_ms)

    async def until(self, is_true: Callable[[], bool | Awaitable[bool]]) -> None:
        """Let time pass until something is true."""
        async with asyncio.timeout(15):
            while True:
                found = is_true()
                if found if isinstance(found, bool) else await found:
                    return
                await self._kind.tick()

    async def wait_for(self, work: Awaitable[T]) -> T:
        """Let time pass until something is done, and return what came of it."""
        future = asyncio.ensure_future(work)
        await self.until(future.done)
        return await future


def in_memory(store: Callable[..., SharedMemoryTaskStore] = SharedMemoryTaskStore) -> Kind:
    """Return what replicas stand on of which nothing is real; each has a store of this kind."""
    clock = FakeClock()

    async def tick() -> None:
        clock.advance(0.5)
        for _ in range(_PASSES):
            await asyncio.sleep(0)

    return Kind(
        store=partial(store, MemoryRecords(), clock=clock),
        clock=clock,
        tick=tick,
        settings=Settings(shutdown_grace_seconds=0, cancel_grace_seconds=0, **_PUSH),
    )


async def _in_memory(resources: AsyncExitStack) -> Kind:
    del resources
    return in_memory()


async def _on_postgres(resources: AsyncExitStack) -> Kind:
    del resources

    async def tick() -> None:
        await asyncio.sleep(0.02)

    return Kind(
        store=partial(PostgresTaskStore, new_database()),
        clock=SystemClock(),
        tick=tick,
        settings=Settings(
            lease_seconds=0.6,
            sweep_seconds=0.3,
            park_after_seconds=0.3,
            shutdown_grace_seconds=0,
            cancel_grace_seconds=0,
            **_PUSH,
        ),
    )


KINDS: Final[dict[str, Callable[[AsyncExitStack], Awaitable[Kind]]]] = {
    "memory": _in_memory,
    "postgres": _on_postgres,
}


async def replicas_on(kind: str) -> AsyncIterator[Replicas]:
    """Yield replicas that are stopped in the end, as a fixture does."""
    async with AsyncExitStack() as resources:
        yield Replicas(await KINDS[kind](resources), resources)
