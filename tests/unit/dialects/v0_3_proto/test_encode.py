"""From the model to the messages of the proto."""

import json

import msgspec
import pytest

from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.encode import Encoder, ends_stream
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

ENCODER = Encoder(None)
BINARY = b"\x00\x01\x02\xff"
MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
STOPPED = sorted(
    (state for state in TaskState if state.is_terminal or state.is_interrupted),
    key=lambda state: state.value,
)


def status_event(state: TaskState) -> StreamResponse:
    status = TaskStatus(state=state)
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    )


def task_event(state: TaskState) -> StreamResponse:
    return StreamResponse(task=Task(id="t", context_id="c", status=TaskStatus(state=state)))


def plain(found: wire.Wire) -> object:
    return json.loads(msgspec.json.encode(found))


def frames_of(event: StreamResponse) -> list[object]:
    return [plain(frame) for frame in ENCODER.payloads(event)]


def written(part: Part, encoder: Encoder = ENCODER) -> object:
    message = Message(message_id="m", role=Role.USER, parts=(part,))
    return json.loads(msgspec.json.encode(encoder.message(message)))["content"][0]


@pytest.mark.parametrize(
    ("part", "members"),
    [
        (Part(text=""), {"text": ""}),
        (Part(text="x", metadata={"a": 1}), {"text": "x", "metadata": {"a": 1}}),
        (
            Part(raw=BINARY, media_type="x/y", filename="f.bin"),
            {"file": {"fileWithBytes": "QUFFQy93PT0=", "mimeType": "x/y", "name": "f.bin"}},
        ),
        (Part(raw=b""), {"file": {"fileWithBytes": ""}}),
        (Part(url="u", metadata={}), {"file": {"fileWithUri": "u"}, "metadata": {}}),
        (Part(data={"a": 1}), {"data": {"data": {"a": 1}}}),
        (Part(data={"a": 1}, media_type="application/json"), {"data": {"data": {"a": 1}}}),
        # what 0.3 has no place for is marked (0.x reference, 5.7)
        (
            Part(data=None),
            {"data": {"data": {"value": None}}, "metadata": {"data_part_compat": True}},
        ),
        (
            Part(text="x", media_type="text/html", filename="f"),
            {
                "text": "x",
                "metadata": {"a2a.v1": True, "mimeType": "text/html", "filename": "f"},
            },
        ),
        # what 0.1 and the schema shape have a place for keeps its mark
        (
            Part(data={"kind": "tool-use"}, metadata={"a2a.v0.kind": "tool-use"}),
            {"data": {"data": {"kind": "tool-use"}}, "metadata": {"a2a.v0.kind": "tool-use"}},
        ),
        (
            Part(data={"name": "f"}, metadata={"a2a.v0.fileReference": True}),
            {"data": {"data": {"name": "f"}}, "metadata": {"a2a.v0.fileReference": True}},
        ),
    ],
)
def test_a_part_has_the_members_of_the_proto(part: Part, members: object) -> None:
    assert written(part) == members


def test_a_peer_pinned_to_raw_gets_the_content_itself() -> None:
    assert written(Part(raw=BINARY), Encoder("raw")) == {"file": {"fileWithBytes": "AAEC/w=="}}
    text = written(Part(raw=BINARY), Encoder("base64text"))
    assert text == {"file": {"fileWithBytes": "QUFFQy93PT0="}}


def test_a_message_says_content_and_no_kind() -> None:
    message = Message(
        message_id="m",
        context_id="c",
        task_id="t",
        role=Role.USER,
        parts=(Part(text="x"),),
        metadata={"k": 1},
        extensions=("e",),
        # a place that some SDKs of 0.3 refuse
        reference_task_ids=("r",),
    )
    assert plain(ENCODER.message(message)) == {
        "messageId": "m",
        "contextId": "c",
        "taskId": "t",
        "role": "ROLE_USER",
        "content": [{"text": "x"}],
        "metadata": {"k": 1},
        "extensions": ["e"],
    }


def test_a_task_leaves_out_what_is_empty() -> None:
    task = Task(id="t", status=TaskStatus(state=TaskState.CANCELED))
    assert plain(ENCODER.task(task)) == {
        "id": "t",
        "status": {"state": "TASK_STATE_CANCELLED"},
    }


def test_a_task_is_written_whole() -> None:
    task = Task(
        id="t",
        context_id="c",
        status=TaskStatus(
            state=TaskState.WORKING, message=MESSAGE, timestamp="2025-08-01T10:00:00.000Z"
        ),
        artifacts=(
            Artifact(
                artifact_id="a",
                name="n",
                description="d",
                parts=(Part(text="x"),),
                metadata={},
                extensions=("e",),
            ),
        ),
        history=(MESSAGE,),
        metadata={"k": 1},
    )
    message = {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "x"}]}
    assert plain(ENCODER.task(task)) == {
        "id": "t",
        "contextId": "c",
        "status": {
            "state": "TASK_STATE_WORKING",
            "message": message,
            "timestamp": "2025-08-01T10:00:00.000Z",
        },
        "artifacts": [
            {
                "artifactId": "a",
                "name": "n",
                "description": "d",
                "parts": [{"text": "x"}],
                "metadata": {},
                "extensions": ["e"],
            }
        ],
        "history": [message],
        "metadata": {"k": 1},
    }


# --- frames -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STOPPED)
def test_a_status_where_the_task_stops_is_final(state: TaskState) -> None:
    (frame,) = frames_of(status_event(state))
    assert frame == {
        "statusUpdate": {
            "taskId": "t",
            "contextId": "c",
            "status": {"state": wire.STATES[state]},
            "final": True,
        }
    }


@pytest.mark.parametrize("state", [TaskState.SUBMITTED, TaskState.WORKING])
def test_a_status_on_the_way_leaves_final_out(state: TaskState) -> None:
    (frame,) = frames_of(status_event(state))
    assert frame == {
        "statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state.value}}
    }


@pytest.mark.parametrize("state", STOPPED)
def test_a_task_that_has_stopped_is_followed_by_a_final_status(state: TaskState) -> None:
    assert ENCODER.payloads(task_event(state))[1:] == ENCODER.payloads(status_event(state))


def test_a_task_on_its_way_is_one_frame() -> None:
    assert frames_of(task_event(TaskState.WORKING)) == [
        {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    ]


def test_a_message_is_one_frame() -> None:
    message = {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "x"}]}
    assert frames_of(StreamResponse(message=MESSAGE)) == [{"message": message}]


def test_an_artifact_says_only_what_is_true() -> None:
    artifact = Artifact(artifact_id="a", parts=(Part(text="x"),))
    first = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact)
    last = msgspec.structs.replace(first, append=True, last_chunk=True, metadata={"k": 1})
    members = {
        "taskId": "t",
        "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
    }
    assert frames_of(StreamResponse(artifact_update=first)) == [{"artifactUpdate": members}]
    assert frames_of(StreamResponse(artifact_update=last)) == [
        {"artifactUpdate": {**members, "append": True, "lastChunk": True, "metadata": {"k": 1}}}
    ]


def test_a_stream_ends_where_the_task_stops_or_with_a_message() -> None:
    artifact = Artifact(artifact_id="a", parts=(Part(text="x"),))
    update = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact)
    assert all(ends_stream(task_event(state)) for state in STOPPED)
    assert all(ends_stream(status_event(state)) for state in STOPPED)
    assert ends_stream(StreamResponse(message=MESSAGE))
    assert not ends_stream(StreamResponse(artifact_update=update))
    assert not ends_stream(task_event(TaskState.WORKING))
    assert not ends_stream(status_event(TaskState.SUBMITTED))
