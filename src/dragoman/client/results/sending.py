"""What can be said beside the content of a message, and the request that is made of it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypedDict

from msgspec.structs import replace

from dragoman.client.errors import ClientError
from dragoman.client.results.content import parts_of
from dragoman.errors import A2AError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import GetTaskRequest, SendMessageConfiguration, SendMessageRequest

if TYPE_CHECKING:
    from dragoman.client.results.stream import AgentEvent
    from dragoman.model.base import JsonObject
    from dragoman.model.push import TaskPushNotificationConfig
    from dragoman.model.tasks import Task
    from dragoman.service.service import A2AService, Call

__all__ = ("SendOptions", "in_context", "request_of")

_SKILL: Final = "skillId"


class SendOptions(TypedDict, total=False):
    """What can be said beside the content of a message.

    Attributes:
        skill: the skill it is for, told in the message's metadata as Dragoman's agents read it.
        task_id: the task it belongs to; such a task must wait for it, or at least not have ended.
        context_id: the conversation it belongs to.
        reference_task_ids: tasks it speaks of.
        metadata: the metadata of the message.
        request_metadata: the metadata of the request around it.
        message_id: its id; by default a fresh one. Reuse one only to repeat a message.
        accept: the media types that the answer may have.
        history_length: how many messages of its history the task should come with.
        extensions: protocol extensions to activate, beside those of the connection.
        push: a webhook to call when the task changes.
        timeout_seconds: how long to wait for the end; the work goes on all the same.
        on_event: called with each event while it is waited for; may be async.
    """

    skill: str
    task_id: str
    context_id: str
    reference_task_ids: Sequence[str]
    metadata: JsonObject
    request_metadata: JsonObject
    message_id: str
    accept: Sequence[str]
    history_length: int | None
    extensions: Sequence[str]
    push: TaskPushNotificationConfig
    timeout_seconds: float | None
    on_event: Callable[[AgentEvent], object]


def request_of(
    content: Sequence[object],
    options: SendOptions,
    new_id: Callable[[], str],
    *,
    is_awaited: bool = True,
) -> SendMessageRequest:
    """Make the request of a send.

    Raises:
        UsageError: the content cannot be sent.
    """
    metadata = options.get("metadata")
    if skill := options.get("skill"):
        metadata = {**(metadata or {}), _SKILL: skill}
    message = Message(
        message_id=options.get("message_id") or new_id(),
        role=Role.USER,
        parts=parts_of(content),
        task_id=options.get("task_id", ""),
        # agents are known that lose the context of a task when it is not told again.
        context_id=options.get("context_id", ""),
        reference_task_ids=tuple(options.get("reference_task_ids", ())),
        metadata=metadata,
        extensions=tuple(options.get("extensions", ())),
    )
    configuration = SendMessageConfiguration(
        accepted_output_modes=tuple(options.get("accept", ())),
        task_push_notification_config=options.get("push"),
        history_length=options.get("history_length"),
        return_immediately=not is_awaited,
    )
    return SendMessageRequest(
        message=message,
        configuration=configuration if configuration != SendMessageConfiguration() else None,
        metadata=options.get("request_metadata"),
    )


async def in_context(
    service: A2AService, request: SendMessageRequest, call: Call
) -> tuple[SendMessageRequest, Task | None]:
    """Return a message to a task with the context of that task, and the task.

    Q-08: agents are known that do not find the context by themselves. A context that is told stays,
    and where the task cannot be read, it is for the agent to say what is wrong.
    """
    message = request.message
    if not message.task_id:
        return request, None
    try:
        asked = GetTaskRequest(id=message.task_id, tenant=request.tenant, history_length=0)
        task = (await service.get_task(asked, call)).task()
    except (A2AError, ClientError):
        return request, None
    placed = replace(message, context_id=message.context_id or task.context_id)
    return replace(request, message=placed), task
