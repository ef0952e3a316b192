"""The port by which replicas tell each other where to look, and the hints that pass through it.

The log is the truth; a hint only says that looking at it now is worth while. Whoever hears one
reads the store and acts on what stands there, so that a hint that is wrong, old or doubled does no
harm, and one that is lost costs the time until the next sweep. One kind is believed as it is,
because it stands nowhere else: what was used up of an allowance.

A bus knows nothing of tasks but their ids, and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

__all__ = (
    "Bus",
    "Hint",
    "InboxFilled",
    "Moved",
    "OnHint",
    "OnReconnect",
    "ReplicaHint",
    "Spent",
    "TaskMoved",
    "Unfollow",
    "WorkReleased",
)


class TaskMoved(Struct, frozen=True, gc=False):
    """The log of a task reaches to event ``seq``; for the replicas where it is followed."""

    task_id: str
    seq: int


class InboxFilled(Struct, frozen=True, gc=False):
    """Something lies in the inbox of a task; for the replica that holds it.

    ``holder`` is the id of that replica, as its row named it; "" tells all of them.
    """

    task_id: str
    holder: str = ""


class WorkReleased(Struct, frozen=True, gc=False):
    """A replica let go of tasks that are not at their end; for all others."""


class Spent(Struct, frozen=True, gc=False):
    """So many units of an allowance were used up at a replica; for all others.

    ``allowance`` is a name that all replicas have for it, and that does not say whose it is.
    """

    allowance: str
    units: int


ReplicaHint = InboxFilled | WorkReleased | Spent
"""What a replica hears without having asked for it."""

Hint = TaskMoved | ReplicaHint

OnHint = Callable[[ReplicaHint], None]

OnReconnect = Callable[[], None]
"""Called when hints are heard again after a time in which they were not: sweep now."""

Moved = Callable[[int], None]
"""Called with the ``seq`` of a TaskMoved."""

Unfollow = Callable[[], None]
"""Ends what ``follow`` began; calling it again does nothing."""


class Bus(Protocol):
    """Publish and subscribe of hints between replicas.

    Promised: ``publish`` and ``follow`` return at once and never raise, whatever has become of the
    connection; a connection that is lost is made anew for as long as the bus is open, and whatever
    is followed then is heard again; callbacks run on the event loop, and one that raises hinders no
    other; a replica does not hear what it published itself.

    Not promised: that a hint arrives, that it arrives once, or in order. Hints about one task are
    joined to the latest, and units of one allowance are added up; what is published while there is
    no connection is dropped. Nothing is heard of what was published before ``follow`` had reached
    the other side, which is some time after it returned: read the log once more after following,
    or rely on the sweep.

    All methods are called on one event loop.
    """

    @property
    def is_connected(self) -> bool:
        """False while hints are neither sent nor heard."""
        ...

    async def open(self, replica_id: str, *, on_hint: OnHint, on_reconnect: OnReconnect) -> None:
        """Connect, and keep trying if that fails: without a bus all is slower and nothing wrong.

        Raises UsageError when trying again cannot help: an option or a file that is no good.

        Args:
            on_hint: hears what is meant for this replica.
            on_reconnect: called after every gap, the one before a late first connection included.
        """
        ...

    async def close(self) -> None:
        """Send what was published, if that can be done at once, and disconnect."""
        ...

    def publish(self, hint: Hint) -> None:
        """Tell the other replicas."""
        ...

    def follow(self, task_id: str, moved: Moved) -> Unfollow:
        """Hear of the moves of a task from now on; return what ends it."""
        ...
