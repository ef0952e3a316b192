"""Threads: the states of graphs, kept in the notebook for graphs that were given no checkpointer.

LangGraph's own promises hold: a state is durable before the next step of the graph begins.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from dragoman.adapters.notebook import QUERIES, Notebook

if TYPE_CHECKING:
    import sqlite3

    from langchain_core.runnables import RunnableConfig

__all__ = ("NotedThreads",)


class NotedThreads(BaseCheckpointSaver[int]):
    """A checkpointer for graphs that are run on a loop."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__()
        self._notebook = notebook

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the state that the config names, or else the last one of its thread."""
        thread, namespace = _place(config)
        wanted = get_checkpoint_id(config)

        def read(connection: sqlite3.Connection) -> CheckpointTuple | None:
            if wanted:
                found = connection.execute(
                    QUERIES["read_checkpoint"], (thread, namespace, wanted)
                ).fetchone()
            else:
                found = connection.execute(
                    QUERIES["read_last_checkpoint"], (thread, namespace)
                ).fetchone()
            return found and self._tuple(connection, thread, namespace, found)

        return await self._notebook.run(read)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - its name there
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[CheckpointTuple]:
        """Yield the states of a thread, the last first."""
        if config is None:
            return
        thread, namespace = _place(config)
        bound = (get_checkpoint_id(before) if before is not None else None) or ""

        def read(connection: sqlite3.Connection) -> list[CheckpointTuple]:
            rows = connection.execute(
                QUERIES["list_checkpoints"], (thread, namespace, bound)
            ).fetchall()
            return [self._tuple(connection, thread, namespace, row) for row in rows]

        wanted = (filter or {}).items()
        left = limit if limit is not None else -1
        for each in await self._notebook.run(read):
            if left == 0:
                return
            if wanted <= each.metadata.items():
                left -= 1
                yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a state."""
        del new_versions  # The values are kept with every state, and not by version.
        thread, namespace = _place(config)
        row = (
            thread,
            namespace,
            checkpoint["id"],
            get_checkpoint_id(config),
            *self.serde.dumps_typed(checkpoint),
            *self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)),
        )
        await self._notebook.run(
            lambda connection: connection.execute(QUERIES["write_checkpoint"], row)
        )
        return _config(thread, namespace, checkpoint["id"])

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a task of the graph has written."""
        thread, namespace = _place(config)
        place = (thread, namespace, get_checkpoint_id(config), task_id)
        rows = [
            (*place, WRITES_IDX_MAP.get(channel, n), channel, *self.serde.dumps_typed(value))
            for n, (channel, value) in enumerate(writes)
        ]

        def write(connection: sqlite3.Connection) -> None:
            for row in rows:
                statement = "replace_write" if row[4] < 0 else "add_write"
                connection.execute(QUERIES[statement], (*row, task_path))

        await self._notebook.run(write)

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget a thread."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute(QUERIES["delete_checkpoints"], (thread_id,))
            connection.execute(QUERIES["delete_writes"], (thread_id,))

        await self._notebook.run(delete)

    def _tuple(
        self, connection: sqlite3.Connection, thread: str, namespace: str, row: tuple[Any, ...]
    ) -> CheckpointTuple:
        checkpoint_id, parent, kind, state, metadata_kind, metadata = row
        writes = connection.execute(
            QUERIES["read_writes"], (thread, namespace, checkpoint_id)
        ).fetchall()
        load = self.serde.loads_typed
        return CheckpointTuple(
            config=_config(thread, namespace, checkpoint_id),
            checkpoint=load((kind, state)),
            metadata=load((metadata_kind, metadata)),
            parent_config=_config(thread, namespace, parent) if parent else None,
            pending_writes=[
                (task, channel, load((kind, value))) for task, channel, kind, value in writes
            ],
        )


def _place(config: RunnableConfig) -> tuple[str, str]:
    configurable: dict[str, Any] = config.get("configurable", {})
    return configurable["thread_id"], configurable.get("checkpoint_ns", "")


def _config(thread: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }
