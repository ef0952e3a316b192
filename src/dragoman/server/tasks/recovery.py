"""From what the store has back to a task: for reads, and for taking it up again."""

from __future__ import annotations

from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import decode_errand
from dragoman.stores.base import CANCEL_ITEM, NewTask, StoredTask

__all__ = ("document_of", "fold_of", "question_of", "record_of", "standing_of")


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
    """Return what the task waits to be told; None if it does not wait for input."""
    if stored.state is not TaskState.INPUT_REQUIRED:
        return None
    return fold_of(stored).status_message


def document_of(stored: StoredTask) -> TaskDocument:
    """Return the task as JSON: as stored where nothing came after the snapshot."""
    if stored.snapshot is not None and not stored.tail and not stored.inbox:
        return stored.snapshot
    unread = tuple(
        decode_errand(item.body).message for item in stored.inbox if item.body != CANCEL_ITEM
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
