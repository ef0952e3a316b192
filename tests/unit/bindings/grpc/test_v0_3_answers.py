from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.v0_3_answers import (
    MessageEncoder,
    decode_event,
    decode_result,
    encode_frame,
    encode_result,
)
from dragoman.bindings.grpc.well_known import Proto
from dragoman.dialects.base import Result
from dragoman.dialects.v0_3_proto.decode import Decoder
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
)
from dragoman.model.parts import Part
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

# By its looks alone short content cannot be told from base64, so whole values need a known peer.
ENCODER, DECODER = MessageEncoder("base64text"), Decoder("base64text")

SEND = Operation.SEND_MESSAGE
NEXT = "opaque"
WORKING = TaskStatus(state=TaskState.WORKING, timestamp="2026-01-02T03:04:05.678Z")


def answered(operation: Operation, result: Result) -> object:
    return decode_result(operation, encode_result(operation, result, ENCODER), DECODER)


def proto_of(name: str, operation: Operation, result: Result, values: MessageEncoder) -> Proto:
    return message_class(f"a2a.v1.{name}").FromString(encode_result(operation, result, values))


# --- reading back -------------------------------------------------------------------------------


def test_a_page_reads_back_without_its_size() -> None:
    tasks = (Task(id="a", status=WORKING), Task(id="b", context_id="c", status=WORKING))
    page = TaskPage(
        tasks=tuple(map(TaskDocument.of, tasks)), next_page_token=NEXT, page_size=50, total_size=7
    )
    assert answered(Operation.LIST_TASKS, page) == ListTasksResponse(
        tasks=tasks, next_page_token=NEXT, page_size=2, total_size=7
    )


CONFIG = TaskPushNotificationConfig(
    id="c-1",
    task_id="t-1",
    url="https://hook.example",
    token=NEXT,
    authentication=AuthenticationInfo(scheme="Bearer", credentials="s"),
)


@pytest.mark.parametrize(
    "operation",
    [
        Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
    ],
)
def test_a_webhook_reads_back_by_its_resource_name(operation: Operation) -> None:
    sent = proto_of("TaskPushNotificationConfig", operation, CONFIG, ENCODER)
    assert sent.name == "tasks/t-1/pushNotificationConfigs/c-1"
    assert list(sent.push_notification_config.authentication.schemes) == ["Bearer"]
    assert answered(operation, CONFIG) == CONFIG


def test_a_list_of_webhooks_reads_back() -> None:
    listed = ListTaskPushNotificationConfigsResponse(configs=(CONFIG,), next_page_token=NEXT)
    assert answered(Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, listed) == listed


def test_a_deletion_is_answered_with_an_empty_message() -> None:
    operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
    assert encode_result(operation, Empty(), ENCODER) == b""
    assert decode_result(operation, b"", DECODER) == Empty()


# --- what is on the wire ------------------------------------------------------------------------


def test_a_task_is_written_as_0_3_has_it() -> None:
    task = Task(
        id="t",
        context_id="c",
        status=TaskStatus(
            state=TaskState.CANCELED,
            message=Message(message_id="m", role=Role.AGENT, parts=(Part(text="bye"),)),
            timestamp="2026-01-02T03:04:05.678Z",
        ),
        artifacts=(
            Artifact(artifact_id="a", name="n", description="d", parts=(Part(data={"k": 1}),)),
        ),
    )
    sent = proto_of("SendMessageResponse", SEND, TaskDocument.of(task), ENCODER).task
    # CANCELLED with two L has the number that CANCELED has.
    assert sent.status.state == 5
    assert sent.status.update.content[0].text == "bye"
    assert (sent.status.timestamp.seconds, sent.status.timestamp.nanos) == (
        1767323045,
        678_000_000,
    )
    assert sent.artifacts[0].parts[0].data.data["k"] == 1
    assert (sent.artifacts[0].name, sent.artifacts[0].description) == ("n", "d")


def written(part: Part, values: MessageEncoder = ENCODER) -> Proto:
    message = Message(message_id="m", role=Role.USER, parts=(part,))
    return proto_of("SendMessageResponse", SEND, message, values).msg.content[0]


def test_file_content_is_written_as_base64_text_unless_the_peer_is_known() -> None:
    part = Part(raw=b"\x00\x01\x02\xff", filename="f.bin", media_type="x/y")
    file = written(part, MessageEncoder(None)).file
    assert (file.file_with_bytes, file.mime_type, file.name) == (b"AAEC/w==", "x/y", "f.bin")
    assert written(part, MessageEncoder("raw")).file.file_with_bytes == b"\x00\x01\x02\xff"


def test_an_address_is_a_file_too() -> None:
    file = written(Part(url="https://files.example/x", media_type="image/png")).file
    assert (file.file_with_uri, file.mime_type) == ("https://files.example/x", "image/png")


