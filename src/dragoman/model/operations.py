"""The eleven operations: one request and one result value each."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct, UnsetType

from dragoman.model.base import INT32_MAX, Count, JsonObject, NonEmpty, Value
from dragoman.model.messages import Message
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task, TaskState

__all__ = (
    "DEFAULT_PAGE_SIZE",
    "MAX_PAGE_SIZE",
    "REQUEST_TYPES",
    "STREAMING",
    "CancelTaskRequest",
    "DeleteTaskPushNotificationConfigRequest",
    "Empty",
    "GetExtendedAgentCardRequest",
    "GetTaskPushNotificationConfigRequest",
    "GetTaskRequest",
    "ListTaskPushNotificationConfigsRequest",
    "ListTaskPushNotificationConfigsResponse",
    "ListTasksRequest",
    "ListTasksResponse",
    "Operation",
    "Request",
    "SendMessageConfiguration",
    "SendMessageRequest",
    "SendMessageResponse",
    "SubscribeToTaskRequest",
)

_ONE_OF = "needs exactly one of task, message"

DEFAULT_PAGE_SIZE: Final = 50
"""R-3.1.4-12."""

MAX_PAGE_SIZE: Final = 100
"""R-3.1.4-13."""


class Operation(Enum):
    """The operations of A2A 1.0; the value is the name of the rpc."""

    SEND_MESSAGE = "SendMessage"
    SEND_STREAMING_MESSAGE = "SendStreamingMessage"
    GET_TASK = "GetTask"
    LIST_TASKS = "ListTasks"
    CANCEL_TASK = "CancelTask"
    SUBSCRIBE_TO_TASK = "SubscribeToTask"
    CREATE_TASK_PUSH_NOTIFICATION_CONFIG = "CreateTaskPushNotificationConfig"
    GET_TASK_PUSH_NOTIFICATION_CONFIG = "GetTaskPushNotificationConfig"
    LIST_TASK_PUSH_NOTIFICATION_CONFIGS = "ListTaskPushNotificationConfigs"
    DELETE_TASK_PUSH_NOTIFICATION_CONFIG = "DeleteTaskPushNotificationConfig"
    GET_EXTENDED_AGENT_CARD = "GetExtendedAgentCard"

    if not TYPE_CHECKING:  # It changes no type.
        # Members are singletons; Enum's own hash is written in Python and shows in every request.
        __hash__ = object.__hash__


STREAMING: Final = frozenset({Operation.SEND_STREAMING_MESSAGE, Operation.SUBSCRIBE_TO_TASK})
"""Those that answer with a stream, on every binding and in every version."""


class SendMessageConfiguration(Value, frozen=True, kw_only=True):
    """Options of a send. ``history_length`` unset means no limit, 0 means none.

    ``return_immediately`` is UNSET if the caller left it to the server how long to wait (0.x).
    """

    accepted_output_modes: tuple[str, ...] = ()
    task_push_notification_config: TaskPushNotificationConfig | None = None
    history_length: Count | None = None
    return_immediately: bool | UnsetType = False


class SendMessageRequest(Value, frozen=True, kw_only=True):
    """Request of SendMessage and SendStreamingMessage."""

    tenant: str = ""
    message: Message
    configuration: SendMessageConfiguration | None = None
    metadata: JsonObject | None = None


class GetTaskRequest(Value, frozen=True, kw_only=True):
    """Request of GetTask."""

    tenant: str = ""
    id: NonEmpty
    history_length: Count | None = None


class ListTasksRequest(Value, frozen=True, kw_only=True):
    """Request of ListTasks. ``status_timestamp_after`` is RFC 3339 and means "at or after"."""

    tenant: str = ""
    context_id: str = ""
    status: TaskState | None = None
    page_size: Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE)] | None = None
    page_token: str = ""
    history_length: Count | None = None
    status_timestamp_after: str | None = None
    include_artifacts: bool | None = None

    def __post_init__(self) -> None:
        """Refuse to look for what no task can be in (Q-19)."""
        if self.status is not None and not self.status.is_member:
            raise ValueError("status is not one of the known values")


class CancelTaskRequest(Value, frozen=True, kw_only=True):
    """Request of CancelTask."""

    tenant: str = ""
    id: NonEmpty
    metadata: JsonObject | None = None


class SubscribeToTaskRequest(Value, frozen=True, kw_only=True):
    """Request of SubscribeToTask."""

    tenant: str = ""
    id: NonEmpty


class GetTaskPushNotificationConfigRequest(Value, frozen=True, kw_only=True):
    """Request of GetTaskPushNotificationConfig."""

    tenant: str = ""
    task_id: NonEmpty
    id: NonEmpty


class ListTaskPushNotificationConfigsRequest(Value, frozen=True, kw_only=True):
    """Request of ListTaskPushNotificationConfigs; page size 0 is unset."""

    tenant: str = ""
    task_id: NonEmpty
    page_size: Annotated[int, Meta(ge=0, le=INT32_MAX)] = 0
    page_token: str = ""


class DeleteTaskPushNotificationConfigRequest(Value, frozen=True, kw_only=True):
    """Request of DeleteTaskPushNotificationConfig."""

    tenant: str = ""
    task_id: NonEmpty
    id: NonEmpty


class GetExtendedAgentCardRequest(Value, frozen=True, kw_only=True):
    """Request of GetExtendedAgentCard."""

    tenant: str = ""


class Empty(Value, frozen=True, kw_only=True):
    """The result of Delete (google.protobuf.Empty)."""


class SendMessageResponse(Value, frozen=True, kw_only=True):
    """Exactly one member is set (R-3.1.1-5)."""

    task: Task | None = None
    message: Message | None = None

    def __post_init__(self) -> None:
        """Hold the union closed."""
        if (self.task is None) == (self.message is None):
            raise ValueError(_ONE_OF)


class ListTasksResponse(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """One page. All four members are always written (R-3.1.4-4)."""

    tasks: tuple[Task, ...]
    next_page_token: str
    page_size: int
    total_size: int


class ListTaskPushNotificationConfigsResponse(Value, frozen=True, kw_only=True):
    """The webhooks of a task."""

    configs: tuple[TaskPushNotificationConfig, ...] = ()
    next_page_token: str = ""


Request = (
    SendMessageRequest
    | GetTaskRequest
    | ListTasksRequest
    | CancelTaskRequest
    | SubscribeToTaskRequest
    | TaskPushNotificationConfig
    | GetTaskPushNotificationConfigRequest
    | ListTaskPushNotificationConfigsRequest
    | DeleteTaskPushNotificationConfigRequest
    | GetExtendedAgentCardRequest
)

REQUEST_TYPES: Final[dict[Operation, type[Request]]] = {
    Operation.SEND_MESSAGE: SendMessageRequest,
    Operation.SEND_STREAMING_MESSAGE: SendMessageRequest,
    Operation.GET_TASK: GetTaskRequest,
    Operation.LIST_TASKS: ListTasksRequest,
    Operation.CANCEL_TASK: CancelTaskRequest,
    Operation.SUBSCRIBE_TO_TASK: SubscribeToTaskRequest,
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: TaskPushNotificationConfig,
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: GetTaskPushNotificationConfigRequest,
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: ListTaskPushNotificationConfigsRequest,
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: DeleteTaskPushNotificationConfigRequest,
    Operation.GET_EXTENDED_AGENT_CARD: GetExtendedAgentCardRequest,
}
