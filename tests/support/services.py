"""Services that are no local agent: a canned one, and one that forwards to a remote agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NoReturn, cast

import msgspec
from msgspec.structs import replace

from dragoman.client.agent import RemoteAgent
from dragoman.client.errors import ClientError, as_a2a_error
from dragoman.clock import SystemClock
from dragoman.errors import TaskNotFoundError, UnsupportedOperationError
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from dragoman.service.service import A2AService, Call, EventStream

new_id = SystemClock().new_id

__all__ = ("CannedService", "forwarding")


class Frames:
    """A stream of what is there already."""

    def __init__(self, *events: StreamResponse) -> None:
        self._batch = tuple(
            EventDocument(n, msgspec.json.encode(e)) for n, e in enumerate(events, 1)
        )

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        yield self._batch

    async def aclose(self) -> None:
        """There is nothing to let go of."""


class CannedService:
    """Answers every message with the same words. Keeps tasks, and in which dialect they began."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._tasks: dict[str, Task] = {}
        self._origins: dict[str, str] = {}

    async def send_message(self, request: SendMessageRequest, call: Call) -> TaskDocument:
        return TaskDocument.of(self._answer(request, call))

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> EventStream:
        return Frames(StreamResponse(task=self._answer(request, call)))

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        del call
        return TaskDocument.of(self._find(request.id))

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> EventStream:
        del call
        return Frames(StreamResponse(task=self._find(request.id)))

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> TaskDocument:
        return await self.get_task(GetTaskRequest(id=request.id), call)

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> TaskPage:
        del request, call
        tasks = tuple(map(TaskDocument.of, self._tasks.values()))
        return TaskPage(
            tasks=tasks, total_size=len(tasks), page_size=len(tasks), next_page_token=""
        )

    async def _refuse(self, request: object, call: Call) -> NoReturn:
        raise UnsupportedOperationError

    create_task_push_notification_config = _refuse
    get_task_push_notification_config = _refuse
    list_task_push_notification_configs = _refuse
    delete_task_push_notification_config = _refuse
    get_extended_agent_card = _refuse

    async def origin_of(self, task_id: str, call: Call) -> str:
        del call
        return self._origins.get(task_id, "")

    async def has_ended(self, task_id: str, call: Call) -> bool:
        del call
        return task_id in self._tasks

    def _answer(self, request: SendMessageRequest, call: Call) -> Task:
        task_id = call.alias or f"task-{len(self._tasks) + 1}"
        said = Artifact(artifact_id="a", parts=(Part(text=self._words),))
        status = TaskStatus(state=TaskState.COMPLETED)
        task = Task(id=task_id, context_id="c", status=status, artifacts=(said,))
        self._tasks[task_id], self._origins[task_id] = task, call.dialect
        return task

    def _find(self, task_id: str) -> Task:
        if task_id not in self._tasks:
            raise TaskNotFoundError(task_id)
        return self._tasks[task_id]


def forwarding(agent: RemoteAgent) -> A2AService:
    """Return a remote agent as a service: what cannot be asked of it is an error of A2A."""
    return cast("A2AService", _Forwarding(agent))


class _Forwarding:
    def __init__(self, agent: RemoteAgent) -> None:
        self._service = agent.service

    def __getattr__(self, name: str) -> Any:
        return partial(self._forward, getattr(self._service, name))

    @staticmethod
    async def _forward(perform: Any, request: Any, call: Call) -> object:
        if isinstance(request, SendMessageRequest) and not request.message.message_id:
            # 0.1 has no ids of messages; whoever performs a send makes one up.
            request = replace(request, message=replace(request.message, message_id=new_id()))
        try:
            # Where it is called, and in which dialect, is between the remote agent and us.
            return await perform(request, Call(cursor=call.cursor))
        except ClientError as problem:
            raise as_a2a_error(problem) from problem
