"""PushNotifications: all that a server with webhooks has at work, from start to stop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from dragoman.clock import Clock
from dragoman.errors import UsageError
from dragoman.push.notification import PushCounters
from dragoman.push.schedule import RetryPlan
from dragoman.push.sender import NotificationSender, SenderLimits
from dragoman.server.settings import Settings, WebhookSettings
from dragoman.server.webhooks.keys import PushKeys, egress_policy_of
from dragoman.server.webhooks.outbox import WebhookOutbox
from dragoman.server.webhooks.registrations import Webhooks
from dragoman.stores.base import TaskStore

if TYPE_CHECKING:
    from dragoman.egress import Egress
    from dragoman.model.push import TaskPushNotificationConfig
    from dragoman.push.delivery import Deliverer
    from dragoman.push.notification import OutgoingNotification
    from dragoman.push.schedule import Outcome

__all__ = (
    "PushNotifications",
    "WebhookCalls",
)


_logger = logging.getLogger(__name__)


_BESIDE_ATTEMPT_SECONDS: Final = 60.0
"""What taking a webhook, reading the log and noting the outcome may last beside an attempt."""

_LAST_ATTEMPTS_SECONDS: Final = 5.0
"""How long a stop waits for attempts under way. What is cut off is sent again."""


class PushNotifications:
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
        counters: PushCounters,
    ) -> None:
        self._grace_seconds = min(_LAST_ATTEMPTS_SECONDS, settings.shutdown_grace_seconds)
        self._post = WebhookCalls(settings, keys, clock, issuer=settings.public_url or "")
        self._sender = NotificationSender(
            store=store.webhooks,
            outbox=WebhookOutbox(store),
            deliver=self._post.deliver,
            clock=clock,
            plan=RetryPlan(attempts=settings.push_attempts),
            limits=SenderLimits(
                claim_seconds=settings.push_timeout_seconds + _BESIDE_ATTEMPT_SECONDS
            ),
            counters=counters,
        )
        self.webhooks: Final = Webhooks(
            store=store.webhooks,
            clock=clock,
            check=self._post.check,
            forget=self._sender.forget,
            settings=settings,
            max_id_length=settings.max_id_length,
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


class WebhookCalls:
    """Checks webhooks, and calls them.

    Args:
        issuer: who signs what they are told; "" if the server does not know its address.
    """

    def __init__(
        self, settings: WebhookSettings, keys: PushKeys, clock: Clock, *, issuer: str
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
        self._issuer = issuer
        self._made: tuple[Egress, Deliverer] | None = None

    async def check(self, config: TaskPushNotificationConfig) -> str:
        """Check a webhook before it is registered; return its host.

        Raises:
            InvalidParamsError: it cannot be called, or does not want to be.
        """
        from dragoman.egress.urls import read_url  # noqa: PLC0415 - see above
        from dragoman.push.registration import (  # noqa: PLC0415 - see above
            ask_for_consent,
            check_registration,
        )

        egress, _ = self._make()
        await check_registration(config, egress)
        if self._settings.push_challenge:
            await ask_for_consent(config.url, egress)
        return read_url(config.url, egress.policy).host

    async def deliver(
        self, config: TaskPushNotificationConfig, parcel: OutgoingNotification
    ) -> Outcome:
        """Make one attempt to deliver a notification."""
        _, deliverer = self._make()
        self._refresh_keys()
        return await deliverer.deliver(config, parcel)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._made is not None:
            await self._made[0].aclose()
            self._made = None

    def _make(self) -> tuple[Egress, Deliverer]:
        if self._made is None:
            from dragoman.egress import Egress  # noqa: PLC0415 - see above
            from dragoman.push.delivery import Deliverer  # noqa: PLC0415 - see above

            egress = Egress(egress_policy_of(self._settings))
            deliverer = Deliverer(
                egress,
                clock=self._clock,
                keys=self._keys.get(),
                issuer=self._issuer,
            )
            self._made = (egress, deliverer)
        return self._made

    def _refresh_keys(self) -> None:
        """Sign with the newest key; an operator may have made one meanwhile."""
        keys = self._keys.get()
        try:
            if keys is not None:
                keys.refresh()
        except UsageError as error:
            _logger.warning("notifications are signed with the key of before: %s", error)
