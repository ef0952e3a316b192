import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, card


@pytest.fixture
def pushing(cli: Cli, fake: FakeAgent) -> Cli:
    fake.card = card(fake.url, capabilities={"pushNotifications": True})
    return cli


def test_a_webhook_is_made_of_what_was_said(pushing: Cli, fake: FakeAgent) -> None:
    fake.answers["CreateTaskPushNotificationConfig"] = lambda params: {**params, "id": "p-1"}
    result = pushing("task", "push-config", "create", "t-1", "--url", "https://me.example")
    assert result.out == "Config: p-1\nTask: t-1\nURL: https://me.example\n"
    assert fake.calls("CreateTaskPushNotificationConfig")[0].params == {
        "taskId": "t-1",
        "url": "https://me.example",
    }


def test_what_is_missing_is_told_before_anybody_is_asked(pushing: Cli, fake: FakeAgent) -> None:
    result = pushing("task", "push-config", "create", "t-1", "-o", "json")
    assert (result.code, "--url" in result.error["message"]) == (2, True)
    assert fake.asked == []


def test_a_webhook_that_was_removed_is_told(pushing: Cli, fake: FakeAgent) -> None:
    fake.answers["DeleteTaskPushNotificationConfig"] = lambda _: {}
    result = pushing("task", "push-config", "delete", "t-1", "p-1")
    assert result.out == "Deleted: p-1\nTask: t-1\n"


def test_no_webhooks_are_a_list_too(pushing: Cli, fake: FakeAgent) -> None:
    fake.answers["ListTaskPushNotificationConfigs"] = lambda _: {}
    assert pushing("task", "push-config", "list", "t-1").out == "Total: 0\n"
