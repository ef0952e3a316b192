import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.fold import TaskFold
from dragoman.model.documents import encode_entry
from dragoman.model.events import TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState, TaskStatus
from tests.support.strategies import message_values

Entry = TaskEvent | Message


def user(text: str) -> Message:
    return Message(message_id=text, role=Role.USER, parts=(Part(text=text),))


def agent(text: str) -> Message:
    return Message(message_id=text, role=Role.AGENT, parts=(Part(text=text),))


def status(
    state: TaskState, message: Message | None = None, timestamp: str = "2026-01-01T00:00:00.000Z"
) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(
        task_id="t-1",
        context_id="c-1",
        status=TaskStatus(state=state, message=message, timestamp=timestamp),
    )


def chunk(artifact_id: str, text: str, *, append: bool = False) -> TaskArtifactUpdateEvent:
    return TaskArtifactUpdateEvent(
        task_id="t-1",
        context_id="c-1",
        artifact=Artifact(artifact_id=artifact_id, parts=(Part(text=text),)),
        append=append,
    )


def fold_of(*entries: Entry) -> TaskFold:
    fold = TaskFold("t-1", "c-1")
    fold.replay(map(encode_entry, entries))
    return fold


ENTRIES = st.lists(
    st.one_of(
        st.builds(status, st.sampled_from(TaskState), st.none() | message_values),
        st.builds(chunk, st.sampled_from(["a", "b"]), st.text(min_size=1), append=st.booleans()),
        message_values,
    ),
    max_size=12,
)
BEGINNING = status(TaskState.SUBMITTED)


def test_a_task_is_who_it_is() -> None:
    task = fold_of(BEGINNING).task()
    assert (task.id, task.context_id) == ("t-1", "c-1")


def test_a_task_has_no_status_before_its_first_event() -> None:
    with pytest.raises(ValueError, match="no status before its first event"):
        fold_of(user("hello")).task()


def test_the_last_status_stands() -> None:
    last = status(TaskState.WORKING, agent("news"), "2026-01-01T00:00:01.000Z")
    assert fold_of(BEGINNING, last).task().status == last.status


# --- history (Q-23) ---------------------------------------------------------------------------


def test_messages_make_the_history_in_order() -> None:
    fold = fold_of(user("1"), BEGINNING, user("2"))
    assert fold.history == fold.task().history == (user("1"), user("2"))


def test_the_message_of_the_present_status_is_not_in_the_history() -> None:
    assert fold_of(user("1"), status(TaskState.WORKING, agent("news"))).history == (user("1"),)


def test_the_message_of_a_status_moves_into_the_history_at_the_next_status() -> None:
    fold = fold_of(status(TaskState.WORKING, agent("news")), status(TaskState.WORKING))
    assert fold.history == (agent("news"),)
    assert fold.task().status.message is None


def test_the_message_of_a_status_moves_into_the_history_before_the_next_message() -> None:
    question = status(TaskState.INPUT_REQUIRED, agent("which?"), "2026-01-01T00:00:09.000Z")
    fold = fold_of(question, user("that"))
    assert fold.history == (agent("which?"), user("that"))
    assert fold.task().status == TaskStatus(
        state=TaskState.INPUT_REQUIRED, timestamp="2026-01-01T00:00:09.000Z"
    )


def test_the_message_of_a_status_moves_into_the_history_once() -> None:
    fold = fold_of(
        status(TaskState.INPUT_REQUIRED, agent("which?")), user("that"), status(TaskState.WORKING)
    )
    assert fold.history == (agent("which?"), user("that"))


def test_an_artifact_leaves_the_message_of_the_status_where_it_is() -> None:
    fold = fold_of(status(TaskState.WORKING, agent("news")), chunk("a", "x"))
    assert fold.history == ()


# --- artifacts --------------------------------------------------------------------------------


def test_artifacts_keep_the_order_they_came_in() -> None:
    fold = fold_of(BEGINNING, chunk("b", "1"), chunk("a", "2"), chunk("b", "3", append=True))
    assert fold.artifact_ids == ("b", "a")
    assert fold.task().artifacts == (chunk("b", "13").artifact, chunk("a", "2").artifact)


def test_an_artifact_that_is_not_appended_to_is_replaced() -> None:
    fold = fold_of(BEGINNING, chunk("a", "1"), chunk("a", "2"))
    assert fold.task().artifacts == (chunk("a", "2").artifact,)


def test_a_chunk_of_an_unknown_artifact_begins_it() -> None:
    fold = fold_of(BEGINNING, chunk("a", "1", append=True))
    assert fold.task().artifacts == (chunk("a", "1").artifact,)


# --- the same task whichever way it is put together -------------------------------------------


@given(ENTRIES, ENTRIES)
def test_a_snapshot_and_what_follows_is_all_of_it(head: list[Entry], tail: list[Entry]) -> None:
    resumed = TaskFold.of(fold_of(BEGINNING, *head).task())
    resumed.replay(map(encode_entry, tail))
    assert resumed.task() == fold_of(BEGINNING, *head, *tail).task()


@given(ENTRIES)
def test_the_document_is_the_task(entries: list[Entry]) -> None:
    fold = fold_of(BEGINNING, *entries)
    assert fold.document().task() == fold.task()


@given(ENTRIES)
def test_values_and_lines_fold_alike(entries: list[Entry]) -> None:
    fold = TaskFold("t-1", "c-1")
    for entry in (BEGINNING, *entries):
        if isinstance(entry, Message):
            fold.record(entry)
        else:
            fold.apply(entry)
    assert fold.task() == fold_of(BEGINNING, *entries).task()


def test_messages_nobody_has_taken_up_end_the_history_of_the_document() -> None:
    fold = fold_of(user("1"), BEGINNING)
    assert fold.document((user("2"),)).task().history == (user("1"), user("2"))


def test_they_are_not_of_the_history_yet() -> None:
    fold = fold_of(user("1"), BEGINNING)
    fold.document((user("2"),))
    assert fold.history == (user("1"),)


def test_a_task_in_the_log_is_passed_over() -> None:
    fold = fold_of(BEGINNING)
    fold.replay([b'{"task":' + fold.document().json() + b"}"])
    assert fold.task() == fold_of(BEGINNING).task()


def test_what_came_after_a_mark_can_be_taken_back() -> None:
    fold = fold_of(user("hello"), status(TaskState.WORKING, agent("busy")), chunk("a", "x"))
    before = fold.task()
    mark = fold.mark()
    fold.record(user("more"))
    fold.apply(status(TaskState.COMPLETED, agent("done")))
    fold.rewind(mark)
    assert fold.task() == before
