import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from dragoman.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    StoreUnavailableError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState
from dragoman.model.timestamps import format_timestamp
from dragoman.server.access import Access, AccessRequest
from dragoman.server.config import Settings
from dragoman.server.local import LocalService
from dragoman.server.runtime import Runtime
from dragoman.service.principal import Principal
from dragoman.service.service import A2AService, Call, EventStream
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.base import Done, TaskWrite
from dragoman.stores.memory import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.unit.server.fakes import SCOPE, ScriptedWorker, agent_message

CALL = Call()
STRANGER = Call(principal=Principal(owner="somebody else"))


class Store(MemoryTaskStore):
    """A store whose writes fail when it is told so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False

    def append(self, write: TaskWrite, done: Done) -> None:
        if self.is_down:
            asyncio.get_running_loop().call_soon(done, StoreUnavailableError("disk full"))
        else:
            super().append(write, done)


class Agency:
    """A service, and what it stands on."""

    def __init__(self, worker: ScriptedWorker, store: Store, wait_seconds: float) -> None:
        self.store = store
        self.clock = FakeClock()
        settings = Settings(
            max_wait_seconds=wait_seconds, shutdown_grace_seconds=0, cancel_grace_seconds=0
        )
        self.runtime = Runtime(worker, settings, clock=self.clock, store=self.store)

    async def open(self) -> None:
        self.service: LocalService = await self.runtime.service()

    async def send(self, request: SendMessageRequest) -> Task:
        answer = await self.service.send_message(request, CALL)
        assert isinstance(answer, TaskDocument)
        return answer.task()


@asynccontextmanager
async def serving(
    run: Callable[[Turn], Awaitable[Outcome]] | None = None,
    *,
    answer: Callable[[SendMessageRequest], Awaitable[Message]] | None = None,
    store: Store | None = None,
    wait_seconds: float = 60,
) -> AsyncGenerator[Agency]:
    agency = Agency(ScriptedWorker(run, answer=answer), store or Store(), wait_seconds)
    await agency.open()
    try:
        yield agency
    finally:
        await agency.runtime.stop()


def send(
    text: str = "hello",
    *,
    message_id: str = "m-1",
    task_id: str = "",
    context_id: str = "",
    history_length: int | None = None,
    return_immediately: bool = False,
) -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(
            message_id=message_id,
            task_id=task_id,
            context_id=context_id,
            role=Role.USER,
            parts=(Part(text=text),),
        ),
        configuration=SendMessageConfiguration(
            history_length=history_length, return_immediately=return_immediately
        ),
    )


async def frames(stream: EventStream) -> list[tuple[int, str]]:
    """Follow to the end; return the number and the kind of every frame."""
    seen: list[tuple[int, str]] = []
    async for batch in stream:
        for event in batch:
            value = event.value
            if value.task is not None:
                kind = f"task {value.task.status.state.name}"
            elif value.status_update is not None:
                kind = value.status_update.status.state.name
            else:
                kind = "message" if value.message is not None else "artifact"
            seen.append((event.seq, kind))
    await stream.aclose()
    return seen


async def publish(turn: Turn) -> Outcome:
    artifact = Artifact(artifact_id="a-1", parts=(Part(text="x"),))
    await turn.artifact(artifact, last_chunk=True)
    return Completed(agent_message("done"))


async def ask(turn: Turn) -> Outcome:
    await turn.ask(agent_message("which?"))
    return Completed(agent_message("done"))


class Held:
    """Turns that wait until the test releases them."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        await turn.flush()
        self.reached.set()
        await self.released.wait()
        return Completed()


# --- send -------------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.2.2-1", "R-3.2.2-2", "R-3.2.2-3")
async def test_a_send_waits_for_the_end() -> None:
    async with serving(publish) as agency:
        task = await agency.send(send())
    assert task.status.state is TaskState.COMPLETED
    assert [artifact.artifact_id for artifact in task.artifacts] == ["a-1"]


@pytest.mark.requirement("R-3.2.2-1")
async def test_a_send_waits_for_a_question() -> None:
    async with serving(ask) as agency:
        task = await agency.send(send())
        assert task.status.state is TaskState.INPUT_REQUIRED
        done = await agency.send(send("that", message_id="m-2", task_id=task.id))
    assert done.status.state is TaskState.COMPLETED
    assert [message.message_id for message in done.history] == ["m-1", "which?", "m-2"]


@pytest.mark.requirement("R-3.2.2-4")
async def test_a_send_may_return_at_once() -> None:
    held = Held()
    async with serving(held.run) as agency:
        task = await agency.send(send(return_immediately=True))
        assert not task.status.state.is_terminal


