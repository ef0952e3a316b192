from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal, task


def test_the_history_is_asked_for_as_it_was_said(cli: Cli, fake: FakeAgent) -> None:
    assert cli("task", "get", "t-1").code == 0
    assert cli("task", "get", "t-1", "--history", "0").code == 0
    first, second = fake.calls("GetTask")
    assert "historyLength" not in first.params
    assert second.params["historyLength"] == 0


def test_a_cancellation_carries_metadata(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["CancelTask"] = lambda _: task("CANCELED")
    assert cli("task", "cancel", "t-1", "--metadata", '{"why": "no"}').code == 0
    assert fake.calls("CancelTask")[0].params["metadata"] == {"why": "no"}


def test_a_task_that_is_canceled_already_is_what_was_asked_for(cli: Cli, fake: FakeAgent) -> None:
    refusal = Refusal(-32002, "Too late.", 200, "TASK_NOT_CANCELABLE")
    fake.answers["CancelTask"] = lambda _: refusal
    fake.answers["GetTask"] = lambda _: task("CANCELED")
    assert cli("task", "cancel", "t-1").field("State") == "TASK_STATE_CANCELED"
    fake.answers["GetTask"] = lambda _: task("FAILED")
    result = cli("task", "cancel", "t-1", "-o", "json")
    assert result.error["code"] == "TaskNotCancelableError"
    assert "TASK_STATE_FAILED" in result.err


def test_an_id_that_looks_like_an_option_can_be_given(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda params: task(task_id=params["id"])
    alone = Cli(cli.folder, A2ACLI_AGENT_CARD=fake.url)
    assert alone("task", "get", "--wait", "--", "--config=x").field("Task") == "--config=x"
