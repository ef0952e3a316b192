"""What a task was before the command that ended it: for when the store refuses that end.

In a store that several replicas share, a message may be acknowledged by one of them while another
ends the task. The store then refuses the end (UnreadError); it is taken back, and decided anew with
the message in sight. Until the end is durable nobody is shown it, or refused because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dragoman.engine.commands import Command
from dragoman.engine.fold import FoldMark
from dragoman.engine.machine import Standing
from dragoman.server.tasks.delivery import QueuedDelivery

if TYPE_CHECKING:
    from dragoman.server.tasks.task import LiveTask

__all__ = ("Ending", "is_ending")


class Ending(Struct, frozen=True, kw_only=True):
    """A task before its end.

    Attributes:
        command: what ended it.
        added: how many entries of the log the end has added.
        is_status_due: a status before the end was waiting to be written.
    """

    command: Command
    standing: Standing
    fold: FoldMark
    inbox: tuple[QueuedDelivery, ...]
    added: int
    status_at_ms: int
    snapshot_seq: int
    is_status_due: bool


def is_ending(live: LiveTask) -> bool:
    """Tell whether a task has ended, but the store may still refuse that.

    Wait for ``durable()`` then, and ask again. If the end is taken back, that waits for the event
    which gets the number of the end. There always is one: what ended the task is decided anew.
    After a write was lost it is not the end that is in question, and ``failure`` says what is.
    """
    if live.seen is None or live.failure is not None:
        return False
    return live.standing.has_ended and live.backlog > 0
