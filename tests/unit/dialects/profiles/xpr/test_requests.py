import msgspec
import pytest

from dragoman.dialects.profiles.xpr.requests import encode_request
from dragoman.errors import UnsupportedOperationError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
)
from dragoman.model.parts import Part

MESSAGE = Message(
    message_id="m", role=Role.USER, task_id="t", context_id="c", parts=(Part(text="hi"),)
)


def test_a_send_names_task_context_and_accounts_in_its_params() -> None:
    told = {"xpr:callerAccount": "alice", "xpr:targetAccount": "bob", "xpr:jobId": 0}
    request = SendMessageRequest(message=MESSAGE, metadata={**told})
    assert msgspec.json.decode(encode_request(request)) == {
        "message": {
            "role": "user",
            "parts": [{"type": "text", "text": "hi"}],
            "messageId": "m",
        },
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
