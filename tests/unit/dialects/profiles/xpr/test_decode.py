import msgspec
import pytest

from dragoman.dialects.profiles.xpr.decode import decode_send, decode_task_request
from dragoman.errors import InvalidParamsError
from dragoman.model.messages import Role
from dragoman.model.operations import CancelTaskRequest, GetTaskRequest, Operation
from dragoman.model.parts import Part

MESSAGE = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}


def written(**params: object) -> bytes:
    return msgspec.json.encode(params)


def test_a_message_is_read_and_its_task_is_an_alias() -> None:
    read = decode_send(written(message=MESSAGE, id="t-1", contextId="c-1"))
    message = read.request.message
    assert (read.alias, message.task_id, message.context_id) == ("t-1", "", "c-1")
    assert (message.message_id, message.role) == ("", Role.USER)
    assert message.parts == (Part(text="hi"),)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "x"}, Part(text="x")),
        ({"type": "data", "data": {"a": 1}}, Part(data={"a": 1})),
        (
            {"type": "file", "file": {"name": "f", "mimeType": "text/plain", "bytes": "aGk="}},
            Part(raw=b"hi", filename="f", media_type="text/plain"),
        ),
        (
            {"type": "file", "file": {"mimeType": "text/plain", "uri": "https://a.example/f"}},
            Part(url="https://a.example/f", media_type="text/plain"),
        ),
        # What the network's own server ignores.
        ({"kind": "text", "text": "x"}, Part(text="x")),
    ],
)
def test_parts_are_read(part: dict[str, object], expected: Part) -> None:
    read = decode_send(written(message={"role": "user", "parts": [part]}))
    assert read.request.message.parts == (expected,)


def test_metadata_stays_with_the_task_and_accounts_do_not() -> None:
    accounts = {"xpr:callerAccount": "alice", "xpr:targetAccount": "bob"}
    read = decode_send(written(message=MESSAGE, metadata={"xpr:jobId": 42}, **accounts))
    assert read.request.message.metadata == {"xpr:jobId": 42}
    assert read.request.metadata == {"xpr:jobId": 42, **accounts}


@pytest.mark.parametrize("message", [None, "hi", [], {}, {"role": "user"}, {"parts": []}])
def test_a_message_without_parts_is_refused(message: object) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        decode_send(written(message=message))
    assert str(caught.value) == "Invalid params: message with parts is required"
    assert caught.value.violations[0].field == "message"


def test_a_task_is_named_by_its_id() -> None:
    assert decode_task_request(Operation.GET_TASK, written(id="t")) == (GetTaskRequest(id="t"), "t")
    read, _ = decode_task_request(Operation.CANCEL_TASK, written(id="t", metadata={"a": 1}))
    assert read == CancelTaskRequest(id="t", metadata={"a": 1})


@pytest.mark.parametrize("params", [{}, {"id": ""}, {"id": None}, {"taskId": "t"}])
def test_a_request_without_an_id_is_refused(params: dict[str, object]) -> None:
    with pytest.raises(InvalidParamsError, match="Invalid params: id is required"):
        decode_task_request(Operation.GET_TASK, written(**params))
