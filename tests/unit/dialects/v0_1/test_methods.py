import pytest

from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.model.operations import Operation


def test_the_seven_methods_and_their_operations() -> None:
    assert {
        method: V0_1_DIALECT.operation(method)
        for method in (
            "tasks/send",
            "tasks/sendSubscribe",
            "tasks/get",
            "tasks/cancel",
            "tasks/resubscribe",
            "tasks/pushNotification/set",
            "tasks/pushNotification/get",
        )
    } == {
        "tasks/send": Operation.SEND_MESSAGE,
        "tasks/sendSubscribe": Operation.SEND_STREAMING_MESSAGE,
        "tasks/get": Operation.GET_TASK,
        "tasks/cancel": Operation.CANCEL_TASK,
        "tasks/resubscribe": Operation.SUBSCRIBE_TO_TASK,
        "tasks/pushNotification/set": Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        # None is an answer there, so it is a list of one or none.
        "tasks/pushNotification/get": Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    }


@pytest.mark.parametrize(
    "method", ["SendMessage", "message/send", "tasks/list", "tasks/Send", "tasks/pushNotification"]
)
def test_other_names_are_not_of_this_version(method: str) -> None:
    assert V0_1_DIALECT.operation(method) is None


@pytest.mark.parametrize(
    ("operation", "method"),
    [
        (Operation.SEND_MESSAGE, "tasks/send"),
        (Operation.SUBSCRIBE_TO_TASK, "tasks/resubscribe"),
        # A task has one webhook: listing is getting it, deleting is setting none.
        (Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, "tasks/pushNotification/get"),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, "tasks/pushNotification/get"),
        (Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, "tasks/pushNotification/set"),
        (Operation.LIST_TASKS, None),
        (Operation.GET_EXTENDED_AGENT_CARD, None),
    ],
)
def test_how_a_client_asks_for_an_operation(operation: Operation, method: str | None) -> None:
    assert V0_1_DIALECT.method(operation) == method
