"""Draft: what of a task waits for its next write to the store."""

from __future__ import annotations

from dragoman.stores.base import WHOLE_INBOX, JournalEntry, Secret, SendRecord, TaskWrite

__all__ = ("Draft",)


class Draft:
    """The next write of one task, as it grows.

    Attributes:
        entries: of the log: events, and messages of the history.
        events: how many of the entries are events.
        inbox_taken: the numbers that leave the inbox; or WHOLE_INBOX.
        send: which send it answers.
    """

    __slots__ = ("entries", "events", "inbox_taken", "journal", "secrets", "send")

    def __init__(self, send: SendRecord | None = None) -> None:
        self.entries: list[bytes] = []
        self.events = 0
        self.journal: list[JournalEntry] = []
        self.secrets: list[Secret] = []
        self.inbox_taken: tuple[int, ...] = ()
        self.send = send

    def add_event(self, entry: bytes) -> None:
        """Let it have an event."""
        self.entries.append(entry)
        self.events += 1

    @property
    def is_plain(self) -> bool:
        """Tell whether it has events alone, none of which must be in one write with another."""
        beside = self.journal or self.secrets or self.inbox_taken or self.send
        return not beside and len(self.entries) == self.events

    def take_out(self) -> tuple[tuple[bytes, ...], int]:
        """Take out all entries but the last, which is an event; return them, and their events."""
        entries, events = tuple(self.entries[:-1]), self.events - 1
        self.entries = self.entries[-1:]
        self.events = 1
        return entries, events

    def put_back(self, write: TaskWrite, *, but_for: int) -> None:
        """Have again what was refused, but for this many entries at its end, one being an event."""
        self.entries = list(write.entries[: len(write.entries) - but_for])
        self.events = write.events - 1
        self.journal[:0] = write.journal
        self.secrets[:0] = write.secrets
        self.inbox_taken += tuple(n for n in write.inbox_taken if n != WHOLE_INBOX)
        self.send = write.send
