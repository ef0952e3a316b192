"""The booking agent of the examples, in a process that dies at a given commit.

``TRAP=before:3`` kills the process before its third commit is made, ``after:3`` when it is durable
but nobody has been told. Without it nothing is trapped.
"""

import os
import signal
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path

from dragoman.errors import StoreError
from dragoman.stores.sqlite.writer import BatchWriter, Write

EXAMPLE = Path(__file__).parents[2] / "examples" / "booking" / "agent.py"

spec = spec_from_file_location("booking", EXAMPLE)
assert spec is not None
assert spec.loader is not None
booking = module_from_spec(spec)
sys.modules["booking"] = booking
spec.loader.exec_module(booking)
agent = booking.agent

moment, _, number = os.environ.get("TRAP", "").partition(":")
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


if moment:
    BatchWriter.commit = trapped
