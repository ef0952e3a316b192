from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from google.protobuf import json_format

from dragoman._proto.messages import message_class
from dragoman.conformance.lines import NoAnswerError, RpcStatusError
from dragoman.conformance.over_grpc import GrpcInterface


class Line:
    """Yields messages, then fails if it is told to; remembers what was sent."""

    def __init__(self, *messages: bytes, problem: Exception | None = None) -> None:
        self._messages = messages
        self._problem = problem
        self.sent: list[tuple[str, bytes, Mapping[str, str]]] = []

    async def call(
        self, path: str, message: bytes, metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        self.sent.append((path, message, metadata))
        for each in self._messages:
            yield each
        if self._problem is not None:
            raise self._problem


def encoded(name: str, value: dict[str, Any]) -> bytes:
    message = message_class(f"lf.a2a.v1.{name}")()
    json_format.ParseDict(value, message)
    return message.SerializeToString()


def trailer(reason: str) -> bytes:
    info: Any = message_class("google.rpc.ErrorInfo")()
    info.reason, info.domain = reason, "a2a-protocol.org"
    status: Any = message_class("google.rpc.Status")()
    # What the checker does not know does not keep it from what it knows.
    status.details.add(type_url="type.googleapis.com/made.Up", value=b"\x00")
    status.details.add(
        type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString()
    )
    return status.SerializeToString()


TASK = {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}


async def test_a_call_says_version_and_tenant() -> None:
    line = Line(encoded("Task", TASK))
    answer = await GrpcInterface(line, version="1.0", tenant="me").call("GetTask", {"id": "t"})
    assert answer.result == TASK
    (path, message, metadata) = line.sent[0]
    assert path == "/lf.a2a.v1.A2AService/GetTask"
    assert metadata == {"a2a-version": "1.0"}
    assert message == encoded("GetTaskRequest", {"tenant": "me", "id": "t"})


async def test_what_protobuf_leaves_out_of_a_page_is_there() -> None:
    interface = GrpcInterface(Line(b""), version="1.0")
    answer = await interface.call("ListTasks", {}, version="99.0")
    assert answer.result == {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0}


async def test_an_error_is_known_by_its_reason() -> None:
    problem = RpcStatusError(5, "No.", trailer("TASK_NOT_FOUND"))
    answer = await GrpcInterface(Line(problem=problem), version="1.0").call("GetTask", {"id": "t"})
    assert answer.refusal is not None
    assert (answer.refusal.name, answer.refusal.code) == ("TaskNotFoundError", 5)


@pytest.mark.parametrize("details", [None, b"\xff\xff", b""])
async def test_without_details_an_error_has_no_name(details: bytes | None) -> None:
    problem = RpcStatusError(5, "No.", details)
    answer = await GrpcInterface(Line(problem=problem), version="1.0").call("GetTask", {"id": "t"})
    assert answer.refusal is not None
    assert answer.refusal.name == ""


@pytest.mark.parametrize("count", [0, 2])
async def test_a_call_has_one_answer(count: int) -> None:
    line = Line(*[encoded("Task", TASK)] * count)
    with pytest.raises(NoAnswerError, match=f"ended with {count} messages"):
        await GrpcInterface(line, version="1.0").call("GetTask", {"id": "t"})


async def test_a_stream_is_messages_until_the_end() -> None:
    line = Line(encoded("StreamResponse", {"task": TASK}), b"\xff")
    interface = GrpcInterface(line, version="1.0")
    first, second = [answer async for answer in interface.stream("SubscribeToTask", {"id": "t"})]
    assert first.result == {"task": TASK}
    assert second.faults == ("the bytes are no lf.a2a.v1.StreamResponse",)


async def test_mistakes_are_made_on_purpose() -> None:
    line = Line(problem=RpcStatusError(12, "what?", None))
    unknown = await GrpcInterface(line, version="1.0").call_unknown()
    assert unknown.refusal is not None
    assert unknown.refusal.code == 12
    taken = await GrpcInterface(Line(b""), version="1.0").send_garbage()
    assert taken.refusal is None
    assert line.sent[0][0] == "/lf.a2a.v1.A2AService/NoSuchMethod"
