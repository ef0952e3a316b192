import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.model.documents import EventDocument, TaskDocument, encode_entry
from dragoman.model.events import StreamResponse, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.tasks import Task, TaskState, TaskStatus
from tests.support.strategies import (
    artifact_update_events,
    message_values,
    status_update_events,
    task_values,
)

TASK = Task(id="t", status=TaskStatus(state=TaskState.WORKING))


@given(task_values)
def test_a_task_is_the_same_in_pieces(task: Task) -> None:
    document = TaskDocument.of(task)
    assert document.task() == document.bare().task() == task
    assert document.bare().known is None
    assert msgspec.json.decode(document.json()) == msgspec.json.decode(msgspec.json.encode(task))


@given(task_values, st.integers(0, 3))
@pytest.mark.requirement("R-3.2.4-2", "R-3.2.4-3")
def test_a_view_has_the_newest_messages_asked_for(task: Task, length: int) -> None:
    view = TaskDocument.of(task).with_history(length)
    assert view.task() == msgspec.structs.replace(
        task, history=task.history[-length:] if length else ()
    )
    assert TaskDocument.of(task).with_history(None).task() == task


@given(task_values)
@pytest.mark.requirement("R-3.1.4-1")
def test_a_view_may_lack_artifacts_altogether(task: Task) -> None:
    view = TaskDocument.of(task).without_artifacts()
    assert "artifacts" not in msgspec.json.decode(view.json(keep_empty_artifacts=True))
    assert view.task() == msgspec.structs.replace(task, artifacts=())


@pytest.mark.requirement("R-3.1.4-3")
def test_empty_artifacts_are_written_when_asked_for() -> None:
    document = TaskDocument.of(TASK)
    assert "artifacts" not in msgspec.json.decode(document.json())
    assert msgspec.json.decode(document.json(keep_empty_artifacts=True))["artifacts"] == []


@given(st.one_of(status_update_events, artifact_update_events, message_values))
def test_an_entry_of_the_log_is_a_frame(entry: TaskEvent | Message) -> None:
    event = EventDocument(1, encode_entry(entry))
    value = event.value
    assert entry in (value.status_update, value.artifact_update, value.message)
    assert event.value is value


def test_a_frame_is_spelled_once_per_form() -> None:
    event = EventDocument(
        1, encode_entry(TaskStatusUpdateEvent(task_id="t", context_id="c", status=TASK.status))
    )
    spelled: list[EventDocument] = []

    def spell(asked: EventDocument) -> tuple[bytes, ...]:
        spelled.append(asked)
        return (b"one", b"two")

    assert [event.spelled("0.3", spell) for _ in range(2)] == [(b"one", b"two")] * 2
    assert spelled == [event]
    assert event.spelled("0.1", spell) == (b"one", b"two")
    assert isinstance(event.value, StreamResponse)


@pytest.mark.requirement("R-3.2.4-2")
@given(task_values)
def test_no_history_is_no_member(task: Task) -> None:
    assert "history" not in msgspec.json.decode(TaskDocument.of(task).with_history(0).json())
