"""The HTTP+JSON routes of 0.3."""

import pytest

from dragoman.dialects.v0_3_proto.routes import ROUTES
from dragoman.model.operations import Operation

SET = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
GET = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
LIST = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
DELETE = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG


@pytest.mark.parametrize(
    ("verb", "template", "operation"),
    [
        ("POST", "/message:send", Operation.SEND_MESSAGE),
        ("POST", "/message:stream", Operation.SEND_STREAMING_MESSAGE),
        ("GET", "/tasks", Operation.LIST_TASKS),
        ("GET", "/tasks/{id}", Operation.GET_TASK),
        ("POST", "/tasks/{id}:cancel", Operation.CANCEL_TASK),
        ("GET", "/tasks/{id}:subscribe", Operation.SUBSCRIBE_TO_TASK),
        ("POST", "/tasks/{id}:subscribe", Operation.SUBSCRIBE_TO_TASK),
        ("POST", "/tasks/{taskId}/pushNotificationConfigs", SET),
        ("GET", "/tasks/{taskId}/pushNotificationConfigs", LIST),
        ("GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", GET),
        ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", DELETE),
        # the slip of the pen in the proto of 0.3.0
        ("POST", "/task/{taskId}/pushNotificationConfigs", SET),
        # 0.2.2 to 0.2.4
        ("POST", "/tasks/{taskId}/pushNotifications", SET),
        ("GET", "/tasks/{taskId}/pushNotifications", LIST),
        ("GET", "/tasks/{taskId}/pushNotifications/{id}", GET),
        ("GET", "/card", Operation.GET_EXTENDED_AGENT_CARD),
    ],
)
def test_a_route_leads_to_its_operation(verb: str, template: str, operation: Operation) -> None:
    assert ROUTES[template][verb] is operation


def test_every_operation_has_a_route() -> None:
    routed = {operation for verbs in ROUTES.values() for operation in verbs.values()}
    assert routed == set(Operation)


def test_a_verb_is_looked_for_before_the_plain_id() -> None:
    templates = list(ROUTES)
    plain = templates.index("/tasks/{id}")
    assert templates.index("/tasks/{id}:cancel") < plain
    assert templates.index("/tasks/{id}:subscribe") < plain


def test_no_route_has_the_prefix() -> None:
    assert not any(template.startswith("/v1") for template in ROUTES)
