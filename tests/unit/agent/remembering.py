"""A turn that is run again: it hands back what an earlier one has recorded."""

from collections.abc import Iterable

from dragoman.engine.journal import JournalEntry, Replay
from dragoman.testing.turn import RecordingTurn

__all__ = ("RememberingTurn",)


class RememberingTurn(RecordingTurn):
    """A Turn with a journal.

    Attributes:
        journal: what was recorded, by this run and by those before it.
        flushed: how much had been recorded at each flush.
    """

    def __init__(self, message: object = "hi", journal: Iterable[JournalEntry] = ()) -> None:
        super().__init__(message)
        self.journal = list(journal)
        self.flushed: list[int] = []
        self._replay = Replay(self.task_id, self.context_id, tuple(self.journal), ())

    def again(self) -> "RememberingTurn":
        """Return the next run of the same turn."""
        return RememberingTurn(self.message, self.journal)

    async def flush(self) -> None:
        self.flushed.append(len(self.journal))

    def recall(self, kind: str, name: str) -> bytes | None:
        return self._replay.recall(kind, name)

    def note(self, kind: str, name: str, result: bytes) -> None:
        super().note(kind, name, result)
        n = len(self.journal) + 1
        self.journal.append(JournalEntry(n=n, kind=kind, name=name, result=result))

    def call_key(self) -> str:
        return f"{self.task_id}/{len(self.journal) + 1}"
