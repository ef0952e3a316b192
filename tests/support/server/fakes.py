"""What the tests of the server share: a store in the hands of the test, and tasks on top of it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from dragoman.engine.commands import AddArtifact, Begin, Command, Start
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import PermissionDeniedError, StoreError
from dragoman.model.cards import AgentSkill
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact
from dragoman.server.tasks.streams import Channel, Hub
from dragoman.server.tasks.task import LiveTask
from dragoman.service.worker import Completed, Outcome, Plan, Turn
from dragoman.stores.base import Done, NewTask, Scope, SendRecord, TaskWrite
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock

__all__ = (
    "NEW_TASK",
    "SCOPE",
    "HeldStore",
    "Live",
    "RecordingWatcher",
    "RequestValidator",
    "ScriptedWorker",
    "SetBackClock",
    "agent_message",
    "chunk",
    "user_message",
)

SCOPE = Scope("", "anonymous")
NEW_TASK = NewTask(
    scope=SCOPE, context_id="c-1", skill_id="echo", origin_dialect="1.0", created_ms=1
)


def user_message(text: str = "hello", message_id: str = "m-1") -> Message:
    """Return a message of the caller."""
    return Message(message_id=message_id, role=Role.USER, parts=(Part(text=text),))


def agent_message(text: str = "news") -> Message:
    """Return a message of the agent; its text is its id."""
    return Message(message_id=text, role=Role.AGENT, parts=(Part(text=text),))


def chunk(text: str = "x", *, append: bool = False, last_chunk: bool = False) -> AddArtifact:
    """Return a command to publish a chunk."""
    artifact = Artifact(artifact_id="a-1", parts=(Part(text=text),))
    return AddArtifact(artifact, append, last_chunk)


class ScriptedWorker:
    """A Worker whose turns the test writes; what it is called for is remembered."""

    def __init__(
        self,
        run: Callable[[Turn], Awaitable[Outcome]] | None = None,
        *,
        answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
        scopes: frozenset[str] = frozenset(),
        resumes: bool = True,
    ) -> None:
        self._run = run
        self._scopes = scopes
        self._answer = answer
        self._resumes = resumes
        self.canceled_turns: list[Turn] = []
        self.cleaned_up = asyncio.Event()
        self.life: list[str] = []

    @property
    def skills(self) -> tuple[AgentSkill, ...]:
        """Publish one skill."""
        return (AgentSkill(id="echo", name="Echo", description="Repeat.", tags=("echo",)),)

    def plan(self, request: SendMessageRequest, scopes: frozenset[str] = frozenset()) -> Plan:
        """Answer directly if there is an answer."""
        del request
        self.check_scopes("echo", scopes)
        return Plan(skill_id="echo", is_direct=self._answer is not None)

    def check_scopes(self, skill_id: str, scopes: frozenset[str]) -> None:
        """Refuse who lacks the scopes of the script."""
        del skill_id
        if not self._scopes <= scopes:
            raise PermissionDeniedError.for_want_of(self._scopes - scopes)

    def examine_answer(
        self, skill_id: str, asked: Message | None, request: SendMessageRequest
    ) -> bool:
        """Take what answers this one question for a secret."""
        del skill_id, request
        return asked is not None and asked.message_id == "secret?"

    @property
    def revise_event(self) -> None:
        """All events are stored as they are."""

    async def answer(self, plan: Plan, request: SendMessageRequest, context_id: str) -> Message:
        """Answer by the script."""
        del plan, context_id
        assert self._answer is not None
        return await self._answer(request)

    async def run(self, turn: Turn) -> Outcome:
        """Run by the script; without one, be done at once."""
        return Completed() if self._run is None else await self._run(turn)

    def resumes(self, skill_id: str) -> bool:
        """Say what the test has said."""
        del skill_id
        return self._resumes

    def replaces_at_end(self, skill_id: str) -> bool:
        """Mark the last chunk."""
        del skill_id
        return False

    def time_limit(self, skill_id: str) -> float | None:
        """Leave it to the server."""
        del skill_id

    async def canceled(self, turn: Turn) -> None:
        """Remember the turn."""
        self.canceled_turns.append(turn)
        self.cleaned_up.set()

    async def startup(self) -> None:
        """Remember it."""
        self.life.append("startup")

    async def shutdown(self) -> None:
        """Remember it."""
        self.life.append("shutdown")


class RequestValidator:
    """A place where turns wait until the test lets them through."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        """Wait here, then be done."""
        del turn
        self.reached.set()
        await self.opened.wait()
        return Completed()


class HeldStore(MemoryTaskStore):
    """A store whose writes are committed when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[TaskWrite] = []
        self._held: deque[Done] = deque()

    @property
    def held(self) -> int:
        """Count the writes on their way."""
        return len(self._held)

    def append(self, write: TaskWrite, done: Done) -> None:
        """Keep a write, and who waits for it."""
        self.writes.append(write)
        self._held.append(done)

    def commit(self, error: StoreError | None = None) -> None:
        """Let the oldest write on its way succeed or fail."""
        self._last = self._held.popleft()
        self._last(error)

    def report_again(self) -> None:
        """Tell once more of the last write that was committed, which no store should do."""
        self._last(None)


class RecordingWatcher:
    """A Watcher that remembers what it was told."""

    def __init__(self) -> None:
        self.ended: list[LiveTask] = []
        self.lost: list[tuple[LiveTask, StoreError]] = []
        self.refused: list[tuple[LiveTask, Command]] = []
        self.known: list[tuple[LiveTask, TaskWrite]] = []

    def task_ended(self, live: LiveTask) -> None:
        """Remember it."""
        self.ended.append(live)

    def write_lost(self, live: LiveTask, error: StoreError) -> None:
        """Remember it."""
        self.lost.append((live, error))

    def sent_before(self, live: LiveTask, write: TaskWrite, message_id: str) -> None:
        """Remember it."""
        assert write.send is not None
        assert write.send.key.message_id == message_id
        self.known.append((live, write))

    def end_refused(self, live: LiveTask, command: Command) -> None:
        """Remember it."""
        self.refused.append((live, command))


class Live:
    """A live task, and everything around it."""

    def __init__(
        self,
        *,
        standing: Standing | None = None,
        fold: TaskFold | None = None,
        send: SendRecord | None = None,
    ) -> None:
        self.store = HeldStore()
        self.clock = FakeClock(1_000_000)
        self.watcher = RecordingWatcher()
        self.hub = Hub()
        self.channel = Channel(self.hub, self._read_events)
        self.task = LiveTask(
            watcher=self.watcher,
            store=self.store,
            clock=self.clock,
            channel=self.channel,
            record=NEW_TASK,
            standing=standing or Standing(task_id="t-1", context_id="c-1"),
            fold=fold or TaskFold("t-1", "c-1"),
            send=send,
        )

    async def _read_events(self, after: int, limit: int) -> tuple[()]:
        raise AssertionError(f"the log was asked for {limit} events after {after}")

    def begin(self) -> None:
        """Begin the task and its first turn."""
        self.do(Begin(user_message()), Start())

    def do(self, *commands: Command) -> None:
        """Execute commands."""
        for command in commands:
            self.task.execute(command)


class SetBackClock:
    """A Clock whose time of day was set back, and stands still until it is that late again."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._now_ms = clock.now_ms()

    def now_ms(self) -> int:
        return self._now_ms

    def uptime_ms(self) -> int:
        return self._clock.uptime_ms()

    def new_id(self) -> str:
        return self._clock.new_id()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
