import pytest

from dragoman.engine.machine import Standing
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.pending_write import SNAPSHOT_EVENTS, is_snapshot_due


def standing(state: TaskState | None, seq: int) -> Standing:
    return Standing(task_id="t-1", context_id="c-1", state=state, seq=seq)


@pytest.mark.parametrize(
    ("state", "seq", "snapshot_seq", "is_due"),
    [
        (None, 0, 0, False),
        (TaskState.WORKING, 2, 0, False),
        (TaskState.INPUT_REQUIRED, 2, 0, True),
        (TaskState.COMPLETED, 2, 0, True),
        (TaskState.WORKING, SNAPSHOT_EVENTS - 1, 0, False),
        (TaskState.WORKING, SNAPSHOT_EVENTS, 0, True),
        (TaskState.WORKING, 5 * SNAPSHOT_EVENTS, 4 * SNAPSHOT_EVENTS, False),
        (TaskState.WORKING, 6 * SNAPSHOT_EVENTS, 4 * SNAPSHOT_EVENTS, True),
    ],
)
def test_a_snapshot_is_due_at_stops_and_whenever_the_log_has_grown_by_half(
    state: TaskState | None, seq: int, snapshot_seq: int, *, is_due: bool
) -> None:
    assert is_snapshot_due(standing(state, seq), snapshot_seq) == is_due
