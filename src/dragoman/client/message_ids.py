"""Names for messages that have none: those of 0.1, and of peers that leave theirs out.

The dialects leave the id of such a message empty, which the model does not allow. Made of what the
message says, it is the same whenever the message is read, so that what is known can be told from
what is new.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from dragoman.model.messages import Message
from dragoman.model.operations import ListTasksResponse
from dragoman.model.tasks import Task, TaskStatus

if TYPE_CHECKING:
    from dragoman.dialects.base import Received
    from dragoman.model.events import StreamResponse

__all__ = ("name_event", "name_messages")

_encode: Final = msgspec.json.Encoder().encode


def name_messages(answer: Received) -> Received:
    """Return an answer in which every message has an id."""
    match answer:
        case Message():
            return _named(answer, answer.context_id)
        case Task():
            return _name_task(answer)
        case ListTasksResponse():
            return replace(answer, tasks=tuple([_name_task(task) for task in answer.tasks]))
        case _:
            return answer


def name_event(event: StreamResponse) -> StreamResponse:
    """Return a frame of a stream in which every message has an id."""
    if event.task is not None:
        return replace(event, task=_name_task(event.task))
    if event.message is not None:
        return replace(event, message=_named(event.message, event.message.context_id))
    update = event.status_update
    if update is None or update.status.message is None:
        return event
    status = _name_status(update.status, update.task_id)
    return replace(event, status_update=replace(update, status=status))


def _name_task(task: Task) -> Task:
    return replace(
        task,
        status=_name_status(task.status, task.id),
        history=tuple([_named(message, task.id) for message in task.history]),
    )


def _name_status(status: TaskStatus, place: str) -> TaskStatus:
    if status.message is None:
        return status
    return replace(status, message=_named(status.message, place))


def _named(message: Message, place: str) -> Message:
    if message.message_id:
        return message
    content = _encode((place, message.role, message.parts))
    return replace(message, message_id=hashlib.sha256(content).hexdigest()[:32])