async def test_a_send_does_not_wait_for_ever() -> None:
    held = Held()
    async with serving(held.run, wait_seconds=0) as agency:
        task = await agency.send(send())
    assert task.status.state is TaskState.WORKING


async def test_the_history_of_the_answer_is_as_long_as_asked_for() -> None:
    async with serving() as agency:
        assert (await agency.send(send(history_length=0))).history == ()


async def test_a_message_sent_again_gets_the_task_of_then() -> None:
    async with serving() as agency:
        first, second = await agency.send(send()), await agency.send(send(history_length=0))
    assert second.id == first.id
    assert second.history == ()


async def test_a_send_without_a_configuration_has_the_default_one() -> None:
    async with serving() as agency:
        request = SendMessageRequest(message=send().message)
        assert (await agency.send(request)).status.state is TaskState.COMPLETED


async def reply(request: SendMessageRequest) -> Message:
    return agent_message(f"to {request.message.message_id}")


@pytest.mark.requirement("R-3.1.1-5", "R-3.2.2-6")
async def test_a_direct_answer_is_a_message() -> None:
    async with serving(answer=reply) as agency:
        answer = await agency.service.send_message(send(return_immediately=True), CALL)
    assert answer == agent_message("to m-1")


# --- streaming send ---------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.2-9", "R-3.1.2-10", "R-3.1.2-11")
async def test_a_stream_is_the_task_and_then_what_happens_to_it() -> None:
    async with serving(publish) as agency:
        stream = await agency.service.send_streaming_message(send(), CALL)
        assert await frames(stream) == [
            (1, "task SUBMITTED"),
            (2, "WORKING"),
            (3, "artifact"),
            (4, "COMPLETED"),
        ]


async def test_a_stream_pauses_with_its_task() -> None:
    async with serving(ask) as agency:
        stream = await agency.service.send_streaming_message(send(), CALL)
        assert (await frames(stream))[-1] == (3, "INPUT_REQUIRED")
        (task,) = await agency.store.unfinished(after_id="", limit=10)
        answer = send("that", message_id="m-2", task_id=task.id)
        stream = await agency.service.send_streaming_message(answer, CALL)
        assert await frames(stream) == [(4, "task WORKING"), (5, "COMPLETED")]


@pytest.mark.requirement("R-3.1.2-7", "R-3.1.2-8")
async def test_the_stream_of_a_direct_answer_is_one_message() -> None:
    async with serving(answer=reply) as agency:
        stream = await agency.service.send_streaming_message(send(), CALL)
        assert await frames(stream) == [(0, "message")]


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        # The task as it is.
        (None, [(4, "task COMPLETED")]),
        (9, [(4, "task COMPLETED")]),
        # The task as it was then, and what came after.
        (2, [(2, "task WORKING"), (3, "artifact"), (4, "COMPLETED")]),
        (4, [(4, "task COMPLETED")]),
    ],
)
async def test_a_stream_may_be_taken_up_again_after_the_end(
    cursor: int | None, expected: list[tuple[int, str]]
) -> None:
    async with serving(publish) as agency:
        await agency.send(send())
        stream = await agency.service.send_streaming_message(send(), Call(cursor=cursor))
        assert await frames(stream) == expected


async def test_a_stream_may_be_taken_up_again_while_the_task_is_at_work() -> None:
    held = Held()
    async with serving(held.run) as agency:
        first = await agency.service.send_streaming_message(send(), CALL)
        await held.reached.wait()
        second = await agency.service.send_streaming_message(send(), Call(cursor=1))
        held.released.set()
        assert await frames(second) == [(1, "task SUBMITTED"), (2, "WORKING"), (3, "COMPLETED")]
        await first.aclose()


async def test_a_cursor_means_nothing_for_a_new_message() -> None:
    async with serving() as agency:
        stream = await agency.service.send_streaming_message(send(), Call(cursor=2))
        assert (await frames(stream))[0] == (1, "task SUBMITTED")


async def test_a_stream_whose_beginning_is_lost_is_refused_and_leaves_nothing() -> None:
    async with serving(publish) as agency:
        agency.store.is_down = True
        with pytest.raises(UnavailableError):
            await agency.service.send_streaming_message(send(), CALL)
        assert len(agency.runtime.hub) == 0


