"""What the writes of one task come to that are committed together.

A turn says much in little time. Its writes become one change of its row, one snapshot, and as few
segments as there can be. Knows nothing of where they are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.stores.base import WHOLE_INBOX

if TYPE_CHECKING:
    from dragoman.model.documents import TaskDocument
    from dragoman.model.tasks import TaskState
    from dragoman.stores.base import JournalEntry, Secret, TaskWrite

__all__ = ("FoldedWrites", "RefusedError")


class RefusedError(Exception):
    """Something in a batch fits neither what is stored nor what comes before it."""


class FoldedWrites:
    """The writes of one task in one commit, as one.

    Attributes:
        first: the first of them; what it expects is what all of them do.
        seq: the last event after all of them.
        segments: (number of its first event, events, entries) of each.
        state, status_at_ms: the last that was said; None for no state.
        snapshot, snapshot_seq: the last that was given, and of which event; None for none.
        taken: numbers of what is taken up from the inbox, if not all of it.
        takes_all: the whole inbox is taken up.
        inbox_seen, wake_at_ms, attempts: the last that was said; None for nothing.
        journal, secrets: all of them.
    """

    __slots__ = (
        "_count",
        "_entries",
        "attempts",
        "first",
        "inbox_seen",
        "journal",
        "secrets",
        "segments",
        "seq",
        "snapshot",
        "snapshot_seq",
        "state",
        "status_at_ms",
        "taken",
        "takes_all",
        "wake_at_ms",
    )

    def __init__(self, first: TaskWrite) -> None:
        if first.created is not None and first.expected_seq != 0:
            raise RefusedError
        self.first: Final = first
        self.seq: int = first.expected_seq
        # The segment that is being gathered.
        self._entries: list[bytes] = []
        self._count = 0
        self.segments: list[tuple[int, int, list[bytes]]] = []
        self.state: TaskState | None = None
        self.status_at_ms: int = 0
        self.snapshot: TaskDocument | None = None
        self.snapshot_seq: int = 0
        self.taken: list[int] = []
        self.takes_all: bool = False
        self.inbox_seen: int | None = None
        self.wake_at_ms: int | None = None
        self.attempts: int | None = None
        self.journal: list[JournalEntry] = []
        self.secrets: list[Secret] = []
        self._take(first)

    @property
    def at_ms(self) -> int:
        """Since when webhooks have something to tell of them; never 0, which would say nothing."""
        return max(self.first.at_ms, 1)

    @property
    def is_end(self) -> bool:
        """Whether the task has ended after all of them."""
        return self.state is not None and self.state.is_terminal

    def add(self, write: TaskWrite) -> None:
        """Take in another; raises RefusedError when it does not continue the one before it."""
        if (
            write.created is not None
            or write.epoch != self.first.epoch
            or write.expected_seq != self.seq
        ):
            raise RefusedError
        self._take(write)

    def _take(self, write: TaskWrite) -> None:
        self._entries += write.entries
        self._count += write.events
        self.seq += write.events
        if write.state is not None:
            self.state = write.state
            self.status_at_ms = write.status_at_ms
        if write.inbox_taken:
            self.takes_all = self.takes_all or WHOLE_INBOX in write.inbox_taken
            self.taken += write.inbox_taken
        if write.inbox_seen is not None:
            self.inbox_seen = write.inbox_seen
        if write.wake_at_ms is not None:
            self.wake_at_ms = write.wake_at_ms
        if write.attempts is not None:
            self.attempts = write.attempts
        self.journal += write.journal
        self.secrets += write.secrets
        if write.snapshot is not None:
            self.snapshot = write.snapshot
            self.snapshot_seq = self.seq
            # A reader continues after the snapshot with whole segments.
            self._end_segment()

    def _end_segment(self) -> None:
        if self._entries:
            self.segments.append((self.seq - self._count + 1, self._count, self._entries))
            self._entries = []
            self._count = 0

    def finish(self) -> None:
        """End the last segment; nothing can be added after this."""
        self._end_segment()
