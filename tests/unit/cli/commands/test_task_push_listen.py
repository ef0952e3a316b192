from threading import Event
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal
from tests.cli.webhooks import Pushing, deliver, update

LISTEN = ("task", "push-config", "listen")


def tell(*states: str) -> Any:
    """Return what delivers these states to a webhook."""

    def happen(config: dict[str, Any]) -> None:
        for state in states:
            shown = {"X_A2A_Notification_Token": config["token"]}
            assert deliver(config["url"], update(state), **shown) == 204

    return happen


def test_a_webhook_is_registered_with_an_id_and_a_token(cli: Cli, fake: FakeAgent) -> None:
    Pushing(fake, tell("COMPLETED"))
    assert cli(*LISTEN, "t-1").code == 0
    asked = fake.calls("CreateTaskPushNotificationConfig")[0].params
    assert set(asked) == {"id", "taskId", "url", "token"}
    assert asked["taskId"] == "t-1"
    assert asked["url"].startswith("http://127.0.0.1:")
    removed = fake.calls("DeleteTaskPushNotificationConfig")[0].params
    assert removed == {"taskId": "t-1", "id": asked["id"]}


def test_a_token_of_the_user_is_taken_and_not_shown(cli: Cli, fake: FakeAgent) -> None:
    Pushing(fake, tell("COMPLETED"))
    own = "my-own-words"
    result = cli(*LISTEN, "t-1", "--token", own)
    assert fake.calls("CreateTaskPushNotificationConfig")[0].params["token"] == own
    assert own not in result.out + result.err


def test_it_stops_after_so_many_notifications(cli: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, tell("SUBMITTED", "WORKING", "INPUT_REQUIRED"))
    result = cli(*LISTEN, "t-1", "--max-events", "2")
    assert result.fields("State") == ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]
    assert result.field("Follow").startswith("dragoman task get t-1 --wait")
    assert (result.code, agent.kept) == (0, {})


def test_it_goes_on_after_the_end_if_told_to(cli: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, tell("COMPLETED", "FAILED"))
    agent.state = "COMPLETED"
    result = cli(*LISTEN, "t-1", "--keep", "--max-events", "2")
    assert result.fields("State") == ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]


def test_what_has_come_before_a_task_is_found_ended_is_shown(cli: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, tell("WORKING"))
    agent.state = "COMPLETED"
    result = cli(*LISTEN, "t-1")
    assert result.fields("Event") == ["status", "task"]
    assert result.fields("State") == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]


def test_a_webhook_is_removed_when_the_time_is_over(cli: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, tell("WORKING"))
    result = cli(*LISTEN, "t-1", "--timeout", "500ms", "-o", "json")
    assert result.code == 5
    assert [next(iter(line)) for line in result.lines] == ["statusUpdate", "error"]
    assert agent.kept == {}


def test_a_webhook_is_removed_even_if_nobody_has_said_that_it_was_made(
    cli: Cli, fake: FakeAgent
) -> None:
    agent = Pushing(fake, tell())
    create, is_removed = fake.answers["CreateTaskPushNotificationConfig"], Event()

    def never_answer(params: Any) -> Any:
        made = create(params)
        is_removed.wait(timeout=10)
        return made

    def delete(params: Any) -> Any:
        del agent.kept[params["id"]]
        is_removed.set()
        return {}

    fake.answers["CreateTaskPushNotificationConfig"] = never_answer
    fake.answers["DeleteTaskPushNotificationConfig"] = delete
    assert cli(*LISTEN, "t-1", "--timeout", "500ms").code == 5
    assert is_removed.is_set()
    assert agent.kept == {}


def test_a_webhook_that_cannot_be_removed_is_told(cli: Cli, fake: FakeAgent) -> None:
    agent = Pushing(fake, tell("COMPLETED"))
    fake.answers["DeleteTaskPushNotificationConfig"] = lambda _: Refusal(-32603, "No.")
    result = cli(*LISTEN, "t-1")
    assert result.code == 0
    assert f"Warning: the webhook {next(iter(agent.kept))} was not removed: No." in result.err


def test_a_webhook_that_is_gone_with_its_task_is_not_missed(cli: Cli, fake: FakeAgent) -> None:
    Pushing(fake, tell("COMPLETED"))
    fake.answers["DeleteTaskPushNotificationConfig"] = lambda _: Refusal(
        -32001, "No.", 404, "TASK_NOT_FOUND"
    )
    result = cli(*LISTEN, "t-1")
    assert (result.code, "Warning" in result.err) == (0, False)


def test_an_agent_that_refuses_webhooks_is_not_listened_to(cli: Cli, fake: FakeAgent) -> None:
    Pushing(fake, tell())
    fake.answers["CreateTaskPushNotificationConfig"] = lambda _: Refusal(
        -32003, "No.", 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"
    )
    result = cli(*LISTEN, "t-1", "-o", "json")
    assert (result.code, result.error["code"]) == (1, "PushNotificationNotSupportedError")
    assert not fake.calls("DeleteTaskPushNotificationConfig")


@pytest.mark.parametrize(
    ("flags", "finding"),
    [
        (("--port", "65536"), "from 0 to 65535"),
        (("--port", "http"), "from 0 to 65535"),
        (("--auth-credentials", "x"), "--auth-credentials needs --auth-scheme"),
        (("--jwks", "none.json"), "cannot read"),
        (("--jwks", "http://keys.example/jwks.json"), "by https alone"),
        (("--host", "192.0.2.1"), "cannot listen on 192.0.2.1"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    cli: Cli, fake: FakeAgent, flags: tuple[str, ...], finding: str
) -> None:
    Pushing(fake, tell())
    result = cli(*LISTEN, "t-1", *flags, "-o", "json")
    assert result.code == 2
    assert finding in result.error["message"]
    assert not fake.calls("CreateTaskPushNotificationConfig")
