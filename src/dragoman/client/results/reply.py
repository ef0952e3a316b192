"""AgentReply: what an agent has answered, and the way to go on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, Unpack, overload

from dragoman.client.errors import TaskNotCompletedError
from dragoman.client.following.progress import joined
from dragoman.client.results.client_tools import addressed
from dragoman.client.results.content import data_of, files_of, typed
from dragoman.extensions.agent_tools.exchange import (
    InputRequest,
    ToolUse,
    input_request_in,
    uses_in,
)
from dragoman.model.messages import Message, Role, text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState

if TYPE_CHECKING:
    from dragoman.client.results.content import ReceivedFile
    from dragoman.client.results.sending import SendOptions
    from dragoman.client.results.stream import AgentStream

__all__ = ("AgentReply", "MessageSender", "ReplyView", "said_last")

T = TypeVar("T")


class ReplyView:
    """What can be seen of an answer: a task, or a message without one."""

    __slots__ = ("_outcome",)

    def __init__(self, outcome: Task | Message) -> None:
        self._outcome = outcome

    @property
    def outcome(self) -> Task | Message:
        """The answer as the protocol has it."""
        return self._outcome

    @property
    def task(self) -> Task | None:
        """The task, None if the agent has answered without one."""
        return self._outcome if isinstance(self._outcome, Task) else None

    @property
    def message(self) -> Message | None:
        """The answer without a task, or else the last thing that the agent has said in the task.

        What it said before the last message of the user is not an answer to that.
        """
        if isinstance(self._outcome, Message):
            return self._outcome
        return said_last(self._outcome)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """The results."""
        return self._outcome.artifacts if isinstance(self._outcome, Task) else ()

    @property
    def task_id(self) -> str:
        """The id of the task; "" without one."""
        return self._outcome.id if isinstance(self._outcome, Task) else self._outcome.task_id

    @property
    def context_id(self) -> str:
        """The id of the conversation; "" if the agent names none."""
        return self._outcome.context_id

    @property
    def state(self) -> TaskState | None:
        """Where the task stands; None without one."""
        return self._outcome.status.state if isinstance(self._outcome, Task) else None

    @property
    def needs_input(self) -> bool:
        """Tell whether the agent waits for an answer, or for authorization."""
        return self.state is not None and self.state.is_interrupted

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tools that the agent asks for, if that is what it waits for."""
        asked = self.message if self.needs_input else None
        return () if asked is None else uses_in(asked.parts)

    @property
    def input_request(self) -> InputRequest | None:
        """What the agent says of the input it waits for, if it says more than its question."""
        return input_request_in(self.message) if self.needs_input else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content of the answer.

        That is what the agent asks if it waits; else the results; else what it has said last.
        """
        said = self.message
        # Some servers keep the chunks of a text apart.
        results = tuple(part for artifact in self.artifacts for part in joined(artifact.parts))
        if results and not self.needs_input:
            return results
        return said.parts if said is not None else results

    @property
    def text(self) -> str:
        """The text of the answer, "" if it has none."""
        found = text_of(self.parts)
        if not found and self.message is not None:
            return text_of(self.message.parts)
        return found

    @property
    def data(self) -> object:
        """The first piece of data in the answer, None if there is none."""
        return next(iter(data_of(self.parts)), None)

    @property
    def files(self) -> tuple[ReceivedFile, ...]:
        """The files in the answer."""
        return files_of(self.parts)

    @overload
    def as_type(self, kind: type[T]) -> T: ...
    @overload
    def as_type(self, kind: object) -> object: ...

    def as_type(self, kind: object) -> object:
        """Return the data of the answer, or else its text, as a value of a type.

        That may be whatever JSON can be read as: a scalar, a dataclass, a Struct, a TypedDict, a
        pydantic model, a container of them.

        Raises:
            ValueError: it does not fit; says where.
        """
        return typed(self.parts, kind)

    def continued(self, options: SendOptions) -> SendOptions:
        """Return the options of a message that goes on from here (R-3.4.3-6, R-3.4.3-7)."""
        place: SendOptions = {"context_id": self.context_id}
        if self.state is not None and not self.state.is_terminal:
            place["task_id"] = self.task_id
        elif self.task_id:
            place["reference_task_ids"] = (self.task_id,)
        return {**place, **options}

    def raise_for_state(self) -> None:
        """Do nothing if the work is done.

        Raises:
            TaskNotCompletedError: it failed, was rejected or canceled, goes on, or waits.
        """
        if self.state not in (None, TaskState.COMPLETED):
            said = text_of(self.message.parts) if self.message is not None else ""
            raise TaskNotCompletedError(self.task_id, self.state, said)

    def __str__(self) -> str:
        """Show the text."""
        return self.text

    def __repr__(self) -> str:
        """Show what it is, briefly."""
        state = self.state
        about = f"{self.task_id} {state.name}" if state is not None else "message"
        return f"<{type(self).__name__} {about}: {self.text[:60]!r}>"


def said_last(task: Task) -> Message | None:
    """Return what the agent has said last, in answer to the last message of the user."""
    if task.status.message is not None:
        return task.status.message
    last = task.history[-1] if task.history else None
    return last if last is not None and last.role is Role.AGENT else None


class MessageSender(Protocol):
    """Who sends messages."""

    async def send(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        """Send a message and wait for what comes of it."""
        ...

    def stream(self, *content: object, **options: Unpack[SendOptions]) -> AgentStream:
        """Send a message and follow what comes of it."""
        ...


class AgentReply(ReplyView):
    """What an agent has answered."""

    __slots__ = ("_sender",)

    def __init__(self, outcome: Task | Message, sender: MessageSender) -> None:
        """Keep the answer, and who sends the next message."""
        super().__init__(outcome)
        self._sender = sender

    async def answer(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        """Go on with the conversation and wait for what comes of it.

        A task that has not ended gets the message. After one that has ended, or an answer without
        a task, it begins a new task in the same conversation (R-T.lot-2).
        """
        return await self._sender.send(*self._addressed(content), **self.continued(options))

    def stream_answer(self, *content: object, **options: Unpack[SendOptions]) -> AgentStream:
        """Go on with the conversation and follow what comes of it."""
        return self._sender.stream(*self._addressed(content), **self.continued(options))

    def _addressed(self, content: tuple[object, ...]) -> tuple[object, ...]:
        if not self.needs_input or len(content) != 1 or not isinstance(content[0], str):
            return content
        return addressed(self.message, content[0]) or content
