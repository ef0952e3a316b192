"""Push notifications: this agent has none, and says so whatever is asked."""

from __future__ import annotations

import pytest

from tests.scenarios.bindings import Binding, expect
from tests.support.serving import Served
from tests.support.wire import Json, message

CONFIG: Json = {"url": "https://client.example/hook", "token": "t", "id": "p-1"}


@pytest.mark.requirement(
    "R-3.1.7-1", "R-3.1.8-1", "R-3.1.9-1", "R-3.1.10-1", "R-3.3.4-2", "R-3.5.1-2", "R-3.3.4-1"
)
@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("CreateTaskPushNotificationConfig", {**CONFIG, "taskId": "t-1"}),
        ("GetTaskPushNotificationConfig", {"taskId": "t-1", "id": "p-1"}),
        ("ListTaskPushNotificationConfigs", {"taskId": "t-1"}),
        ("DeleteTaskPushNotificationConfig", {"taskId": "t-1", "id": "p-1"}),
    ],
)
async def test_every_operation_on_webhooks_is_refused(
    wire: Binding, operation: str, params: Json
) -> None:
    problem = await expect("PushNotificationNotSupportedError", wire.call(operation, params))
    assert problem.message == "Push Notification is not supported"


@pytest.mark.requirement("R-3.3.4-2")
async def test_it_makes_no_difference_whether_the_task_exists(wire: Binding) -> None:
    task = await wire.task(message())
    await expect(
        "PushNotificationNotSupportedError",
        wire.call("ListTaskPushNotificationConfigs", {"taskId": task["id"]}),
    )


async def test_a_webhook_inside_a_send_is_refused_and_no_task_is_made(
    wire: Binding, context: str
) -> None:
    #
    sending = wire.send_message(
        message(contextId=context), configuration={"taskPushNotificationConfig": CONFIG}
    )
    await expect("PushNotificationNotSupportedError", sending)
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-3.5.1-2")
async def test_the_card_does_not_promise_push(wire: Binding, served: Served) -> None:
    card = (await wire.http.get(f"{served.url}/.well-known/agent-card.json")).json()
    assert card["capabilities"]["pushNotifications"] is False


@pytest.mark.requirement("R-3.3.4-2")
async def test_what_is_not_offered_is_refused_before_it_is_read(wire: Binding) -> None:
    call = wire.call("CreateTaskPushNotificationConfig", {"taskId": "t-1"})
    await expect("PushNotificationNotSupportedError", call)
