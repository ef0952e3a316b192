"""One run of the program: read the command line, carry the command out, return the exit code."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from dragoman.cli.command import Body, Invocation, build_parsers
from dragoman.cli.errors import INTERRUPTED, USAGE, Failure, failure_of
from dragoman.cli.options.options import CONFIG, DEBUG, GLOBAL, OUTPUT, STREAM, VERBOSE, Option
from dragoman.cli.options.parser import Shown
from dragoman.cli.options.settings import NO_SETTINGS, Given, Settings, read_settings
from dragoman.cli.options.view import described
from dragoman.cli.output import Output
from dragoman.cli.session.progress import Progress
from dragoman.cli.surroundings import Surroundings
from dragoman.errors import DragomanError, UsageError

__all__ = ("run",)

_OF_FORM: Final[tuple[Option[object], ...]] = (OUTPUT, STREAM, CONFIG)
"""What decides in which form a result or a failure is told."""


def run(arguments: Sequence[str], surroundings: Surroundings) -> int:
    """Run a command and return the exit code; no failure is raised."""
    try:
        return _Run(arguments, surroundings).carry_out()
    except BrokenPipeError:
        # Whoever reads has seen enough. Python would complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), surroundings.stdout.fileno())
        return 0


class _Run:
    """A run, as far as it has come."""

    def __init__(self, arguments: Sequence[str], surroundings: Surroundings) -> None:
        self._arguments = arguments
        self._surroundings = surroundings
        self._output = Output(surroundings.stdout, surroundings.stderr)
        self._settings = NO_SETTINGS
        self._progress = Progress(NO_SETTINGS)
        self._name = surroundings.program

    def carry_out(self) -> int:
        """Read the command line and do what it says; a failure is told."""
        try:
            # Before anything is read in earnest: what is wrong with it is told in this form, too.
            self._take_form_of(self._glance())
            body, invocation = self._read()
            self._take_form_of(invocation.settings)
            if body.calls_agents:
                return body.run(invocation)
        except Shown as asked:
            self._output.print(str(asked))
            return 0
        except KeyboardInterrupt:
            return self._fail(Failure(INTERRUPTED, "interrupted"))
        except BrokenPipeError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is told in one form
            if self._settings[DEBUG] and not isinstance(problem, DragomanError):
                self._output.note(*traceback.format_exc().splitlines())
            return self._fail(failure_of(problem))
        # What goes wrong in a program of the user's own is shown where it happens.
        return body.run(invocation)

    def _glance(self) -> Settings:
        """Look for the form in a command line, or a file, that may be wrong elsewhere."""
        try:
            settings = read_settings(tuple(_glanced(self._arguments)), self._surroundings)
            settings[OUTPUT]
        except UsageError:
            return NO_SETTINGS
        return settings

    def _read(self) -> tuple[Body, Invocation]:
        given: list[Given] = []
        surroundings = self._surroundings
        parsers = build_parsers(surroundings.program, given, self._describe)
        arguments = parsers[""].parse_args(self._arguments)
        if not hasattr(arguments, "command"):
            # Nothing was asked for: show what there is.
            raise Shown(parsers[""].format_help())
        self._name = f"{surroundings.program} {arguments.command.name}"
        body: Body = arguments.command.load()
        if body.calls_agents:
            self._settings = read_settings(given, surroundings)
            self._progress = Progress(self._settings, surroundings.program)
        else:
            _check_own(given, arguments.command.name)
        return body, Invocation(
            arguments=arguments,
            given=tuple(given),
            settings=self._settings,
            output=self._output,
            surroundings=surroundings,
            progress=self._progress,
            parsers=parsers,
        )

    def _take_form_of(self, settings: Settings) -> None:
        form = settings[OUTPUT]
        self._output.is_json = form != "text"
        self._output.is_compact = form == "jsonl" or settings[STREAM]
        self._output.is_verbose = settings[VERBOSE]
        self._output.secrets = tuple(settings.secrets())

    def _describe(self, option: Option[object]) -> str:
        """Tell the value of an option that is not on the command line, for the help."""
        try:
            return described(option, read_settings((), self._surroundings))
        except UsageError:
            return described(option, NO_SETTINGS)

    def _fail(self, failure: Failure) -> int:
        """Tell a failure, the task that it leaves behind, and how to go on."""
        progress = self._progress
        if progress.task_id:
            self._output.note(progress.summary())
        if failure.hint is None:
            help_command = f"{self._name} --help" if failure.code == USAGE else None
            failure = replace(failure, hint=progress.next_command() or help_command)
        self._output.fail(failure)
        return failure.exit_code


def _check_own(given: Sequence[Given], command: str) -> None:
    """Refuse the options that only commands to agents take."""
    for one in given:
        # Another option may have the same name.
        if any(one.option is option for option in GLOBAL):
            raise UsageError(f"{one.flag} is no option of {command}")


def _glanced(arguments: Sequence[str]) -> Iterator[Given]:
    for place, word in enumerate(arguments):
        if word == "--":
            return
        flag, has_value, text = word.partition("=")
        if word.startswith("-o") and len(word) > len("-o"):
            flag, has_value, text = "-o", "=", word.removeprefix("-o")
        for option in _OF_FORM:
            if flag not in option.flags:
                continue
            if option.is_switch:
                yield Given(option, "true", flag)
            elif has_value:
                yield Given(option, text, flag)
            else:
                yield Given(option, next(iter(arguments[place + 1 :]), ""), flag)
