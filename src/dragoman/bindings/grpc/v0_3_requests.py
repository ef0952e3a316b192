"""The requests of 0.3: their messages, and the resource names in them.

ProtoJSON has the ids of a request in its path, the messages have them in ``name`` and ``parent``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dragoman.bindings.grpc.forms import StructForm
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.requests import read_request, write_request
from dragoman.dialects.v0_3_proto.resources import (
    config_name,
    parse_config_name,
    parse_task_name,
    task_name,
)
from dragoman.errors import InvalidParamsError
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.v0_3_proto.decode import Decoder
    from dragoman.dialects.v0_3_proto.encode import Encoder
    from dragoman.dialects.v0_3_proto.requests import Body
    from dragoman.model.operations import Request

__all__ = ("decode_request", "encode_request")


def _form(message: str, kind: type[Body]) -> StructForm[Body]:
    return StructForm(f"a2a.v1.{message}", kind)


_SEND: Final = _form("SendMessageRequest", wire.SendMessageRequest)
_FORMS: Final[Mapping[Operation, StructForm[Body]]] = {
    Operation.SEND_MESSAGE: _SEND,
    Operation.SEND_STREAMING_MESSAGE: _SEND,
    Operation.GET_TASK: _form("GetTaskRequest", wire.TaskRequest),
    Operation.LIST_TASKS: _form("ListTasksRequest", wire.ListTasksRequest),
    Operation.CANCEL_TASK: _form("CancelTaskRequest", wire.TaskRequest),
    Operation.SUBSCRIBE_TO_TASK: _form("TaskSubscriptionRequest", wire.TaskRequest),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: _form(
        "CreateTaskPushNotificationConfigRequest", wire.CreateConfigRequest
    ),
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: _form(
        "GetTaskPushNotificationConfigRequest", wire.ConfigRequest
    ),
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: _form(
        "ListTaskPushNotificationConfigRequest", wire.ListConfigsRequest
    ),
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: _form(
        "DeleteTaskPushNotificationConfigRequest", wire.ConfigRequest
    ),
    Operation.GET_EXTENDED_AGENT_CARD: _form("GetAgentCardRequest", wire.GetCardRequest),
}


def decode_request(operation: Operation, data: bytes, values: Decoder) -> Request:
    """Read a request.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none of this operation.
    """
    body = _FORMS[operation].decode(data)
    if not isinstance(body, wire.SendMessageRequest):
        _check_name(body)
    return read_request(operation, body, values)


def _check_name(body: Body) -> None:
    """Check the resource name, which the ProtoJSON reader would call by the name in its path."""
    match body:
        case wire.TaskRequest() if not parse_task_name(body.name or ""):
            raise InvalidParamsError.of("name", "must be tasks/{id}")
        case wire.ListConfigsRequest() if not parse_task_name(body.parent or ""):
            raise InvalidParamsError.of("parent", "must be tasks/{id}")
        case wire.CreateConfigRequest() if not parse_task_name(body.parent or ""):
            raise InvalidParamsError.of("parent", "must be tasks/{id}")
        case wire.ConfigRequest() if not parse_config_name(body.name or "")[0]:
            expected = "must be tasks/{id}/pushNotificationConfigs/{id}"
            raise InvalidParamsError.of("name", expected)
        case _:
            pass


def encode_request(operation: Operation, request: Request, values: Encoder) -> bytes:
    """Write a request."""
    return _FORMS[operation].encode(_named(write_request(request, values)))


def _named(body: Body) -> Body:
    """Move the ids from where the path has them to the resource names."""
    match body:
        case wire.TaskRequest():
            return replace(body, id=None, name=task_name(body.id or ""))
        case wire.ListConfigsRequest():
            return replace(body, task_id=None, parent=task_name(body.task_id or ""))
        case wire.CreateConfigRequest():
            return replace(body, task_id=None)
        case wire.ConfigRequest():
            name = config_name(body.task_id or "", body.id or "")
            return replace(body, task_id=None, id=None, name=name)
        case _:
            return body
