"""The 1.0 dialect.

Tasks and events pass through as the JSON they are stored in; nothing is decoded on the way out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, assert_never, cast

import msgspec
import msgspec.inspect as shapes

from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.v1_0 import errors
from dragoman.dialects.v1_0.card import encode_card
from dragoman.dialects.v1_0.decode import Form
from dragoman.dialects.v1_0.methods import METHODS
from dragoman.errors import InvalidParamsError
from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import (
    REQUEST_TYPES,
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Operation,
    SendMessageResponse,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from dragoman.model.timestamps import parse_timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.errors import A2AError
    from dragoman.model.documents import EventDocument
    from dragoman.model.operations import Request

__all__ = ("V1_0", "V1_0_DIALECT", "Frames")

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


def _answer(kind: type[Answer]) -> Form[Answer]:
    return Form(kind, is_answer=True)


_ENCODER: Final = msgspec.json.Encoder()
_FORMS: Final = {operation: Form(kind) for operation, kind in REQUEST_TYPES.items()}
_EVENT: Final = Form(StreamResponse, is_answer=True)
_ANSWERS: Final[dict[Operation, Form[Answer]]] = {
    Operation.SEND_MESSAGE: _answer(SendMessageResponse),
    Operation.GET_TASK: _answer(Task),
    Operation.LIST_TASKS: _answer(ListTasksResponse),
    Operation.CANCEL_TASK: _answer(Task),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: _answer(TaskPushNotificationConfig),
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: _answer(TaskPushNotificationConfig),
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: _answer(ListTaskPushNotificationConfigsResponse),
    Operation.GET_EXTENDED_AGENT_CARD: _answer(AgentCard),
}
_INTEGER: Final = re.compile(r"-?\d{1,10}", re.ASCII)
_BOOLEANS: Final = {"true": True, "false": False}
_BARE_TASK: Final = frozenset({Operation.GET_TASK, Operation.CANCEL_TASK})


class V1_0:  # noqa: N801 - the name of the version
    """A2A 1.0, whose JSON is the model's own."""

    __slots__ = ()

    name: str = "1.0"
    has_final: bool = False
    has_messages: bool = True
    # R-4.3.3-2.
    http: HttpRules = HttpRules(
        notification_headers=(("Content-Type", "application/a2a+json"), ("A2A-Version", "1.0"))
    )

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method name, None if 1.0 has none such."""
        return METHODS.get(method)

    def method(self, operation: Operation) -> str:
        """Return the method name of an operation."""
        return operation.value

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object."""
        return Reading(_checked(_FORMS[operation].decode(params)), self)

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name; an empty text is absent."""
        kinds = _QUERY_KINDS[operation]
        values = {
            name: _from_text(kinds[name], text)
            for name, text in fields.items()
            if text and name in kinds
        }
        return _checked(_FORMS[operation].convert(values))

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        match result:
            case TaskDocument():
                # R-9.4-1: SendMessage wraps what it answers, GetTask and CancelTask do not.
                task = result.json()
                return task if operation in _BARE_TASK else b'{"task":' + task + b"}"
            case Message():
                return b'{"message":' + _ENCODER.encode(result) + b"}"
            case TaskPage():
                return _encode_page(result)
            case AgentCard():
                return encode_card(result)
            case TaskPushNotificationConfig() | ListTaskPushNotificationConfigsResponse() | Empty():
                return _ENCODER.encode(result)
            case _:
                assert_never(result)

    def frame_writer(self) -> Frames:
        """Return what writes the events of a stream: the bytes are ready."""
        return _FRAMES

    def encode_notification(
        self, event: EventDocument, task: TaskDocument, shown_id: str = ""
    ) -> bytes:
        """Write what a webhook is told: the event, as a stream has it."""
        del task, shown_id
        return event.json

    def encode_error(self, problem: A2AError) -> bytes:
        """Write the ``error`` member of a JSON-RPC response."""
        return errors.encode_error(problem)

    def encode_http_error(self, problem: A2AError) -> tuple[int, bytes]:
        """Write an error for HTTP: the status and the body."""
        return errors.encode_http_error(problem)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request as a JSON object."""
        del operation
        return _ENCODER.encode(request)

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        if operation is Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG:
            return Empty()  # The SDKs for Python and JavaScript answer null over JSON-RPC.
        answer = _ANSWERS[operation].decode(data)
        if isinstance(answer, SendMessageResponse):
            return cast("Task | Message", answer.task or answer.message)
        return answer

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        return _EVENT.decode(data)

    def decode_error(self, error: Mapping[str, object]) -> A2AError:
        """Read the ``error`` member of a JSON-RPC response."""
        return errors.decode_error(error)

    def decode_http_error(self, status: int, body: bytes) -> A2AError:
        """Read an error of HTTP."""
        return errors.decode_http_error(status, body)


class Frames:
    """Writes events as they are stored. No frame of 1.0 says that it is the last."""

    __slots__ = ()

    has_ended: bool = False

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frame: the bytes are ready."""
        return (event.json,)


_FRAMES: Final = Frames()

V1_0_DIALECT: Final = V1_0()


def _checked(request: Request) -> Request:
    """Check what a type cannot say."""
    if isinstance(request, ListTasksRequest):
        if request.status_timestamp_after is not None:
            _check_timestamp("statusTimestampAfter", request.status_timestamp_after)
    # not REQUIRED in the proto, because inside SendMessage it stays empty.
    elif isinstance(request, TaskPushNotificationConfig) and not request.task_id:
        raise InvalidParamsError.of("taskId", "is required")
    return request


def _check_timestamp(field: str, text: str) -> None:
    try:
        parse_timestamp(text)
    except ValueError:
        expected = "must be an RFC 3339 time such as 2026-01-31T12:00:00.000Z"
        raise InvalidParamsError.of(field, expected) from None


def _encode_page(page: TaskPage) -> bytes:
    # R-3.1.4-4, Q-21: these four members are always there, and artifacts if they were asked for.
    tasks = b",".join(
        [task.json(keep_empty_artifacts=task.artifacts is not None) for task in page.tasks]
    )
    return b'{"tasks":[%b],"nextPageToken":%b,"pageSize":%d,"totalSize":%d}' % (
        tasks,
        _ENCODER.encode(page.next_page_token),
        page.page_size,
        page.total_size,
    )


def _query_kinds(kind: type[msgspec.Struct]) -> dict[str, type[shapes.Type]]:
    """Return the members of a request that may travel in a query: the scalars (R-11.5-5)."""
    kinds: dict[str, type[shapes.Type]] = {}
    for field in msgspec.structs.fields(kind):
        shape = shapes.type_info(field.type)
        options = shape.types if isinstance(shape, shapes.UnionType) else (shape,)
        for option in options:
            if isinstance(option, _SCALARS):
                kinds[field.encode_name] = type(option)
    return kinds


_SCALARS: Final = (shapes.StrType, shapes.IntType, shapes.BoolType, shapes.EnumType)
_QUERY_KINDS: Final = {operation: _query_kinds(kind) for operation, kind in REQUEST_TYPES.items()}


def _from_text(kind: type[shapes.Type], text: str) -> object:
    """Read a text as the JSON it stands for; the decoder refuses what does not fit."""
    if kind is shapes.BoolType:
        return _BOOLEANS.get(text, text)
    if kind is shapes.EnumType and _INTEGER.fullmatch(text):
        return int(text)
    return text  # a decimal text is one of the forms of an integer
