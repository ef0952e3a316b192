"""The command line as a user calls it: in a process of its own, with a clean environment."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ("AGENT", "PROGRAM", "Running", "call", "environment", "running")

AGENT = '''\
from dragoman import Agent

agent = Agent("Echo", "Repeats what it is told.")


@agent.skill
async def echo(text: str) -> str:
    """Repeat."""
    if text == "break":
        raise ValueError("broken")
    return text
'''

PROGRAM = (sys.executable, "-m", "dragoman")


def environment(**variables: str) -> dict[str, str]:
    """Return our environment without settings of ours, but with these."""
    ours = ("DRAGOMAN_", "A2ACLI_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "PYTHONDONTWRITEBYTECODE": "1", **variables}


def call(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )


class Running:
    """A server at work; ``output`` is what it has said so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.output = ""
        self.errors = ""

    def wait_for(self, text: str) -> None:
        """Read on until a line holds the text."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output += line
            if text in line:
                return
        raise AssertionError(f"{text!r} was not said")

    def wait_for_error(self, text: str) -> None:
        """Read on in what it says is wrong until a line holds the text."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.errors += line
            if text in line:
                return
        raise AssertionError(f"{text!r} was not said")

    @property
    def url(self) -> str:
        """Where it says that it is served."""
        match = re.search(r"served at (\S+)", self.output)
        assert match is not None, self.output
        return match[1]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self._process.send_signal(number)
        self._read_rest()
        return self._process.returncode

    def kill(self) -> None:
        """End it at once, with all that it has started: who is left would hold the pipes open."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.returncode is None:
            self._read_rest()

    def _read_rest(self) -> None:
        rest, errors = self._process.communicate(timeout=15)
        self.output += rest
        self.errors += errors


@contextmanager
def running(
    folder: Path, *arguments: str, until: str = "stop:", **variables: str
) -> Generator[Running]:
    """Serve until the block ends, which begins when a line with ``until`` has been said."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", *arguments],
        cwd=folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    server = Running(process)
    try:
        server.wait_for(until)
        yield server
    except BaseException as error:
        server.kill()
        error.add_note(f"The server said:\n{server.output}\n{server.errors}")
        raise
    finally:
        server.kill()
