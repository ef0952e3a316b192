from typing import Any

import msgspec
import pytest

from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

WORKING = TaskStatus(state=TaskState.WORKING)
ANSWER = Message(
    message_id="m",
    task_id="server-id",
    context_id="s-1",
    role=Role.AGENT,
    parts=(Part(text="ok"),),
    metadata={"m": 1},
    extensions=("https://x.example",),
    reference_task_ids=("r",),
)


def written(task: Task, dialect: V0_1 | None = None) -> dict[str, Any]:
    wire = (dialect or V0_1()).encode_result(Operation.GET_TASK, TaskDocument.of(task))
    return msgspec.json.decode(wire)


def written_part(part: Part, dialect: V0_1 | None = None) -> object:
    artifact = Artifact(artifact_id="a", parts=(part,))
    task = written(Task(id="t", status=WORKING, artifacts=(artifact,)), dialect)
    return task["artifacts"][0]["parts"][0]


def test_the_sample_answer() -> None:
    task = Task(
        id="server-id",
        context_id="s-1",
        status=TaskStatus(state=TaskState.COMPLETED, timestamp="2025-05-01T10:00:00.000Z"),
        artifacts=(Artifact(artifact_id="a1", parts=(Part(text="ok"),)),),
    )
    assert V0_1("t-9").encode_result(Operation.SEND_MESSAGE, TaskDocument.of(task)) == (
        b'{"id":"t-9","sessionId":"s-1",'
        b'"status":{"state":"completed","timestamp":"2025-05-01T10:00:00.000Z"},'
        b'"artifacts":[{"index":0,"parts":[{"type":"text","text":"ok"}]}]}'
    )


def test_a_task_without_another_name_goes_by_its_own() -> None:
    assert written(Task(id="t", status=WORKING)) == {"id": "t", "status": {"state": "working"}}


def test_artifacts_are_numbered_and_lose_their_ids() -> None:
    artifacts = (
        Artifact(artifact_id="x", name="n", description="d", parts=(Part(text="1"),)),
        Artifact(artifact_id="y", parts=(Part(text="2"),), metadata={"k": 1}, extensions=("e",)),
    )
    assert written(Task(id="t", status=WORKING, artifacts=artifacts))["artifacts"] == [
        {"index": 0, "name": "n", "description": "d", "parts": [{"type": "text", "text": "1"}]},
        {"index": 1, "parts": [{"type": "text", "text": "2"}], "metadata": {"k": 1}},
    ]


def test_messages_lose_their_ids() -> None:
    task = Task(
        id="t", status=TaskStatus(state=TaskState.WORKING, message=ANSWER), history=(ANSWER,)
    )
    message = {"role": "agent", "parts": [{"type": "text", "text": "ok"}], "metadata": {"m": 1}}
    assert written(task) == {
        "id": "t",
        "status": {"state": "working", "message": message},
        "history": [message],
    }


def test_a_user_is_a_user() -> None:
    history = (msgspec.structs.replace(ANSWER, role=Role.USER, metadata=None),)
    assert written(Task(id="t", status=WORKING, history=history))["history"] == [
        {"role": "user", "parts": [{"type": "text", "text": "ok"}]}
    ]


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (TaskState.SUBMITTED, "submitted"),
        (TaskState.WORKING, "working"),
        (TaskState.COMPLETED, "completed"),
        (TaskState.FAILED, "failed"),
        (TaskState.CANCELED, "canceled"),
        (TaskState.INPUT_REQUIRED, "input-required"),
        (TaskState.AUTH_REQUIRED, "input-required"),
    ],
)
def test_the_states(state: TaskState, text: str) -> None:
    task = Task(id="t", status=TaskStatus(state=state), metadata={"k": 1})
    assert written(task) == {"id": "t", "status": {"state": text}, "metadata": {"k": 1}}


def test_a_rejected_task_has_failed_and_says_so_in_its_metadata() -> None:
    rejected = TaskStatus(state=TaskState.REJECTED)
    assert written(Task(id="t", status=rejected)) == {
        "id": "t",
        "status": {"state": "failed"},
        "metadata": {"a2a.state": "rejected"},
    }
    kept = written(Task(id="t", status=rejected, metadata={"k": 1}))
    assert kept["metadata"] == {"k": 1, "a2a.state": "rejected"}


def test_a_message_without_a_task_completes_the_task_that_was_asked_for() -> None:
    wire = V0_1("t-9").encode_result(Operation.SEND_MESSAGE, ANSWER)
    assert msgspec.json.decode(wire) == {
        "id": "t-9",
        "sessionId": "s-1",
        "status": {
            "state": "completed",
            "message": {
                "role": "agent",
                "parts": [{"type": "text", "text": "ok"}],
                "metadata": {"m": 1},
            },
        },
    }


@pytest.mark.parametrize(("task_id", "shown"), [("server-id", "server-id"), ("", "m")])
def test_a_message_to_someone_without_a_name_for_the_task(task_id: str, shown: str) -> None:
    message = msgspec.structs.replace(ANSWER, task_id=task_id)
    wire = V0_1_DIALECT.encode_result(Operation.SEND_MESSAGE, message)
    assert msgspec.json.decode(wire)["id"] == shown


@pytest.mark.parametrize(
    ("part", "wire"),
    [
        (Part(text="x"), {"type": "text", "text": "x"}),
        (
            Part(raw=b"\0\1\2\xff", filename="f.bin", media_type="x/y"),
            {"type": "file", "file": {"bytes": "AAEC/w==", "name": "f.bin", "mimeType": "x/y"}},
        ),
        (Part(url="https://f.example"), {"type": "file", "file": {"uri": "https://f.example"}}),
        (
            Part(data={"a": 1}, metadata={"k": 2}),
            {"type": "data", "data": {"a": 1}, "metadata": {"k": 2}},
        ),
        (
            Part(data=5),
            {"type": "data", "data": {"value": 5}, "metadata": {"data_part_compat": True}},
        ),
        (
            Part(text="x", media_type="text/x"),
            {"type": "text", "text": "x", "metadata": {"a2a.v1": True, "mimeType": "text/x"}},
        ),
        (
            Part(data={"name": "f"}, metadata={"a2a.v0.fileReference": True}),
            {"type": "file", "file": {"name": "f"}},
        ),
    ],
)
def test_parts(part: Part, wire: object) -> None:
    assert written_part(part) == wire


def test_a_peer_that_looks_for_kind_finds_it() -> None:
    mixed = V0_1(has_kind=True)
    assert written_part(Part(text="x"), mixed) == {"type": "text", "kind": "text", "text": "x"}
    unknown = Part(data={"kind": "form", "fields": [1]}, metadata={"a2a.v0.kind": "form"})
    assert written_part(unknown, mixed) == {"kind": "form", "fields": [1]}
