"""RecentTasks: ended tasks that were just read.

A task that has ended does not change, so it can be handed out again without asking the database.
Who polls for a result, or shows it in several places, asks for the same few tasks again and again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dragoman.stores.base import Scope, StoredTask

__all__ = ("RecentTasks",)

_MOST_TASKS: Final = 1024
_MOST_BYTES: Final = 16 * 1024
"""Of one task: larger ones take their time anyway. So all together are 16 MiB at most."""


class RecentTasks:
    """A bounded number of ended tasks; the one that came first goes first."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: dict[str, StoredTask] = {}

    def find(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return the task if it is here and belongs to this scope."""
        task = self._tasks.get(task_id)
        return task if task is not None and task.scope == scope else None

    def add(self, task: StoredTask) -> None:
        """Keep the task if it has ended and is small."""
        document = task.snapshot
        if not task.state.is_terminal or document is None or task.tail:
            return
        size = len(document.head) + len(document.artifacts or b"") + len(document.history)
        if size > _MOST_BYTES:
            return
        if len(self._tasks) >= _MOST_TASKS:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[task.id] = task

    def forget(self, task_ids: Iterable[str]) -> None:
        """Drop tasks that have been removed."""
        for task_id in task_ids:
            self._tasks.pop(task_id, None)

    def forget_ended(self, before_ms: int) -> None:
        """Drop tasks that ended before a time: another replica may have removed them."""
        self.forget([id_ for id_, task in self._tasks.items() if task.status_at_ms < before_ms])
