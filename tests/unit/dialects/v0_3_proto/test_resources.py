"""Resource names."""

import pytest
from hypothesis import given

from dragoman.dialects.v0_3_proto.resources import (
    config_name,
    parse_config_name,
    parse_task_name,
    task_name,
)
from tests.support.strategies import names


def test_a_task_is_named_by_its_id() -> None:
    assert task_name("t") == "tasks/t"
    assert parse_task_name("tasks/t") == "t"


def test_a_webhook_is_named_below_its_task() -> None:
    assert config_name("t", "c") == "tasks/t/pushNotificationConfigs/c"
    assert parse_config_name("tasks/t/pushNotificationConfigs/c") == ("t", "c")


def test_the_segment_of_early_versions_is_read() -> None:
    assert parse_config_name("tasks/t/pushNotifications/c") == ("t", "c")


@pytest.mark.parametrize("name", ["", "t", "task/t", "Tasks/t", "/tasks/t"])
def test_another_name_is_not_a_task_s(name: str) -> None:
    assert parse_task_name(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "",
        "c",
        "tasks/t",
        "tasks/t/pushNotificationConfigs",
        "tasks/t/pushNotificationConfigs/",
        "tasks//pushNotificationConfigs/c",
        "task/t/pushNotificationConfigs/c",
    ],
)
def test_another_name_is_not_a_webhook_s(name: str) -> None:
    assert parse_config_name(name) == ("", "")


@given(names, names)
def test_names_read_back(task_id: str, config_id: str) -> None:
    assert parse_task_name(task_name(task_id)) == task_id
    assert parse_config_name(config_name(task_id, config_id)) == (task_id, config_id)
