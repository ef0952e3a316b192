"""What a webhook is told of: which of a task's events are news to it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.model.documents import EventDocument
from dragoman.model.events import TaskStatusUpdateEvent
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from dragoman.stores.webhooks import EventKind

__all__ = ("Found", "first_news")

_STATUS: Final = b'{"statusUpdate":'
"""How an event begins that may be a new state. The others need not be decoded."""


class Found(Struct, frozen=True):
    """How far a log was looked through.

    Attributes:
        seq: the last event that was looked at.
        state: of the task after it.
        event: that event, if it is news; None if there were none.
    """

    seq: int
    state: TaskState | None
    event: EventDocument | None = None


def first_news(
    events: Iterable[EventDocument],
    wants: tuple[EventKind, ...],
    *,
    seq: int,
    state: TaskState | None,
) -> Found:
    """Return the first event that a webhook is told of, or how far there is none.

    R-T.str-6: which these are is the server's choice. The end of a task is told to every webhook.

    Args:
        events: those after event ``seq``.
        state: of the task after event ``seq``.
    """
    for event in events:
        seq = event.seq
        if not event.json.startswith(_STATUS):
            if "artifacts" in wants:
                return Found(seq, state, event)
            continue
        update = event.value.status_update
        assert update is not None  # noqa: S101 - it begins so
        before, state = state, update.status.state
        if _is_told(update, before, wants):
            return Found(seq, state, event)
    return Found(seq, state)


def _is_told(
    update: TaskStatusUpdateEvent, before: TaskState | None, wants: tuple[EventKind, ...]
) -> bool:
    state = update.status.state
    if state.is_terminal:
        return True
    if state is not before:
        return "states" in wants
    return "messages" in wants and update.status.message is not None