# --- get and list -----------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.3-1")
async def test_a_task_can_be_looked_at_while_it_works_and_after() -> None:
    held = Held()
    async with serving(held.run) as agency:
        task = await agency.send(send(return_immediately=True))
        await held.reached.wait()
        request = GetTaskRequest(id=task.id, history_length=1)
        now = (await agency.service.get_task(request, CALL)).task()
        assert (now.status.state, len(now.history)) == (TaskState.WORKING, 1)
        held.released.set()
        await agency.send(send())
        later = (await agency.service.get_task(request, CALL)).task()
        assert later.status.state is TaskState.COMPLETED


@pytest.mark.requirement("R-3.1.3-2", "R-3.1.5-4", "R-3.1.6-2", "R-3.3.2-12")
async def test_a_task_of_somebody_else_does_not_exist() -> None:
    async with serving(ask) as agency:
        task = await agency.send(send())
        service = agency.service
        for task_id, call in ((task.id, STRANGER), ("t-0", CALL)):
            with pytest.raises(TaskNotFoundError):
                await service.get_task(GetTaskRequest(id=task_id), call)
            with pytest.raises(TaskNotFoundError):
                await service.cancel_task(CancelTaskRequest(id=task_id), call)
            with pytest.raises(TaskNotFoundError):
                await service.subscribe_to_task(SubscribeToTaskRequest(id=task_id), call)


async def listed(agency: Agency, request: ListTasksRequest) -> list[str]:
    """Return the first messages of the tasks that are listed."""
    page = await agency.service.list_tasks(request, CALL)
    return [document.task().history[0].message_id for document in page.tasks]


async def some_tasks(agency: Agency, count: int = 3) -> None:
    """Send so many messages, a second apart."""
    for number in range(1, count + 1):
        await agency.send(send(message_id=f"m-{number}", context_id=f"c-{number}"))
        agency.clock.advance(1)


@pytest.mark.requirement("R-3.1.4-9", "R-3.1.4-15", "R-3.1.4-16")
async def test_tasks_are_listed_newest_first_and_by_what_is_asked_for() -> None:
    async with serving() as agency:
        start_ms = agency.clock.now_ms()
        await some_tasks(agency)
        since = format_timestamp(start_ms + 1000)
        for request, expected in (
            (ListTasksRequest(), ["m-3", "m-2", "m-1"]),
            (ListTasksRequest(context_id="c-2"), ["m-2"]),
            (ListTasksRequest(context_id="c-2", status=TaskState.FAILED), []),
            (ListTasksRequest(status_timestamp_after=since), ["m-3", "m-2"]),
        ):
            assert await listed(agency, request) == expected


@pytest.mark.requirement("R-3.1.4-5", "R-3.1.4-8", "R-3.1.4-18")
async def test_a_long_list_comes_in_pages() -> None:
    async with serving() as agency:
        await some_tasks(agency, 5)
        request = ListTasksRequest(page_size=2)
        seen: list[int] = []
        while True:
            page = await agency.service.list_tasks(request, CALL)
            seen.append(len(page.tasks))
            assert (page.page_size, page.total_size) == (2, 5)
            if not page.next_page_token:
                break
            request = ListTasksRequest(page_size=2, page_token=page.next_page_token)
        assert seen == [2, 2, 1]


@pytest.mark.requirement("R-3.1.4-12")
async def test_a_page_has_fifty_tasks_unless_told_otherwise() -> None:
    async with serving() as agency:
        assert (await agency.service.list_tasks(ListTasksRequest(), CALL)).page_size == 50


async def test_a_token_of_another_list_is_refused() -> None:
    async with serving() as agency:
        await some_tasks(agency)
        page = await agency.service.list_tasks(ListTasksRequest(page_size=1), CALL)
        stray = ListTasksRequest(context_id="c-1", page_token=page.next_page_token)
        with pytest.raises(InvalidParamsError):
            await agency.service.list_tasks(stray, CALL)


@pytest.mark.requirement("R-3.1.4-1", "R-3.1.4-17")
async def test_listed_tasks_have_as_much_as_is_asked_for() -> None:
    async with serving(publish) as agency:
        await agency.send(send())
        request = ListTasksRequest(history_length=0)
        (brief,) = (await agency.service.list_tasks(request, CALL)).tasks
        assert b"artifacts" not in brief.json()
        assert b"history" not in brief.json()
        request = ListTasksRequest(include_artifacts=True)
        (full,) = (await agency.service.list_tasks(request, CALL)).tasks
        assert len(full.task().artifacts) == 1


# --- cancel -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.5-2")
async def test_a_canceled_task_is_returned_as_canceled() -> None:
    async with serving(ask) as agency:
        task = await agency.send(send())
        canceled = await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
    assert canceled.task().status.state is TaskState.CANCELED


