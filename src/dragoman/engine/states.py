"""Every legal move of a task, as a table. No other file decides whether a move is legal.

- A task begins in SUBMITTED. It moves to WORKING when a turn takes it up.
- WORKING follows WORKING when there is news but no change: a status message, the next turn.
- The interrupted states wait for the client: an answer leads back to WORKING; they may also be left
by an end.
- No move leaves a terminal state (R-T.lot-1).

``docs/explanation/lifecycle.md`` draws its diagram from this table.
"""

from __future__ import annotations

from typing import Final

from dragoman.model.tasks import TERMINAL, TaskState

__all__ = ("BEGINNING", "MOVES", "is_legal")

BEGINNING: Final = TaskState.SUBMITTED

_INTERRUPTED_MOVES: Final = TERMINAL | {TaskState.WORKING}

MOVES: Final[dict[TaskState, frozenset[TaskState]]] = {
    TaskState.SUBMITTED: TERMINAL | {TaskState.WORKING},
    TaskState.WORKING: TERMINAL
    | {TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED},
    TaskState.INPUT_REQUIRED: _INTERRUPTED_MOVES,
    TaskState.AUTH_REQUIRED: _INTERRUPTED_MOVES,
    TaskState.COMPLETED: frozenset(),
    TaskState.FAILED: frozenset(),
    TaskState.CANCELED: frozenset(),
    TaskState.REJECTED: frozenset(),
}


def is_legal(origin: TaskState, target: TaskState) -> bool:
    """Tell whether a task may move from ``origin`` to ``target``."""
    return target in MOVES[origin]
