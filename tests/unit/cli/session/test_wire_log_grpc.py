import io
from collections.abc import AsyncIterator
from typing import cast

import pytest

from dragoman.cli.output import Output
from dragoman.cli.session.wire_log import WireLog, tapped
from dragoman.client.service import RemoteService
from dragoman.errors import TaskNotFoundError
from dragoman.model.cards import AgentInterface
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.operations import (
    Empty,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task, TaskState, TaskStatus
from dragoman.service.service import A2AService, Call

TASK = TaskDocument.of(Task(id="t", status=TaskStatus(state=TaskState.WORKING)))
HOOK = TaskPushNotificationConfig(url="https://me.example", token="hidden")  # noqa: S106 - none


class Remote:
    """Answers over some binding."""

    def __init__(self, binding: str) -> None:
        self.interface = AgentInterface(
            url="http://a.example", protocol_binding=binding, protocol_version="1.0"
        )
        self.is_closed = False

    async def get_task(self, request: GetTaskRequest, call: Call) -> TaskDocument:
        del call
        if request.id != "t":
            raise TaskNotFoundError(request.id)
        return TASK

    async def list_tasks(self, request: ListTasksRequest, call: Call) -> TaskPage:
        del request, call
        return TaskPage(tasks=(TASK,), next_page_token="", page_size=1, total_size=1)

    async def create_task_push_notification_config(
        self, request: TaskPushNotificationConfig, call: Call
    ) -> Empty:
        del request, call
        return Empty()

    async def subscribe_to_task(self, request: SubscribeToTaskRequest, call: Call) -> "Remote":
        del request, call
        return self

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        yield (EventDocument(1, b'{"task":' + TASK.json() + b"}"),)

    async def aclose(self) -> None:
        self.is_closed = True


class Tap:
    """A service that is listened to."""

    def __init__(self, binding: str) -> None:
        self._err = io.BytesIO()
        self.remote = Remote(binding)
        log = WireLog(Output(io.BytesIO(), self._err), is_on=True)
        self.service: A2AService = tapped(cast("RemoteService", self.remote), log)

    @property
    def err(self) -> str:
        return self._err.getvalue().decode()


async def test_messages_are_told_as_json() -> None:
    tap = Tap("GRPC")
    assert await tap.service.get_task(GetTaskRequest(id="t"), Call()) == TASK
    await tap.service.list_tasks(ListTasksRequest(), Call())
    assert '> get_task http://a.example\n> {"id":"t"}\n< OK\n< {"id":"t",' in tap.err
    assert '> {}\n< OK\n< [{"id":"t",' in tap.err


async def test_secrets_are_not_told() -> None:
    tap = Tap("GRPC")
    await tap.service.create_task_push_notification_config(HOOK, Call())
    assert '"token":"<redacted>"' in tap.err
    assert "hidden" not in tap.err


async def test_a_refusal_is_told() -> None:
    tap = Tap("GRPC")
    with pytest.raises(TaskNotFoundError):
        await tap.service.get_task(GetTaskRequest(id="none"), Call())
    assert "< NOT_FOUND Task not found\n" in tap.err


async def test_events_are_told_as_they_come() -> None:
    tap = Tap("GRPC")
    stream = await tap.service.subscribe_to_task(SubscribeToTaskRequest(id="t"), Call())
    assert [len(batch) async for batch in stream] == [1]
    await stream.aclose()
    assert tap.remote.is_closed
    assert '< {"task":{"id":"t",' in tap.err


async def test_other_bindings_are_told_elsewhere() -> None:
    tap = Tap("JSONRPC")
    assert await tap.service.get_task(GetTaskRequest(id="t"), Call()) == TASK
    assert tap.err == ""
