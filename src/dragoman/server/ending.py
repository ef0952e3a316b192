"""What a task was before the command that ended it: for when the store refuses that end.

In a store that several replicas share, a message may be acknowledged by one of them while another
ends the task. The store then refuses the end (UnreadError); it is taken back, and decided anew with
the message in sight.
"""

from __future__ import annotations

from msgspec import Struct

from dragoman.engine.commands import Command
from dragoman.engine.fold import FoldMark
from dragoman.engine.machine import Standing
from dragoman.server.errands import QueuedErrand

__all__ = ("Ending",)


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
    inbox: tuple[QueuedErrand, ...]
    added: int
    status_at_ms: int
    snapshot_seq: int
    is_status_due: bool
