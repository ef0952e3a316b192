from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, task


def test_the_message_that_was_sent_is_shown_if_asked(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["SendMessage"] = lambda _: {"task": task()}
    result = cli("send", "hello", "--message-id", "m-1", "-v")
    assert result.out.startswith("Message: m-1\nRole: ROLE_USER\nPart: 1 text text/plain\nText:\n")
    assert "\n\nTask: t-1\n" in result.out


def test_the_ids_are_told_once(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["SendMessage"] = lambda _: {"task": task("SUBMITTED")}
    result = cli("send", "x", "--poll-interval", "0.1")
    assert result.err == "task t-1 context c-1 state TASK_STATE_SUBMITTED\n"


def test_a_wrong_message_is_told_before_anybody_is_asked(cli: Cli, fake: FakeAgent) -> None:
    assert cli("send", "--file", "none").code == 2
    assert cli("send", "x", "--async", "--stream").code == 2
    assert cli("send", "x", "--metadata", "[]").code == 2
    assert fake.asked == []


def test_files_of_an_answer_without_any_are_none(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["SendMessage"] = lambda _: {"task": task()}
    assert cli("send", "x", "--save", "got").code == 0
    assert list((cli.folder / "got").iterdir()) == []