def test_what_a_part_of_0_3_lacks_is_in_its_metadata() -> None:
    text = written(Part(text="# x", media_type="text/markdown"))
    assert text.metadata["mimeType"] == "text/markdown"
    data = written(Part(data=[1, 2]))
    assert list(data.data.data["value"]) == [1, 2]
    assert data.metadata["data_part_compat"] is True


def test_references_to_other_tasks_are_written() -> None:
    message = Message(
        message_id="m", role=Role.AGENT, parts=(Part(text="x"),), reference_task_ids=("t-0",)
    )
    sent = proto_of("SendMessageResponse", SEND, message, ENCODER)
    assert list(sent.msg.reference_task_ids) == ["t-0"]
    assert answered(SEND, message) == message


def frames_of(response: StreamResponse) -> list[Proto]:
    frame = message_class("a2a.v1.StreamResponse")
    return [frame.FromString(encode_frame(data)) for data in ENCODER.payloads(response)]


@pytest.mark.parametrize("state", TaskState)
def test_a_task_that_has_stopped_is_followed_by_a_last_status(state: TaskState) -> None:
    task = Task(id="t", context_id="c", status=TaskStatus(state=state))
    first, *rest = frames_of(StreamResponse(task=task))
    assert first.task.id == "t"
    if state.is_terminal or state.is_interrupted:
        (last,) = rest
        assert last.status_update.final
        assert last.status_update.status.state == first.task.status.state
        assert (last.status_update.task_id, last.status_update.context_id) == ("t", "c")
    else:
        assert rest == []


# --- what peers write ---------------------------------------------------------------------------


def payload(name: str) -> Proto:
    return message_class(f"a2a.v1.{name}")()


def read_part(part: Proto) -> Part:
    sent = payload("SendMessageResponse")
    sent.msg.message_id = "m"
    sent.msg.content.append(part)
    answer = decode_result(SEND, sent.SerializeToString(), Decoder(None))
    assert isinstance(answer, Message)
    return answer.parts[0]


@pytest.mark.parametrize(
    ("data", "media_type", "content"),
    [
        # Base64 text, from the SDKs of Python, Java and Go.
        (b"AAEC/w==", "application/pdf", b"\x00\x01\x02\xff"),
        (b"aGVsbG8=", "text/plain", b"hello"),
        # The content itself, from the SDK of JavaScript.
        (b"\x00\x01\x02\xff", "application/pdf", b"\x00\x01\x02\xff"),
        (b"hello, world", "text/plain", b"hello, world"),
    ],
)
def test_file_content_is_read_however_it_comes(
    data: bytes, media_type: str, content: bytes
) -> None:
    part = payload("Part")
    part.file.file_with_bytes = data
    part.file.mime_type = media_type
    part.file.name = "f"
    assert read_part(part) == Part(raw=content, media_type=media_type, filename="f")


def test_data_without_an_object_is_an_empty_one() -> None:
    part = payload("Part")
    part.data.SetInParent()
    assert read_part(part) == Part(data={})


def test_numbers_in_data_are_integers_where_they_can_be() -> None:
    part = payload("Part")
    part.data.data["n"] = 3
    read = read_part(part).data
    assert read == {"n": 3}
    assert repr(read) == "{'n': 3}"


def test_a_message_without_id_and_role_is_the_agents() -> None:
    sent = payload("SendMessageResponse")
    sent.msg.content.add().text = "hi"
    assert decode_result(SEND, sent.SerializeToString(), DECODER) == Message(
        message_id="", role=Role.AGENT, parts=(Part(text="hi"),)
    )


def refusal(operation: Operation, message: Proto) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        decode_result(operation, message.SerializeToString(), DECODER)
    (violation,) = caught.value.violations
    return violation


def test_what_an_answer_lacks_is_named() -> None:
    task = payload("Task")
    assert refusal(Operation.GET_TASK, task) == FieldViolation("id", "is required")
    task.id = "t"
    assert refusal(Operation.GET_TASK, task) == FieldViolation("status", "is required")
    task.status.state = 3
    task.artifacts.add().artifact_id = "a"
    assert refusal(Operation.GET_TASK, task).field == "artifacts[0].parts"
    task.artifacts[0].parts.add()
    assert refusal(Operation.GET_TASK, task).field == "artifacts[0].parts[0]"


def test_an_empty_answer_to_a_send_is_refused() -> None:
    assert refusal(SEND, payload("SendMessageResponse")).description.startswith("needs exactly")


@pytest.mark.parametrize("operation", Operation)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(operation: Operation, data: bytes) -> None:
    with suppress(A2AError):
        decode_result(operation, data, DECODER)
    with suppress(A2AError):
        decode_event(data, DECODER)
