from typing import Final

import pytest
from msgspec.structs import replace

from dragoman.model.tasks import TaskState
from dragoman.stores.base import WHOLE_INBOX, TaskWrite
from dragoman.stores.shared.folding import FoldedWrites, RefusedError
from tests.contracts.storing import (
    COMPLETED,
    WORKING,
    chunk,
    creation,
    event,
    message,
    move,
    plan,
    snapshot,
    with_journal,
)


def fold(first: TaskWrite, *others: TaskWrite) -> FoldedWrites:
    folded = FoldedWrites(first)
    for each in others:
        folded.add(each)
    folded.finish()
    return folded


def test_entries_become_one_segment() -> None:
    folded = fold(creation(), chunk(1, events=2), chunk(3))
    assert folded.seq == 4
    entries = [message("hello"), *(event(str(n)) for n in range(1, 5))]
    assert folded.segments == [(1, 4, entries)]


def test_a_snapshot_ends_a_segment() -> None:
    folded = fold(chunk(5), move(6, WORKING, document=snapshot("seven")), chunk(7), chunk(8))
    assert [(start, count) for start, count, _ in folded.segments] == [(6, 2), (8, 2)]
    assert (folded.snapshot, folded.snapshot_seq) == (snapshot("seven"), 7)


def test_a_write_without_entries_makes_no_segment() -> None:
    folded = fold(plan(3, attempts=1), replace(plan(3), snapshot=snapshot("three")))
    assert (folded.segments, folded.seq, folded.snapshot_seq) == ([], 3, 3)


def test_the_last_that_was_said_holds() -> None:
    folded = fold(
        move(1, WORKING, at_ms=10),
        plan(2, wake_at_ms=5, attempts=1),
        move(2, TaskState.INPUT_REQUIRED, at_ms=20),
        plan(3, wake_at_ms=0),
        chunk(3),
    )
    assert (folded.state, folded.status_at_ms) == (TaskState.INPUT_REQUIRED, 20)
    assert (folded.wake_at_ms, folded.attempts) == (0, 1)
    assert not folded.is_end


def test_results_and_what_is_taken_up_are_gathered() -> None:
    folded = fold(with_journal(1, 1, 2), with_journal(2, 3), move(3, COMPLETED, inbox_taken=(1, 2)))
    assert [entry.n for entry in folded.journal] == [1, 2, 3]
    assert (folded.taken, folded.takes_all, folded.is_end) == ([1, 2], False, True)
    assert fold(move(1, WORKING, inbox_taken=(WHOLE_INBOX,))).takes_all


def test_what_is_known_of_the_inbox_is_the_last_that_was_said() -> None:
    folded = fold(replace(chunk(1), inbox_seen=1), chunk(2), replace(chunk(3), inbox_seen=4))
    assert folded.inbox_seen == 4


MISFITS: Final = {
    "the same again": (chunk(1), chunk(1)),
    "a gap": (chunk(1), chunk(3)),
    "another lease": (chunk(1), chunk(2, epoch=2)),
    "a second beginning": (creation(), creation()),
    "a beginning in the middle": (replace(creation(), expected_seq=3),),
}


@pytest.mark.parametrize("writes", MISFITS.values(), ids=MISFITS.keys())
def test_what_does_not_continue_is_refused(writes: tuple[TaskWrite, ...]) -> None:
    with pytest.raises(RefusedError):
        fold(*writes)
