"""What the card declares is what is offered: an agent that does not stream, and all operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import OPERATIONS, Binding, RefusedError, drain, expect
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# What each operation needs to be understood; none of the tasks exists.
PARAMS: dict[str, Json] = {
    "GetTask": {"id": "t-1"},
    "CancelTask": {"id": "t-1"},
    "SubscribeToTask": {"id": "t-1"},
    "CreateTaskPushNotificationConfig": {"taskId": "t-1", "url": "https://client.example/"},
    "GetTaskPushNotificationConfig": {"taskId": "t-1", "id": "p-1"},
    "ListTaskPushNotificationConfigs": {"taskId": "t-1"},
    "DeleteTaskPushNotificationConfig": {"taskId": "t-1", "id": "p-1"},
}

# What the agent of the scenarios answers to each, when it has no such task.
ANSWERS = {
    "SendMessage": "result",
    "SendStreamingMessage": "stream",
    "GetTask": "TASK_NOT_FOUND",
    "ListTasks": "result",
    "CancelTask": "TASK_NOT_FOUND",
    "SubscribeToTask": "TASK_NOT_FOUND",
    "CreateTaskPushNotificationConfig": "PUSH_NOTIFICATION_NOT_SUPPORTED",
    "GetTaskPushNotificationConfig": "PUSH_NOTIFICATION_NOT_SUPPORTED",
    "ListTaskPushNotificationConfigs": "PUSH_NOTIFICATION_NOT_SUPPORTED",
    "DeleteTaskPushNotificationConfig": "PUSH_NOTIFICATION_NOT_SUPPORTED",
    "GetExtendedAgentCard": "UNSUPPORTED_OPERATION",
}


@pytest.fixture(scope="module")
async def silent() -> AsyncIterator[Served]:
    """An agent that does not stream."""
    async with serving(make_agent(streaming=False), shutdown_grace_seconds=0) as agent:
        yield agent


@pytest.fixture
async def quiet(kind: type[Binding], silent: Served) -> AsyncIterator[Binding]:
    """A client of the agent that does not stream."""
    async with kind(silent.url) as binding:
        yield binding


@pytest.mark.requirement("R-3.1-1", "R-5.1-1", "R-5.1-2")
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_every_operation_is_answered_alike_on_every_binding(
    wire: Binding, operation: str
) -> None:
    params = PARAMS.get(operation, {"message": message()} if "Message" in operation else {})
    response = await wire.respond(operation, params)
    if response.headers["content-type"] == "text/event-stream":
        answer = "stream"
    else:
        try:
            wire.result(response)
            answer = "result"
        except RefusedError as refused:
            answer = refused.problem.reason
    assert answer == ANSWERS[operation]


@pytest.mark.requirement("R-T.str-1", "R-3.5.1-1")
async def test_an_agent_that_streams_declares_it(wire: Binding) -> None:
    card = (await wire.http.get("/.well-known/agent-card.json")).json()
    assert card["capabilities"]["streaming"] is True


@pytest.mark.requirement("R-T.str-1")
async def test_an_agent_that_does_not_stream_declares_that(quiet: Binding) -> None:
    card = (await quiet.http.get("/.well-known/agent-card.json")).json()
    assert card["capabilities"]["streaming"] is False


@pytest.mark.requirement("R-3.1.2-1", "R-3.3.4-3", "R-3.5.1-1", "R-3.3.4-1")
async def test_a_streaming_send_to_an_agent_that_does_not_stream_is_refused(
    quiet: Binding, context: str
) -> None:
    stream = quiet.send_streaming_message(message(contextId=context))
    problem = await expect("UnsupportedOperationError", drain(stream))
    assert problem.message == "This agent does not stream"
    assert (await quiet.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-3.1.6-1", "R-3.3.4-3")
async def test_a_subscription_at_an_agent_that_does_not_stream_is_refused(
    quiet: Binding, gate: Gate
) -> None:
    task = await quiet.start(to("hold", gate.name))
    problem = await expect("UnsupportedOperationError", drain(quiet.subscribe_to_task(task["id"])))
    assert problem.message == "This agent does not stream"


async def test_an_agent_that_does_not_stream_answers_all_the_same(
    quiet: Binding, gate: Gate
) -> None:
    gate.open(3)
    task = await quiet.task(to("chunks", gate.name))
    assert task["artifacts"][0]["parts"] == [{"text": "one two three"}]
