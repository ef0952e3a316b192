"""TaskLookup: tasks beside the one that a turn works at, as the store has them.

They are of the same tenant and owner: those of others are not there. Nothing is kept, so who asks
for none pays for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from dragoman.model.tasks import Task
from dragoman.server.tasks.restoring import document_of
from dragoman.server.tasks.task import LiveTask
from dragoman.stores.base import Position, TaskQuery, TaskStore

__all__ = ("TaskLookup",)

_PAGE: Final = 50
"""Tasks that are read from the store at once."""


class TaskLookup:
    """Finds the tasks that have to do with another one."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store

    async def earlier(self, live: LiveTask, limit: int) -> tuple[Task, ...]:
        """Return tasks of the same context that began before this one, newest first.

        Those at work are left out: what will have been said in them is not known yet.
        """
        found: list[Task] = []
        record = live.record
        query = TaskQuery(scope=live.scope, context_id=record.context_id, limit=_PAGE)
        while len(found) < limit:
            page = await self._store.list_tasks(query)
            found += (
                document_of(stored).task()
                for stored in page.tasks
                if stored.id != live.task_id
                and stored.created_ms <= record.created_ms
                and (stored.state.is_terminal or stored.state.is_interrupted)
            )
            if not page.has_more:
                break
            last = page.tasks[-1]
            query = replace(query, after=Position(last.status_at_ms, last.id))
        return tuple(found[:limit])

    async def named(self, live: LiveTask, task_ids: Sequence[str]) -> tuple[Task, ...]:
        """Return the tasks that the owner knows by these ids; those it has not are left out."""
        found: list[Task] = []
        for task_id in dict.fromkeys(task_ids):
            stored = await self._store.load(live.scope, task_id)
            if stored is None and (alias := await self._store.find_alias(live.scope, task_id)):
                stored = await self._store.load(live.scope, alias)
            if stored is not None:
                found.append(document_of(stored).task())
        return tuple(found)
