import pytest
from msgspec.structs import replace

from dragoman.client.following.progress import Progress
from dragoman.client.transports.base import Frame
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.tasks import Task, TaskState, TaskStatus
from tests.support.client.fakes import artifact, chunk, said, status, task


def shown(found: Task) -> StreamResponse:
    return StreamResponse(task=found)


def taken(progress: Progress, *events: StreamResponse) -> list[StreamResponse]:
    return [frame.event for frame in progress.take(tuple(Frame(0, each) for each in events))]


def test_a_stream_is_handed_on_as_it_comes() -> None:
    progress = Progress()
    events = (shown(task()), chunk("one "), chunk("two", append=True), status(TaskState.COMPLETED))
    batch = tuple(Frame(seq, event) for seq, event in enumerate(events, start=1))
    assert progress.take(batch) == batch
    assert (progress.task_id, progress.cursor, progress.state) == ("t", 4, TaskState.COMPLETED)
    assert progress.has_ended
    assert progress.outcome == task(TaskState.COMPLETED, artifact("one two"))


def test_a_message_is_all_there_is() -> None:
    progress = Progress()
    (event,) = taken(progress, StreamResponse(message=said("hi")))
    assert event.message == progress.outcome == said("hi")
    assert progress.has_ended
    assert progress.state is None


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.INPUT_REQUIRED])
def test_what_was_said_about_a_state_stands_when_the_state_is_told_again(state: TaskState) -> None:
    progress = Progress()
    told = status(state, said("No luck."))
    assert taken(progress, shown(task()), told, status(state)) == [shown(task()), told]
    assert isinstance(progress.outcome, Task)
    assert progress.outcome.status.message == said("No luck.")
    assert taken(progress, status(state, said("Really."))) == [status(state, said("Really."))]


def test_nothing_has_come_yet() -> None:
    progress = Progress()
    assert progress.outcome is None
    assert not progress.has_ended


def test_of_a_task_that_is_shown_again_only_the_news_is_told() -> None:
    progress = Progress()
    taken(progress, shown(task()), chunk("one "))
    progress.reconnect()
    assert taken(progress, shown(task(TaskState.WORKING, artifact("one two")))) == [
        chunk("two", append=True)
    ]
    assert taken(progress, chunk(" three", append=True)) == [chunk(" three", append=True)]


def test_a_status_that_comes_again_behind_its_task_is_no_news() -> None:
    # As 0.3 tells that a task which has stopped has nothing more to say.
    progress = Progress()
    taken(progress, shown(task()))
    progress.reconnect()
    stopped = status(TaskState.INPUT_REQUIRED, said("Which?"))
    again = shown(task(TaskState.INPUT_REQUIRED, message=said("Which?")))
    assert taken(progress, again, stopped) == [stopped]
    # Later it would be news.
    assert taken(progress, status(TaskState.WORKING), stopped) == [
        status(TaskState.WORKING),
        stopped,
    ]


def test_a_task_at_the_cursor_is_no_news() -> None:
    progress = Progress()
    progress.take((Frame(1, shown(task())), Frame(2, chunk("one "))))
    progress.reconnect()
    again = progress.take((Frame(2, shown(task(TaskState.WORKING, artifact("one ")))),))
    assert again == ()
    assert progress.cursor == 2


def test_numbers_that_begin_anew_lose_nothing() -> None:
    # A server may number the frames of each stream from 1.
    progress = Progress()
    progress.take((Frame(1, shown(task())), Frame(2, chunk("one "))))
    progress.reconnect()
    later = task(TaskState.WORKING, artifact("one two "))
    news = progress.take((Frame(1, shown(later)), Frame(2, chunk("three", append=True))))
    assert [frame.event for frame in news] == [
        chunk("two ", append=True),
        chunk("three", append=True),
    ]


def test_the_last_event_of_a_leap_has_its_number() -> None:
    progress = Progress()
    progress.take((Frame(1, shown(task())),))
    leap = task(TaskState.COMPLETED, artifact("one"))
    assert [frame.seq for frame in progress.take((Frame(9, shown(leap)),))] == [0, 9]
    assert progress.cursor == 9


def test_a_closing_task_tells_nothing_twice() -> None:
    progress = Progress()
    taken(progress, shown(task()), chunk("one"), status(TaskState.COMPLETED))
    assert taken(progress, shown(task(TaskState.COMPLETED, artifact("one")))) == []


def test_the_task_is_made_up_where_a_stream_does_not_begin_with_it() -> None:
    progress = Progress(context_id="mine")
    first, second = taken(progress, status(TaskState.WORKING))
    assert first.task is not None
    assert (first.task.id, first.task.context_id) == ("t", "mine")
    assert first.task.status.state is TaskState.SUBMITTED
    assert second == status(TaskState.WORKING)
    assert not progress.is_partial


def test_what_came_before_in_such_a_task_is_not_known() -> None:
    progress = Progress(continues=True)
    taken(progress, status(TaskState.WORKING))
    assert progress.is_partial
    progress.look(task())
    assert not progress.is_partial


def test_the_id_of_a_task_is_no_context() -> None:
    event = status(TaskState.WORKING)
    assert event.status_update is not None
    # So 0.1 is read.
    nameless = StreamResponse(
        status_update=type(event.status_update)(
            task_id="t", context_id="t", status=event.status_update.status
        )
    )
    progress = Progress()
    taken(progress, nameless)
    assert isinstance(progress.outcome, Task)
    assert progress.outcome.context_id == ""
    # It is to be asked for.
    assert progress.is_partial


def test_events_that_tell_a_task_anew_are_sifted() -> None:
    # A stream of 0.1 has no task to begin with.
    progress = Progress()
    taken(progress, status(TaskState.WORKING), chunk("one ", append=False))
    progress.reconnect()
    again = (
        status(TaskState.WORKING),
        chunk("one two "),
        chunk("other", artifact_id="b"),
        chunk("three", append=True),
        status(TaskState.COMPLETED),
    )
    assert taken(progress, *again) == [
        chunk("two ", append=True),
        chunk("other", artifact_id="b"),
        chunk("three", append=True),
        status(TaskState.COMPLETED),
    ]
    assert isinstance(progress.outcome, Task)
    assert progress.outcome.artifacts[0] == artifact("one two three")


def test_metadata_is_gathered() -> None:
    progress = Progress()
    taken(
        progress,
        shown(task(metadata={"a": 1})),
        status(TaskState.WORKING, metadata={"b": 2}),
        status(TaskState.WORKING),
    )
    assert not isinstance(progress.outcome, Message)
    assert progress.outcome is not None
    assert progress.outcome.metadata == {"a": 1, "b": 2}


def test_what_is_told_of_another_task_is_left_out() -> None:
    progress = Progress()
    taken(progress, shown(task()))
    other = replace(task(TaskState.FAILED), id="x")
    assert taken(progress, shown(other)) == []
    assert progress.state is TaskState.WORKING
    # What was read was asked for.
    progress.look(replace(other, status=TaskStatus(state=TaskState.COMPLETED)))
    assert progress.has_ended
