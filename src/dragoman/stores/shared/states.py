"""The numbers under which states are stored: those of the protocol's TaskState."""

from __future__ import annotations

from typing import Final

from dragoman.model.tasks import TERMINAL, TaskState

__all__ = ("NUMBERS", "STATES", "TERMINAL_NUMBERS")

NUMBERS: Final[dict[TaskState, int]] = {
    TaskState.SUBMITTED: 1,
    TaskState.WORKING: 2,
    TaskState.COMPLETED: 3,
    TaskState.FAILED: 4,
    TaskState.CANCELED: 5,
    TaskState.INPUT_REQUIRED: 6,
    TaskState.REJECTED: 7,
    TaskState.AUTH_REQUIRED: 8,
}
STATES: Final = {number: state for state, number in NUMBERS.items()}
TERMINAL_NUMBERS: Final = frozenset(NUMBERS[state] for state in TERMINAL)
