"""Worker: whatever runs a turn of a task. The authoring API is one.

A turn begins with a message and ends with an Outcome. In between the worker speaks through the Turn
it was given. It knows nothing of stores, streams or bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentSkill
from dragoman.model.events import TaskEvent
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import Artifact, Task
from dragoman.service.principal import Principal

__all__ = (
    "Completed",
    "Failed",
    "Outcome",
    "Plan",
    "Recorded",
    "Refused",
    "Suspended",
    "Turn",
    "Waits",
    "Worker",
)


class Plan(Struct, frozen=True, kw_only=True, gc=False):
    """How a new message will be answered, decided before anything is stored.

    ``is_direct``: by one Message, without a task.
    """

    skill_id: str
    is_direct: bool = False


class Completed(Struct, frozen=True, gc=False):
    """The work is done; the message, if any, becomes the final status message."""

    message: Message | None = None


class Failed(Struct, frozen=True, gc=False):
    """The work could not be done."""

    message: Message | None = None


class Refused(Struct, frozen=True, gc=False):
    """The agent declines to do the work."""

    message: Message | None = None


Outcome = Completed | Failed | Refused


class Recorded(Struct, frozen=True, gc=False):
    """A result that was recorded, with the kind and the name of the call and its branch."""

    branch: str
    kind: str
    name: str
    result: bytes


class Suspended(BaseException):
    """The turn is put aside; it will be run again from the top, with its recorded results.

    Every call of the Turn raises it from then on. Code that catches it changes nothing by that.
    """


class Waits(Protocol):
    """Called when an answer is to be waited for, as it is not known from an earlier run."""

    def __call__(self, *, is_asked: bool) -> None:
        """Take notice; the caller is not asked if an earlier run has stopped waiting."""
        ...


class Turn(Protocol):
    """What a worker may see of its task, and do with it.

    ``say`` and ``artifact`` return when the event is queued, and wait only when too much is queued;
    ``ask``, ``record`` and ``flush`` wait until everything so far is durable. A commit that failed
    is raised by the next call of any of these. Once the task is canceled they raise
    ``asyncio.CancelledError``, and once it is put aside ``Suspended``.

    A durable call asks ``recall`` for its result before it does anything, and leaves the result by
    ``record`` or ``note``. ``ask``, ``sleep`` and ``take_message`` do that themselves. The order of
    these calls is what tells them apart, within each branch (``dragoman.service.branches``);
    ``ask``, ``sleep`` and ``take_message`` are for the one that a turn begins with.
    """

    @property
    def task_id(self) -> str:
        """The task."""
        ...

    @property
    def context_id(self) -> str:
        """The conversation it belongs to."""
        ...

    @property
    def tenant(self) -> str:
        """The tenant it belongs to."""
        ...

    @property
    def owner(self) -> str:
        """Who owns it."""
        ...

    @property
    def principal(self) -> Principal:
        """Who sent the message this turn answers, with what was granted then."""
        ...

    @property
    def skill_id(self) -> str:
        """The skill that was planned for it."""
        ...

    @property
    def message(self) -> Message:
        """The message this turn answers."""
        ...

    @property
    def metadata(self) -> JsonObject:
        """The metadata of the request that brought the message."""
        ...

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions active for that request."""
        ...

    @property
    def accepted_output_modes(self) -> tuple[str, ...]:
        """The media types the caller takes; empty for any (R-3.2.2-9)."""
        ...

    def history(self) -> tuple[Message, ...]:
        """Return the messages of the task so far, oldest first."""
        ...

    async def earlier_tasks(self, limit: int) -> tuple[Task, ...]:
        """Return tasks of the same context and owner that began before this one, newest first.

        Those at work are left out. They are as stored now, and not recorded.
        """
        ...

    async def find_tasks(self, task_ids: Sequence[str]) -> tuple[Task, ...]:
        """Return the tasks of these ids that the owner has, as stored now; it is not recorded."""
        ...

    def new_id(self) -> str:
        """Return a fresh id for a message or an artifact."""
        ...

    async def say(self, message: Message | None = None, metadata: JsonObject | None = None) -> None:
        """Publish a status update; the task goes on working.

        Args:
            message: what to tell the caller. With neither, the update is a sign of life.
            metadata: is added to the metadata of the task.
        """
        ...

    async def artifact(
        self, artifact: Artifact, *, append: bool = False, last_chunk: bool | None = False
    ) -> None:
        """Publish an artifact or a chunk of one.

        Args:
            last_chunk: None if it is not known yet. Then the chunk may be held for a moment, and it
                is the last if the turn completes before anything else happens.
        """
        ...

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        """Pause the task for input (or authorization) and return the message that answers.

        Args:
            waits: called when the answer is to be waited for.

        Raises:
            NoAnswerError: none came in the time given.
        """
        ...

    def check_secrecy(self) -> None:
        """Raise UsageError unless an answer that is a secret can be kept."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; other turns may have the slot meanwhile."""
        ...

    async def take_message(self) -> Message | None:
        """Take up the oldest of the further messages that wait for this task; None if none does."""
        ...

    def rest(self) -> None:
        """Count out a strand that waits for something; if all do, others may have the slot."""
        ...

    def join(self, strands: int = 1) -> None:
        """Count in strands that begin, or go on after a rest."""
        ...

    async def seated(self) -> None:
        """Wait until this turn has its slot again."""
        ...

    def away(self) -> AbstractAsyncContextManager[None]:
        """Rest while something outside is waited for, then wait for the slot."""
        ...

    @property
    def is_given_up(self) -> bool:
        """Tell whether the work is of no use any more; not so if it will be gone on with later."""
        ...

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """What earlier runs of this turn have recorded, oldest first."""
        ...

    async def flush(self) -> None:
        """Wait until everything published and recorded so far is durable."""
        ...

    def recall(self, kind: str, name: str) -> bytes | None:
        """Return the result that is recorded for this call; None if it is to be made now.

        Raises:
            DivergedError: another call was recorded in this place.
        """
        ...

    def note(self, kind: str, name: str, result: bytes) -> None:
        """Record a result; it becomes durable with whatever is published or recorded next."""
        ...

    async def record(self, kind: str, name: str, result: bytes) -> None:
        """Record a result, durably."""
        ...

    def call_key(self, name: str) -> str:
        """Return what names the next recorded call: the same whenever the turn is run again.

        Another call of the task never has it, unless it is the same one tried once more.
        """
        ...

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch, UTC."""
        ...


class Worker(Protocol):
    """What does the work."""

    @property
    def skills(self) -> tuple[AgentSkill, ...]:
        """The skills to publish, the default one first."""
        ...

    def plan(self, request: SendMessageRequest, scopes: frozenset[str] = frozenset()) -> Plan:
        """Choose how to answer a message that begins something new.

        Raises A2AError (an unknown skill, one that needs other scopes than the caller has, a
        missing or wrong parameter) before anything is stored.
        """
        ...

    def check_scopes(self, skill_id: str, scopes: frozenset[str]) -> None:
        """Raise PermissionDeniedError for a message to a skill that needs other scopes."""
        ...

    def examine_answer(
        self, skill_id: str, asked: Message | None, request: SendMessageRequest
    ) -> bool:
        """Look at a further message for a task; tell whether its content is a secret.

        Then it is neither stored nor shown as it is.

        Args:
            skill_id: of the task.
            asked: what the task waits to be told; None if it does not wait for its client.

        Raises:
            ContentTypeNotSupportedError: it is of a type that neither the skill takes nor the
                question asks for.
            InvalidParamsError: it does not fit what the task waits for.
        """
        ...

    @property
    def revise_event(self) -> Callable[[TaskEvent], TaskEvent] | None:
        """What returns an event as it is to be stored and shown, maybe with other content.

        None if all are stored as they are; asked when a task comes to life. It is called for every
        event of a task before it gets its number, and again if the event could not be stored. There
        is always one to store. It must be quick, and must not raise.
        """
        ...

    async def answer(self, plan: Plan, request: SendMessageRequest, context_id: str) -> Message:
        """Answer directly; only for a plan that says so."""
        ...

    async def run(self, turn: Turn) -> Outcome:
        """Run one turn. Any exception fails the task; its text is not shown to the peer."""
        ...

    def resumes(self, skill_id: str) -> bool:
        """Tell whether a turn of this skill that was cut off may be run again."""
        ...

    def replaces_at_end(self, skill_id: str) -> bool:
        """Whether artifacts that are still open when a turn completes are sent once more, whole."""
        ...

    def time_limit(self, skill_id: str) -> float | None:
        """Return how many seconds a turn of this skill may work; None leaves it to the server."""
        ...

    async def canceled(self, turn: Turn) -> None:
        """Clean up after a canceled turn, once its coroutine has ended or was given up."""
        ...

    async def startup(self) -> None:
        """Get ready before the first turn."""
        ...

    async def shutdown(self) -> None:
        """Let go after the last turn."""
        ...
