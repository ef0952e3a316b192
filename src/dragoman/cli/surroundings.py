"""What a run of the program gets from the machine: handed in, so that a test can give its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

__all__ = ("LOGINS", "NAME", "Surroundings")

NAME: Final = "dragoman"

LOGINS: Final = "tokens.json"
"""The file, in our own folder, that keeps the tokens of logins."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        program: the name it was called by, for commands that are shown to be copied.
        folder: where it runs.
        settings_folder: where the settings of the user are.
    """

    program: str = NAME
    environment: Mapping[str, str]
    folder: Path
    settings_folder: Path
    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO

    @property
    def own_folder(self) -> Path:
        """Where we keep what is ours alone, such as tokens."""
        return self.settings_folder.parent / NAME

    @classmethod
    def of_process(cls) -> Surroundings:
        """Return those of this process."""
        called = Path(sys.argv[0] if sys.argv else "").name
        return cls(
            # python -m dragoman, a test runner or an embedding program is no command to copy.
            program=called if called == "a2a" else NAME,
            environment=os.environ,
            folder=Path.cwd(),
            settings_folder=_settings_folder(os.environ),
            stdin=sys.stdin.buffer,
            stdout=sys.stdout.buffer,
            stderr=sys.stderr.buffer,
        )


def _settings_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder that all implementations of the A2A command line share."""
    home = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "a2a-cli"
