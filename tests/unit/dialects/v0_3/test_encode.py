import pytest

from dragoman.dialects.v0_3.encode import Writer
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

WRITER, DUAL = Writer(), Writer(is_dual=True)
WORKING = TaskStatus(state=TaskState.WORKING)
MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
ARTIFACT = Artifact(artifact_id="a", parts=(Part(raw=b"x"),))
STATES = {
    TaskState.SUBMITTED: "submitted",
    TaskState.WORKING: "working",
    TaskState.COMPLETED: "completed",
    TaskState.FAILED: "failed",
    TaskState.CANCELED: "canceled",
    TaskState.INPUT_REQUIRED: "input-required",
    TaskState.REJECTED: "rejected",
    TaskState.AUTH_REQUIRED: "auth-required",
}


def test_a_message_is_written_with_all_its_members() -> None:
    message = Message(
        message_id="m",
        role=Role.USER,
        parts=(Part(text="x"), Part(url="u", filename="f"), Part(data={"a": 1})),
        task_id="t",
        context_id="c",
        metadata={},
        extensions=("e",),
        reference_task_ids=("r",),
    )
    assert WRITER.message(message) == {
        "kind": "message",
        "messageId": "m",
        "role": "user",
        "parts": [
            {"kind": "text", "text": "x"},
            {"kind": "file", "file": {"uri": "u", "name": "f"}},
            {"kind": "data", "data": {"a": 1}},
        ],
        "taskId": "t",
        "contextId": "c",
        "metadata": {},
        "extensions": ("e",),
        "referenceTaskIds": ("r",),
    }
    assert WRITER.message(MESSAGE).keys() == {"kind", "messageId", "role", "parts"}


def test_kind_comes_first() -> None:
    task = Task(id="t", status=WORKING)
    update = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=ARTIFACT)
    objects = [
        WRITER.message(MESSAGE),
        WRITER.task(task),
        *WRITER.frames(StreamResponse(artifact_update=update)),
    ]
    for written in objects:
        assert next(iter(written)) == "kind"


def test_a_part_of_an_unknown_kind_is_restored() -> None:
    tool = {"kind": "tool-use", "toolUseId": "t"}
    part = Part(data=tool, metadata={"a2a.v0.kind": "tool-use"})
    message = Message(message_id="m", role=Role.USER, parts=(part,))
    assert WRITER.message(message)["parts"] == DUAL.message(message)["parts"] == [tool]


def test_an_input_request_is_restored() -> None:
    asked = {"prompt": "key?", "requestId": "r"}
    message = Message(
        message_id="m",
        role=Role.AGENT,
        parts=(Part(text="x"),),
        metadata={"a2a.v0.inputRequest": asked},
    )
    written = WRITER.message(message)
    assert written["inputRequest"] == asked
    assert "metadata" not in written
    message = Message(
        message_id="m",
        role=Role.AGENT,
        parts=(Part(text="x"),),
        metadata={"a2a.v0.inputRequest": asked, "k": 1},
    )
    assert WRITER.message(message)["metadata"] == {"k": 1}


def test_a_task_without_a_context_has_its_own_id_as_one() -> None:
    assert WRITER.task(Task(id="t", status=WORKING)) == {
        "kind": "task",
        "id": "t",
        "contextId": "t",
        "status": {"state": "working"},
    }


def test_a_task_is_written_with_all_its_members() -> None:
    task = Task(
        id="t",
        context_id="c",
        status=TaskStatus(
            state=TaskState.COMPLETED, message=MESSAGE, timestamp="2025-05-01T10:00:00.000Z"
        ),
        artifacts=(
            Artifact(
                artifact_id="a",
                name="n",
                description="d",
                parts=(Part(text="x"),),
                metadata={"k": 1},
                extensions=("e",),
            ),
        ),
        history=(MESSAGE,),
        metadata={"j": 2},
    )
    written = WRITER.message(MESSAGE)
    assert WRITER.task(task) == {
        "kind": "task",
        "id": "t",
        "contextId": "c",
        "status": {
            "state": "completed",
            "message": written,
            "timestamp": "2025-05-01T10:00:00.000Z",
        },
        "artifacts": [
            {
                "artifactId": "a",
                "name": "n",
                "description": "d",
                "parts": [{"kind": "text", "text": "x"}],
                "metadata": {"k": 1},
                "extensions": ("e",),
            }
        ],
        "history": [written],
        "metadata": {"j": 2},
    }


def test_who_knows_parts_by_type_gets_both_names_and_an_index() -> None:
    task = Task(id="t", status=WORKING, artifacts=(ARTIFACT, ARTIFACT))
    assert DUAL.task(task)["artifacts"] == [
        {
            "artifactId": "a",
            "index": index,
            "parts": [{"kind": "file", "type": "file", "file": {"bytes": b"x"}}],
        }
        for index in (0, 1)
    ]


@pytest.mark.parametrize("state", TaskState)
def test_states_and_final(state: TaskState) -> None:
    status = TaskStatus(state=state)
    update = TaskStatusUpdateEvent(task_id="t", context_id="c", status=status, metadata={"k": 1})
    stops = state not in (TaskState.SUBMITTED, TaskState.WORKING)
    last = {
        "kind": "status-update",
        "taskId": "t",
        "contextId": "c",
        "status": {"state": STATES[state]},
        "final": stops,
    }
    assert WRITER.frames(StreamResponse(status_update=update)) == [{**last, "metadata": {"k": 1}}]
    # A task that has stopped is followed by its status, because only that can say so.
    task = Task(id="t", context_id="c", status=status)
    frames = WRITER.frames(StreamResponse(task=task))
    assert frames == [WRITER.task(task), last] if stops else [WRITER.task(task)]
    assert Writer().has_stopped(status) is stops


def test_an_artifact_update_says_append_and_last_chunk() -> None:
    update = TaskArtifactUpdateEvent(
        task_id="t", context_id="c", artifact=ARTIFACT, append=True, metadata={}
    )
    assert WRITER.frames(StreamResponse(artifact_update=update)) == [
        {
            "kind": "artifact-update",
            "taskId": "t",
            "contextId": "c",
            "artifact": {"artifactId": "a", "parts": [{"kind": "file", "file": {"bytes": b"x"}}]},
            "append": True,
            "lastChunk": False,
            "metadata": {},
        }
    ]


def test_a_message_is_a_frame() -> None:
    assert WRITER.frames(StreamResponse(message=MESSAGE)) == [WRITER.message(MESSAGE)]
