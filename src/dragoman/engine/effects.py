"""What must be done after a decision, in the order given."""

from __future__ import annotations

from msgspec import Struct

from dragoman.model.events import TaskEvent
from dragoman.model.messages import Message

__all__ = ("Append", "Effect", "Enqueue", "NextTurn", "Record", "ResumeTurn", "StopTurn")


class Append(Struct, frozen=True, gc=False):
    """Give the event the next number and log it."""

    event: TaskEvent


class Record(Struct, frozen=True, gc=False):
    """Log a message of the history; it goes with the event appended next."""

    message: Message


class Enqueue(Struct, frozen=True, gc=False):
    """Put the message into the task's inbox, durably."""

    message: Message


class NextTurn(Struct, frozen=True, gc=False):
    """Run a turn: the first, or the one for the oldest message in the inbox."""


class ResumeTurn(Struct, frozen=True, gc=False):
    """Hand the answer to the turn that waits for it."""

    message: Message


class StopTurn(Struct, frozen=True, gc=False):
    """Stop the turn that runs, if one does."""


Effect = Append | Record | Enqueue | NextTurn | ResumeTurn | StopTurn
