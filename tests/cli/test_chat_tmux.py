"""CHAT as a person sees it: the example agent, talked to in tmux, and read off the screen."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.support.cli.commands import environment
from tests.support.programs import need
from tests.support.serving import AgentProcess

DESK = Path(__file__).parents[2] / "examples" / "desk" / "agent.py"
SECONDS = 20.0


class Screen:
    """A window of tmux, in a server of its own."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        # When the program has ended, its last words stay on the screen.
        script = f"{shlex.join(command)}; echo exit code $?; sleep 60"
        self._run("new-session", "-d", "-x", "120", "-y", "45", "-c", str(folder), script)

    def keys(self, *keys: str) -> None:
        """Press keys: texts, or the names that tmux has for others."""
        self._run("send-keys", *keys)

    def enter(self, line: str) -> None:
        """Type a line."""
        self._run("send-keys", "-l", line)
        self.keys("Enter")

    def wait_for(self, condition: str | Callable[[str], bool]) -> str:
        """Wait until the screen shows something, and return all of it."""
        deadline = time.monotonic() + SECONDS
        while True:
            screen = self._run("capture-pane", "-p", "-J")
            is_met = condition in screen if isinstance(condition, str) else condition(screen)
            if is_met:
                return screen
            assert time.monotonic() < deadline, f"{condition} is not on the screen:\n{screen}"
            time.sleep(0.05)

    def close(self) -> None:
        """End the server, and with it the program."""
        self._run("kill-server")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments],
            env=environment(TERM="xterm-256color", LC_ALL="C.UTF-8"),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


def ends_with(*lines: str) -> Callable[[str], bool]:
    """Tell whether these are the last lines on the screen."""
    return lambda screen: (
        [line.rstrip() for line in screen.rstrip().splitlines()][-len(lines) :] == list(lines)
    )


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Screen]:
    need("tmux")
    monkeypatch.setenv("DESK_SECOND", "0.2")
    with AgentProcess(DESK, "--store", "memory:") as agent:
        command = [sys.executable, "-m", "dragoman", "chat", "--agent-card", agent.url]
        window = Screen(tmp_path, command)
        try:
            yield window
        finally:
            window.close()


@pytest.mark.timeout(120)
def test_chat_001_in_tmux_streams_asks_is_interrupted_and_ends(screen: Screen) -> None:
    screen.wait_for(ends_with("/help tells what you can do here; Ctrl-D leaves", "you>"))

    # A text is shown while it comes: long before the end of it.
    screen.enter("count down from 600")
    shown = screen.wait_for("  600 599 598")
    assert "Go!" not in shown

    # Ctrl-C cancels the task, and the chat goes on.
    screen.keys("C-c")
    screen.wait_for(ends_with("the task was canceled", "you>"))

    # A stream that goes on to its end, with words about the progress in between.
    screen.enter("report It was a dark night. It rained. It rained a lot.")
    shown = screen.wait_for(ends_with("  - lot: 1", "you>"))
    assert shown.index("Section 1 of 3: Size") < shown.index("## Size")

    # A form, with a mistake on the way; and a question after it.
    screen.enter("convert")
    screen.wait_for(ends_with("a number", "value:"))
    screen.enter("five")
    screen.wait_for("value must be a number")
    screen.enter("5")
    screen.wait_for(lambda shown: shown.rstrip().endswith("source:"))
    screen.enter("km")
    screen.wait_for(lambda shown: shown.rstrip().endswith("target:"))
    screen.keys("Enter")
    screen.wait_for(lambda shown: shown.rstrip().endswith("Unit:"))
    assert "  Convert 5 km to what?" in screen.wait_for("Convert 5 km")
    screen.enter("mi")
    screen.wait_for(ends_with("  5 km is 3.10686 mi", "you>"))

    # The end tells what is left, and how to go on.
    screen.keys("C-d")
    shown = screen.wait_for(lambda shown: shown.rstrip().endswith("exit code 0"))
    assert "State: TASK_STATE_COMPLETED" in shown
    assert "Resume: dragoman chat --context-id=" in shown
