"""The journal of a task, and what it does for a function that runs again from the top.

A durable call (``ask``, ``step``, ``sleep``, ...) leaves its result in the journal. When the
function runs again, the same call in the same place finds that result and is not made again. What
the function published up to its last result stands in the log as it is, whatever it says this time;
what it published after that is made good here: messages that were said are not said twice, an
artifact that was complete stands, and one that was still open is begun anew.

A turn is one run of the function for one message. The journal of a task has an entry of the kind
``turn`` where another turn begins, so only the results after the last of these are handed back.

A turn may go on in several branches at once. The kind of an entry then says which of them made the
call (``step@1.0``), and results are told apart by their order within a branch. So is what they
publish: an entry of the kind ``speaker`` says whose the events after it are. Each branch is made
good by itself, however far the others are.
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
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent
from dragoman.model.tasks import Artifact, TaskState

__all__ = ("END", "FLOOR", "SPEAKER", "TURN", "JournalEntry", "Replay", "kind_in")

TURN: Final = "turn"
"""The kind of the entry that begins a turn; its result is what the turn is about."""

END: Final = "end"
"""The kind of the entry that says that a turn has had its last word, and another is to follow."""

SPEAKER: Final = "speaker"
"""The kind of the entry that says in which branch the events after it are published.

Before the first of these in a turn, it is the branch that the turn begins with.
"""

FLOOR: Final = "floor"
"""The kind of the entry that says how branches go on whose names are its own, a dot and a number.

