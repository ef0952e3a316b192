"""A service that answers by script, for tests of what is built on one."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable

import msgspec

from dragoman.client.agent import RemoteAgent
from dragoman.client.transports.base import Frame
from dragoman.errors import DragomanError
from dragoman.model.cards import AgentCard
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
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
    Request,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from dragoman.service.service import Call, EventStream
from tests.support.client.fakes import QuickClock, card

__all__ = ("Events", "ScriptedService", "agent_of", "pages")


class Events:
    """A stream of frames; an error ends it."""

    def __init__(
        self, *items: StreamResponse | Frame | DragomanError | AsyncIterator[None]
    ) -> None:
        self._items = items
        self.is_closed = False

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        return self._batches()

    async def _batches(self) -> AsyncGenerator[tuple[EventDocument, ...]]:
        for item in self._items:
            if isinstance(item, DragomanError):
                raise item
            if isinstance(item, StreamResponse | Frame):
                frame = item if isinstance(item, Frame) else Frame(0, item)
                yield (EventDocument(frame.seq, msgspec.json.encode(frame.event)),)
            else:
                async for _ in item:
                    yield ()

    async def aclose(self) -> None:
        self.is_closed = True


class ScriptedService:
    """Answers what the script says, whatever it is asked, and keeps what that was."""

    def __init__(self, *answers: object) -> None:
        self._answers = deque(answers)
        self.asked: list[tuple[Request, Call]] = []

    def _answer(self, request: Request, call: Call) -> object:
        self.asked.append((request, call))
        answer = self._answers.popleft()
        if isinstance(answer, DragomanError):
            raise answer
        return TaskDocument.of(answer) if isinstance(answer, Task) else answer

    async def send_message(self, request: SendMessageRequest, call: Call) -> TaskDocument | Message:
        answer = self._answer(request, call)
        assert isinstance(answer, TaskDocument | Message)
        return answer

    async def send_streaming_message(self, request: SendMessageRequest, call: Call) -> EventStream:
        answer = self._answer(request, call)
        assert isinstance(answer, Events)
        return answer

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        answer = self._answer(request, call)
        assert isinstance(answer, TaskDocument)
        return answer

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> TaskPage:
        answer = self._answer(request, call)
        assert isinstance(answer, TaskPage)
        return answer

    async def cancel_task(self, request: CancelTaskRequest, call: Call) -> TaskDocument:
        answer = self._answer(request, call)
        assert isinstance(answer, TaskDocument)
        return answer

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> EventStream:
        answer = self._answer(request, call)
        assert isinstance(answer, Events)
        return answer

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, call: Call
    ) -> TaskPushNotificationConfig:
        raise NotImplementedError

    async def get_task_push_notification_config(
        self, request: GetTaskPushNotificationConfigRequest, call: Call
    ) -> TaskPushNotificationConfig:
        raise NotImplementedError

    async def list_task_push_notification_configs(
        self, request: ListTaskPushNotificationConfigsRequest, call: Call
    ) -> ListTaskPushNotificationConfigsResponse:
        raise NotImplementedError

    async def delete_task_push_notification_config(
        self, request: DeleteTaskPushNotificationConfigRequest, call: Call
    ) -> Empty:
        raise NotImplementedError

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, call: Call
    ) -> AgentCard:
        answer = self._answer(request, call)
        assert isinstance(answer, AgentCard)
        return answer


def agent_of(*answers: object) -> tuple[RemoteAgent, ScriptedService]:
    service = ScriptedService(*answers)
    return RemoteAgent(service, card(), QuickClock().new_id), service


def pages(*tasks: Iterable[Task]) -> list[TaskPage]:
    """Return one page per group of tasks; each but the last leads to the next."""
    groups = [tuple(TaskDocument.of(task) for task in group) for group in tasks]
    return [
        TaskPage(
            tasks=group,
            next_page_token="" if place == len(groups) else str(place),
            page_size=len(group),
            total_size=len(group),
        )
        for place, group in enumerate(groups, start=1)
    ]
