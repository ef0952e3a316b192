import pytest

from dragoman.dialects.fields import Fields
from dragoman.dialects.v0_3.push import (
    config_members,
    read_config,
    read_task_config,
    task_config_members,
)
from dragoman.errors import InvalidParamsError
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

NONCE = "k"
CONFIG = TaskPushNotificationConfig(
    id="p",
    task_id="t",
    url="u",
    token=NONCE,
    authentication=AuthenticationInfo(scheme="Bearer", credentials="c"),
)


def test_a_configuration_is_written_and_read() -> None:
    members = task_config_members(CONFIG)
    assert members == {
        "taskId": "t",
        "pushNotificationConfig": {
            "url": "u",
            "id": "p",
            "token": "k",
            "authentication": {"schemes": ["Bearer"], "credentials": "c"},
        },
    }
    assert read_task_config(Fields(members)) == CONFIG


def test_what_is_empty_is_left_out() -> None:
    authentication = AuthenticationInfo(scheme="Hawk")
    config = TaskPushNotificationConfig(url="u", authentication=authentication)
    assert config_members(config) == {"url": "u", "authentication": {"schemes": ["Hawk"]}}
    assert config_members(TaskPushNotificationConfig(url="u")) == {"url": "u"}


def test_without_a_scheme_there_is_no_authentication() -> None:
    config = Fields({"url": "u", "authentication": {"schemes": [], "credentials": "c"}})
    assert read_config(config) == TaskPushNotificationConfig(url="u")


def test_a_configuration_needs_an_address() -> None:
    with pytest.raises(InvalidParamsError):
        read_config(Fields({"url": ""}, "at"))
