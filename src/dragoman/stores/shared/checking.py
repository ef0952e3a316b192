"""What must be true of every task that is stored, whatever it is stored in.

The rules say what the engine and the stores promise each other; a task that breaks one was written
by a defect, or changed by somebody else. Only looks, never repairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from dragoman.engine.fold import TaskFold
from dragoman.engine.states import BEGINNING, is_legal
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState
from dragoman.model.timestamps import parse_timestamp
from dragoman.stores.base import CANCEL_ITEM
from dragoman.stores.maintenance import Finding, Segment, Snapshot, TaskRecord

__all__ = ("TASK_RULES", "check_task")

TASK_RULES: Final = {
    "log-gap": "events are numbered from 1 without gaps",
    "log-count": "a segment has as many events as it says, the last entry being one of them",
    "log-entry": "every entry can be read, and is about its task",
    "log-begin": "a task begins as submitted",
    "log-move": "a task moves as the table of states allows",
    "log-end": "nothing follows the end of a task",
    "row-seq": "the row of a task knows of every status in its log, and of no event beyond it",
    "row-state": "the row of a task has the last state of its log",
    "row-time": "the row of a task has the time of its last status",
    "snapshot": "a snapshot is what the log comes to up to its event, at the end of a segment",
    "ended": "a task that has ended has its snapshot in its row, and waits for nothing",
    "journal": "results are numbered from 1 without gaps, in the order of the log",
    "inbox": "messages that wait have numbers that were given, and can be read",
}
"""Every rule about a task by its name, in the order of checking."""

_UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)

_decode_entry: Final = msgspec.json.Decoder(StreamResponse).decode


class _Waiting(Struct):
    """What every item of an inbox has; what else came with the message is its taker's business."""

    message: Message


_decode_waiting: Final = msgspec.json.Decoder(_Waiting).decode


def check_task(record: TaskRecord) -> Iterator[Finding]:
    """Yield what is wrong with a task.

    The log is read up to the first place where it breaks off; what depends on the rest of it is
    not judged then.
    """
    log = _Log(record)
    for rule, text in (*log.read(), *_end(record), *_journal(record), *_inbox(record)):
        yield Finding(rule, text, record.id)


Found = Iterator[tuple[str, str]]


