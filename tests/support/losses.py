"""What is left of a value of the model that went through a wire form, by the listed losses alone.

A round trip forgives nothing but these: each has the name of a row of ``dragoman.dialects.losses``.
Rows that the strategies never come across are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from dragoman.dialects.legacy.file_bytes import read_file_bytes, write_file_bytes
from dragoman.dialects.legacy.tolerant import media_type
from dragoman.dialects.losses import LOSSES, Form
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentSkill
from dragoman.model.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.security import (
    AuthorizationCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    SecurityScheme,
)
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

__all__ = ("FORGIVEN", "left")

K = TypeVar("K")
S = TypeVar("S", bound=Struct)

Change: TypeAlias = Callable[[object], object]
"""Takes a Struct of the model or a value of free JSON, returns what is left of it."""


def left(value: S, form: Form) -> S:
    """Return what comes back of a value that was written in a form and read again."""
    found: object = value
    for loss in LOSSES:
        if form in loss.forms:
            for change in FORGIVEN.get(loss.name, ()):
                found = _everywhere(found, change)
    return cast("S", found)


def _everywhere(value: object, change: Change) -> object:
    """Apply a change to a value and to all that it holds, the innermost first."""
    if isinstance(value, Struct):
        members = {n: _everywhere(getattr(value, n), change) for n in value.__struct_fields__}
        return change(replace(value, **members))
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {name: _everywhere(item, change) for name, item in items}
    if isinstance(value, tuple):
        return tuple(_everywhere(item, change) for item in cast("tuple[object, ...]", value))
    if isinstance(value, list):
        return [_everywhere(item, change) for item in cast("list[object]", value)]
    return change(value)


def of(kind: type[K], change: Callable[[K], object]) -> Change:
    """Return a change that leaves everything alone but values of one kind."""
    return lambda value: change(value) if isinstance(value, kind) else value


# --- what takes more than a line ----------------------------------------------------------------


def without_tenant(value: object) -> object:
    return replace(value, tenant="") if isinstance(value, Request) else value


def with_configuration(request: SendMessageRequest) -> SendMessageRequest:
    return replace(request, configuration=request.configuration or SendMessageConfiguration())


def webhook_without_task(configuration: SendMessageConfiguration) -> SendMessageConfiguration:
    config = configuration.task_push_notification_config
    return replace(
        configuration, task_push_notification_config=config and replace(config, task_id="")
    )


def message_within(message: Message, task_id: str, context_id: str) -> Message:
    return replace(message, task_id=task_id, context_id=context_id)


def status_within(status: TaskStatus, task_id: str, context_id: str) -> TaskStatus:
    message = status.message
    return replace(status, message=message and message_within(message, task_id, context_id))


def without_id(message: Message) -> Message:
    return replace(message, message_id="")


def messages_within(task: Task) -> Task:
    ids = task.id, task.context_id
    history = tuple(message_within(message, *ids) for message in task.history)
    return replace(task, status=status_within(task.status, *ids), history=history)


def artifacts_by_number(task: Task) -> Task:
    numbered = enumerate(task.artifacts)
    return replace(
        task, artifacts=tuple(replace(item, artifact_id=f"idx-{n}") for n, item in numbered)
    )


def part_without_empty_metadata(part: Part) -> Part:
    is_wrapped = part.kind == "data" and not isinstance(part.data, dict)
    is_described = part.kind in ("text", "data") and bool(part.media_type or part.filename)
    return replace(part, metadata=part.metadata or None) if is_wrapped or is_described else part


def task_without_mark(task: Task) -> Task:
    is_marked = task.status.state is TaskState.REJECTED
    return replace(task, metadata=task.metadata or None) if is_marked else task


def event_without_mark(event: TaskStatusUpdateEvent) -> TaskStatusUpdateEvent:
    is_marked = event.status.state is TaskState.REJECTED
    return replace(event, metadata=event.metadata or None) if is_marked else event


def part_without_clash(part: Part) -> Part:
    metadata = dict(part.metadata or {})
    has_mark = bool(part.media_type or part.filename) or metadata.get("a2a.v1") is True
    if part.kind not in ("text", "data") or not has_mark:
        return part
    metadata.pop("a2a.v1", None)
    own = {"mimeType": part.media_type, "filename": part.filename}
    for name, value in own.items():
        found = metadata.get(name)
        if value or isinstance(found, str):
            metadata.pop(name, None)
            own[name] = value or cast("str", found)
    return replace(
        part, media_type=own["mimeType"], filename=own["filename"], metadata=metadata or None
    )


def skill_with_media_types(skill: AgentSkill) -> AgentSkill:
    return replace(
        skill,
        input_modes=media_types(skill.input_modes),
        output_modes=media_types(skill.output_modes),
    )


def card_with_media_types(card: AgentCard) -> AgentCard:
    return replace(
        card,
        default_input_modes=media_types(card.default_input_modes),
        default_output_modes=media_types(card.default_output_modes),
    )


def media_types(modes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(media_type, modes))


def guessed(part: Part) -> Part:
    if part.raw is None:
        return part
    return replace(part, raw=read_file_bytes(write_file_bytes(part.raw), part.media_type))


def bearer_for_device_code(scheme: SecurityScheme) -> SecurityScheme:
    oauth = scheme.oauth2_security_scheme
    if oauth is None or oauth.flows.device_code is None:
        return scheme
    bearer = HTTPAuthSecurityScheme(description=oauth.description, scheme="Bearer")
    return SecurityScheme(http_auth_security_scheme=bearer)


def card_with_modes(card: AgentCard) -> AgentCard:
    return replace(
        card,
        default_input_modes=card.default_input_modes or ("text/plain",),
        default_output_modes=card.default_output_modes or ("text/plain",),
    )


def capabilities_without_false(found: AgentCapabilities) -> AgentCapabilities:
    return replace(
        found,
        streaming=found.streaming or None,
        push_notifications=found.push_notifications or None,
        extended_agent_card=found.extended_agent_card or None,
    )


def card_without_empty_texts(card: AgentCard) -> AgentCard:
    return replace(
        card, documentation_url=card.documentation_url or None, icon_url=card.icon_url or None
    )


def send_with_metadata(request: SendMessageRequest) -> SendMessageRequest:
    joined = {**(request.message.metadata or {}), **(request.metadata or {})}
    return replace(request, message=replace(request.message, metadata=joined))


def send_without_empty_metadata(request: SendMessageRequest) -> SendMessageRequest:
    message = request.message
    return replace(
        request,
        message=replace(message, metadata=message.metadata or None),
        metadata=request.metadata or None,
    )


def task_with_metadata_of_its_beginning(task: Task) -> Task:
    first = task.history[0].metadata if task.history else None
    return replace(task, metadata={**(first or {}), **(task.metadata or {})})


_SHOWN_AS: Final = {
    **{state: state for state in TaskState},
    TaskState.REJECTED: TaskState.FAILED,
}


# --- the rows -----------------------------------------------------------------------------------

FORGIVEN: Final[Mapping[str, tuple[Change, ...]]] = {
    "tenant": (without_tenant,),
    "absent-configuration": (of(SendMessageRequest, with_configuration),),
    "return-immediately": (
        of(SendMessageConfiguration, lambda asked: replace(asked, return_immediately=False)),
    ),
    "send-configuration": (of(SendMessageRequest, lambda it: replace(it, configuration=None)),),
    "send-metadata": (
        of(SendMessageRequest, send_with_metadata),
        of(Task, task_with_metadata_of_its_beginning),
    ),
    "absent-when-empty": (
        of(SendMessageRequest, send_without_empty_metadata),
        of(CancelTaskRequest, lambda it: replace(it, metadata=it.metadata or None)),
        of(Task, lambda it: replace(it, metadata=it.metadata or None)),
    ),
    "history": (
        of(Task, lambda it: replace(it, history=())),
        of(GetTaskRequest, lambda it: replace(it, history_length=None)),
    ),
    "states-without-a-word": (of(TaskState, lambda it: _SHOWN_AS.get(it, TaskState.WORKING)),),
    "history-length-zero": (
        of(GetTaskRequest, lambda it: replace(it, history_length=it.history_length or None)),
        of(ListTasksRequest, lambda it: replace(it, history_length=it.history_length or None)),
        of(
            SendMessageConfiguration,
            lambda it: replace(it, history_length=it.history_length or None),
        ),
    ),
    "history-length-unset": (
        of(GetTaskRequest, lambda it: replace(it, history_length=it.history_length or 0)),
        of(SendMessageConfiguration, lambda it: replace(it, history_length=it.history_length or 0)),
    ),
    "include-artifacts-false": (
        of(
            ListTasksRequest, lambda it: replace(it, include_artifacts=it.include_artifacts or None)
        ),
    ),
    "cancel-metadata": (of(CancelTaskRequest, lambda it: replace(it, metadata=None)),),
    "mode-words": (
        of(
            SendMessageConfiguration,
            lambda it: replace(it, accepted_output_modes=media_types(it.accepted_output_modes)),
        ),
        of(AgentCard, card_with_media_types),
        of(AgentSkill, skill_with_media_types),
    ),
    "page-size": (of(ListTasksResponse, lambda it: replace(it, page_size=len(it.tasks))),),
    "push-config-task-in-send": (of(SendMessageConfiguration, webhook_without_task),),
    "push-config-id": (
        of(TaskPushNotificationConfig, lambda it: replace(it, id="")),
        of(GetTaskPushNotificationConfigRequest, lambda it: replace(it, id=it.task_id)),
    ),
    "absent-push-config-id": (
        of(TaskPushNotificationConfig, lambda it: replace(it, id=it.id or it.task_id)),
    ),
    "push-config-paging": (
        of(
            ListTaskPushNotificationConfigsRequest,
            lambda it: replace(it, page_size=0, page_token=""),
        ),
        of(ListTaskPushNotificationConfigsResponse, lambda it: replace(it, next_page_token="")),
    ),
    "message-id": (of(Message, lambda it: replace(it, message_id="")),),
    "message-id-in-answers": (
        of(TaskStatus, lambda it: replace(it, message=it.message and without_id(it.message))),
    ),
    "message-extensions": (of(Message, lambda it: replace(it, extensions=())),),
    "reference-task-ids": (of(Message, lambda it: replace(it, reference_task_ids=())),),
    "message-context": (
        of(Task, messages_within),
        of(
            TaskStatusUpdateEvent,
            lambda it: replace(it, status=status_within(it.status, it.task_id, it.task_id)),
        ),
        # The name of the task is the alias of the reading.
        of(SendMessageRequest, lambda it: replace(it, message=replace(it.message, task_id=""))),
    ),
    "empty-context-id": (of(Task, lambda it: replace(it, context_id=it.context_id or it.id)),),
    "auth-required": (
        of(TaskState, lambda it: TaskState.INPUT_REQUIRED if it is TaskState.AUTH_REQUIRED else it),
    ),
    "rejected": (of(Task, task_without_mark), of(TaskStatusUpdateEvent, event_without_mark)),
    "artifact-id": (
        of(Task, artifacts_by_number),
        of(
            TaskArtifactUpdateEvent,
            lambda it: replace(it, artifact=replace(it.artifact, artifact_id="idx-0")),
        ),
    ),
    "artifact-extensions": (of(Artifact, lambda it: replace(it, extensions=())),),
    "context-of-events": (
        of(TaskStatusUpdateEvent, lambda it: replace(it, context_id=it.task_id)),
        of(TaskArtifactUpdateEvent, lambda it: replace(it, context_id=it.task_id)),
    ),
    "empty-metadata": (of(Part, part_without_empty_metadata),),
    "metadata-clash": (of(Part, part_without_clash),),
    "file-bytes-guess": (of(Part, guessed),),
    "large-integers": (of(int, lambda it: float(it) if abs(it) > 2**53 else it),),
    "card-signatures": (of(AgentCard, lambda it: replace(it, signatures=())),),
    "card-extensions": (of(AgentCapabilities, lambda it: replace(it, extensions=())),),
    "extended-card": (of(AgentCapabilities, lambda it: replace(it, extended_agent_card=None)),),
    "icon-url": (of(AgentCard, lambda it: replace(it, icon_url=None)),),
    "skill-security": (of(AgentSkill, lambda it: replace(it, security_requirements=())),),
    "oauth-device-code": (of(SecurityScheme, bearer_for_device_code),),
    "oauth-pkce-required": (
        of(AuthorizationCodeOAuthFlow, lambda it: replace(it, pkce_required=False)),
    ),
    "empty-skill-tags": (of(AgentSkill, lambda it: replace(it, tags=it.tags or (it.id,))),),
    "empty-card-modes": (of(AgentCard, card_with_modes),),
    "absent-or-false": (
        of(AgentCapabilities, capabilities_without_false),
        of(AgentCard, card_without_empty_texts),
    ),
}
"""By the name of the loss: what it does to a value, and to each value within it."""
