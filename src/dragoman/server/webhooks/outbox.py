"""WebhookOutbox: what a webhook is to be told next, read from the log and written in its own form.

0.x reference, 5.11: a webhook is told in the form that it was registered in. 1.0 is told the event,
0.x the whole task as it was then.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Final

from dragoman import telemetry
from dragoman.dialects.registry import webhook_dialect
from dragoman.engine.fold import TaskFold
from dragoman.errors import StoreError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.push.events import Found, first_news
from dragoman.push.notification import OutgoingNotification
from dragoman.push.sender import Notice
from dragoman.server.tasks.delivery import trace_at
from dragoman.stores.base import TaskStore
from dragoman.stores.webhooks import Webhook

__all__ = ("WebhookOutbox", "notification_id")

_READ_EVENTS: Final = 256
"""Events looked through at once on the way to the next that is told."""

_NO_TASK: Final = TaskDocument(b"{}", None, b"[]")
"""For 1.0, which does not look at it."""


class WebhookOutbox:
    """The outbox of all webhooks, which is the log of their tasks."""

    def __init__(self, store: TaskStore) -> None:
        self._store = store

    async def next_notice(self, webhook: Webhook) -> Notice:
        """Return what is next for a webhook."""
        if webhook.letter_seq:
            event = await self._event(webhook.key.task_id, webhook.letter_seq)
            found = Found(webhook.letter_seq, webhook.state, event)
        else:
            found = await self._find(webhook)
        if found.event is None:
            return Notice(found.seq, found.state)
        return Notice(found.seq, found.state, await self._write(webhook, found.event))

    async def _event(self, task_id: str, seq: int) -> EventDocument:
        events = await self._store.read_events(task_id, after=seq - 1, limit=1)
        if not events:
            raise StoreError(f"task {task_id} has no event {seq}")
        return events[0]

    async def _find(self, webhook: Webhook) -> Found:
        found = Found(webhook.cursor, webhook.state)
        while events := await self._store.read_events(
            webhook.key.task_id, after=found.seq, limit=_READ_EVENTS
        ):
            found = first_news(events, webhook.new.wants, seq=found.seq, state=found.state)
            if found.event is not None:
                break
        return found

    async def _write(self, webhook: Webhook, event: EventDocument) -> OutgoingNotification:
        dialect = webhook_dialect(webhook.new.dialect)
        is_old = dialect.has_final
        task = await self._task_at(webhook, event) if is_old else _NO_TASK
        return OutgoingNotification(
            id=notification_id(webhook, event.seq),
            body=dialect.encode_notification(event, task, webhook.new.config.task_id),
            headers=dict(dialect.http.notification_headers),
            trace=await self._trace_of(webhook.key.task_id, event.seq),
        )

    async def _trace_of(self, task_id: str, seq: int) -> str:
        """Return the trace that an event was written in; it is kept with what began the turn."""
        if telemetry.active is None:
            return ""
        return trace_at(await self._store.read_journal(task_id), seq)

    async def _task_at(self, webhook: Webhook, event: EventDocument) -> TaskDocument:
        task_id = webhook.key.task_id
        entries = await self._store.read_entries(task_id, until=event.seq)
        update = event.value.status_update or event.value.artifact_update
        context_id = "" if update is None else update.context_id

        def fold() -> TaskDocument:
            made = TaskFold(task_id, context_id)
            made.replay(entries)
            return made.document()

        # The log of a task may be long, and streams should not wait while it is read.
        return await asyncio.to_thread(fold)


def notification_id(webhook: Webhook, seq: int) -> str:
    """Return what the notification of an event is called, whenever and however often it is sent."""
    # The ids of clients may hold what a header cannot.
    name = f"{webhook.key.task_id}\n{webhook.key.id}\n{seq}"
    return f"msg_{sha256(name.encode()).hexdigest()[:32]}"
