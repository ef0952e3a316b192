"""Branches: strands of one turn that go on side by side.

The results of durable calls are told apart by their order. What runs side by side has no order, so
each strand has a name, and an order of its own. The name goes with the code that runs, not with the
objects it uses: a coroutine is made before it is known in which strand it will run.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

__all__ = ("MAIN", "branch")

MAIN: Final = ""
"""The name of the strand that a turn begins with."""

branch: Final[ContextVar[str]] = ContextVar("branch", default=MAIN)
"""The strand in which the current code runs."""