@pytest.mark.requirement("R-3.1.5-3", "R-3.3.1-4")
async def test_a_task_that_has_ended_cannot_be_canceled() -> None:
    async with serving() as agency:
        task = await agency.send(send())
        with pytest.raises(TaskNotCancelableError) as caught:
            await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
    assert caught.value.metadata["state"] == TaskState.COMPLETED.value


# --- subscribe --------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.6-4", "R-3.1.6-5", "R-3.1.6-6")
async def test_a_subscription_begins_with_the_task_and_lasts_to_its_end() -> None:
    async with serving(ask) as agency:
        task = await agency.send(send())
        request = SubscribeToTaskRequest(id=task.id)
        stream = await agency.service.subscribe_to_task(request, CALL)
        await agency.send(send("that", message_id="m-2", task_id=task.id))
        assert await frames(stream) == [
            (3, "task INPUT_REQUIRED"),
            (4, "WORKING"),
            (5, "COMPLETED"),
        ]


@pytest.mark.requirement("R-3.1.6-3")
@pytest.mark.parametrize("cursor", [None, 0, 5])
async def test_a_task_that_has_ended_cannot_be_subscribed_to(cursor: int | None) -> None:
    async with serving(publish) as agency:
        task = await agency.send(send())
        request = SubscribeToTaskRequest(id=task.id)
        with pytest.raises(UnsupportedOperationError) as caught:
            await agency.service.subscribe_to_task(request, Call(cursor=cursor))
    assert caught.value.metadata == {"taskId": task.id, "state": TaskState.COMPLETED.value}


async def test_unless_the_caller_has_seen_a_part_of_it() -> None:
    async with serving(publish) as agency:
        task = await agency.send(send())
        request = SubscribeToTaskRequest(id=task.id)
        stream = await agency.service.subscribe_to_task(request, Call(cursor=3))
        assert await frames(stream) == [(3, "task WORKING"), (4, "COMPLETED")]


# --- tasks of another process -----------------------------------------------------------------


async def test_a_task_that_is_unfinished_in_the_store_is_taken_over() -> None:
    held = Held()
    async with serving() as agency, serving(held.run, store=agency.store) as other:
        task = await other.send(send(return_immediately=True))
        await held.reached.wait()
        canceled = await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
    assert canceled.task().status.state is TaskState.CANCELED


@asynccontextmanager
async def elsewhere() -> AsyncGenerator[tuple[Agency, Agency, Held, Task]]:
    """Have a task at work in one process; there is another process on the same store."""
    held = Held()
    async with serving() as agency, serving(held.run, store=agency.store) as other:
        task = await other.send(send(return_immediately=True))
        await held.reached.wait()
        yield agency, other, held, task


async def lease(agency: Agency, task: Task) -> int:
    stored = await agency.store.load(SCOPE, task.id)
    assert stored is not None
    return stored.epoch


async def test_a_task_of_another_process_is_read_and_left_to_it() -> None:
    async with elsewhere() as (agency, other, held, task):
        before = await lease(agency, task)
        request = GetTaskRequest(id=task.id)
        seen = (await agency.service.get_task(request, CALL)).task()
        assert seen.status.state is TaskState.WORKING
        assert await lease(agency, task) == before
        held.released.set()
        assert (await other.send(send())).status.state is TaskState.COMPLETED
        later = (await agency.service.get_task(request, CALL)).task()
        assert later.status.state is TaskState.COMPLETED


@pytest.mark.parametrize("cursor", [None, 1])
async def test_a_task_of_another_process_cannot_be_followed_here(cursor: int | None) -> None:
    async with elsewhere() as (agency, _, _, task):
        request = SubscribeToTaskRequest(id=task.id)
        with pytest.raises(UnavailableError, match="another server"):
            await agency.service.subscribe_to_task(request, Call(cursor=cursor))


async def test_nor_does_it_take_a_message_here() -> None:
    async with elsewhere() as (agency, _, _, task):
        with pytest.raises(UnavailableError, match="another server"):
            await agency.send(send("more", message_id="m-2", task_id=task.id))


async def test_who_follows_a_task_that_is_taken_over_is_sent_away() -> None:
    async with elsewhere() as (agency, other, held, task):
        request = SubscribeToTaskRequest(id=task.id)
        stream = await other.service.subscribe_to_task(request, CALL)
        await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
        held.released.set()
        assert await frames(stream) == [(2, "task WORKING")]


# --- what this agent does not do --------------------------------------------------------------


