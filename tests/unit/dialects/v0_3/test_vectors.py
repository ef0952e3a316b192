"""Exchanges as peers of 0.2 and 0.3 have them (0.x reference, section 9)."""

import msgspec
import pytest

from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.errors import TaskNotFoundError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Empty, Operation, SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

SEND = Operation.SEND_MESSAGE


def test_a_send_and_its_task() -> None:
    params = (
        b'{"message":{"kind":"message","messageId":"m1","role":"user",'
        b'"parts":[{"kind":"text","text":"hi"}]},'
        b'"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true}}'
    )
    request = SendMessageRequest(
        message=Message(message_id="m1", role=Role.USER, parts=(Part(text="hi"),)),
        configuration=SendMessageConfiguration(accepted_output_modes=("text/plain",)),
    )
    assert V0_3_DIALECT.decode_request(SEND, params).request == request
    assert V0_3_DIALECT.encode_request(SEND, request) == params
    result = (
        b'{"kind":"task","id":"T","contextId":"C","status":{"state":"completed"},'
        b'"artifacts":[{"artifactId":"a1","parts":[{"kind":"file","file":'
        b'{"bytes":"AAEC/w==","name":"f.bin","mimeType":"x/y"}}]}]}'
    )
    part = Part(raw=b"\x00\x01\x02\xff", filename="f.bin", media_type="x/y")
    task = Task(
        id="T",
        context_id="C",
        status=TaskStatus(state=TaskState.COMPLETED),
        artifacts=(Artifact(artifact_id="a1", parts=(part,)),),
    )
    assert V0_3_DIALECT.encode_result(SEND, TaskDocument.of(task)) == result
    assert V0_3_DIALECT.decode_result(SEND, result) == task


def test_a_question_ends_a_stream() -> None:
    frame = (
        b'{"kind":"status-update","taskId":"T","contextId":"C","status":{"state":"input-required",'
        b'"message":{"kind":"message","messageId":"m2","role":"agent",'
        b'"parts":[{"kind":"text","text":"which?"}]}},"final":true}'
    )
    question = Message(message_id="m2", role=Role.AGENT, parts=(Part(text="which?"),))
    update = TaskStatusUpdateEvent(
        task_id="T",
        context_id="C",
        status=TaskStatus(state=TaskState.INPUT_REQUIRED, message=question),
    )
    event = StreamResponse(status_update=update)
    document = EventDocument(1, msgspec.json.encode(event))
    assert V0_3_DIALECT.frame_writer().write(document) == (frame,)
    assert V0_3_DIALECT.decode_event(frame) == event


def test_a_deletion_and_an_error() -> None:
    operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
    assert V0_3_DIALECT.encode_result(operation, Empty()) == b"null"
    assert V0_3_DIALECT.decode_result(operation, b"null") == Empty()
    problem = V0_3_DIALECT.decode_error({"code": -32001, "message": "Task not found"})
    assert type(problem) is TaskNotFoundError


@pytest.mark.parametrize(
    "message",
    [
        # The examples of 0.2.0: parts by type, no kind.
        '{"role":"user","parts":[{"type":"text","text":"hi"}],"messageId":"m"}',
        # A message of the XPR dialect: no id either (8.1 X7, X8).
        '{"role":"user","parts":[{"type":"text","text":"hi"}]}',
    ],
)
def test_parts_by_type_are_answered_by_both_names(message: str) -> None:
    reading = V0_3_DIALECT.decode_request(SEND, b'{"message":%b}' % message.encode())
    assert isinstance(reading.request, SendMessageRequest)
    assert reading.request.message.parts == (Part(text="hi"),)
    assert b'"kind":"text","type":"text"' in reading.answer.encode_result(
        SEND, Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
    )
