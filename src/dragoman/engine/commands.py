"""What can be asked of a task: from outside (Begin, Deliver, Cancel), and by its turn."""

from __future__ import annotations

from msgspec import Struct

from dragoman.model.base import JsonObject
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact, TaskState

__all__ = (
    "AddArtifact",
    "Ask",
    "Begin",
    "Cancel",
    "Command",
    "Deliver",
    "Finish",
    "GoOn",
    "Say",
    "Start",
    "TakeUp",
    "Withdraw",
)


class Begin(Struct, frozen=True, gc=False):
    """Create the task with its first message."""

    message: Message


class Deliver(Struct, frozen=True, gc=False):
    """Hand a further message to the task.

    ``is_answer`` is false for one that was sent when nothing had been asked: it waits its turn.
    """

    message: Message
    is_answer: bool = True


class Cancel(Struct, frozen=True, gc=False):
    """End the task at its client's wish."""


class Start(Struct, frozen=True, gc=False):
    """The first turn takes the task up."""


class TakeUp(Struct, frozen=True, gc=False):
    """A turn takes up a message that was waiting."""

    message: Message


class Withdraw(Struct, frozen=True, gc=False):
    """A message that was waiting could not be stored; its sender was told so."""


class Say(Struct, frozen=True, gc=False):
    """Publish a status update: a message, metadata of the task, or a sign of life."""

    message: Message | None = None
    metadata: JsonObject | None = None


class AddArtifact(Struct, frozen=True, gc=False):
    """Publish an artifact, or a chunk of one."""

    artifact: Artifact
    append: bool
    last_chunk: bool


class Ask(Struct, frozen=True, gc=False):
    """Pause for the client: for input, or for authorization."""

    message: Message
    is_auth: bool


class GoOn(Struct, frozen=True, gc=False):
    """The turn has given up waiting for an answer and works on."""


class Finish(Struct, frozen=True, gc=False):
    """The turn is over; ``state`` is where it wants the task to end."""

    state: TaskState
    message: Message | None = None


Command = (
    Begin | Deliver | Cancel | Start | TakeUp | Withdraw | Say | AddArtifact | Ask | GoOn | Finish
)