def refusals(service: A2AService) -> list[tuple[Awaitable[object], type[A2AError]]]:
    config = TaskPushNotificationConfig(task_id="t-1", url="https://example.com/hook")
    push = PushNotificationNotSupportedError
    return [
        (service.create_task_push_notification_config(config, CALL), push),
        (
            service.get_task_push_notification_config(
                GetTaskPushNotificationConfigRequest(task_id="t-1", id="p-1"), CALL
            ),
            push,
        ),
        (
            service.list_task_push_notification_configs(
                ListTaskPushNotificationConfigsRequest(task_id="t-1"), CALL
            ),
            push,
        ),
        (
            service.delete_task_push_notification_config(
                DeleteTaskPushNotificationConfigRequest(task_id="t-1", id="p-1"), CALL
            ),
            push,
        ),
        (
            service.get_extended_agent_card(GetExtendedAgentCardRequest(), CALL),
            ExtendedAgentCardNotConfiguredError,
        ),
    ]


@pytest.mark.requirement("R-3.1-1", "R-3.1.7-1", "R-3.1.11-2")
async def test_every_operation_there_is_is_answered() -> None:
    async with serving() as agency:
        for waiting, refusal in refusals(agency.service):
            with pytest.raises(refusal):
                await waiting


# --- what the policy says -----------------------------------------------------------------------


class Ruled(Agency):
    """A service whose policy allows what it is told to."""

    def __init__(self, worker: ScriptedWorker) -> None:
        super().__init__(worker, Store(), wait_seconds=60)
        self.asked: list[tuple[str, str]] = []
        self.forbidden: set[Operation] = set()
        settings = Settings(shutdown_grace_seconds=0, cancel_grace_seconds=0)
        self.runtime = Runtime(
            worker, settings, clock=self.clock, store=self.store, access=Access(self.allows)
        )

    def allows(self, request: AccessRequest) -> bool:
        self.asked.append((request.operation.value, request.skill_id))
        return request.operation not in self.forbidden


@asynccontextmanager
async def ruled(run: Callable[[Turn], Awaitable[Outcome]]) -> AsyncGenerator[Ruled]:
    agency = Ruled(ScriptedWorker(run))
    await agency.open()
    try:
        yield agency
    finally:
        await agency.runtime.stop()


async def test_the_policy_is_asked_about_every_operation_and_the_skill_of_its_task() -> None:
    async with ruled(ask) as agency:
        task = await agency.send(send())
        await agency.service.get_task(GetTaskRequest(id=task.id), CALL)
        await agency.service.list_tasks(ListTasksRequest(), CALL)
        stream = await agency.service.subscribe_to_task(SubscribeToTaskRequest(id=task.id), CALL)
        await stream.aclose()
        await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
        stream = await agency.service.send_streaming_message(send(message_id="m-2"), CALL)
        await stream.aclose()
    assert agency.asked == [
        ("SendMessage", "echo"),
        ("GetTask", "echo"),
        ("ListTasks", ""),
        ("SubscribeToTask", "echo"),
        ("CancelTask", "echo"),
        ("SendStreamingMessage", "echo"),
    ]


@pytest.mark.requirement("R-13.1-2")
async def test_what_the_policy_forbids_is_not_done() -> None:
    async with ruled(ask) as agency:
        task = await agency.send(send())
        agency.forbidden = set(Operation)
        service = agency.service
        for call in (
            service.get_task(GetTaskRequest(id=task.id), CALL),
            service.list_tasks(ListTasksRequest(), CALL),
            service.subscribe_to_task(SubscribeToTaskRequest(id=task.id), CALL),
            service.cancel_task(CancelTaskRequest(id=task.id), CALL),
            service.send_message(send("Rome", message_id="m-2", task_id=task.id), CALL),
            service.send_streaming_message(send(message_id="m-3"), CALL),
        ):
            with pytest.raises(PermissionDeniedError):
                await call
        agency.forbidden = set()
        assert (await agency.service.list_tasks(ListTasksRequest(), CALL)).total_size == 1
        kept = (await agency.service.get_task(GetTaskRequest(id=task.id), CALL)).task()
        assert kept.status.state is TaskState.INPUT_REQUIRED


async def test_the_policy_is_not_asked_about_what_is_not_the_callers() -> None:
    async with ruled(ask) as agency:
        task = await agency.send(send())
        agency.asked.clear()
        with pytest.raises(TaskNotFoundError):
            await agency.service.get_task(GetTaskRequest(id=task.id), STRANGER)
        with pytest.raises(TaskNotFoundError):
            await agency.service.send_message(send(message_id="m-2", task_id=task.id), STRANGER)
        assert agency.asked == []
