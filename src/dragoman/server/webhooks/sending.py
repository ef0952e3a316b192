"""Post: the way out to webhooks, made when the first of them is registered or to be told.

The modules of the network and of cryptography take their time, and most servers never see a
webhook. So they are imported when there is one, and not at the start.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dragoman.clock import Clock
from dragoman.errors import UsageError
from dragoman.server.settings import Settings
from dragoman.server.webhooks.keys import PushKeys, egress_policy_of

if TYPE_CHECKING:
    from dragoman.egress import Egress
    from dragoman.model.push import TaskPushNotificationConfig
    from dragoman.push.delivery import Deliverer
    from dragoman.push.notification import OutgoingNotification
    from dragoman.push.schedule import Outcome

__all__ = ("Post",)

_logger = logging.getLogger(__name__)


class Post:
    """Checks webhooks, and calls them."""

    def __init__(self, settings: Settings, keys: PushKeys, clock: Clock) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
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
                issuer=self._settings.public_url or "",
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
