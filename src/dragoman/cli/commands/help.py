"""dragoman help and dragoman version: the program about itself."""

from __future__ import annotations

import platform
from typing import Final

import msgspec

import dragoman
from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.parser import VERSION_TEXT, Parser, Shown
from dragoman.cli.surroundings import NAME
from dragoman.cli.views.labels import Lines
from dragoman.errors import UsageError

__all__ = ("HELP", "VERSION")


def _declare_help(parser: Parser) -> None:
    parser.add_argument(
        "topic", metavar="COMMAND", nargs="*", default=[], help="command to explain"
    )


def _help(invocation: Invocation) -> int:
    topic = " ".join(invocation.arguments.topic)
    parser = invocation.parsers.get(topic)
    if parser is None:
        known = ", ".join(name for name in invocation.parsers if name)
        raise UsageError(f"there is no command {topic!r}: choose from {known}")
    raise Shown(parser.format_help())


def _version(invocation: Invocation) -> int:
    if not invocation.output.is_json:
        raise Shown(VERSION_TEXT)
    facts = {"name": NAME, "version": dragoman.__version__, "python": platform.python_version()}
    invocation.output.show(msgspec.json.encode(facts), Lines)
    return 0


HELP: Final = Body(run=_help, declare=_declare_help)
VERSION: Final = Body(run=_version)
