"""Notification: what a webhook is told, read from the body of any version.

0.x reference, 5.11: agents do not always write the form that a webhook was registered in, so the
body itself tells which it is.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from dragoman.dialects.base import Dialect
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.violations import refusal_of
from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject, is_object
from dragoman.model.events import StreamResponse
from dragoman.model.operations import Operation
from dragoman.model.tasks import Task, TaskState, TaskStatus

__all__ = ("Notification", "read_notification")

_MEMBERS: Final = ("task", "message", "statusUpdate", "artifactUpdate")


class Notification(Struct, frozen=True, kw_only=True):
    """Something that has happened to a task.

    Attributes:
        event: what has happened. Agents before 1.0 send the whole task each time.
        version: the form it was written in: ``1.0``, ``0.3`` (0.2 has the same) or ``0.1``.
        id: what its sender calls it, "" if it has no name; retries have the same.
    """

    event: StreamResponse
    version: str
    id: str = ""

    @property
    def task_id(self) -> str:
        """The task it is about; "" for a message without one."""
        return self.event.task_id

    @property
    def context_id(self) -> str:
        """The context of the task; "" if that is not told."""
        return self.event.context_id

    @property
    def status(self) -> TaskStatus | None:
        """The status of the task, None if it is not told."""
        return self.event.status

    @property
    def state(self) -> TaskState | None:
        """The state of the task, None if it is not told."""
        return self.status.state if self.status is not None else None


def read_notification(body: bytes, *, notification_id: str = "") -> Notification:
    """Read the body of a notification.

    Raises:
        JSONParseError, InvalidParamsError: it is none of any version; the violation says why.
    """
    whole = found = Fields(read_json(body))
    if "result" in found and not any(name in found for name in _MEMBERS):
        # An answer of JSON-RPC, envelope and all.
        found = found.at("result") or found
    dialect = _dialect_of(found)
    data = body if found is whole else _encoded(found.whole)
    event = _old_event(found, data) if dialect is V0_1_DIALECT else dialect.decode_event(data)
    return Notification(event=event, version=dialect.name, id=notification_id)


def _dialect_of(found: Fields) -> Dialect:
    inner = next(filter(is_object, map(found.get, _MEMBERS)), None)
    if inner is not None:
        return V0_3_DIALECT if "kind" in inner else V1_0_DIALECT
    if "kind" in found or "contextId" in found:
        return V0_3_DIALECT
    if ("id" in found or "taskId" in found) and ("status" in found or "artifact" in found):
        return V0_1_DIALECT
    names = ", ".join(_MEMBERS)
    raise InvalidParamsError.of("", f"the body needs one of {names}, or must be a task")


def _old_event(found: Fields, data: bytes) -> StreamResponse:
    if "artifact" not in found and "id" in found:
        task = V0_1_DIALECT.decode_result(Operation.GET_TASK, data)
        assert isinstance(task, Task)  # noqa: S101 - so the dialect answers GET_TASK
        return StreamResponse(task=task)
    # A notice of 0.1 names its task by taskId, an event of 0.1 by id (0.x reference, 2.7).
    return V0_1_DIALECT.decode_event(_encoded({"id": found.get("taskId"), **found.whole}))


def _encoded(members: JsonObject) -> bytes:
    try:
        return msgspec.json.encode(members)
    except RecursionError as refused:
        raise refusal_of(refused) from None
