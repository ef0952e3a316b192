"""Parser: argparse, made to keep every option in the order of the command line.

Shared options are recorded and not stored: they may stand before and after the name of a command,
and what a part of a message is depends on what stands before it. A command declares what it takes
when it is called for, so the others are not even imported.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import dragoman
from dragoman.cli.errors import USAGE, CliError, Failure
from dragoman.cli.options.options import Option
from dragoman.cli.options.settings import Given
from dragoman.cli.surroundings import NAME
from dragoman.errors import DragomanError

__all__ = ("VERSION_TEXT", "Flag", "Parser", "Shown")

VERSION_TEXT: Final = f"{NAME} {dragoman.__version__}\n"


class Shown(DragomanError):  # noqa: N818 - no failure: what was asked for is this text
    """The command line asks for a text: print it, and be done."""


class Flag(NamedTuple):
    """One option as it can be typed, for completion."""

    spellings: tuple[str, ...]
    takes_value: bool
    choices: tuple[str, ...]


class Parser(argparse.ArgumentParser):
    """The parser of the program, of a group of commands, or of one command.

    Args:
        given: where options are recorded; one list for the whole command line.
        describe: tells the value that an option has if it is not given, for the help.
        declare: adds what a command takes; called when the parser is first used.
    """

    def __init__(
        self,
        *,
        given: list[Given],
        describe: Callable[[Option[object]], str],
        declare: Callable[[Parser], None] | None = None,
        **others: Any,
    ) -> None:
        """Prepare; nothing is declared yet."""
        super().__init__(
            # An abbreviation would change its meaning with the next option that is added.
            allow_abbrev=False,
            add_help=False,
            argument_default=argparse.SUPPRESS,
            formatter_class=_Formatter,
            **others,
        )
        self.add_argument("-h", "--help", action=_Help, help="show this help message and exit")
        self._given = given
        self._describe = describe
        self._declare = declare
        self._records: list[_Record] = []

    def add_version(self, *spellings: str) -> None:
        """Add the option that asks for the version."""
        self.add_argument(*spellings, action=_Version, help="print the version and exit")

    def add_options(self, options: Iterable[Option[object]], title: str | None = None) -> None:
        """Add options that are recorded; a spelling that is taken already keeps its meaning."""
        group = self.add_argument_group(title) if title else self
        for option in options:
            free = [flag for flag in option.flags if flag not in self._option_string_actions]
            if not free:
                continue
            # The short spelling is shown first, as everywhere.
            shown = sorted(free, key=lambda flag, short=option.short: flag != short)
            record = group.add_argument(*shown, action=_Record, option=option, given=self._given)
            assert isinstance(record, _Record)  # noqa: S101 - argparse makes what it is told
            self._records.append(record)

    def add_stand_in(self, metavar: str, option: Option[object]) -> None:
        """Add an argument that may be given in place of an option, and is recorded as such."""
        self.add_argument(
            metavar,
            action=_Record,
            option=option,
            given=self._given,
            nargs="?",
            help=f"the same as {option.flags[0]} {option.metavar}",
        )

    def parse_known_args(  # type: ignore[override] - one behaviour, whatever the namespace
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse, when the command has said what it takes."""
        self.complete()
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """Return the help, with the values that options have here and now."""
        self.complete()
        for record in self._records:
            value = self._describe(record.option)
            text = f"{record.option.help} (default: {value})" if value else record.option.help
            record.help = text.replace("%", "%%")
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            CliError: always.
        """
        raise CliError(Failure(USAGE, message, f"{self.prog} --help"))

    def complete(self) -> None:
        """Have the command declare what it takes, once."""
        declare, self._declare = self._declare, None
        if declare is not None:
            declare(self)

    def flags(self) -> tuple[Flag, ...]:
        """Return the options for completion."""
        self.complete()
        return tuple(
            Flag(_names_of(action), action.nargs != 0, _choices_of(action))
            for action in self._actions
            if action.option_strings
        )

    def positional_choices(self) -> tuple[str, ...]:
        """Return what the arguments may be, where that is a choice: names of commands, shells."""
        self.complete()
        actions = (action for action in self._actions if not action.option_strings)
        return tuple(choice for action in actions for choice in _choices_of(action))


class _Record(argparse.Action):
    """Records an option where it stands."""

    def __init__(
        self,
        option_strings: Sequence[str],
        *,
        option: Option[object],
        given: list[Given],
        **others: Any,
    ) -> None:
        others.setdefault("nargs", 0 if option.is_switch else None)
        others.setdefault("help", option.help)
        others["dest"] = argparse.SUPPRESS
        if option.is_checked_early:
            others.update({"choices": option.choices} if option.choices else {"type": option.read})
        super().__init__(option_strings, metavar=option.metavar or None, **others)
        self.option = option
        self._given = given

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser, namespace
        text = "true" if self.option.is_switch else str(values)
        self._given.append(Given(self.option, text, option_string or self.option.flags[0]))


class _Show(argparse.Action):
    """Asks for a text instead of work."""

    def __init__(self, option_strings: Sequence[str], dest: str, **others: Any) -> None:
        del dest
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, **others)


class _Help(_Show):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        raise Shown(parser.format_help())


class _Version(_Show):
    def __call__(self, *_: object) -> NoReturn:
        raise Shown(VERSION_TEXT)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Gives the names of options more room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


def _names_of(action: argparse.Action) -> tuple[str, ...]:
    """Return the spellings worth proposing, which aliases are not."""
    aliases = action.option.aliases if isinstance(action, _Record) else ()
    return tuple(name for name in action.option_strings if name not in aliases)


def _choices_of(action: argparse.Action) -> tuple[str, ...]:
    if isinstance(action, _Record):
        # Mostly not told to argparse: the reader of the option takes other spellings, too.
        return action.option.choices
    return tuple(str(choice) for choice in action.choices or ())
