"""A runner to try things on."""

import asyncio
from collections.abc import Awaitable, Callable

from dragoman.errors import (
    ConflictError,
    StoreUnavailableError,
)
from dragoman.model.messages import Message, text_of
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import Task, TaskState
from dragoman.server.settings import TurnSettings
from dragoman.server.tasks.delivery import Delivery
from dragoman.server.tasks.restoring import document_of
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.tasks.task import LiveTask
from dragoman.service.worker import Completed, Outcome, Plan, Turn
from dragoman.stores.base import (
    Done,
    JournalEntry,
    Scope,
    SendRecord,
    StoredTask,
    TaskWrite,
)
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import (
    NEW_TASK,
    SCOPE,
    RequestValidator,
    ScriptedWorker,
    agent_message,
    user_message,
)

__all__ = (
    "CANCELED",
    "COMPLETED",
    "DIRECT",
    "FAILED",
    "INPUT_REQUIRED",
    "REQUEST",
    "WORKING",
    "BreakableStore",
    "Stage",
    "ask",
    "put_aside",
    "stage",
    "status_text",
    "unfinished",
)

COMPLETED = TaskState.COMPLETED
FAILED = TaskState.FAILED
CANCELED = TaskState.CANCELED
WORKING = TaskState.WORKING
INPUT_REQUIRED = TaskState.INPUT_REQUIRED

REQUEST = SendMessageRequest(message=user_message())
DIRECT = Plan(skill_id="echo", is_direct=True)

Run = Callable[[Turn], Awaitable[Outcome]]


class BreakableStore(MemoryTaskStore):
    """A store in memory that fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: StoreUnavailableError | ConflictError | None = None
        # What no store should raise; messages for the inbox are met by it.
        self.defect: Exception | None = None
        self.is_down = False
        # So often nothing of a task can be read that is to be run again.
        self.unread_journals = 0
        # A task that another takes whenever somebody here wants it.
        self.stolen = ""
        # A message for the inbox waits for this on its way.
        self.takes_messages = asyncio.Event()
        self.takes_messages.set()

    @property
    def is_available(self) -> bool:
        return super().is_available and not self.is_down

    def append(self, write: TaskWrite, done: Done) -> None:
        if self.failure is None:
            super().append(write, done)
        else:
            asyncio.get_running_loop().call_soon(done, self.failure)

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        await self.takes_messages.wait()
        if (error := self.failure or self.defect) is not None:
            raise error
        return await super().put_inbox(task_id, body, send, epoch=epoch)

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        if self.unread_journals:
            self.unread_journals -= 1
            raise StoreUnavailableError("disk gone")
        return await super().read_journal(task_id)

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        if task_id == self.stolen:
            raise ConflictError(task_id)
        return await super().take_over(task_id, epoch, attempts=attempts)

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        if isinstance(self.failure, StoreUnavailableError):
            raise self.failure
        return await super().load(scope, task_id)


class Stage:
    """A runner, and all that it runs on."""

    def __init__(self, worker: ScriptedWorker, limits: TurnSettings) -> None:
        self.worker = worker
        self.store = BreakableStore()
        self.clock = FakeClock()
        self.hub = Hub()
        self.supervisor = TaskSupervisor(
            worker=worker, store=self.store, clock=self.clock, hub=self.hub, settings=limits
        )

    def begin(self, text: str = "hello", *, task_id: str = "t-1") -> LiveTask:
        return self.supervisor.begin(task_id, NEW_TASK, Delivery(message=user_message(text)), None)

    async def task(self, task_id: str = "t-1") -> Task:
        """Return the task as the store has it."""
        return document_of(await self.stored(task_id)).task()

    async def stored(self, task_id: str = "t-1") -> StoredTask:
        """Return all that the store has of a task."""
        stored = await self.store.load(SCOPE, task_id)
        assert stored is not None
        return stored

    async def deliver(self, live: LiveTask, text: str) -> "asyncio.Future[None]":
        """Hand a further message to a task, durably."""
        delivery = self.supervisor.deliver(live, Delivery(message=user_message(text, text)), None)
        await asyncio.shield(delivery.stored)
        return delivery.settled


async def stage(
    run: Run | None = None,
    *,
    answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
    resumes: bool = True,
    running_turns: int = 10,
    waiting_turns: int = 10,
    turns_per_owner: int = 10,
) -> Stage:
    limits = TurnSettings(
        max_running_turns=running_turns,
        max_waiting_turns=waiting_turns,
        max_turns_per_owner=turns_per_owner,
        cancel_grace_seconds=0,
    )
    made = Stage(ScriptedWorker(run, answer=answer, resumes=resumes), limits)
    await made.store.open()
    return made


def status_text(task: Task) -> str:
    return "" if task.status.message is None else text_of(task.status.message.parts)


async def unfinished(on: Stage) -> StoredTask:
    """Leave a task in the store that another process has begun."""
    other = Stage(ScriptedWorker(RequestValidator().run), TurnSettings())
    other.store = on.store
    other.supervisor = TaskSupervisor(
        worker=other.worker, store=on.store, clock=on.clock, hub=on.hub, settings=TurnSettings()
    )
    live = other.begin(task_id="t-0")
    await live.durable()
    await other.supervisor.drain(0)
    return await on.stored("t-0")


async def put_aside(on: Stage, task_id: str = "t-1") -> LiveTask:
    """Let a task that waits leave memory; return it as it is when it has been taken up again."""
    live = on.supervisor.find(SCOPE, task_id)
    assert live is not None
    if live.pause is None:
        await live.settled()
    on.supervisor.put_aside(live)
    assert on.supervisor.find(SCOPE, task_id) is None
    assert live.turn is not None
    await asyncio.wait([live.turn])
    return await on.supervisor.adopt(await on.stored(task_id))


async def ask(turn: Turn) -> Outcome:
    answer = await turn.ask(agent_message("which?"))
    return Completed(agent_message(f"so {text_of(answer.parts)}"))
