from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, card, task


def test_how_to_go_on_is_a_field_of_the_text(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task("WORKING")
    result = cli("task", "get", "t-1")
    assert result.field("Follow").startswith("dragoman task get t-1 --wait --agent-card ")
    assert result.err == ""


def test_how_to_go_on_is_beside_the_json(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task("INPUT_REQUIRED")
    result = cli("task", "get", "t-1", "-o", "json")
    assert result.json == task("INPUT_REQUIRED")
    assert result.err.startswith("Warning: the task is in TASK_STATE_INPUT_REQUIRED\nResume: ")


def test_a_task_that_has_ended_well_needs_no_words(cli: Cli) -> None:
    result = cli("task", "get", "t-1")
    assert result.err == ""
    assert not result.fields("Follow")


def test_who_wants_events_is_told_that_there_are_none(cli: Cli) -> None:
    told = "the agent does not stream: it is asked from time to time\n"
    assert cli("task", "subscribe", "t-1", "--stream").err == told
    assert cli("task", "subscribe", "t-1").err == ""


def test_after_a_stream_it_is_told_how_to_go_on(cli: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url)
    fake.answers["SendMessage"] = lambda _: {"task": task("INPUT_REQUIRED")}
    result = cli("send", "x", "--stream")
    assert result.out.startswith("Event: task\nTask: t-1\n")
    assert result.out.splitlines()[-1].startswith("Resume: dragoman send --task-id=t-1 ")
    machine = cli("send", "x", "--stream", "-o", "json")
    assert len(machine.lines) == 1
    assert "Resume: dragoman send" in machine.err
