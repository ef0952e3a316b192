"""A2A 1.0 over gRPC. The messages have the members of the model, so nothing is translated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never, cast

import msgspec

from dragoman.bindings.grpc.base import GrpcStatus
from dragoman.bindings.grpc.forms import StructForm
from dragoman.bindings.grpc.status import decode_error, encode_trailer
from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.v1_0.answers import answer_reader
from dragoman.errors import InvalidParamsError, spelling_of
from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import (
    REQUEST_TYPES,
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
    SendMessageResponse,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.errors import A2AError
    from dragoman.model.documents import EventDocument
    from dragoman.model.operations import Request

__all__ = ("V1_0_GRPC", "GrpcV1_0")

_PACKAGE: Final = "lf.a2a.v1."
_FORM: Final = "1.0-grpc"
"""What the frames of an event are kept as; the name of the dialect is that of the JSON, too."""

Answer = (
    SendMessageResponse
    | Task
    | ListTasksResponse
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
    | Empty
    | AgentCard
)
"""What stands on the wire for the answer of a unary operation."""

_decode_json: Final = msgspec.json.Decoder().decode


def _form(kind: type[Answer], *, package: str = _PACKAGE) -> StructForm[Answer]:
    return StructForm(package + kind.__name__, kind, answer_reader(kind))


_REQUESTS: Final = {
    operation: StructForm(_PACKAGE + kind.__name__, kind)
    for operation, kind in REQUEST_TYPES.items()
}
_EVENT: Final = StructForm(
    _PACKAGE + "StreamResponse", StreamResponse, answer_reader(StreamResponse)
)
_ANSWERS: Final = {
    Operation.SEND_MESSAGE: _form(SendMessageResponse),
    Operation.GET_TASK: _form(Task),
    Operation.LIST_TASKS: _form(ListTasksResponse),
    Operation.CANCEL_TASK: _form(Task),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: _form(TaskPushNotificationConfig),
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: _form(TaskPushNotificationConfig),
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: _form(ListTaskPushNotificationConfigsResponse),
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: _form(Empty, package="google.protobuf."),
    Operation.GET_EXTENDED_AGENT_CARD: _form(AgentCard),
}
# R-10.1-2: the rpcs are named as the operations are.
_RPCS: Final = {operation.value: operation for operation in Operation}


class GrpcV1_0:  # noqa: N801 - the name of the version
    """A2A 1.0 over gRPC."""

    __slots__ = ()

    name: str = "1.0"
    has_final: bool = False
    has_messages: bool = True
    http: HttpRules = HttpRules()
    service: str = _PACKAGE + "A2AService"

    def variant(self, origin: str) -> GrpcV1_0:
        """Return itself: 1.0 has no variants."""
        del origin
        return self

    @property
    def rpcs(self) -> Mapping[str, Operation]:
        """Return the operations by name of their rpc."""
        return _RPCS

    def rpc(self, operation: Operation) -> str:
        """Return the name to call an operation by."""
        return operation.value

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request."""
        request = _REQUESTS[operation].decode(params)
        # not REQUIRED in the proto, because inside SendMessage it stays empty.
        if isinstance(request, TaskPushNotificationConfig) and not request.task_id:
            raise InvalidParamsError.of("taskId", "is required")
        return Reading(request, self)

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        form = _ANSWERS[operation]
        match result:
            case TaskDocument():
                task = _decode_json(result.json())
                return form.write({"task": task} if operation is Operation.SEND_MESSAGE else task)
            case Message():
                return form.encode(SendMessageResponse(message=result))
            case TaskPage():
                return form.write(_page(result))
            case (
                TaskPushNotificationConfig()
                | ListTaskPushNotificationConfigsResponse()
                | Empty()
                | AgentCard()
            ):
                return form.encode(result)
            case _:
                assert_never(result)

    def frame_writer(self) -> Frames:
        """Return what writes the events of a stream."""
        return _FRAMES

    def encode_status(self, problem: A2AError) -> GrpcStatus:
        """Write an error."""
        code = spelling_of(problem).grpc_code
        return GrpcStatus(code, problem.message, encode_trailer(problem, code, problem.message))

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request."""
        return _REQUESTS[operation].encode(request)

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        answer = _ANSWERS[operation].decode(data)
        if isinstance(answer, SendMessageResponse):
            return cast("Task | Message", answer.task or answer.message)
        return answer

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        return _EVENT.decode(data)

    def decode_status(self, code: int, details: str, trailer: bytes | None) -> A2AError:
        """Read an error."""
        return decode_error(code, details, trailer)


class Frames:
    """Writes each event once for all who read it. No frame of 1.0 says that it is the last."""

    __slots__ = ()

    has_ended: bool = False

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frame."""
        return event.spelled(_FORM, _spell)


_FRAMES: Final = Frames()

V1_0_GRPC: Final = GrpcV1_0()


def _spell(event: EventDocument) -> tuple[bytes, ...]:
    return (_EVENT.write(_decode_json(event.json)),)


def _page(page: TaskPage) -> dict[str, object]:
    return {
        "tasks": [_decode_json(task.json()) for task in page.tasks],
        "nextPageToken": page.next_page_token,
        "pageSize": page.page_size,
        "totalSize": page.total_size,
    }
