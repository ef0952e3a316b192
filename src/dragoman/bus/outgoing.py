"""Hints on their way out: gathered while the last ones are being sent, and joined.

A thousand events of one task within a pass of the event loop are one hint, with the last number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from dragoman.bus.base import Hint, InboxFilled, Spent, TaskMoved

__all__ = ("Hints", "Outgoing")


class Hints(Struct, frozen=True, kw_only=True):
    """Several hints, each said once.

    ``moved`` gives the seq of every task that moved, ``spent`` the units of every allowance.
    """

    moved: Mapping[str, int] = {}
    filled: tuple[InboxFilled, ...] = ()
    is_released: bool = False
    spent: Mapping[str, int] = {}


class Outgoing:
    """What was published and not yet taken.

    Bounded by nature: per task there is one hint of each kind, and a task that publishes is in
    memory or has a caller who waits; and so does whoever uses up an allowance.

    Args:
        wake: called when there is something to take, at most once until it is taken.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._is_awake = False
        self._moved: dict[str, int] = {}
        # A dict for its order and its keys: there are few.
        self._filled: dict[InboxFilled, None] = {}
        self._is_released = False
        self._spent: dict[str, int] = {}

    def add(self, hint: Hint) -> None:
        """Gather a hint."""
        if isinstance(hint, TaskMoved):
            if hint.seq > self._moved.get(hint.task_id, -1):
                self._moved[hint.task_id] = hint.seq
        elif isinstance(hint, InboxFilled):
            self._filled[hint] = None
        elif isinstance(hint, Spent):
            self._spent[hint.allowance] = self._spent.get(hint.allowance, 0) + hint.units
        else:
            self._is_released = True
        if not self._is_awake:
            self._is_awake = True
            self._wake()

    def take(self) -> Hints | None:
        """Return all that was gathered, and begin anew; None if there is nothing."""
        self._is_awake = False
        if not (self._moved or self._filled or self._is_released or self._spent):
            return None
        hints = Hints(
            moved=self._moved,
            filled=tuple(self._filled),
            is_released=self._is_released,
            spent=self._spent,
        )
        self._moved = {}
        self._filled = {}
        self._is_released = False
        self._spent = {}
        return hints