Its result is the one of them that has the floor, or else how all of them have come to their end.
"""

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

    @property
    def is_end(self) -> bool:
        """Tell whether it says how branches have come to their end."""
        is_floor = self.kind.partition(_BRANCH)[0] == FLOOR
        return is_floor and not self.result.startswith(f"{self.name}.".encode())

    @property
    def is_speaker(self) -> bool:
        """Tell whether it says who publishes from here on, and is no result."""
        return self.kind.partition(_BRANCH)[0] == SPEAKER


def kind_in(kind: str, branch: str) -> str:
    """Return the kind of an entry that is made in a branch; "" is the one a turn begins with."""
    return f"{kind}{_BRANCH}{branch}" if branch else kind


class _Stretch:
    """What was published between two results: how many messages, and which artifacts began."""

    __slots__ = ("artifacts", "says")

    def __init__(self) -> None:
        self.says = 0
        # A set that keeps their order.
        self.artifacts: dict[str, None] = {}


class _Strand:
    """What one branch had done: its results, and what it published before, between and after them.

    Attributes:
        total: how many results there are.
        left: those of them that are not handed back yet.
        stretches: one before each result, and one after the last.
        closed: how often each artifact was completed after the last result.
        has_ended: it has come to its end, so that all it has published stands.
    """

    __slots__ = ("closed", "has_ended", "left", "stretches", "total")

    def __init__(self, *, has_ended: bool) -> None:
        self.has_ended = has_ended
        self.total = 0
        self.left: deque[JournalEntry] = deque()
        self.stretches = [_Stretch()]
        self.closed: Counter[str] = Counter()

    def add_result(self, entry: JournalEntry) -> None:
        self.left.append(entry)
        self.total += 1

    @property
    def comes_again(self) -> bool:
        """Tell, while the log is read, whether what is published there will be once more."""
        return len(self.stretches) == self.total + 1 and not self.has_ended

    @property
    def stands(self) -> bool:
        """Tell whether the log has whatever is published now."""
        return bool(self.left) or self.has_ended

    @property
    def stretch(self) -> _Stretch:
        """What was published where the function is now that is run again."""
        return self.stretches[self.total - len(self.left)]


class Replay:
    """One turn run again.

    Args:
        task_id, context_id: of the task.
        journal: all entries of the task, oldest first.
        log: all entries of its log, oldest first.

    Attributes:
        begun_by: the result of the entry that began the turn; None for the first turn of a task
            that has no such entry.
        begun_n: the number of that entry, 0 for none.
        entries: the results that the turn has recorded, oldest first.
        beside: how many entries of the turn are not results of the branch that it begins with.
        speaker: the branch that has published last.
    """

    __slots__ = (
        "_ended",
        "_existing",
        "_names",
        "_strands",
        "_unfinished",
        "begun_by",
        "begun_n",
        "beside",
        "entries",
        "speaker",
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
        begun = journal[starts[-1]] if starts else None
        self.begun_by: bytes | None = None if begun is None else begun.result
        self.begun_n: Final = 0 if begun is None else begun.n
        of_turn = journal[starts[-1] + 1 :] if starts else journal
        self.entries: Final = tuple(entry for entry in of_turn if not entry.is_speaker)
        self.speaker: str = ""
        # The branches that have ended, by how their names begin.
        self._ended = tuple(f"{entry.name}." for entry in self.entries if entry.is_end)
        self._strands: dict[str, _Strand] = {}
        for entry in self.entries:
            self._strand(entry.branch).add_result(entry)
        self.beside: Final = len(of_turn) - self._strand("").total
        # Artifacts of the log, and what was published again since.
        self._existing: set[str] = set()
        # Those to which something was added that is to come again, without that.
        self._unfinished: dict[str, Artifact] = {}
        # The names that artifacts have in the log, by those they are given this time.
        self._names: dict[str, str] = {}
        start = 0 if begun is None else begun.seq
        self._read(TaskFold(task_id, context_id), start, deque(of_turn), log)

    @property
    def is_done(self) -> bool:
        """Tell whether the turn had come to its end; what is left is to begin the next one."""
        return any(entry.kind == END for entry in self.entries)

    def results_of(self, branch: str) -> int:
        """Count the results that a branch has recorded."""
        return self._strand(branch).total

    def is_over_in(self, branch: str) -> bool:
        """Tell whether every result of a branch has been handed back."""
        return not self._strand(branch).left

    def recall(self, kind: str, name: str, branch: str = "") -> bytes | None:
        """Return what was recorded for this call; None if it has never come to a result.

        Raises:
            DivergedError: another call was recorded in this place.
        """
        left = self._strand(branch).left
        if not left:
            return None
        entry = left[0]
        if (entry.kind, entry.name) != (kind_in(kind, branch), name):
            raise DivergedError(_call(entry.kind, entry.name), _call(kind, name))
        return left.popleft().result

    def check_end(self) -> None:
        """Raise DivergedError if the turn comes to its end before all that is recorded of it."""
        left = self._strand("").left
        if left:
            raise DivergedError(_call(left[0].kind, left[0].name), "the end of the turn")

    def pass_by(self, branch: str) -> None:
        """Note that a branch has got further than before: whatever it publishes now is new."""
        strand = self._strand(branch)
        strand.stretches[-1] = _Stretch()
        strand.closed.clear()

    def stands_in(self, branch: str) -> bool:
        """Tell whether the log has whatever a branch publishes now."""
        return self._strand(branch).stands

    def has_said(self, branch: str = "") -> bool:
        """Tell whether the log has the message that is said now."""
        strand = self._strand(branch)
        if strand.stands:
            return True
        strand.stretch.says -= 1
        return strand.stretch.says >= 0

    def publish(self, command: AddArtifact, branch: str = "") -> tuple[AddArtifact, ...]:
        """Return what is to be published for an artifact or chunk; nothing if it stands already."""
        strand = self._strand(branch)
        name = self._name_of(command.artifact.artifact_id, strand)
        if strand.stands:
            return ()
        if strand.closed[name]:
            # What comes after its last chunk is another version, which the log may not have.
            strand.closed[name] -= command.last_chunk
            return ()
        whole = self._unfinished.pop(name, None)
        # What the log does not have cannot be continued: it begins here.
        append = command.append and name in self._existing
        self._existing.add(name)
        artifact = replace(command.artifact, artifact_id=name)
        published = AddArtifact(artifact, append, command.last_chunk)
        if whole is None or not append:
            return (published,)
        # What was added after the last results comes again: back to what the artifact is without.
        return AddArtifact(whole, append=False, last_chunk=False), published

    def _strand(self, branch: str) -> _Strand:
        strand = self._strands.get(branch)
        if strand is None:
            strand = self._strands[branch] = _Strand(has_ended=branch.startswith(self._ended))
        return strand

    def _name_of(self, artifact_id: str, strand: _Strand) -> str:
        """Return the name in the log, by place: the n-th to begin here is the n-th that began."""
        if artifact_id not in self._names:
            began = strand.stretch.artifacts
            name = artifact_id
            if began and artifact_id not in self._existing:
                name = next(iter(began))
            # If it exists, the author has named it.
            began.pop(name, None)
            self._names[artifact_id] = name
        return self._names[artifact_id]

    def _read(
        self, settled: TaskFold, start: int, entries: deque[JournalEntry], log: Iterable[bytes]
    ) -> None:
        """Find out which branch has published what, and between which of its results.

        Args:
            settled: gets what will not be published again.
        """
        seq = 0
        again: set[str] = set()
        for line in log:
            logged = _decode_entry(line)
            if logged.message is not None:
                continue
            seq += 1
            while entries and seq > entries[0].seq:
                self._pass(entries.popleft())
            strand = self._strand(self.speaker) if seq > start else None
            status, update = logged.status_update, logged.artifact_update
            if status is not None and strand is not None:
                said = status.status
                is_said = said.state is TaskState.WORKING and said.message is not None
                strand.stretches[-1].says += is_said
            if update is None:
                continue
            if strand is not None:
                self._read_update(update, strand)
            self._existing.add(update.artifact.artifact_id)
            if strand is not None and strand.comes_again:
                again.add(update.artifact.artifact_id)
            else:
                settled.apply(update)
        for entry in entries:
            self._pass(entry)
        self._unfinished = {
            name: settled.artifact(name) for name in again.intersection(settled.artifact_ids)
        }

    def _pass(self, entry: JournalEntry) -> None:
        """Come past an entry in the journal while the log is read."""
        if entry.is_speaker:
            self.speaker = entry.branch
        else:
            self._strand(entry.branch).stretches.append(_Stretch())

    def _read_update(self, update: TaskArtifactUpdateEvent, strand: _Strand) -> None:
        name = update.artifact.artifact_id
        if name not in self._existing:
            strand.stretches[-1].artifacts[name] = None
        if strand.comes_again:
            strand.closed[name] += update.last_chunk


def _call(kind: str, name: str) -> str:
    return f"{kind} {name!r}" if name else kind
