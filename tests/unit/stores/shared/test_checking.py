"""One task held against the rules. Whole databases: see sqlite/test_checking.py."""

import pytest
from msgspec.structs import replace

from dragoman.engine.fold import TaskFold
from dragoman.model.documents import TaskDocument, encode_entry
from dragoman.model.events import TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState, TaskStatus
from dragoman.model.timestamps import format_timestamp
from dragoman.stores.base import InboxItem, JournalEntry, NewTask, Scope
from dragoman.stores.maintenance import Segment, Snapshot, TaskRecord
from dragoman.stores.shared.checking import TASK_RULES, check_task

NOW_MS = 1_767_225_600_000

MESSAGE = Message(message_id="m-1", role=Role.USER, parts=(Part(text="hello"),))


def status(state: TaskState, at_ms: int = NOW_MS, task_id: str = "t-1") -> TaskStatusUpdateEvent:
    said = TaskStatus(state=state, timestamp=format_timestamp(at_ms))
    return TaskStatusUpdateEvent(task_id=task_id, context_id="c-1", status=said)


def chunk(text: str, *, append: bool = False) -> TaskArtifactUpdateEvent:
    artifact = Artifact(artifact_id="a-1", parts=(Part(text=text),))
    return TaskArtifactUpdateEvent(
        task_id="t-1", context_id="c-1", artifact=artifact, append=append
    )


def segment(seq: int, *entries: TaskEvent | Message) -> Segment:
    count = sum(not isinstance(entry, Message) for entry in entries)
    return Segment(seq, count, tuple(map(encode_entry, entries)))


LOG = (
    segment(1, MESSAGE, status(TaskState.SUBMITTED)),
    segment(2, status(TaskState.WORKING), chunk("one")),
    segment(4, chunk("two", append=True)),
)
END = segment(5, status(TaskState.COMPLETED, NOW_MS + 5))


def snapshot(*segments: Segment) -> Snapshot:
    fold = TaskFold("t-1", "c-1")
    for each in segments:
        fold.replay(each.entries)
    return Snapshot(segments[-1].seq + segments[-1].count - 1, fold.document().bare())


WORKING = TaskRecord(
    id="t-1",
    new=NewTask(
        scope=Scope("", "alice"),
        context_id="c-1",
        skill_id="echo",
        origin_dialect="1.0",
        created_ms=NOW_MS,
    ),
    state=TaskState.WORKING,
    status_at_ms=NOW_MS,
    epoch=1,
    # Chunks that follow a status leave the row alone.
    seq=3,
    inbox_n=4,
    wake_at_ms=0,
    attempts=0,
    end=None,
    snapshot=snapshot(*LOG[:2]),
    segments=LOG,
    journal=(
        JournalEntry(n=1, kind="step", name="a", result=b"1", seq=2),
        JournalEntry(n=2, kind="step", name="b", result=b"2", seq=2),
    ),
    inbox=(InboxItem(4, b'{"message":%b,"metadata":{}}' % encode_entry(MESSAGE)[11:-1]),),
)
ENDED = replace(
    WORKING,
    state=TaskState.COMPLETED,
    status_at_ms=NOW_MS + 5,
    seq=5,
    end=snapshot(*LOG, END),
    snapshot=None,
    segments=(*LOG, END),
    inbox=(),
)


def rules(record: TaskRecord) -> list[str]:
    findings = list(check_task(record))
    assert {finding.task_id for finding in findings} <= {"t-1"}
    assert {finding.rule for finding in findings} <= set(TASK_RULES)
    return [finding.rule for finding in findings]


@pytest.mark.parametrize("record", [WORKING, ENDED], ids=["working", "ended"])
def test_a_task_that_is_as_it_should_be_passes(record: TaskRecord) -> None:
    assert rules(record) == []


def test_other_bytes_for_the_same_task_are_no_fault() -> None:
    assert ENDED.end is not None
    document = ENDED.end.document
    spaced = TaskDocument(document.head.replace(b":", b": ", 1), document.artifacts, b"[ ]")
    assert rules(replace(ENDED, end=Snapshot(5, spaced))) == ["snapshot"]
    spaced = TaskDocument(
        document.head.replace(b":", b": ", 1), document.artifacts, document.history
    )
    assert rules(replace(ENDED, end=Snapshot(5, spaced))) == []


def test_a_task_without_a_log_is_not_what_its_row_says() -> None:
    empty = replace(WORKING, segments=(), snapshot=None, journal=())
    assert rules(empty) == ["row-seq", "row-state"]


def test_a_log_is_followed_up_to_where_it_breaks() -> None:
    # What comes after the gap would be wrong in many ways; only the gap is told.
    broken = replace(ENDED, segments=(LOG[0], LOG[2], END))
    assert rules(broken) == ["log-gap"]


def test_a_log_that_begins_with_an_artifact_is_told() -> None:
    begun = replace(WORKING, segments=(segment(1, MESSAGE, chunk("one")),), snapshot=None)
    assert rules(replace(begun, journal=())) == ["log-begin"]


def test_an_event_of_another_task_is_told() -> None:
    strange = segment(4, status(TaskState.WORKING, task_id="t-2"))
    record = replace(WORKING, segments=(*LOG[:2], strange), seq=4)
    assert rules(record) == ["log-entry"]


def test_a_message_after_the_end_is_told() -> None:
    late = Segment(5, 1, (*END.entries, encode_entry(MESSAGE)))
    assert rules(replace(ENDED, segments=(*LOG, late))) == ["log-end"]


def test_a_row_that_does_not_know_of_the_last_status_is_told() -> None:
    assert rules(replace(WORKING, seq=1)) == ["row-seq"]
    assert rules(replace(WORKING, seq=2)) == []
    assert rules(replace(WORKING, seq=5)) == ["row-seq"]


def test_a_status_without_a_time_is_told() -> None:
    timeless = TaskStatusUpdateEvent(
        task_id="t-1", context_id="c-1", status=TaskStatus(state=TaskState.WORKING)
    )
    record = replace(WORKING, segments=(LOG[0], segment(2, timeless, chunk("one")), LOG[2]))
    assert rules(replace(record, snapshot=None)) == ["row-time"]


def test_a_snapshot_in_the_midst_of_a_segment_is_told() -> None:
    assert WORKING.snapshot is not None
    moved = Snapshot(2, WORKING.snapshot.document)
    assert rules(replace(WORKING, snapshot=moved)) == ["snapshot"]


def test_a_task_that_has_not_ended_has_no_end() -> None:
    assert rules(replace(WORKING, end=snapshot(*LOG))) == ["ended"]


def test_each_thing_that_an_ended_task_still_has_is_told() -> None:
    left = replace(
        ENDED, wake_at_ms=5, inbox=WORKING.inbox, snapshot=WORKING.snapshot, end=snapshot(*LOG)
    )
    assert rules(left) == ["ended"] * 4


def test_every_result_out_of_order_is_told() -> None:
    entries = tuple(
        JournalEntry(n=n, kind="step", name="", result=b"", seq=seq)
        for n, seq in ((1, 3), (2, 2), (3, 9))
    )
    assert rules(replace(WORKING, journal=entries)) == ["journal", "journal"]


def test_a_message_without_a_number_or_without_a_message_is_told() -> None:
    record = replace(WORKING, inbox=(InboxItem(0, WORKING.inbox[0].body), InboxItem(1, b"{}")))
    assert rules(record) == ["inbox", "inbox"]
