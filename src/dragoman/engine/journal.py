"""The journal of a task, and what it does for a function that runs again from the top.

A durable call (``ask``, ``step``, ``sleep``, ...) leaves its result in the journal. When the
function runs again, the same call in the same place finds that result and is not made again. What
the function published up to its last result stands in the log as it is, whatever it says this time;
what it published after that is made good here: messages that were said are not said twice, an
artifact that was complete stands, and one that was still open is begun anew.

A turn is one run of the function for one message. The journal of a task has an entry of the kind
``turn`` where another turn begins, so only the results after the last of these are handed back.

A turn may go on in several branches at once. The kind of an entry then says which of them made the
call (``step@1.0``), and results are told apart by their order within a branch.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.engine.commands import AddArtifact
from dragoman.engine.fold import TaskFold
from dragoman.errors import DivergedError
from dragoman.model.events import StreamResponse
from dragoman.model.tasks import Artifact, TaskState

__all__ = ("TURN", "JournalEntry", "Replay", "kind_in")

TURN: Final = "turn"
"""The kind of the entry that begins a turn; its result is what the turn is about."""

_BRANCH: Final = "@"

_decode_entry: Final = msgspec.json.Decoder(StreamResponse).decode


class JournalEntry(Struct, frozen=True, kw_only=True, gc=False):
    """A recorded result of a durable call.

    Attributes:
        n: numbered per task from 1.
        kind: of the call, with the branch it was made in.
        seq: the last event of the task when this was recorded.
    """

    n: int
    kind: str
    name: str
    result: bytes
    seq: int = 0

    @property
    def branch(self) -> str:
        """The branch in which the call was made."""
        return self.kind.partition(_BRANCH)[2]


def kind_in(kind: str, branch: str) -> str:
    """Return the kind of an entry that is made in a branch; "" is the one a turn begins with."""
    return f"{kind}{_BRANCH}{branch}" if branch else kind


class _Stretch:
    """What was published between two results: how many messages, and which artifacts began."""

    __slots__ = ("artifacts", "says")

    def __init__(self) -> None:
        self.says = 0
        self.artifacts: list[str] = []


class Replay:
    """One turn run again.

    Args:
        task_id, context_id: of the task.
        journal: all entries of the task, oldest first.
        log: all entries of its log, oldest first.

    Attributes:
        begun_by: the result of the entry that began the turn; None for the first turn of a task
            that has no such entry.
    """

    __slots__ = (
        "_at",
        "_branches",
        "_closed",
        "_entries",
        "_existing",
        "_names",
        "_reopened",
        "_stretches",
        "begun_by",
    )

    def __init__(
        self,
        task_id: str,
        context_id: str,
        journal: Sequence[JournalEntry],
        log: Iterable[bytes],
    ) -> None:
        """Find out what the turn had done."""
        starts = [at for at, entry in enumerate(journal) if entry.kind == TURN]
        self.begun_by: bytes | None = journal[starts[-1]].result if starts else None
        self._entries = tuple(journal[starts[-1] + 1 :] if starts else journal)
        self._at = 0
        self._branches: dict[str, deque[JournalEntry]] = {}
        for entry in self._entries:
            self._branches.setdefault(entry.branch, deque()).append(entry)
        self._stretches = [_Stretch() for _ in range(len(self._entries) + 1)]
        # Artifacts of the log, and what was published again since.
        self._existing: set[str] = set()
        # The names that artifacts have in the log, by those they are given this time.
        self._names: dict[str, str] = {}
        # After the last result: how often each was completed, and what those were that have grown.
        self._closed: Counter[str] = Counter()
        self._reopened: dict[str, Artifact] = {}
        self._read(TaskFold(task_id, context_id), journal[starts[-1]].seq if starts else 0, log)

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """All that the turn has recorded, oldest first."""
        return self._entries

    @property
    def is_over(self) -> bool:
        """Tell whether every recorded result has been handed back."""
        return self._at == len(self._entries)

    def is_over_in(self, branch: str) -> bool:
        """Tell whether every result of a branch has been handed back."""
        return not self._branches.get(branch)

    def recall(self, kind: str, name: str, branch: str = "") -> bytes | None:
        """Return what was recorded for this call; None if it has never come to a result.

        Raises:
            DivergedError: another call was recorded in this place.
        """
        left = self._branches.get(branch)
        if not left:
            return None
        entry = left[0]
        if (entry.kind, entry.name) != (kind_in(kind, branch), name):
            raise DivergedError(_call(entry.kind, entry.name), _call(kind, name))
        left.popleft()
        self._at += 1
        return entry.result

    def leave(self, branches: str) -> None:
        """Hand back nothing more of the branches whose names begin like this: they are over."""
        for name, left in self._branches.items():
            if name.startswith(branches):
                self._at += len(left)
                left.clear()

    def has_said(self) -> bool:
        """Tell whether the log has the message that is said now."""
        if not self.is_over:
            return True
        stretch = self._stretches[-1]
        stretch.says -= 1
        return stretch.says >= 0

    def publish(self, command: AddArtifact) -> tuple[AddArtifact, ...]:
        """Return what is to be published for an artifact or chunk; nothing if it stands already."""
        name = self._name_of(command.artifact.artifact_id)
        if not self.is_over:
            return ()
        if self._closed[name]:
            # What comes after its last chunk is another version, which the log may not have.
            self._closed[name] -= command.last_chunk
            return ()
        whole = self._reopened.pop(name, None)
        # What the log does not have cannot be continued: it begins here.
        append = command.append and name in self._existing
        self._existing.add(name)
        artifact = replace(command.artifact, artifact_id=name)
        published = AddArtifact(artifact, append, command.last_chunk)
        if whole is None or not append:
            return (published,)
        # The chunks after the last result come again: back to what the artifact was then.
        return AddArtifact(whole, append=False, last_chunk=False), published

    def _name_of(self, artifact_id: str) -> str:
        """Return the name in the log, by place: the n-th to begin here is the n-th that began."""
        if artifact_id not in self._names:
            began = self._stretches[self._at].artifacts
            name = artifact_id
            if artifact_id in self._existing:
                # The author has named it.
                if name in began:
                    began.remove(name)
            elif began:
                name = began.pop(0)
            self._names[artifact_id] = name
        return self._names[artifact_id]

    def _read(self, fold: TaskFold, start: int, log: Iterable[bytes]) -> None:
        ends = [start, *(entry.seq for entry in self._entries)]
        at = seq = 0
        whole: dict[str, Artifact] = {}
        for line in log:
            entry = _decode_entry(line)
            if entry.message is not None:
                continue
            seq += 1
            while at < len(ends) and seq > ends[at]:
                at += 1
                if at == len(ends):
                    whole = fold.artifacts()
            stretch = self._stretches[at - 1] if at else None
            status, update = entry.status_update, entry.artifact_update
            if status is not None and stretch is not None:
                said = status.status
                stretch.says += said.state is TaskState.WORKING and said.message is not None
            if update is not None:
                fold.apply(update)
                name = update.artifact.artifact_id
                if stretch is not None and name not in self._existing:
                    stretch.artifacts.append(name)
                self._existing.add(name)
                if at == len(ends) and name in whole:
                    self._reopened[name] = whole[name]
                if at == len(ends):
                    self._closed[name] += update.last_chunk


def _call(kind: str, name: str) -> str:
    return f"{kind} {name!r}" if name else kind
