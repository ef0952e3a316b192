"""A process that comes after another one that was killed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from dragoman.server.settings import TaskSettings, TurnSettings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.resuming import Resumption
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.service.worker import Outcome, Turn
from dragoman.stores.base import StoredTask, TaskWrite
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import ScriptedWorker
from tests.support.server.running import Stage

__all__ = ("Run", "Successor", "killed", "now_and_then", "plan", "successor")

Run = Callable[[Turn], Awaitable[Outcome]]


class Successor(Stage):
    """A runner, and whoever decides what it takes up again."""

    def __init__(self, worker: ScriptedWorker, limits: TaskSettings) -> None:
        super().__init__(worker, TurnSettings(cancel_grace_seconds=0))
        self.background = BackgroundTasks()
        self._limits = limits
        self.resumption = self._resumption()

    def take_store_of(self, former: Stage) -> None:
        """Begin on what another process has left, at the same time."""
        self.store = former.store
        self.clock = former.clock
        self.supervisor = TaskSupervisor(
            worker=self.worker,
            store=self.store,
            clock=self.clock,
            hub=self.hub,
            settings=TurnSettings(cancel_grace_seconds=0),
        )
        self.resumption = self._resumption()

    def _resumption(self) -> Resumption:
        return Resumption(
            worker=self.worker,
            store=self.store,
            supervisor=self.supervisor,
            clock=self.clock,
            background=self.background,
            settings=self._limits,
        )

    async def wait_for_end(self, task_id: str = "t-0") -> None:
        """Wait until a task has ended, durably."""
        async with asyncio.timeout(5):
            while True:
                if (await self.stored(task_id)).state.is_terminal:
                    return
                await asyncio.sleep(0)


@asynccontextmanager
async def successor(
    run: Run | None = None,
    *,
    resumes: bool = True,
    attempts: int = 3,
    park_after_seconds: float = 60,
) -> AsyncGenerator[Successor]:
    limits = TaskSettings(max_attempts=attempts, park_after_seconds=park_after_seconds)
    on = Successor(ScriptedWorker(run, resumes=resumes), limits)
    await on.store.open()
    try:
        yield on
    finally:
        await on.background.close()
        await on.supervisor.drain(0)


async def now_and_then(passes: int = 20) -> None:
    """Let the loop run; long enough for all that waits for nothing."""
    for _ in range(passes):
        await asyncio.sleep(0)


@asynccontextmanager
async def killed(
    on: Successor, run: Run, *, attempts: int = 0, task_id: str = "t-0"
) -> AsyncGenerator[StoredTask]:
    """Have a task in the store that another process was killed in the midst of.

    The other one is left where it is: a time that never passes for it is as good as death.
    """
    gone = Stage(ScriptedWorker(run), TurnSettings())
    gone.store = on.store
    gone.clock = FakeClock(on.clock.now_ms())
    gone.supervisor = TaskSupervisor(
        worker=gone.worker, store=on.store, clock=gone.clock, hub=gone.hub, settings=TurnSettings()
    )
    live = gone.begin(task_id=task_id)
    await live.durable()
    await now_and_then()
    if attempts:
        await plan(on, await on.stored(task_id), attempts=attempts)
    try:
        yield await on.stored(task_id)
    finally:
        await gone.supervisor.drain(0)


async def plan(
    on: Stage, stored: StoredTask, *, wake_at_ms: int | None = None, attempts: int | None = None
) -> None:
    """Write into the store when a task is to be woken, or how often it was run again."""
    written: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    write = TaskWrite(
        task_id=stored.id,
        epoch=stored.epoch,
        expected_seq=stored.seq,
        entries=(),
        events=0,
        wake_at_ms=wake_at_ms,
        attempts=attempts,
    )
    on.store.append(write, written.set_result)
    assert await written is None
