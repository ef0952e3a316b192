"""Keyboard: lines that a user types, with editing, completion and a history.

The history is in memory: nothing of a chat is left on the disk (A2ACLI_INTERACT_005).
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from typing import Protocol

from dragoman.cli.chat.signals import raising

try:
    import readline
except ImportError:  # pragma: no cover - Windows has none: there the console itself edits lines
    readline = None

__all__ = ("Keyboard", "Reads")


class Reads(Protocol):
    """Who types. Both raise KeyboardInterrupt for Ctrl-C, and EOFError when nothing more comes."""

    def read(self, prompt: str, *, is_kept: bool = False) -> str:
        """Return a line; ``is_kept`` has the history keep it."""
        ...

    def read_secret(self, prompt: str) -> str:
        """Return a line that is not shown."""
        ...


class Keyboard:
    """The terminal of the process. Only the main thread may read from it.

    The event loop stands still while a line is read: a chat has nothing under way then.
    """

    def __init__(self, complete: Callable[[str], Sequence[str]]) -> None:
        """Read with editing where the system has it.

        Args:
            complete: returns what the last word of a line may become.
        """
        self._complete = complete
        self._found: Sequence[str] = ()
        if readline is not None:
            readline.set_auto_history(False)
            readline.set_completer(self._candidate)
            # Words end at blanks alone: a path is one word.
            readline.set_completer_delims(" ")
            is_libedit = "libedit" in (readline.__doc__ or "")
            readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")

    def read(self, prompt: str, *, is_kept: bool = False) -> str:
        """Return a line; see ``Reads``."""
        with raising():
            line = input(prompt)
        if is_kept and line and readline is not None:
            readline.add_history(line)
        return line

    def read_secret(self, prompt: str) -> str:
        """Return a line that is not shown; see ``Reads``."""
        with raising():
            return getpass.getpass(prompt)

    def _candidate(self, word: str, number: int) -> str | None:
        del word
        if number == 0 and readline is not None:
            self._found = self._complete(readline.get_line_buffer()[: readline.get_endidx()])
        return self._found[number] if number < len(self._found) else None
