"""A2AService: one method per operation of A2A.

The local server, a remote agent (the client) and a choice of remote agents (the gateway) all are
one, so whatever takes a service takes any of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from dragoman.model.cards import AgentCard
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    Empty,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.service.principal import NOBODY, Principal

__all__ = ("A2AService", "Call", "EventStream", "TaskOrigins")


class Call(Struct, frozen=True, kw_only=True, gc=False):
    """Who calls and how: what an operation needs beside its request.

    Attributes:
        tenant, principal: where the call is made, and who makes it.
        on_behalf_of: whose records the call touches, if they are not the caller's own.
        dialect: the name of the wire form the caller speaks.
        extensions: the extensions active for this call.
        cursor: the last event the caller has seen (``Last-Event-ID``), if it said so.
        alias: what the caller calls the task of a send (0.1): one of its own that exists, or else
            the name of the new one.
        begins_anew: if the task of that name has ended, the message begins another, which takes
            the name over (XPR); otherwise it is refused.
        ends_at_stops: a stream ends wherever the task stops, and following a task that has ended
            shows it (0.x).
        outlasts_pauses: a stream goes on when the task waits for its client, until the task ends.
        always_task: the answer to a send is a task in any case (0.1).
        base_url: the address under which the caller knows the agent, "" if that is not known.
    """

    tenant: str = ""
    principal: Principal = NOBODY
    on_behalf_of: str = ""
    dialect: str = "1.0"
    extensions: tuple[str, ...] = ()
    cursor: int | None = None
    alias: str = ""
    begins_anew: bool = False
    ends_at_stops: bool = False
    outlasts_pauses: bool = False
    always_task: bool = False
    base_url: str = ""

    @property
    def owner(self) -> str:
        """Whose records the call touches."""
        return self.on_behalf_of or self.principal.owner

    @property
    def scopes(self) -> frozenset[str]:
        """What the caller was granted."""
        return self.principal.scopes


class EventStream(Protocol):
    """Frames of a task, in batches of those that became ready together.

    Iterate until it ends by itself; an empty batch means "still here" and is due as a heartbeat.
    The first batch is ready at once. Always ``aclose`` it, also when iteration ended or failed.
    """

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        """Iterate over the batches."""
        ...

    async def aclose(self) -> None:
        """Stop following; the task itself is not touched."""
        ...


class A2AService(Protocol):
    """The eleven operations. Every method raises A2AError and nothing else a peer should see."""

    async def send_message(self, request: SendMessageRequest, call: Call) -> TaskDocument | Message:
        """Deliver a message; wait for the task to end or pause unless told to return at once."""
        ...

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> EventStream:
        """Deliver a message and follow what comes of it."""
        ...

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        """Return a task as it is now."""
        ...

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> TaskPage:
        """Return one page of the caller's tasks."""
        ...

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> TaskDocument:
        """Cancel a task and return it."""
        ...

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> EventStream:
        """Follow a task that has not ended, or one that the caller has a cursor for."""
        ...

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, call: Call
    ) -> TaskPushNotificationConfig:
        """Register a webhook."""
        ...

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, call: Call
    ) -> TaskPushNotificationConfig:
        """Return a webhook registration."""
        ...

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, call: Call
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return the webhook registrations of a task."""
        ...

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, call: Call
    ) -> Empty:
        """Remove a webhook registration."""
        ...

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, call: Call
    ) -> AgentCard:
        """Return the card for this caller."""
        ...


class TaskOrigins(Protocol):
    """Where tasks came from.

    Versions share method names, so a server may have to know the task before it can tell in which
    dialect a request about it is. Both answer for the caller's own tasks alone.
    """

    async def origin_of(self, task_id: str, call: Call) -> str:
        """Return the name of the dialect in which a task was begun; "" if it is not known."""
        ...

    async def has_ended(self, task_id: str, call: Call) -> bool:
        """Whether a task, named by its own id, has ended."""
        ...
