from dragoman.dialects.fields import Fields
from dragoman.dialects.v0_3.push import (
    config_members,
    read_config,
    read_task_config,
    task_config_members,
)
from dragoman.model.push import TaskPushNotificationConfig

CONFIG = TaskPushNotificationConfig(id="p", task_id="t", url="u")


def test_a_configuration_has_an_id_and_stands_beside_its_task() -> None:
    members = task_config_members(CONFIG)
    assert members == {"taskId": "t", "pushNotificationConfig": {"url": "u", "id": "p"}}
    assert read_task_config(Fields(members)) == CONFIG


def test_an_id_may_be_missing() -> None:
    config = TaskPushNotificationConfig(url="u")
    assert config_members(config) == {"url": "u"}
    assert read_config(Fields({"url": "u"})) == config


def test_a_server_may_answer_with_the_configuration_alone() -> None:
    answer = Fields({"taskId": "t", "url": "u", "id": "p"})
    assert read_task_config(answer) == CONFIG
