"""The command line: one module per command, imported when it is called for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dragoman.cli.program import run
from dragoman.cli.surroundings import Surroundings

__all__ = ("main",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command in this process and return its exit code.

    0 done, 1 failed, 2 wrong usage, 3 unreachable, 4 not authenticated, 5 out of time,
    130 interrupted.
    """
    return run(sys.argv[1:] if arguments is None else arguments, Surroundings.of_process())
