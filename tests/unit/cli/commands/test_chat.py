import subprocess
import sys

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, task

USES_RICH = """\
import sys
from dragoman.cli.command import COMMANDS
for command in COMMANDS:
    command.load()
sys.exit("rich" in sys.modules)
"""


def test_in_a_pipe_the_text_is_sent_as_send_does(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["SendMessage"] = lambda _: {"task": task()}
    chatted, sent = cli("chat", "hello"), cli("send", "hello")
    assert chatted == sent
    assert [asked.params["message"]["parts"] for asked in fake.calls("SendMessage")] == [
        [{"text": "hello"}]
    ] * 2


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_in_a_pipe_nothing_is_read(cli: Cli, fake: FakeAgent, arguments: tuple[str, ...]) -> None:
    assert cli("chat", *arguments, stdin="hello").code == 2
    assert fake.asked == []


def test_the_help_names_the_first_message(cli: Cli) -> None:
    assert "first message" in cli("chat", "--help").out


def test_only_a_chat_on_a_terminal_brings_what_it_is_drawn_with() -> None:
    assert subprocess.run([sys.executable, "-c", USES_RICH], check=False).returncode == 0
