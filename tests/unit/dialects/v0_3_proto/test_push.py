"""Webhooks."""

import json

import msgspec
import pytest

from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.push import (
    read_config,
    read_creation,
    read_webhook,
    write_config,
    write_creation,
)
from dragoman.dialects.v0_3_proto.spelling import Form
from dragoman.errors import InvalidParamsError
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

CREATION = Form(wire.CreateConfigRequest)
CONFIG = TaskPushNotificationConfig(task_id="t", id="c", url="u", token="s")  # noqa: S106 - no secret


@pytest.mark.parametrize(
    "body",
    [
        # the whole request
        b'{"parent":"tasks/t","configId":"c","config":{"name":"tasks/t/pushNotificationConfigs/c",'
        b'"pushNotificationConfig":{"id":"c","url":"u","token":"s"}}}',
        b'{"parent":"tasks/t","config_id":"c","config":{"push_notification_config":'
        b'{"url":"u","token":"s"}}}',
        # what it holds inside
        b'{"name":"tasks/t/pushNotificationConfigs/c",'
        b'"pushNotificationConfig":{"id":"c","url":"u","token":"s"}}',
        # as the prose has it: that of the schema, or the webhook alone
        b'{"config":{"taskId":"t","pushNotificationConfig":{"id":"c","url":"u","token":"s"}}}',
        b'{"taskId":"t","config":{"id":"c","url":"u","token":"s"}}',
        # the webhook alone, with the task of the path
        b'{"taskId":"t","id":"c","url":"u","token":"s"}',
        # the task of the path rules
        b'{"taskId":"t","parent":"tasks/x","config":{"name":"tasks/y/pushNotificationConfigs/c",'
        b'"pushNotificationConfig":{"id":"c","url":"u","token":"s"}}}',
    ],
)
def test_a_creation_is_read_in_all_its_shapes(body: bytes) -> None:
    assert read_creation(CREATION.decode(body)) == CONFIG


def test_an_id_that_the_client_did_not_choose_is_not_taken_from_the_name() -> None:
    body = (
        b'{"parent":"tasks/t","config":{"name":"tasks/t/pushNotificationConfigs/None",'
        b'"pushNotificationConfig":{"url":"u","token":"s"}}}'
    )
    assert read_creation(CREATION.decode(body)).id == ""


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{}", "taskId"),
        (b'{"config":{"url":"u"}}', "taskId"),
        (b'{"taskId":"t"}', "url"),
        (b'{"taskId":"t","config":{}}', "config.url"),
        (
            b'{"taskId":"t","config":{"pushNotificationConfig":{"url":""}}}',
            "config.pushNotificationConfig.url",
        ),
    ],
)
def test_what_is_missing_in_a_creation_is_named(body: bytes, field: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read_creation(CREATION.decode(body))
    (violation,) = caught.value.violations
    assert (violation.field, violation.description) == (field, "is required")


@pytest.mark.parametrize(
    ("found", "authentication"),
    [
        (None, None),
        (wire.AuthenticationInfo(), None),
        (wire.AuthenticationInfo(schemes=(), credentials="x"), None),
        (wire.AuthenticationInfo(schemes=("",)), None),
        (wire.AuthenticationInfo(schemes=("Digest",)), AuthenticationInfo(scheme="Digest")),
        (
            wire.AuthenticationInfo(schemes=("Digest", "basic", "Bearer"), credentials="x"),
            AuthenticationInfo(scheme="Bearer", credentials="x"),
        ),
        (
            wire.AuthenticationInfo(schemes=("Digest", "Basic")),
            AuthenticationInfo(scheme="Basic"),
        ),
    ],
)
def test_of_several_schemes_a_common_one_is_taken(
    found: wire.AuthenticationInfo | None, authentication: AuthenticationInfo | None
) -> None:
    webhook = wire.PushNotificationConfig(url="u", authentication=found)
    assert read_webhook(webhook, "").authentication == authentication


def test_a_webhook_is_written_under_its_resource_name() -> None:
    config = msgspec.structs.replace(
        CONFIG, authentication=AuthenticationInfo(scheme="Bearer", credentials="x")
    )
    assert json.loads(msgspec.json.encode(write_config(config))) == {
        "name": "tasks/t/pushNotificationConfigs/c",
        "pushNotificationConfig": {
            "id": "c",
            "url": "u",
            "token": "s",
            "authentication": {"schemes": ["Bearer"], "credentials": "x"},
        },
    }


def test_a_creation_is_written_whole() -> None:
    assert json.loads(msgspec.json.encode(write_creation(CONFIG))) == {
        "taskId": "t",
        "parent": "tasks/t",
        "configId": "c",
        "config": {
            "name": "tasks/t/pushNotificationConfigs/c",
            "pushNotificationConfig": {"id": "c", "url": "u", "token": "s"},
        },
    }


def test_a_missing_id_is_named_like_the_task() -> None:
    nameless = TaskPushNotificationConfig(task_id="t", url="u")
    assert write_config(nameless).name == "tasks/t/pushNotificationConfigs/t"
    assert write_creation(nameless).config_id == "t"


def test_an_answer_is_known_by_its_resource_name() -> None:
    inner = wire.PushNotificationConfig(url="u", token="s")  # noqa: S106 - no secret
    found = wire.TaskPushNotificationConfig(
        name="tasks/t/pushNotificationConfigs/c", push_notification_config=inner
    )
    assert read_config(found, "") == CONFIG
    with pytest.raises(InvalidParamsError) as caught:
        read_config(wire.TaskPushNotificationConfig(push_notification_config=inner), "configs[0]")
    assert caught.value.violations[0].field == "configs[0].name"
