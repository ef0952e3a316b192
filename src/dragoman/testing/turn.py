"""RecordingTurn: run a skill without a server and look at what it did."""

from __future__ import annotations

from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dragoman.agent.results import Reply
from dragoman.errors import NoAnswerError
from dragoman.model.events import TaskArtifactUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.service.principal import Principal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from dragoman.model.base import JsonObject
    from dragoman.model.tasks import Artifact, Task
    from dragoman.service.worker import Recorded, Waits

__all__ = ("RecordingTurn", "user_message")

_BEGINNING_MS: Final = 1_767_225_600_000
"""Midnight, the first of January 2026, UTC."""


def user_message(
    *content: object, metadata: JsonObject | None = None, message_id: str = "message-1"
) -> Message:
    """Make the message of a caller; the content becomes parts by the rules of ``Reply``."""
    return Message(
        message_id=message_id, role=Role.USER, parts=Reply(*content).parts, metadata=metadata
    )


class RecordingTurn:
    """A Turn that keeps what is published and answers questions from a list.

    A message that is not a ``Message`` is made into one by ``user_message``; so are the answers.
    Ids are numbered in the order they are asked for: ``id-1``, ``id-2``. Nothing is recalled: every
    step is taken. A sleep is over at once, and moves ``now_ms`` on. A chunk of a ``yield`` skill is
    marked as the last while nothing has followed it.

    Attributes:
        said: the status messages.
        task_metadata: what was added to the metadata of the task.
        signs: how many updates had neither a message nor metadata.
        chunks: the artifact updates.
        asked: the questions, requests for authorization included.
        auth_asked: the requests for authorization alone.
        noted: the kind and name of each durable call.
        slept: the seconds of each sleep.
        waiting: further messages for ``ctx.messages``.
        earlier: tasks for ``ctx.conversation`` and ``ctx.related``, newest first.
    """

    def __init__(
        self,
        message: object,
        *,
        skill_id: str = "",
        answers: Iterable[object] = (),
        task_id: str = "task-1",
        context_id: str = "context-1",
        tenant: str = "",
        owner: str = "anonymous",
        scopes: Iterable[str] = (),
        metadata: JsonObject | None = None,
        extensions: tuple[str, ...] = (),
        accepted_output_modes: tuple[str, ...] = (),
    ) -> None:
        """Begin a turn; nothing has happened yet."""
        self.message: Message = _message_of(message)
        self.skill_id = skill_id
        self.task_id = task_id
        self.context_id = context_id
        self.tenant = tenant
        self.owner = owner
        self.principal: Final = Principal(owner=owner, scopes=frozenset(scopes))
        self.metadata: JsonObject = metadata or {}
        self.extensions = extensions
        self.accepted_output_modes = accepted_output_modes
        self.said: list[Message] = []
        self.task_metadata: JsonObject = {}
        self.signs: int = 0
        self.chunks: list[TaskArtifactUpdateEvent] = []
        self.asked: list[Message] = []
        self.auth_asked: list[Message] = []
        self.noted: list[tuple[str, str]] = []
        self.slept: list[float] = []
        self.waiting: list[Message] = []
        self.earlier: list[Task] = []
        self._answers = deque(answers)
        self._now_ms = _BEGINNING_MS
        self._history = [self.message]
        self._ids = 0
        self._may_be_last = False

    def history(self) -> tuple[Message, ...]:
        """Return the messages so far, oldest first."""
        return tuple(self._history)

    async def earlier_tasks(self, limit: int) -> tuple[Task, ...]:
        """Return the first of ``earlier``."""
        return tuple(self.earlier[:limit])

    async def find_tasks(self, task_ids: Sequence[str]) -> tuple[Task, ...]:
        """Look for these ids in ``earlier``."""
        return tuple(task for task in self.earlier if task.id in task_ids)

    def new_id(self) -> str:
        """Return the next number."""
        self._ids += 1
        return f"id-{self._ids}"

    async def say(self, message: Message | None = None, metadata: JsonObject | None = None) -> None:
        """Keep a status update."""
        self._go_on()
        if message is not None:
            self.said.append(message)
            self._history.append(message)
        if metadata is not None:
            self.task_metadata.update(metadata)
        self.signs += message is None and metadata is None

    async def artifact(
        self, artifact: Artifact, *, append: bool = False, last_chunk: bool | None = False
    ) -> None:
        """Keep an artifact or a chunk of one."""
        self._go_on()
        self._may_be_last = last_chunk is None
        self.chunks.append(
            TaskArtifactUpdateEvent(
                task_id=self.task_id,
                context_id=self.context_id,
                artifact=artifact,
                append=append,
                last_chunk=last_chunk is not False,
            )
        )

    def _go_on(self) -> None:
        """Note that the newest chunk was not the last, unless it was said to be."""
        if self._may_be_last:
            self._may_be_last = False
            self.chunks[-1] = replace(self.chunks[-1], last_chunk=False)

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        """Keep a question and return the next answer; None in its place is that none comes in time.

        Raises:
            NoAnswerError: none comes in time.
            AssertionError: no answer is left.
        """
        self._go_on()
        if waits is not None:
            waits(is_asked=True)
        self.asked.append(message)
        if is_auth:
            self.auth_asked.append(message)
        if not self._answers:
            raise AssertionError(f"no answer is left for question {len(self.asked)}")
        content = self._answers.popleft()
        if content is None:
            if timeout_seconds is None:
                raise AssertionError("a question without a time limit waits for its answer forever")
            raise NoAnswerError("No answer came in the time that was given for it")
        answer = _message_of(content)
        self._history += (message, answer)
        return answer

    async def sleep(self, seconds: float) -> None:
        """Move the time on."""
        self._go_on()
        self.slept.append(seconds)
        self._now_ms += round(seconds * 1000)

    def check_secrecy(self) -> None:
        """Nothing is kept here, so that nothing can be seen."""

    async def take_message(self) -> Message | None:
        """Take the first that is in ``waiting``."""
        if not self.waiting:
            return None
        taken = self.waiting.pop(0)
        self._history.append(taken)
        return taken

    def rest(self) -> None:
        """Do nothing: there is no slot."""

    def join(self, strands: int = 1) -> None:
        """Do nothing: there is no slot."""

    async def seated(self) -> None:
        """Do nothing: there is no slot."""

    @asynccontextmanager
    async def away(self) -> AsyncGenerator[None]:
        """Do nothing: there is no slot."""
        yield

    @property
    def is_given_up(self) -> bool:
        """Say yes: there is no other run."""
        return True

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """Return nothing: there was no earlier run."""
        return ()

    async def flush(self) -> None:
        """Do nothing: a list is as durable as it gets."""

    def recall(self, kind: str, name: str) -> bytes | None:
        """Recall nothing."""
        del kind, name

    def note(self, kind: str, name: str, result: bytes) -> None:
        """Keep what was noted."""
        del result
        self._go_on()
        self.noted.append((kind, name))

    async def record(self, kind: str, name: str, result: bytes) -> None:
        """Keep what was recorded."""
        self.note(kind, name, result)

    def call_key(self, name: str) -> str:
        """Return the task, the number of the next durable call, and its name."""
        return f"{self.task_id}/{len(self.noted) + 1}/{name}"

    def now_ms(self) -> int:
        """Return the time: that of the beginning, and what was slept since."""
        return self._now_ms


def _message_of(content: object) -> Message:
    return content if isinstance(content, Message) else user_message(content)
