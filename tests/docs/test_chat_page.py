"""The page on chats shows what happens: its session is typed at a real terminal, line by line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dragoman.cli.chat.commands import COMMANDS
from tests.support.cli.commands import environment
from tests.support.serving import AgentProcess
from tests.support.terminal import on_terminal

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "chat.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8000"

_PROMPT = re.compile(r"((?:you>|answer>|city:|days:))(?: (.*))?$")


def block(fence: str) -> str:
    return PAGE.partition(f"```{fence}\n")[2].partition("```")[0]


def test_the_session_of_the_page_is_what_happens(tmp_path: Path) -> None:
    (tmp_path / "trip.py").write_text(block('python title="trip.py"'))
    first, *lines = block("console").splitlines()
    with AgentProcess(tmp_path / "trip.py", "--store", "memory:") as agent:
        command = first.replace(ADDRESS, agent.url).removeprefix("$ dragoman ").split()
        variables = environment(TERM="dumb", INPUTRC="/dev/null")
        program = [sys.executable, "-m", "dragoman", *command]
        with on_terminal(program, tmp_path, variables) as terminal:
            for line in lines:
                typed = _PROMPT.match(line)
                if typed is None:
                    pieces = line.replace(ADDRESS, agent.url).split("…")
                    terminal.expect(rf"(?m)^{'.*'.join(map(re.escape, pieces))}$")
                else:
                    terminal.expect(rf"(?m)^{re.escape(typed[1])} ")
                    terminal.enter(typed[2] or "")
            assert terminal.wait() == 0


def test_the_page_lists_the_commands() -> None:
    rows = re.findall(r"^\| `(/[^`]*)` \| (.*) \|$", PAGE, re.MULTILINE)
    usages = [
        f"{command.name} {command.argument}".rstrip().replace("|", "\\|") for command in COMMANDS
    ]
    assert rows == list(zip(usages, (command.summary for command in COMMANDS), strict=True))
