"""Who is called when a hint arrives. The same table serves every kind of bus."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from dragoman.bus.base import (
    Hint,
    Moved,
    OnHint,
    OnReconnect,
    ReplicaHint,
    TaskMoved,
    Unfollow,
)

__all__ = ("Listeners",)

_logger = logging.getLogger(__name__)


def _deaf(_: ReplicaHint) -> None:
    """Hear nothing: the bus is not open."""


def _unmoved() -> None:
    """Do nothing: the bus is not open."""


class Listeners:
    """The callbacks of one bus. A callback that raises is logged and hinders no other.

    Args:
        changed: called with the id of a task when its first follower came or its last one left.
    """

    def __init__(self, changed: Callable[[str], None] = lambda _: None) -> None:
        self._changed = changed
        self._followers: dict[str, list[Moved]] = {}
        self._on_hint: OnHint = _deaf
        self._on_reconnect: OnReconnect = _unmoved

    def begin(self, on_hint: OnHint, on_reconnect: OnReconnect) -> None:
        """Set who hears what is meant for the replica."""
        self._on_hint = on_hint
        self._on_reconnect = on_reconnect

    def end(self) -> None:
        """Call nobody any more."""
        self._followers.clear()
        self.begin(_deaf, _unmoved)

    def follow(self, task_id: str, moved: Moved) -> Unfollow:
        """Add a follower of a task; return what takes it off again."""
        followers = self._followers.get(task_id)
        if followers is None:
            followers = self._followers[task_id] = []
            self._changed(task_id)
        followers.append(moved)
        is_following = True

        def unfollow() -> None:
            nonlocal is_following
            # Not the same list any more: the bus was closed meanwhile.
            if not is_following or self._followers.get(task_id) is not followers:
                return
            is_following = False
            followers.remove(moved)
            if not followers:
                del self._followers[task_id]
                self._changed(task_id)

        return unfollow

    def is_followed(self, task_id: str) -> bool:
        """Tell whether anybody wants to hear of a task."""
        return task_id in self._followers

    def followed(self) -> Iterable[str]:
        """Return the ids of all tasks that are followed now."""
        return tuple(self._followers)

    def hear(self, hint: Hint) -> None:
        """Pass a hint on to whom it concerns."""
        if isinstance(hint, TaskMoved):
            for moved in tuple(self._followers.get(hint.task_id, ())):
                _call(moved, hint.seq)
        else:
            _call(self._on_hint, hint)

    def hear_again(self) -> None:
        """Tell the replica that hints may have been missed."""
        _call(self._on_reconnect)


def _call(callback: Callable[..., None], *args: object) -> None:
    try:
        callback(*args)
    except Exception:
        _logger.exception("a listener of the bus failed")
