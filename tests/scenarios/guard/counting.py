"""A store that remembers what it is asked for, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, cast

from dragoman.stores.base import TaskStore

__all__ = ("Asked", "counted")

_WRITES: Final = frozenset({"append", "remember_send", "put_inbox", "take_over"})
_HOUSEKEEPING: Final = frozenset(
    {"open", "close", "at_work", "due", "waiting", "forget_sends", "delete_ended"}
)
"""What the server does on its own account, at times of its own."""


class Asked:
    """The names of the methods that were called, in order, since it was last cleared."""

    def __init__(self) -> None:
        self.names: list[str] = []

    @property
    def writes(self) -> list[str]:
        """Those that change something."""
        return [name for name in self.names if name in _WRITES]

    def clear(self) -> None:
        """Forget what was asked."""
        self.names.clear()


class _Counted:
    def __init__(self, store: TaskStore, asked: Asked) -> None:
        self._store = store
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found) or name in _HOUSEKEEPING:
            return found
        method = cast("Callable[..., Any]", found)

        @wraps(method)
        def noting(*arguments: Any, **options: Any) -> Any:
            self._asked.names.append(name)
            return method(*arguments, **options)

        return noting


def counted(store: TaskStore) -> tuple[TaskStore, Asked]:
    """Return a store that does what another does, and what it was asked for."""
    asked = Asked()
    return cast("TaskStore", _Counted(store, asked)), asked
