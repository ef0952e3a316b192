"""dragoman completion: a script that completes commands and options in a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.completion_scripts import SCRIPTS, Script
from dragoman.cli.options.parser import Parser

__all__ = ("COMPLETION",)

_FILES: Final = "@files"
"""Stands for the names of files, which the shell knows better."""


def _declare(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="shell to write the script for")


def _complete(invocation: Invocation) -> int:
    script = SCRIPTS[invocation.arguments.shell]
    program = invocation.surroundings.program
    words = {name: _words_after(parser) for name, parser in invocation.parsers.items()}
    filled_in = {
        "program": program,
        "function": re.sub(r"\W", "_", program),
        "files": _FILES,
        "words": _table(script, words),
        "values": _table(script, _values(invocation.parsers)),
    }
    invocation.output.print(re.sub(r"{{(\w+)}}", lambda name: filled_in[name[1]], script.text))
    return 0


def _words_after(parser: Parser) -> str:
    """Return what may follow a command: further commands, choices and options."""
    flags = [spelling for flag in parser.flags() for spelling in flag.spellings]
    return " ".join((*parser.positional_choices(), *flags))


def _values(parsers: Mapping[str, Parser]) -> dict[str, str]:
    """Return what may follow an option that takes a value; an option means the same everywhere."""
    return {
        spelling: " ".join(flag.choices) or _FILES
        for parser in parsers.values()
        for flag in parser.flags()
        if flag.takes_value
        for spelling in flag.spellings
    }


def _table(script: Script, entries: Mapping[str, str]) -> str:
    return "\n".join(script.entry % (key, words) for key, words in entries.items())


COMPLETION: Final = Body(run=_complete, declare=_declare)
