"""The command line: one module per command, imported when it is called for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

import dragoman
from dragoman.cli import serve
from dragoman.errors import UsageError

__all__ = ("main",)

FAILURE: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    parser = argparse.ArgumentParser(
        prog="dragoman", description="Write, call and run A2A (Agent2Agent) agents."
    )
    parser.add_argument("--version", action="version", version=f"dragoman {dragoman.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    serve.add_parser(commands)
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return USAGE
    try:
        return options.run(options)
    except UsageError as error:
        sys.stderr.write(f"dragoman: error: {error}\n")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
