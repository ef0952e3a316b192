import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from dragoman.dialects.xpr.decode import decode_send
from dragoman.dialects.xpr.requests import encode_request
from dragoman.errors import UnsupportedOperationError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from tests.losses import left
from tests.strategies import send_message_requests

MESSAGE = Message(
    message_id="m", role=Role.USER, task_id="t", context_id="c", parts=(Part(text="hi"),)
)


def test_a_send_names_task_context_and_accounts_in_its_params() -> None:
    told = {"xpr:callerAccount": "alice", "xpr:targetAccount": "bob", "xpr:jobId": 0}
    request = SendMessageRequest(message=MESSAGE, metadata={**told})
    assert msgspec.json.decode(encode_request(request)) == {
        "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        "id": "t",
        "contextId": "c",
        "xpr:callerAccount": "alice",
        "xpr:targetAccount": "bob",
        "metadata": {"xpr:jobId": 0},
    }


def test_tasks_are_named() -> None:
    assert encode_request(GetTaskRequest(id="t", history_length=3)) == b'{"id":"t"}'
    request = CancelTaskRequest(id="t", metadata={"a": 1})
    assert encode_request(request) == b'{"id":"t","metadata":{"a":1}}'


def test_what_the_network_does_not_have_is_refused() -> None:
    with pytest.raises(UnsupportedOperationError):
        encode_request(ListTasksRequest())


@given(send_message_requests)
def test_a_send_reads_back(request: SendMessageRequest) -> None:
    read = decode_send(encode_request(request))
    sent = request.message
    assert read.alias == sent.task_id
    assert (read.request.metadata or {}) == (request.metadata or {})
    # Its ids are lost; the metadata around it has joined its own.
    joined = {**(sent.metadata or {}), **(request.metadata or {})}
    assert replace(read.request.message, metadata=None) == Message(
        message_id="",
        context_id=sent.context_id,
        role=sent.role,
        # What becomes of parts is as in 0.1, whose form they have.
        parts=left(sent, "0.1").parts,
    )
    assert (read.request.message.metadata or {}) == joined
