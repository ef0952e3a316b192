"""The command line as a test calls it: in this process, with surroundings of its own."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.cli.program import run
from dragoman.cli.surroundings import Surroundings

__all__ = ("Cli", "Result")


class Result(NamedTuple):
    """What a command has come to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The documents on standard output, one per line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        """The error object."""
        return self.json["error"]

    def field(self, label: str) -> str:
        """The value of the first field with this label."""
        return self.fields(label)[0]

    def fields(self, label: str) -> list[str]:
        """The values of all fields with this label."""
        head = f"{label}: "
        return [line[len(head) :] for line in self.out.splitlines() if line.startswith(head)]


class Cli:
    """Calls commands in one folder; nothing of the environment of the tests is seen."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        """Begin every command line with some arguments."""
        self.folder = folder
        self.settings_folder = folder / "config" / "a2a-cli"
        self._arguments = arguments
        self._variables = variables

    def __call__(self, *arguments: str, stdin: str = "", **variables: str) -> Result:
        """Run a command to its end."""
        stdout, stderr = io.BytesIO(), io.BytesIO()
        surroundings = Surroundings(
            environment={**self._variables, **variables},
            folder=self.folder,
            settings_folder=self.settings_folder,
            stdin=io.BytesIO(stdin.encode()),
            stdout=stdout,
            stderr=stderr,
        )
        code = run([*arguments, *self._arguments], surroundings)
        return Result(code, stdout.getvalue().decode(), stderr.getvalue().decode())

    def speaking(self, binding: str) -> Cli:
        """Return one that prefers a binding."""
        return Cli(self.folder, *self._arguments, "--transport", binding, **self._variables)

    def to(self, agent: str | Path) -> Cli:
        """Return one that talks to an agent."""
        return Cli(self.folder, *self._arguments, "--agent-card", str(agent), **self._variables)
