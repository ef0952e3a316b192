"""A turn that is run again: it hands back what an earlier one has recorded."""

import asyncio
from collections.abc import Iterable

import msgspec

from dragoman.engine.journal import JournalEntry, Replay, kind_in
from dragoman.model.messages import Message
from dragoman.service.branches import branch
from dragoman.service.worker import Recorded, Waits
from dragoman.testing.turn import RecordingTurn

__all__ = ("RememberingTurn",)


class RememberingTurn(RecordingTurn):
    """A Turn with a journal.

    Attributes:
        journal: what was recorded, by this run and by those before it.
        flushed: how much had been recorded at each flush.
    """

    def __init__(
        self,
        message: object = "hi",
        journal: Iterable[JournalEntry] = (),
        answers: Iterable[object] = (),
    ) -> None:
        super().__init__(message, answers=answers)
        self.journal = list(journal)
        self.flushed: list[int] = []
        self._is_put_aside = False
        self._news = asyncio.Event()
        self._replay = Replay(self.task_id, self.context_id, tuple(self.journal), ())

    def again(self, answers: Iterable[object] = ()) -> "RememberingTurn":
        """Return the next run of the same turn."""
        return RememberingTurn(self.message, self.journal, answers)

    async def grown(self, length: int) -> None:
        """Wait until so much has been recorded."""
        while len(self.journal) < length:
            self._news.clear()
            await self._news.wait()

    def put_aside(self) -> None:
        """Let it be run again later, whatever ends this run."""
        self._is_put_aside = True

    @property
    def is_given_up(self) -> bool:
        return not self._is_put_aside

    async def flush(self) -> None:
        self.flushed.append(len(self.journal))

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        return tuple(
            Recorded(one.branch, one.kind.partition("@")[0], one.name, one.result)
            for one in self._replay.entries
        )

    def recall(self, kind: str, name: str) -> bytes | None:
        return self._replay.recall(kind, name, branch.get())

    def note(self, kind: str, name: str, result: bytes) -> None:
        super().note(kind, name, result)
        n = len(self.journal) + 1
        kind = kind_in(kind, branch.get())
        self.journal.append(JournalEntry(n=n, kind=kind, name=name, result=result))
        self._news.set()

    async def ask(
        self,
        message: Message,
        *,
        is_auth: bool = False,
        timeout_seconds: float | None = None,
        waits: Waits | None = None,
    ) -> Message:
        recorded = self.recall("ask", "")
        if recorded is not None:
            return msgspec.json.decode(recorded, type=Message)
        answer = await super().ask(
            message, is_auth=is_auth, timeout_seconds=timeout_seconds, waits=waits
        )
        self.note("ask", "", msgspec.json.encode(answer))
        return answer

    def call_key(self, name: str) -> str:
        strand = branch.get()
        return f"{self.task_id}/{sum(one.branch == strand for one in self.journal) + 1}/{name}"
