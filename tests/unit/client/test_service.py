from typing import Any

import pytest

from dragoman.client.errors import CutError
from dragoman.client.service import RemoteService
from dragoman.errors import (
    DragomanError,
    ExtensionSupportRequiredError,
    InvalidRequestError,
    MethodNotFoundError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from dragoman.model.cards import AgentExtension
from dragoman.model.documents import TaskDocument
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Role
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
    ListTasksResponse,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from dragoman.service.service import A2AService, Call
from tests.support.client.fakes import (
    ScriptedTransport,
    artifact,
    caller_of,
    card,
    chunk,
    offer,
    said,
    send,
    status,
    task,
)

SHOWN = StreamResponse(task=task())
DONE = status(TaskState.COMPLETED)
ENDED = task(TaskState.COMPLETED, artifact("one"))
HISTORY = (said("hi", "m-0", role=Role.USER), said("hm", "m-1"))
NEXT = "n"
READ = GetTaskRequest(id="t")
HOOK = TaskPushNotificationConfig(task_id="t", id="p", url="https://hook.test")


def service_of(
    agent: ScriptedTransport, *, version: str = "1.0", known: tuple[str, ...] = (), **can: Any
) -> RemoteService:
    caller = caller_of(agent, offers=(offer(version, tenant="acme" if version == "1.0" else ""),))
    return RemoteService(caller, card(**can), extensions=known)


def now(request: SendMessageRequest) -> SendMessageRequest:
    configuration = SendMessageConfiguration(return_immediately=True)
    return SendMessageRequest(message=request.message, configuration=configuration)


def test_a_remote_agent_is_a_service() -> None:
    service: A2AService = service_of(ScriptedTransport())
    assert service is not None


def test_the_interface_is_told() -> None:
    interface = service_of(ScriptedTransport()).interface
    assert (interface.protocol_binding, interface.protocol_version) == ("JSONRPC", "1.0")
    assert (interface.url, interface.tenant) == ("http://agent.test/", "acme")


# --- sending ------------------------------------------------------------------------------------


async def test_a_message_is_answered_with_a_task_or_a_message() -> None:
    service = service_of(ScriptedTransport(answers=[ENDED, said("hi")]))
    answer = await service.send_message(send(), Call())
    assert isinstance(answer, TaskDocument)
    assert answer.task() == ENDED
    assert await service.send_message(send(), Call()) == said("hi")


async def test_history_that_was_not_asked_for_is_left_out() -> None:
    agent = ScriptedTransport(answers=[task(history=HISTORY)] * 2)
    service = service_of(agent)
    configuration = SendMessageConfiguration(history_length=1)
    request = SendMessageRequest(message=send().message, configuration=configuration)
    answer = await service.send_message(request, Call())
    assert isinstance(answer, TaskDocument)
    assert answer.task().history == HISTORY[-1:]
    document = await service.get_task(GetTaskRequest(id="t", history_length=0), Call())
    assert document.task().history == ()


async def test_an_agent_that_can_only_stream_is_listened_to() -> None:
    agent = ScriptedTransport(
        answers=[MethodNotFoundError()], streams=[[SHOWN, chunk("one"), DONE]]
    )
    answer = await service_of(agent).send_message(send(), Call())
    assert isinstance(answer, TaskDocument)
    assert answer.task() == ENDED


async def test_an_agent_that_can_do_neither_refuses() -> None:
    agent = ScriptedTransport(answers=[MethodNotFoundError()])
    with pytest.raises(MethodNotFoundError):
        await service_of(agent, streaming=False).send_message(send(), Call())


async def test_a_send_of_0_1_that_must_not_wait_is_a_stream_that_is_left() -> None:
    agent = ScriptedTransport(streams=[[status(TaskState.WORKING), chunk("one"), DONE]])
    answer = await service_of(agent, version="0.1").send_message(now(send()), Call())
    assert isinstance(answer, TaskDocument)
    assert answer.task().status.state is TaskState.WORKING


async def test_what_an_agent_refuses_is_raised_before_the_stream() -> None:
    refusal = UnsupportedOperationError()
    agent = ScriptedTransport(streams=[[SHOWN, DONE], [refusal]], answers=[ENDED])
    service = service_of(agent)
    stream = await service.send_streaming_message(send(), Call())
    assert len([batch async for batch in stream]) == 2
    await stream.aclose()
    with pytest.raises(UnsupportedOperationError):
        await service.subscribe_to_task(SubscribeToTaskRequest(id="t"), Call())


async def test_a_cursor_is_passed_on() -> None:
    agent = ScriptedTransport(streams=[[SHOWN, DONE]])
    stream = await service_of(agent).subscribe_to_task(
        SubscribeToTaskRequest(id="t"), Call(cursor=7)
    )
    await stream.aclose()
    assert agent.cursors == [7]


# --- reading and canceling ----------------------------------------------------------------------


async def test_tasks_are_listed() -> None:
    page = ListTasksResponse(tasks=(ENDED,), next_page_token=NEXT, page_size=1, total_size=9)
    agent = ScriptedTransport(answers=[page, page])
    service = service_of(agent)
    plain = await service.list_tasks(ListTasksRequest(), Call())
    assert (plain.next_page_token, plain.page_size, plain.total_size) == (NEXT, 1, 9)
    assert plain.tasks[0].artifacts is None
    whole = await service.list_tasks(ListTasksRequest(include_artifacts=True), Call())
    assert whole.tasks[0].task() == ENDED


@pytest.mark.parametrize("refusal", [MethodNotFoundError(), InvalidRequestError()])
async def test_an_agent_without_listing_does_not_support_it(refusal: DragomanError) -> None:
    agent = ScriptedTransport(answers=[refusal])
    with pytest.raises(UnsupportedOperationError, match="does not list tasks"):
        await service_of(agent, version="0.3").list_tasks(ListTasksRequest(), Call())


async def test_a_task_is_canceled() -> None:
    agent = ScriptedTransport(answers=[CutError("a", "b"), task(TaskState.CANCELED)])
    document = await service_of(agent).cancel_task(CancelTaskRequest(id="t"), Call())
    assert document.task().status.state is TaskState.CANCELED


# --- what the card offers -----------------------------------------------------------------------


async def test_webhooks_are_handed_through() -> None:
    listed = ListTaskPushNotificationConfigsResponse(configs=(HOOK,))
    agent = ScriptedTransport(answers=[HOOK, HOOK, listed, Empty()])
    service, call = service_of(agent, push_notifications=True), Call()
    assert await service.create_task_push_notification_config(HOOK, call) == HOOK
    get = GetTaskPushNotificationConfigRequest(task_id="t", id="p")
    assert await service.get_task_push_notification_config(get, call) == HOOK
    listing = ListTaskPushNotificationConfigsRequest(task_id="t")
    assert await service.list_task_push_notification_configs(listing, call) == listed
    delete = DeleteTaskPushNotificationConfigRequest(task_id="t", id="p")
    assert await service.delete_task_push_notification_config(delete, call) == Empty()


@pytest.mark.requirement("R-3.3.4-7")
async def test_what_the_card_does_not_offer_is_not_asked_for() -> None:
    agent = ScriptedTransport()
    service, call = service_of(agent), Call()
    with pytest.raises(PushNotificationNotSupportedError):
        await service.create_task_push_notification_config(HOOK, call)
    with pytest.raises(UnsupportedOperationError):
        await service.get_extended_agent_card(GetExtendedAgentCardRequest(), call)
    assert agent.asked == []


@pytest.mark.requirement("R-4.4.4-1", "R-T.ext-3")
async def test_an_agent_that_requires_what_is_not_known_is_not_called() -> None:
    required = (AgentExtension(uri="urn:must", required=True), AgentExtension(uri="urn:may"))
    agent = ScriptedTransport(answers=[ENDED, ENDED])
    with pytest.raises(ExtensionSupportRequiredError, match="urn:must"):
        await service_of(agent, known=("urn:x",), extensions=required).get_task(READ, Call())
    assert agent.asked == []
    service = service_of(agent, known=("urn:must",), extensions=required)
    await service.get_task(READ, Call(extensions=("urn:y", "urn:must")))
    assert agent.extensions == [("urn:must", "urn:y")]


async def test_the_extended_card_can_be_read_by_anybody() -> None:
    extended = card()
    agent = ScriptedTransport(answers=[extended])
    service = service_of(agent, extended_agent_card=True)
    request = GetExtendedAgentCardRequest()
    assert await service.get_extended_agent_card(request, Call(extensions=("urn:x",))) is extended
    assert agent.extensions == [("urn:x",)]


async def test_closing_lets_go_of_the_connection() -> None:
    agent = ScriptedTransport(answers=[ENDED])
    service = service_of(agent)
    await service.get_task(GetTaskRequest(id="t"), Call())
    await service.aclose()
    assert agent.is_closed
    assert agent.operations == [Operation.GET_TASK]