class _BrokenError(Exception):
    """The log cannot be followed any further."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.found = (rule, text)


class _Log:
    """The log of a task, followed from its beginning."""

    def __init__(self, record: TaskRecord) -> None:
        self._record = record
        self._fold = TaskFold(record.id, record.new.context_id)
        self._seq = 0
        self._state: TaskState | None = None
        self._state_seq = 0
        self._timestamp: str | None = None

    def read(self) -> Found:
        """Follow the log to its end, then hold the row and the snapshots against it."""
        snapshots = [each for each in (self._record.snapshot, self._record.end) if each is not None]
        try:
            for segment in self._record.segments:
                yield from self._read_segment(segment)
                for snapshot in snapshots:
                    if snapshot.seq == self._seq:
                        yield from self._compare(snapshot)
        except _BrokenError as broken:
            yield broken.found
            return
        ends = {segment.seq + segment.count - 1 for segment in self._record.segments}
        for snapshot in snapshots:
            if snapshot.seq not in ends:
                yield "snapshot", f"event {snapshot.seq} is not the last of a segment"
        yield from self._compare_row()

    def _read_segment(self, segment: Segment) -> Found:
        if segment.seq != self._seq + 1:
            raise _BrokenError("log-gap", f"event {self._seq} is followed by {segment.seq}")
        is_event = False
        for line in segment.entries:
            entry = self._decode(line)
            is_event = entry.message is None
            if self._state is not None and self._state.is_terminal:
                raise _BrokenError("log-end", f"an entry follows the end, event {self._seq}")
            if entry.message is not None:
                self._fold.record(entry.message)
            else:
                self._seq += 1
                yield from self._read_event(entry)
        count = self._seq - segment.seq + 1
        if count != segment.count:
            raise _BrokenError(
                "log-count", f"{count} events at {segment.seq}, said to be {segment.count}"
            )
        if not is_event:
            yield "log-count", f"the segment at {segment.seq} ends with a message"

    def _decode(self, line: bytes) -> StreamResponse:
        try:
            entry = _decode_entry(line)
        except _UNREADABLE as error:
            raise _BrokenError("log-entry", f"after event {self._seq}: {error}") from None
        if entry.task is not None:
            raise _BrokenError("log-entry", f"after event {self._seq}: a task is no entry")
        return entry

    def _read_event(self, entry: StreamResponse) -> Found:
        event = entry.status_update or entry.artifact_update
        assert event is not None  # noqa: S101 - the union is closed, and the others were sorted out
        for name, found, known in (
            ("task", event.task_id, self._record.id),
            ("context", event.context_id, self._record.new.context_id),
        ):
            if found != known:
                yield "log-entry", f"event {self._seq} is about the {name} {found!r}"
        if entry.status_update is not None:
            status = entry.status_update.status
            yield from self._move(status.state)
            self._timestamp = status.timestamp
        elif self._state is None:
            raise _BrokenError("log-begin", "the first event is an artifact")
        self._fold.apply(event)

    def _move(self, target: TaskState) -> Found:
        state = self._state
        if state is None and target is not BEGINNING:
            yield "log-begin", f"the first event is {target.value}"
        if state is not None and not is_legal(state, target):
            yield "log-move", f"event {self._seq} moves from {state.value} to {target.value}"
        self._state = target
        self._state_seq = self._seq

    def _compare(self, snapshot: Snapshot) -> Found:
        """Hold a snapshot against the log; other bytes for the same task are no fault."""
        document = self._fold.document()
        if document.bare() == snapshot.document:
            return
        try:
            is_same = snapshot.document.task() == self._fold.task()
        except _UNREADABLE as error:
            yield "snapshot", f"of event {snapshot.seq} cannot be read: {error}"
            return
        if not is_same:
            yield "snapshot", f"of event {snapshot.seq} differs from the log"

    def _compare_row(self) -> Found:
        record = self._record
        if not self._state_seq <= record.seq <= self._seq:
            yield (
                "row-seq",
                f"the row has event {record.seq}, "
                f"the log has {self._seq} and its last status is {self._state_seq}",
            )
        if self._state is None or record.state is not self._state:
            said = "no state" if record.state is None else record.state.value
            found = "none" if self._state is None else self._state.value
            yield "row-state", f"the row has {said}, the log {found}"
        elif _ms_of(self._timestamp) != record.status_at_ms:
            yield "row-time", f"the row has {record.status_at_ms} ms, the log {self._timestamp}"


def _ms_of(timestamp: str | None) -> int | None:
    try:
        return None if timestamp is None else parse_timestamp(timestamp)
    except ValueError:
        return None


def _end(record: TaskRecord) -> Found:
    if record.state is None or not record.state.is_terminal:
        if record.end is not None:
            yield "ended", "it has the snapshot of an end, but has not ended"
        return
    if record.end is None:
        yield "ended", "it has no snapshot in its row"
    elif record.end.seq != record.last_seq:
        yield "ended", f"its snapshot is of event {record.end.seq}, not of {record.last_seq}"
    if record.snapshot is not None:
        yield "ended", "it has a snapshot beside its row"
    if record.wake_at_ms:
        yield "ended", "it is to be woken"
    if record.inbox:
        yield "ended", f"{len(record.inbox)} messages wait for it"


def _journal(record: TaskRecord) -> Found:
    seq = 0
    for expected, entry in enumerate(record.journal, 1):
        if entry.n != expected:
            yield "journal", f"result {entry.n} is in the place of {expected}"
            return
        if entry.seq > record.last_seq:
            yield "journal", f"result {entry.n} is of event {entry.seq}, which there is not"
        if entry.seq < seq:
            yield "journal", f"result {entry.n} is of event {entry.seq}, the one before of {seq}"
        seq = entry.seq


def _inbox(record: TaskRecord) -> Found:
    for item in record.inbox:
        if not 1 <= item.n <= record.inbox_n:
            yield "inbox", f"message {item.n} has a number that was never given"
        if item.body == CANCEL_ITEM:
            continue
        try:
            _decode_waiting(item.body)
        except _UNREADABLE as error:
            yield "inbox", f"message {item.n} cannot be read: {error}"
