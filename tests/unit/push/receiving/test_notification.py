import json

import pytest

from dragoman.dialects.base import RpcDialect
from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_3.codec import V0_3_DIALECT, V0_3_TYPE_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import A2AError, InvalidParamsError, JSONParseError
from dragoman.model.documents import EventDocument, TaskDocument, encode_entry
from dragoman.model.events import TaskStatusUpdateEvent
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from dragoman.push import Notification
from dragoman.push.receiving.notification import read_notification

DONE = TaskStatus(state=TaskState.COMPLETED, timestamp="2026-01-02T03:04:05.000Z")
TASK = Task(
    id="t-1",
    context_id="c-1",
    status=DONE,
    artifacts=(Artifact(artifact_id="idx-0", parts=(Part(text="hi"),)),),
)
UPDATE = TaskStatusUpdateEvent(task_id="t-1", context_id="c-1", status=DONE)


def read(document: object) -> Notification:
    return read_notification(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("dialect", "version"),
    [(V0_1_DIALECT, "0.1"), (V0_3_DIALECT, "0.3"), (V0_3_TYPE_DIALECT, "0.3")],
)
def test_what_our_server_writes_in_an_old_form_is_the_task(
    dialect: RpcDialect, version: str
) -> None:
    event = EventDocument(1, encode_entry(UPDATE))
    body = dialect.encode_notification(event, TaskDocument.of(TASK))
    found = read_notification(body, notification_id="n-1")
    assert found.event.task == TASK
    assert (found.version, found.id) == (version, "n-1")
    assert (found.task_id, found.context_id) == ("t-1", "c-1")
    assert found.state is TaskState.COMPLETED


def test_what_our_server_writes_in_1_0_is_the_event() -> None:
    event = EventDocument(1, encode_entry(UPDATE))
    body = V1_0_DIALECT.encode_notification(event, TaskDocument.of(TASK))
    found = read_notification(body)
    assert found.event.status_update == UPDATE
    assert (found.version, found.id) == ("1.0", "")


STATUS = {"state": "TASK_STATE_WORKING"}
MESSAGE = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}
CHUNK = {"artifactId": "a", "parts": [{"text": "x"}]}
OLD = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}}


@pytest.mark.parametrize(
    ("body", "version", "member", "ids", "state"),
    [
        # 1.0: a StreamResponse with one member.
        ({"task": {"id": "t", "contextId": "c", "status": STATUS}}, "1.0", "task", "t c", "W"),
        (
            {"statusUpdate": {"taskId": "t", "contextId": "c", "status": STATUS}},
            "1.0",
            "status_update",
            "t c",
            "W",
        ),
        (
            {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": CHUNK}},
            "1.0",
            "artifact_update",
            "t c",
            "",
        ),
        ({"message": {**MESSAGE, "taskId": "t"}}, "1.0", "message", "t ", ""),
        ({"message": MESSAGE}, "1.0", "message", " ", ""),
        # 0.3 and 0.2: the object itself, told by its kind.
        (OLD, "0.3", "task", "t c", "C"),
        (
            {
                "kind": "status-update",
                "taskId": "t",
                "contextId": "c",
                "final": True,
                "status": {"state": "completed"},
            },
            "0.3",
            "status_update",
            "t c",
            "C",
        ),
        (
            {
                "kind": "artifact-update",
                "taskId": "t",
                "contextId": "c",
                "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]},
            },
            "0.3",
            "artifact_update",
            "t c",
            "",
        ),
        # The same without its kind, in a wrapper, and in an answer of JSON-RPC.
        ({k: v for k, v in OLD.items() if k != "kind"}, "0.3", "task", "t c", "C"),
        ({"task": OLD}, "0.3", "task", "t c", "C"),
        ({"jsonrpc": "2.0", "id": 1, "result": OLD}, "0.3", "task", "t c", "C"),
        # 0.1: a task, the notice of its text, and an event of a stream.
        (
            {"id": "t", "sessionId": "c", "status": {"state": "completed"}},
            "0.1",
            "task",
            "t c",
            "C",
        ),
        (
            {
                "eventType": "taskUpdate",
                "taskId": "t",
                "status": {"state": "completed"},
                "summary": "s",
            },
            "0.1",
            "status_update",
            "t t",
            "C",
        ),
        (
            {"id": "t", "artifact": {"index": 0, "parts": [{"type": "text", "text": "x"}]}},
            "0.1",
            "artifact_update",
            "t t",
            "",
        ),
    ],
)
def test_the_body_tells_which_version_it_is(
    body: object, version: str, member: str, ids: str, state: str
) -> None:
    found = read(body)
    assert found.version == version
    assert getattr(found.event, member) is not None
    assert f"{found.task_id} {found.context_id}" == ids
    assert (found.state.name[0] if found.state else "") == state


@pytest.mark.parametrize(
    ("body", "kind", "finding"),
    [
        (b"", JSONParseError, "not well-formed JSON"),
        (b'"\xff"', JSONParseError, "not UTF-8"),
        (b"[]", InvalidParamsError, "expected object, got array"),
        (b"{}", InvalidParamsError, "needs one of task, message, statusUpdate, artifactUpdate"),
        (b'{"task":"x"}', InvalidParamsError, "needs one of task"),
        (b'{"task":{"id":"t"}}', InvalidParamsError, "status"),
        (b'{"statusUpdate":{"taskId":"t"}}', InvalidParamsError, "status"),
        (b'{"kind":"task","id":"t"}', InvalidParamsError, "status is required"),
        (b'{"id":"t","status":{"state":1}}', InvalidParamsError, "status.state expected string"),
        (b'{"taskId":1,"status":{"state":"completed"}}', InvalidParamsError, "id"),
        (b'{"result":' * 5000 + b"}" * 5000, JSONParseError, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_told_by_its_field(
    body: bytes, kind: type[A2AError], finding: str
) -> None:
    with pytest.raises(kind, match=finding):
        read_notification(body)


def test_a_body_with_two_members_is_refused() -> None:
    task = {"id": "t", "contextId": "c", "status": STATUS}
    with pytest.raises(InvalidParamsError, match="exactly one"):
        read({"task": task, "message": MESSAGE})
