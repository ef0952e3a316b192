import asyncio
from collections.abc import Awaitable

import pytest

from dragoman.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.model.timestamps import format_timestamp
from dragoman.server.admission.authorization import Access, AccessRequest
from dragoman.service.principal import Principal
from dragoman.service.service import A2AService, Call
from dragoman.service.worker import Completed, Outcome, Turn
from tests.support.server.agency import (
    CALL,
    Agency,
    Held,
    Store,
    ask,
    frames,
    publish,
    send,
    serving,
)
from tests.support.server.fakes import agent_message

STRANGER = Call(principal=Principal(owner="somebody else"))


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
        answer = send("that", message_id="m-2", task_id=await agency.only_id())
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


async def test_nobody_waits_for_a_store_that_is_known_to_be_away() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        await turn.flush()
        begun.set()
        await go_on.wait()
        await turn.say(agent_message("unheard"))
        go_on.clear()
        await go_on.wait()
        return Completed()

    async with serving(run) as agency:
        task = await agency.send(send(return_immediately=True))
        await begun.wait()
        agency.store.is_away = True
        request = GetTaskRequest(id=task.id)
        # All that is known of it is stored.
        now = (await agency.service.get_task(request, CALL)).task()
        assert now.status.state is TaskState.WORKING
        with pytest.raises(UnavailableError, match="store is not available"):
            await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
        go_on.set()
        for _ in range(5):
            await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="store is not available"):
            await agency.service.get_task(request, CALL)


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
async def test_a_task_that_is_removed_while_it_is_looked_at_is_not_found() -> None:
    class Removed(Store):
        async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
            del task_id, until
            return ()

    async with serving(store=Removed()) as on:
        task = await on.send(send())
        request = SubscribeToTaskRequest(id=task.id)
        with pytest.raises(TaskNotFoundError):
            await on.service.subscribe_to_task(request, Call(cursor=1))


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


class Policy:
    """Allows what is not forbidden, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.forbidden: set[Operation] = set()

    def allows(self, request: AccessRequest) -> bool:
        self.asked.append((request.operation.value, request.skill_id))
        return request.operation not in self.forbidden


async def test_the_policy_is_asked_about_every_operation_and_the_skill_of_its_task() -> None:
    policy = Policy()
    async with serving(ask, access=Access(policy.allows)) as agency:
        task = await agency.send(send())
        await agency.service.get_task(GetTaskRequest(id=task.id), CALL)
        await agency.service.list_tasks(ListTasksRequest(), CALL)
        stream = await agency.service.subscribe_to_task(SubscribeToTaskRequest(id=task.id), CALL)
        await stream.aclose()
        await agency.service.cancel_task(CancelTaskRequest(id=task.id), CALL)
        stream = await agency.service.send_streaming_message(send(message_id="m-2"), CALL)
        await stream.aclose()
    assert policy.asked == [
        ("SendMessage", "echo"),
        ("GetTask", "echo"),
        ("ListTasks", ""),
        ("SubscribeToTask", "echo"),
        ("CancelTask", "echo"),
        ("SendStreamingMessage", "echo"),
    ]


@pytest.mark.requirement("R-13.1-2")
async def test_what_the_policy_forbids_is_not_done() -> None:
    policy = Policy()
    async with serving(ask, access=Access(policy.allows)) as agency:
        task = await agency.send(send())
        policy.forbidden = set(Operation)
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
        policy.forbidden = set()
        assert (await agency.service.list_tasks(ListTasksRequest(), CALL)).total_size == 1
        kept = (await agency.service.get_task(GetTaskRequest(id=task.id), CALL)).task()
        assert kept.status.state is TaskState.INPUT_REQUIRED


async def test_the_policy_is_not_asked_about_what_is_not_the_callers() -> None:
    policy = Policy()
    async with serving(ask, access=Access(policy.allows)) as agency:
        task = await agency.send(send())
        policy.asked.clear()
        with pytest.raises(TaskNotFoundError):
            await agency.service.get_task(GetTaskRequest(id=task.id), STRANGER)
        with pytest.raises(TaskNotFoundError):
            await agency.service.send_message(send(message_id="m-2", task_id=task.id), STRANGER)
        assert policy.asked == []
