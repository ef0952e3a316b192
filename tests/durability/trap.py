"""A trap: a process that dies at a given commit.

``TRAP=before:3`` kills the process before its third commit is made, ``after:3`` when it is durable
but nobody has been told. Without it nothing is trapped.
"""

import os
import signal
from collections.abc import Sequence
from itertools import count

from dragoman.errors import StoreError
from dragoman.stores.sqlite.writer import BatchWriter, Write

__all__ = ("lay",)


def lay() -> None:
    """Lay the trap that the environment asks for, if it does."""
    moment, _, number = os.environ.get("TRAP", "").partition(":")
    if not moment:
        return
    commits = count(1)
    commit = BatchWriter.commit

    def trapped(self: BatchWriter, writes: Sequence[Write]) -> Sequence[StoreError | None]:
        is_due = next(commits) == int(number)
        if is_due and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        outcomes = commit(self, writes)
        if is_due and moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return outcomes

    BatchWriter.commit = trapped
