from typing import Any

from dragoman.conformance.forms import FORM_0_3, FORM_1_0

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}


def test_1_0_is_as_it_is() -> None:
    params = {"message": MESSAGE}
    assert FORM_1_0.method("GetTask") == "GetTask"
    assert FORM_1_0.write("SendMessage", params) == params
    assert FORM_1_0.read("GetTask", {"id": 1}) == {"id": 1}


def test_0_3_has_methods_of_its_own() -> None:
    assert FORM_0_3.method("SendMessage") == "message/send"
    assert FORM_0_3.method("NoSuchMethod") == "NoSuchMethod"


def test_0_3_sends_kinds_and_says_blocking() -> None:
    params = {"message": MESSAGE, "configuration": {"returnImmediately": True}}
    assert FORM_0_3.write("SendMessage", params) == {
        "message": {
            "kind": "message",
            "messageId": "m",
            "role": "user",
            "parts": [{"kind": "text", "text": "x"}],
        },
        "configuration": {"blocking": False},
    }
    assert "configuration" not in FORM_0_3.write("SendMessage", {"message": MESSAGE})


def test_0_3_names_webhooks_otherwise() -> None:
    place = {"taskId": "t", "id": "p"}
    created = FORM_0_3.write("CreateTaskPushNotificationConfig", {**place, "url": "u"})
    assert created == {"taskId": "t", "pushNotificationConfig": {"id": "p", "url": "u"}}
    asked = FORM_0_3.write("DeleteTaskPushNotificationConfig", place)
    assert asked == {"id": "t", "pushNotificationConfigId": "p"}
    assert FORM_0_3.write("ListTaskPushNotificationConfigs", {"taskId": "t"}) == {"id": "t"}
    assert FORM_0_3.read("ListTaskPushNotificationConfigs", [created, {"odd": 1}]) == {
        "configs": [{"id": "p", "url": "u", "taskId": "t"}, {}]
    }


def test_0_3_is_read_as_what_it_is_in_1_0() -> None:
    old: dict[str, Any] = {
        "kind": "task",
        "id": "t",
        "status": {
            "state": "input-required",
            "message": {
                "kind": "message",
                "role": "agent",
                "parts": [
                    {"kind": "text", "text": "x"},
                    {"kind": "data", "data": {"state": "mine"}},
                    {"kind": "file", "file": {"uri": "u"}},
                    {"kind": "novelty"},
                ],
            },
        },
        "metadata": {"state": "mine"},
    }
    found = FORM_0_3.read("SendMessage", old)
    assert found == {
        "task": {
            "kind": "task",
            "id": "t",
            "status": {
                "state": "TASK_STATE_INPUT_REQUIRED",
                "message": {
                    "kind": "message",
                    "role": "ROLE_AGENT",
                    "parts": [{"text": "x"}, {"data": {"state": "mine"}}, {"url": "u"}, {}],
                },
            },
            # What is the agent's own stays as it is.
            "metadata": {"state": "mine"},
        }
    }
    assert FORM_0_3.read("SubscribeToTask", {"kind": "status-update", "status": old["status"]})


def test_0_3_is_read_without_mercy() -> None:
    assert FORM_0_3.read("SendMessage", {"id": "t"}) == {}
    assert FORM_0_3.read("GetTask", {"status": {"state": "TASK_STATE_WORKING"}}) == {
        "status": {"state": "TASK_STATE_WORKING"}
    }
    assert FORM_0_3.read("GetTask", {"status": {"state": "odd"}}) == {"status": {"state": "odd"}}
    assert FORM_0_3.read("GetExtendedAgentCard", {"name": "x"}) == {"name": "x"}
