import pytest

from dragoman.agent.children import MOST_CALLS, SUB_TASKS, Lineage, SubTask, lineage_of, sub_task_of
from dragoman.errors import UnsupportedOperationError
from dragoman.model.base import JsonObject


def test_a_call_is_told_where_it_comes_from() -> None:
    first = Lineage().calling("Travel", "t-1", 0)
    second = lineage_of(first.metadata()).calling("Flights", "t-2", 500)
    assert second == Lineage(path=("Travel", "Flights"), parent_task_id="t-2", deadline_ms=500)
    assert lineage_of(second.metadata()) == second


@pytest.mark.parametrize(("above", "own", "expected"), [(0, 7, 7), (7, 0, 7), (5, 7, 5), (7, 5, 5)])
def test_nobody_waits_longer_than_who_waits_for_it(above: int, own: int, expected: int) -> None:
    assert Lineage(deadline_ms=above).calling("A", "t", own).deadline_ms == expected


def test_calls_are_bounded_in_depth() -> None:
    lineage = Lineage()
    for _ in range(MOST_CALLS):
        lineage = lineage.calling("Ring", "t", 0)
    with pytest.raises(UnsupportedOperationError, match="perhaps in a circle"):
        lineage.calling("Ring", "t", 0)


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {SUB_TASKS: 7}, {SUB_TASKS: {"path": "no list"}}, {SUB_TASKS: {"subTask": 1}}],
)
def test_what_is_not_as_it_should_be_counts_as_nothing(metadata: JsonObject | None) -> None:
    assert lineage_of(metadata) == Lineage()
    assert sub_task_of(metadata) is None


def test_a_message_tells_of_a_sub_task() -> None:
    child = SubTask(agent="Flights", task_id="t-2", url="http://f", state="TASK_STATE_WORKING")
    assert sub_task_of(child.metadata()) == child
    # The one is no news for those who look for the other.
    assert lineage_of(child.metadata()) == Lineage()
    assert sub_task_of(Lineage(path=("a",)).metadata()) is None
