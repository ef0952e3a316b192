"""How a task comes to life in this process: newly begun, or restored from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from dragoman.clock import Clock
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import StoreUnavailableError
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message
from dragoman.server.tasks.delivery import decode_delivery
from dragoman.server.tasks.inbox import queue_of
from dragoman.server.tasks.known_numbers import KnownNumbers
from dragoman.server.tasks.streams import Channel, Hub
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.turns import STORE_POLL_SECONDS
from dragoman.server.tasks.watcher import Watcher
from dragoman.service.worker import Worker
from dragoman.stores.base import (
    CANCEL_ITEM,
    InboxItem,
    JournalEntry,
    NewTask,
    SendRecord,
    StoredTask,
    TaskStore,
)

if TYPE_CHECKING:
    from dragoman.server.replicas.remote_tasks import RemoteTasks

__all__ = (
    "TaskRestorer",
    "document_of",
    "fold_of",
    "question_of",
    "record_of",
    "standing_of",
)


class TaskRestorer:
    """Makes live tasks, none of which has a turn yet.

    Args:
        watcher: whom they tell what becomes of their writes.
        worker: who may revise their events.
        elsewhere: the tasks of other replicas; None for a store that this process has to itself.
    """

    def __init__(
        self,
        *,
        watcher: Watcher,
        store: TaskStore,
        clock: Clock,
        hub: Hub,
        remote_tasks: RemoteTasks | None,
        worker: Worker,
    ) -> None:
        self._watcher = watcher
        self._worker = worker
        self._store = store
        self._clock = clock
        self._hub = hub
        self._remote_tasks = remote_tasks
        self._announce = None if remote_tasks is None else remote_tasks.announce

    def begin(
        self,
        task_id: str,
        record: NewTask,
        send: SendRecord | None,
        loop: asyncio.AbstractEventLoop,
    ) -> LiveTask:
        """Return a task of which nothing is written yet."""
        return LiveTask(
            watcher=self._watcher,
            store=self._store,
            clock=self._clock,
            channel=self._channel(task_id),
            record=record,
            standing=Standing(task_id=task_id, context_id=record.context_id),
            fold=TaskFold(task_id, record.context_id),
            send=send,
            loop=loop,
            seen=None if self._remote_tasks is None else KnownNumbers(),
            announce=self._announce,
            revise=self._worker.revise_event,
        )

    def revive(
        self, stored: StoredTask, journal: Sequence[JournalEntry], epoch: int
    ) -> tuple[LiveTask, Sequence[InboxItem]]:
        """Return an unfinished task as the store has it, and what is to be handed to it.

        Args:
            epoch: that of the lease which it was taken over with.
        """
        fold = fold_of(stored)
        queue, rest = queue_of(stored)
        live = LiveTask(
            watcher=self._watcher,
            store=self._store,
            clock=self._clock,
            channel=self._channel_of(stored),
            record=record_of(stored),
            standing=standing_of(stored, fold, unread=len(queue)),
            fold=fold,
            epoch=epoch,
            journal_n=journal[-1].n if journal else 0,
            attempts=stored.attempts,
            wake_at_ms=stored.wake_at_ms,
            seen=None if self._remote_tasks is None else KnownNumbers(stored.inbox_n),
            announce=self._announce,
            revise=self._worker.revise_event,
        )
        live.inbox.extend(queue)
        live.paused_ms = self._clock.now_ms()
        return live, rest

    async def read_when_available(
        self, live: LiveTask
    ) -> tuple[StoredTask | None, tuple[JournalEntry, ...]]:
        """Return what the store has of a task, and its journal, as soon as the store is back."""
        while True:
            if self._store.is_available:
                with suppress(StoreUnavailableError):
                    stored = await self._store.load(live.scope, live.task_id)
                    return stored, await self._store.read_journal(live.task_id)
            await self._clock.sleep(STORE_POLL_SECONDS)

    def _channel_of(self, stored: StoredTask) -> Channel:
        """Return the channel of a task that is adopted: that of its followers, if it has any."""
        is_paused = stored.state.is_interrupted
        channel = None if self._remote_tasks is None else self._remote_tasks.claim(stored.id)
        if channel is None:
            return self._channel(stored.id, stored.seq, is_paused=is_paused)
        channel.skip_to(stored.seq, is_paused=is_paused)
        return channel

    def _channel(self, task_id: str, seq: int = 0, *, is_paused: bool = False) -> Channel:
        return Channel(
            self._hub,
            lambda after, limit: self._store.read_events(task_id, after=after, limit=limit),
            seq=seq,
            paused_at=seq if is_paused else 0,
        )


def fold_of(stored: StoredTask) -> TaskFold:
    """Return the task as a fold: its snapshot and what came after."""
    if stored.snapshot is None:
        fold = TaskFold(stored.id, stored.context_id)
    else:
        fold = TaskFold.of(stored.snapshot.task())
    fold.replay(stored.tail)
    return fold


def record_of(stored: StoredTask) -> NewTask:
    """Return what was written when the task was created."""
    return NewTask(
        scope=stored.scope,
        context_id=stored.context_id,
        skill_id=stored.skill_id,
        origin_dialect=stored.origin_dialect,
        created_ms=stored.created_ms,
    )


def question_of(stored: StoredTask) -> Message | None:
    """Return what the task waits to be told; None if it does not wait for its client."""
    return fold_of(stored).status_message if stored.state.is_interrupted else None


def document_of(stored: StoredTask) -> TaskDocument:
    """Return the task as JSON: as stored where nothing came after the snapshot."""
    if stored.snapshot is not None and not stored.tail and not stored.inbox:
        return stored.snapshot
    unread = tuple(
        decode_delivery(item.body).message for item in stored.inbox if item.body != CANCEL_ITEM
    )
    return fold_of(stored).document(unread)


def standing_of(stored: StoredTask, fold: TaskFold, *, unread: int) -> Standing:
    """Return where the task stands; its artifacts count as open."""
    return Standing(
        task_id=stored.id,
        context_id=stored.context_id,
        state=stored.state,
        seq=stored.seq,
        unread=unread,
        artifacts=dict.fromkeys(fold.artifact_ids, True),
    )
