from dragoman.dialects.v0_3.methods import METHODS, NAMES
from dragoman.model.operations import Operation


def test_the_methods_are_those_of_0_2_and_0_3() -> None:
    assert sorted(METHODS) == [
        "agent/authenticatedExtendedCard",
        "agent/getAuthenticatedExtendedCard",
        "message/send",
        "message/stream",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/pushNotificationConfig/delete",
        "tasks/pushNotificationConfig/get",
        "tasks/pushNotificationConfig/list",
        "tasks/pushNotificationConfig/set",
        "tasks/resubscribe",
    ]


def test_every_operation_has_a_name_that_leads_back() -> None:
    assert {METHODS[NAMES[operation]] for operation in Operation} == set(Operation)
