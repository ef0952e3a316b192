"""From what the store has back to a task: for reads, for takeovers, and after a restart."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

import msgspec

from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import UnavailableError
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message
from dragoman.stores.base import StoredTask, TaskStore

__all__ = ("check_is_here", "document_of", "end_unfinished", "fold_of", "standing_of")

_logger = logging.getLogger(__name__)

_BATCH: Final = 200

INTERRUPTED_REASON: Final = (
    "The server was restarted while this task was under way; it cannot be continued. "
    "Send the message again with a new messageId."
)

_decode_message = msgspec.json.Decoder(Message).decode


class Ending(Protocol):
    """Whoever can end an unfinished task of the store."""

    async def abandon(self, stored: StoredTask, reason: str) -> None:
        """End it as failed, durably."""
        ...


def check_is_here(stored: StoredTask) -> None:
    """Raise UnavailableError for a task that is under way, but not in this process."""
    if not stored.state.is_terminal:
        raise UnavailableError("The task is run by another server; try again later")


def fold_of(stored: StoredTask) -> TaskFold:
    """Return the task as a fold: its snapshot and what came after."""
    if stored.snapshot is None:
        fold = TaskFold(stored.id, stored.context_id)
    else:
        fold = TaskFold.of(stored.snapshot.task())
    fold.replay(stored.tail)
    return fold


def document_of(stored: StoredTask) -> TaskDocument:
    """Return the task as JSON: as stored where nothing came after the snapshot."""
    if stored.snapshot is not None and not stored.tail and not stored.inbox:
        return stored.snapshot
    unread = tuple(_decode_message(item.message) for item in stored.inbox)
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


async def end_unfinished(store: TaskStore, runner: Ending) -> int:
    """End what a former process left unfinished, and return how many tasks that were.

    Nobody runs them any more. Saying so is honest; waiting clients get an answer.
    """
    count = 0
    after_id = ""
    while batch := await store.unfinished(after_id=after_id, limit=_BATCH):
        # Together, so that they share commits.
        await asyncio.gather(*(runner.abandon(stored, INTERRUPTED_REASON) for stored in batch))
        count += len(batch)
        after_id = batch[-1].id
    if count:
        _logger.warning("%d tasks were cut off by the last stop; they are now failed", count)
    return count
