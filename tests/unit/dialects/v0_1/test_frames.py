import msgspec
import pytest

from dragoman.dialects.v0_1.codec import V0_1
from dragoman.model.documents import EventDocument
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

STOPS = [state for state in TaskState if state.is_terminal or state.is_interrupted]


def event(value: StreamResponse) -> EventDocument:
    return EventDocument(1, msgspec.json.encode(value))


def status(state: TaskState, metadata: dict[str, object] | None = None) -> EventDocument:
    update = TaskStatusUpdateEvent(
        task_id="server-id", context_id="c", status=TaskStatus(state=state), metadata=metadata
    )
    return event(StreamResponse(status_update=update))


def chunk(
    artifact_id: str, text: str, *, append: bool = False, last_chunk: bool = False
) -> EventDocument:
    update = TaskArtifactUpdateEvent(
        task_id="server-id",
        context_id="c",
        artifact=Artifact(artifact_id=artifact_id, parts=(Part(text=text),)),
        append=append,
        last_chunk=last_chunk,
    )
    return event(StreamResponse(artifact_update=update))


def task(state: TaskState, *artifact_ids: str) -> EventDocument:
    artifacts = tuple(
        Artifact(artifact_id=artifact_id, parts=(Part(text=artifact_id),))
        for artifact_id in artifact_ids
    )
    return event(
        StreamResponse(
            task=Task(
                id="server-id",
                context_id="c",
                status=TaskStatus(state=state),
                artifacts=artifacts,
                metadata={"of": "the task"},
            )
        )
    )


def artifact_frame(index: int, text: str) -> bytes:
    parts = b'[{"type":"text","text":"%b"}]' % text.encode()
    return b'{"id":"t-9","artifact":{"index":%d,"parts":%b}}' % (index, parts)


def test_the_sample_stream() -> None:
    writer = V0_1("t-9").frame_writer()
    assert writer.write(status(TaskState.WORKING)) == (
        b'{"id":"t-9","status":{"state":"working"},"final":false}',
    )
    (frame,) = writer.write(chunk("a", "k", append=True, last_chunk=True))
    assert msgspec.json.decode(frame) == {
        "id": "t-9",
        "artifact": {
            "index": 0,
            "append": True,
            "lastChunk": True,
            "parts": [{"type": "text", "text": "k"}],
        },
    }
    assert not writer.has_ended
    assert writer.write(status(TaskState.COMPLETED)) == (
        b'{"id":"t-9","status":{"state":"completed"},"final":true}',
    )
    assert writer.has_ended


@pytest.mark.parametrize("state", TaskState)
def test_a_status_is_final_where_the_task_stops(state: TaskState) -> None:
    writer = V0_1("t-9").frame_writer()
    (frame,) = writer.write(status(state))
    assert msgspec.json.decode(frame)["final"] is (state in STOPS)
    assert writer.has_ended is (state in STOPS)


def test_a_rejection_is_marked_on_its_event() -> None:
    (frame,) = V0_1("t-9").frame_writer().write(status(TaskState.REJECTED, {"k": 1}))
    assert msgspec.json.decode(frame) == {
        "id": "t-9",
        "status": {"state": "failed"},
        "final": True,
        "metadata": {"k": 1, "a2a.state": "rejected"},
    }


def test_metadata_of_an_event_is_kept() -> None:
    (frame,) = V0_1("t-9").frame_writer().write(status(TaskState.WORKING, {"k": 1}))
    assert msgspec.json.decode(frame)["metadata"] == {"k": 1}


def test_artifacts_are_numbered_by_first_appearance() -> None:
    writer = V0_1("t-9").frame_writer()
    frames = [writer.write(chunk(artifact_id, artifact_id)) for artifact_id in ("b", "a", "b", "c")]
    assert frames == [
        (artifact_frame(0, "b"),),
        (artifact_frame(1, "a"),),
        (artifact_frame(0, "b"),),
        (artifact_frame(2, "c"),),
    ]


def test_the_task_that_leads_a_stream_shows_its_status() -> None:
    writer = V0_1("t-9").frame_writer()
    assert writer.write(task(TaskState.SUBMITTED)) == (
        b'{"id":"t-9","status":{"state":"submitted"},"final":false}',
    )
    assert not writer.has_ended


def test_the_artifacts_of_a_running_task_follow_its_status_and_are_numbered() -> None:
    writer = V0_1("t-9").frame_writer()
    assert writer.write(task(TaskState.WORKING, "x", "y")) == (
        b'{"id":"t-9","status":{"state":"working"},"final":false}',
        artifact_frame(0, "x"),
        artifact_frame(1, "y"),
    )
    assert writer.write(chunk("y", "more")) == (artifact_frame(1, "more"),)
    assert writer.write(chunk("z", "new")) == (artifact_frame(2, "new"),)


@pytest.mark.parametrize("state", STOPS)
def test_the_status_of_a_task_that_stops_is_last(state: TaskState) -> None:
    writer = V0_1("t-9").frame_writer()
    *artifacts, last = writer.write(task(state, "x", "y"))
    assert artifacts == [artifact_frame(0, "x"), artifact_frame(1, "y")]
    assert msgspec.json.decode(last)["final"] is True
    assert writer.has_ended


def test_a_message_is_a_whole_stream() -> None:
    writer = V0_1("t-9").frame_writer()
    message = Message(message_id="m", role=Role.AGENT, parts=(Part(text="ok"),))
    assert writer.write(event(StreamResponse(message=message))) == (
        b'{"id":"t-9","status":{"state":"completed",'
        b'"message":{"role":"agent","parts":[{"type":"text","text":"ok"}]}},"final":true}',
    )
    assert writer.has_ended


def test_a_follower_without_another_name_sees_the_id_of_the_task() -> None:
    writer = V0_1(has_kind=True).frame_writer()
    (first,) = writer.write(status(TaskState.WORKING))
    (second,) = writer.write(chunk("a", "x"))
    assert msgspec.json.decode(first)["id"] == "server-id"
    assert msgspec.json.decode(second) == {
        "id": "server-id",
        "artifact": {"index": 0, "parts": [{"type": "text", "kind": "text", "text": "x"}]},
    }


def test_followers_with_different_names_do_not_share_frames() -> None:
    shared = status(TaskState.WORKING)
    frames = [V0_1(name).frame_writer().write(shared) for name in ("mine", "yours")]
    assert [msgspec.json.decode(frame)["id"] for (frame,) in frames] == ["mine", "yours"]
