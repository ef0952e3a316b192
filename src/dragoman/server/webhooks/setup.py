"""Pushing: all that a server with webhooks has at work, from start to stop."""

from __future__ import annotations

from typing import Final

from dragoman.clock import Clock
from dragoman.push.notification import PushCounters
from dragoman.push.schedule import RetryPlan
from dragoman.push.sender import NotificationSender, SenderLimits
from dragoman.server.settings import Settings
from dragoman.server.webhooks.keys import PushKeys
from dragoman.server.webhooks.outbox import Notices
from dragoman.server.webhooks.registrations import WebhookLimits, Webhooks
from dragoman.server.webhooks.sending import Post
from dragoman.stores.base import TaskStore

__all__ = ("Pushing",)

_BESIDE_ATTEMPT_SECONDS: Final = 60.0
"""What taking a webhook, reading the log and noting the outcome may last beside an attempt."""

_LAST_ATTEMPTS_SECONDS: Final = 5.0
"""How long a stop waits for attempts under way. What is cut off is sent again."""


class Pushing:
    """The webhooks of a server, and what tells them.

    Attributes:
        webhooks: where they are registered.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: TaskStore,
        clock: Clock,
        keys: PushKeys,
        tally: PushCounters,
    ) -> None:
        self._grace_seconds = min(_LAST_ATTEMPTS_SECONDS, settings.shutdown_grace_seconds)
        self._post = Post(settings, keys, clock)
        self._sender = NotificationSender(
            store=store.webhooks,
            outbox=Notices(store),
            deliver=self._post.deliver,
            clock=clock,
            plan=RetryPlan(attempts=settings.push_attempts),
            limits=SenderLimits(
                claim_seconds=settings.push_timeout_seconds + _BESIDE_ATTEMPT_SECONDS
            ),
            tally=tally,
        )
        self.webhooks: Final = Webhooks(
            store=store.webhooks,
            clock=clock,
            check=self._post.check,
            forget=self._sender.forget,
            limits=WebhookLimits(
                per_task=settings.max_push_configs_per_task,
                per_owner=settings.max_push_configs_per_owner,
                id_length=settings.max_id_length,
            ),
            wants=settings.push_events,
        )

    async def run(self) -> None:
        """Send notifications until cancelled."""
        await self._sender.run()

    async def stop(self) -> None:
        """Begin no more attempts, and wait a little for those under way."""
        await self._sender.stop(self._grace_seconds)

    async def aclose(self) -> None:
        """Close the connections; nothing may be under way any more."""
        await self._post.aclose()
