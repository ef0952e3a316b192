"""The terminal of a chat: lines that a user types, Tab, Ctrl-C, and what makes an entry of lines.

The history is in memory: nothing of a chat is left on the disk (A2ACLI_INTERACT_005).
"""

from __future__ import annotations

import asyncio
import getpass
import os
import signal
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from dragoman.cli.chat.forms import Field, Form
from dragoman.cli.chat.view import View
from dragoman.cli.views.labels import cleaned
from dragoman.model.parts import Part

try:
    import readline
except ImportError:  # pragma: no cover - Windows has none: there the console itself edits lines
    readline = None

__all__ = (
    "QUOTES",
    "Draft",
    "Keyboard",
    "Prompt",
    "Reads",
    "completions",
    "heeding",
    "interruptible",
    "raising",
)


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


# --- signals --------------------------------------------------------------------------------------


@contextmanager
def raising() -> Generator[None]:
    """Raise KeyboardInterrupt for Ctrl-C, and EOFError for SIGTERM: there is nothing more to read.

    Only for code that reads from the terminal and does not await: the event loop would not see
    either of them there.
    """
    with _handled(_interrupt, _end):
        yield


@contextmanager
def heeding(interrupt: Callable[[], object], end: Callable[[], object]) -> Generator[None]:
    """Have the running event loop call ``interrupt`` for Ctrl-C and ``end`` for SIGTERM."""
    loop = asyncio.get_running_loop()
    with _handled(
        lambda: loop.call_soon_threadsafe(interrupt), lambda: loop.call_soon_threadsafe(end)
    ):
        yield


async def interruptible(work: Coroutine[Any, Any, None]) -> bool:
    """Do some work; tell whether it was done, as Ctrl-C and SIGTERM cancel it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        with heeding(task.cancel, task.cancel):
            await asyncio.wait({task})
    return not task.cancelled()


@contextmanager
def _handled(interrupt: Callable[[], object], end: Callable[[], object]) -> Generator[None]:
    # Python runs handlers between two steps of the main thread, so they may raise. The loop's own
    # way to add handlers is not used: it is not to be had on every system.
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda _number, _frame: interrupt()),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda _number, _frame: end()),
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


def _end() -> NoReturn:
    raise EOFError


# --- completion -----------------------------------------------------------------------------------


def completions(
    line: str, *, commands: Iterable[str], skills: Iterable[str], folder: Path
) -> Sequence[str]:
    """Return what the last word of a line may become.

    Args:
        commands: their names, with the slash.
        folder: where paths begin that are not absolute.
    """
    command, blank, rest = line.partition(" ")
    if not blank:
        # What does not begin with a slash is a message, in which nothing is proposed.
        return [name for name in commands if command and name.startswith(command)]
    word = rest.rpartition(" ")[2]
    if command == "/skill":
        return [cleaned(skill) for skill in skills if skill.startswith(word)]
    return _paths(word, folder) if command in ("/attach", "/save") else []


def _paths(word: str, folder: Path) -> list[str]:
    above, slash, begun = word.rpartition("/")
    place = folder / Path(above + slash).expanduser()
    try:
        found = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        f"{above}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in found
        if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
    ]


# --- entries of several lines ---------------------------------------------------------------------

QUOTES: Final = '"""'
"""What begins and ends a block, in which lines are taken as they are."""

_CONTINUED: Final = "\\"


class Draft:
    """One entry, written line by line.

    A line that ends with a backslash is continued on the next one. A line that begins with three
    quotes opens a block, and one that ends with three quotes closes it.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lines: list[str] = []
        self._is_block = False

    @property
    def is_begun(self) -> bool:
        """Tell whether there are lines that wait for more."""
        return bool(self._lines) or self._is_block

    def add(self, line: str) -> str | None:
        """Add a line; return the entry if that completes it, and begin anew."""
        if not self.is_begun and line.startswith(QUOTES):
            self._is_block = True
            line = line.removeprefix(QUOTES)
            if not line:
                return None
        if self._is_block:
            self._lines.append(line.removesuffix(QUOTES))
            return self._taken() if line.endswith(QUOTES) else None
        self._lines.append(line.removesuffix(_CONTINUED))
        return None if line.endswith(_CONTINUED) else self._taken()

    def _taken(self) -> str:
        entry = "\n".join(self._lines)
        # Quotes that stand on a line of their own are no empty last line.
        if self._is_block:
            entry = entry.removesuffix("\n")
        self._lines, self._is_block = [], False
        return entry


# --- asking the user ------------------------------------------------------------------------------

_CONTINUATION: Final = "...> "


class Prompt:
    """Asks the user.

    Attributes:
        is_over: the user has left: by Ctrl-D, or by Ctrl-C twice with nothing entered in between.
    """

    def __init__(self, keyboard: Reads, view: View) -> None:
        """Read from a keyboard; what is good to know is said on a view."""
        self._keyboard = keyboard
        self._view = view
        self._interrupts = 0
        self.is_over: bool = False

    def enter(self, label: str, *, is_secret: bool = False) -> str | None:
        """Return an entry; None if the user has cleared it, or left.

        Args:
            is_secret: it is one line, which is neither shown nor kept.
        """
        draft = Draft()
        entry: str | None = None
        try:
            while entry is None:
                prompt = _CONTINUATION if draft.is_begun else f"{label}> "
                if is_secret:
                    entry = self._keyboard.read_secret(prompt)
                else:
                    entry = draft.add(self._keyboard.read(prompt, is_kept=True))
        except KeyboardInterrupt:
            self._view.break_line()
            self._interrupts += 1
            if self._interrupts > 1:
                self.is_over = True
            else:
                self._view.note("Ctrl-C again, Ctrl-D or /quit leaves")
            return None
        except EOFError:
            self._leave()
            return None
        self._interrupts = 0
        return entry

    def fill(self, form: Form) -> Part | None:
        """Have a form filled in; None if the user would rather not, or has left."""
        self._view.note("an empty line takes the default; Ctrl-C leaves the form for a free answer")
        try:
            return form.fill(self._ask, self._view.note)
        except KeyboardInterrupt:
            self._view.break_line()
            self._view.note("answer in your own words; /form opens the form again")
        except EOFError:
            self._leave()
        return None

    def agrees(self, question: str) -> bool:
        """Tell whether the user says yes; anything else is no."""
        try:
            return self._keyboard.read(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except KeyboardInterrupt:
            self._view.break_line()
        except EOFError:
            self._leave()
        return False

    def _ask(self, field: Field) -> str:
        if field.help:
            self._view.note(field.help)
        read = self._keyboard.read_secret if field.is_secret else self._keyboard.read
        return read(f"{field.label}: ")

    def _leave(self) -> None:
        self.is_over = True
        self._view.break_line()
