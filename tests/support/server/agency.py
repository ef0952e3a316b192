"""A service to call, without bindings: what is asked of it, and what it stands on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from dragoman.errors import StoreUnavailableError
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    GetTaskRequest,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task
from dragoman.server.admission.authorization import Access
from dragoman.server.assembly import build_runtime
from dragoman.server.service import LocalService
from dragoman.server.settings import Settings
from dragoman.service.service import Call, EventStream
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import Done, StoredTask, TaskQuery, TaskWrite
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import SCOPE, ScriptedWorker, agent_message

__all__ = ("CALL", "Agency", "Held", "Store", "ask", "frames", "publish", "send", "serving")

CALL = Call()


class Store(MemoryTaskStore):
    """A store whose writes fail, or wait, when it is told so; it counts the server's rounds.

    Attributes:
        is_down: writes fail.
        is_away: writes wait, and the store knows it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False
        self.is_away = False
        self.rounds = 0

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        self.rounds += 1
        return await super().due(now_ms=now_ms, limit=limit)

    @property
    def is_available(self) -> bool:
        return super().is_available and not self.is_away

    def append(self, write: TaskWrite, done: Done) -> None:
        if self.is_away:
            return
        if self.is_down:
            asyncio.get_running_loop().call_soon(done, StoreUnavailableError("disk full"))
        else:
            super().append(write, done)


class Agency:
    """A service, and what it stands on."""

    def __init__(
        self,
        worker: ScriptedWorker,
        store: Store,
        wait_seconds: float,
        access: Access | None = None,
    ) -> None:
        self.store = store
        self.clock = FakeClock()
        settings = Settings(
            max_wait_seconds=wait_seconds,
            shutdown_grace_seconds=0,
            cancel_grace_seconds=0,
            push=False,
        )
        self.runtime = build_runtime(
            worker, settings, clock=self.clock, store=self.store, access=access
        )

    async def open(self) -> None:
        self.service: LocalService = await self.runtime.service()

    async def only_id(self) -> str:
        """Return the id of the only task there is."""
        (stored,) = (await self.store.list_tasks(TaskQuery(scope=SCOPE, limit=2))).tasks
        return stored.id

    async def lease(self, task_id: str) -> int:
        """Return the number of the lease under which a task is written."""
        stored = await self.store.load(SCOPE, task_id)
        assert stored is not None
        return stored.epoch

    async def pass_time(self, seconds: float) -> None:
        """Move the clock on until the server has made its round at the new time."""
        self.clock.advance(seconds)
        rounds = self.store.rounds
        async with asyncio.timeout(5):
            while self.store.rounds == rounds:
                self.clock.advance(1)
                await asyncio.sleep(0)

    async def ended(self, task_id: str) -> Task:
        """Return a task when it has ended."""
        async with asyncio.timeout(5):
            while True:
                task = (await self.service.get_task(GetTaskRequest(id=task_id), CALL)).task()
                if task.status.state.is_terminal:
                    return task
                await asyncio.sleep(0)

    async def send(self, request: SendMessageRequest) -> Task:
        answer = await self.service.send_message(request, CALL)
        assert isinstance(answer, TaskDocument)
        return answer.task()


@asynccontextmanager
async def serving(
    run: Callable[[Turn], Awaitable[Outcome]] | None = None,
    *,
    answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
    store: Store | None = None,
    wait_seconds: float = 60,
    access: Access | None = None,
) -> AsyncGenerator[Agency]:
    agency = Agency(ScriptedWorker(run, answer=answer), store or Store(), wait_seconds, access)
    await agency.open()
    try:
        yield agency
    finally:
        await agency.runtime.stop()


def send(
    text: str = "hello",
    *,
    message_id: str = "m-1",
    task_id: str = "",
    context_id: str = "",
    history_length: int | None = None,
    return_immediately: bool = False,
    webhook: TaskPushNotificationConfig | None = None,
) -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(
            message_id=message_id,
            task_id=task_id,
            context_id=context_id,
            role=Role.USER,
            parts=(Part(text=text),),
        ),
        configuration=SendMessageConfiguration(
            history_length=history_length,
            return_immediately=return_immediately,
            task_push_notification_config=webhook,
        ),
    )


async def frames(stream: EventStream) -> list[tuple[int, str]]:
    """Follow to the end; return the number and the kind of every frame."""
    seen: list[tuple[int, str]] = []
    async for batch in stream:
        for event in batch:
            value = event.value
            if value.task is not None:
                kind = f"task {value.task.status.state.name}"
            elif value.status_update is not None:
                kind = value.status_update.status.state.name
            else:
                kind = "message" if value.message is not None else "artifact"
            seen.append((event.seq, kind))
    await stream.aclose()
    return seen


async def publish(turn: Turn) -> Outcome:
    artifact = Artifact(artifact_id="a-1", parts=(Part(text="x"),))
    await turn.artifact(artifact, last_chunk=True)
    return Completed(agent_message("done"))


async def ask(turn: Turn) -> Outcome:
    await turn.ask(agent_message("which?"))
    return Completed(agent_message("done"))


class Held:
    """Turns that wait until the test releases them."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        await turn.flush()
        self.reached.set()
        await self.released.wait()
        return Completed()
