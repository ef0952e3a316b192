"""The messages of the 0.3 proto as JSON (0.x reference, 4.4), for reading and for writing.

Fields have their proto names, members their JSON names. Written are only the members of the proto
as the SDKs of 0.3 know it, because some of them refuse a message with any other; whatever is at its
zero value is left out by giving None. Read is more: ``null``, an enum by name or number, a number
as text, and more names than these (``spelling``). What a value must be is checked in ``decode``.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from dragoman.model.base import JsonObject
from dragoman.model.messages import Role
from dragoman.model.tasks import TaskState

__all__ = (
    "ROLES",
    "STATES",
    "Artifact",
    "AuthenticationInfo",
    "ConfigRequest",
    "CreateConfigRequest",
    "Empty",
    "EnumValue",
    "GetCardRequest",
    "ListConfigsRequest",
    "ListConfigsResponse",
    "ListTasksRequest",
    "ListTasksResponse",
    "Message",
    "Number",
    "Part",
    "PushNotificationConfig",
    "SendMessageConfiguration",
    "SendMessageRequest",
    "StreamResponse",
    "Task",
    "TaskArtifactUpdateEvent",
    "TaskPushNotificationConfig",
    "TaskRequest",
    "TaskStatus",
    "TaskStatusUpdateEvent",
    "Wire",
)

EnumValue: TypeAlias = str | int
Number: TypeAlias = int | float | str

ROLES: Final = {Role.USER: "ROLE_USER", Role.AGENT: "ROLE_AGENT"}
STATES: Final = {
    state: "TASK_STATE_CANCELLED" if state is TaskState.CANCELED else state.value
    for state in TaskState
}


class Wire(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    gc=False,
):
    """A message of the proto. None is absent."""


# --- content ------------------------------------------------------------------------------------


class Part(Wire, frozen=True, kw_only=True):
    """One of ``text``, ``file`` and ``data``; the latter holds the object in a member ``data``.

    ``file`` is plain JSON, because no part of 0.x is spelled in more ways.
    """

    text: str | None = None
    file: JsonObject | None = None
    data: JsonObject | None = None
    metadata: JsonObject | None = None


class Message(Wire, frozen=True, kw_only=True):
    """A message. ``parts`` is the later name of ``content``, and is only read.

    ``reference_task_ids`` too is only read: one SDK of 0.3 writes it, others refuse it.
    """

    message_id: str | None = None
    context_id: str | None = None
    task_id: str | None = None
    role: EnumValue | None = None
    content: tuple[Part, ...] | None = None
    parts: tuple[Part, ...] | None = None
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] | None = None
    reference_task_ids: tuple[str, ...] | None = None


class Artifact(Wire, frozen=True, kw_only=True):
    """A task result, or a chunk of one."""

    artifact_id: str | None = None
    name: str | None = None
    description: str | None = None
    parts: tuple[Part, ...] | None = None
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] | None = None


class TaskStatus(Wire, frozen=True, kw_only=True):
    """A status."""

    state: EnumValue | None = None
    message: Message | None = None
    timestamp: str | None = None


class Task(Wire, frozen=True, kw_only=True):
    """A task."""

    id: str | None = None
    context_id: str | None = None
    status: TaskStatus | None = None
    artifacts: tuple[Artifact, ...] | None = None
    history: tuple[Message, ...] | None = None
    metadata: JsonObject | None = None


class TaskStatusUpdateEvent(Wire, frozen=True, kw_only=True):
    """The status of a task changed; ``final`` ends the stream."""

    task_id: str | None = None
    context_id: str | None = None
    status: TaskStatus | None = None
    final: bool | None = None
    metadata: JsonObject | None = None


class TaskArtifactUpdateEvent(Wire, frozen=True, kw_only=True):
    """An artifact was created or extended."""

    task_id: str | None = None
    context_id: str | None = None
    artifact: Artifact | None = None
    append: bool | None = None
    last_chunk: bool | None = None
    metadata: JsonObject | None = None


# --- webhooks -----------------------------------------------------------------------------------


class AuthenticationInfo(Wire, frozen=True, kw_only=True):
    """How the agent authenticates to a webhook."""

    schemes: tuple[str, ...] | None = None
    credentials: str | None = None


class PushNotificationConfig(Wire, frozen=True, kw_only=True):
    """A webhook, without the task it belongs to."""

    id: str | None = None
    url: str | None = None
    token: str | None = None
    authentication: AuthenticationInfo | None = None


class TaskPushNotificationConfig(PushNotificationConfig, frozen=True, kw_only=True):
    """A webhook under its resource name. The members of the webhook beside it are only read."""

    name: str | None = None
    task_id: str | None = None
    push_notification_config: PushNotificationConfig | None = None


# --- requests -----------------------------------------------------------------------------------


class SendMessageConfiguration(Wire, frozen=True, kw_only=True):
    """Options of a send."""

    accepted_output_modes: tuple[str, ...] | None = None
    push_notification: PushNotificationConfig | None = None
    history_length: Number | None = None
    blocking: bool | None = None


class SendMessageRequest(Wire, frozen=True, kw_only=True):
    """A send."""

    message: Message | None = None
    configuration: SendMessageConfiguration | None = None
    metadata: JsonObject | None = None


class TaskRequest(Wire, frozen=True, kw_only=True):
    """Request of GetTask, CancelTask and TaskSubscription: ``id`` from the path, or ``name``."""

    id: str | None = None
    name: str | None = None
    history_length: Number | None = None
    metadata: JsonObject | None = None


class ListTasksRequest(Wire, frozen=True, kw_only=True):
    """Request of the listing that late peers of 0.3 have."""

    context_id: str | None = None
    status: EnumValue | None = None
    page_size: Number | None = None
    page_token: str | None = None
    history_length: Number | None = None
    last_updated_time: str | None = None
    include_artifacts: bool | None = None


class CreateConfigRequest(TaskPushNotificationConfig, frozen=True, kw_only=True):
    """The whole request, or only what its member ``config`` should hold."""

    parent: str | None = None
    config_id: str | None = None
    config: TaskPushNotificationConfig | None = None


class ConfigRequest(Wire, frozen=True, kw_only=True):
    """Request that names a webhook: by the ids of the path, or by ``name``."""

    task_id: str | None = None
    id: str | None = None
    name: str | None = None


class ListConfigsRequest(Wire, frozen=True, kw_only=True):
    """Request for all webhooks of a task: ``task_id`` from the path, or ``parent``."""

    task_id: str | None = None
    parent: str | None = None
    page_size: Number | None = None
    page_token: str | None = None


class GetCardRequest(Wire, frozen=True, kw_only=True):
    """Request of the extended card."""


# --- answers ------------------------------------------------------------------------------------


class StreamResponse(Wire, frozen=True, kw_only=True):
    """One frame of a stream, or with ``task`` or ``message`` the answer of a send."""

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdateEvent | None = None
    artifact_update: TaskArtifactUpdateEvent | None = None


class ListTasksResponse(Wire, frozen=True, kw_only=True):
    """One page of tasks."""

    tasks: tuple[Task, ...] | None = None
    next_page_token: str | None = None
    total_size: Number | None = None


class ListConfigsResponse(Wire, frozen=True, kw_only=True):
    """The webhooks of a task."""

    configs: tuple[TaskPushNotificationConfig, ...] | None = None
    next_page_token: str | None = None


class Empty(Wire, frozen=True, kw_only=True):
    """The answer to a deletion."""
