"""Escort: what of the user's goes along with requests, and to whom."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dragoman.auth.outgoing.credentials import NOTHING, Attachment
from dragoman.auth.outgoing.origins import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.auth.outgoing.credentials import Credentials

__all__ = ("Escort",)

_logger = logging.getLogger(__name__)


class Escort:
    """Sends the user's headers and credentials along, to those they are meant for.

    Headers are for one origin, the agent's own: that of the address which the user gave. A card may
    point elsewhere, and whom it points to does not get them. Credentials know themselves for whom
    they are.
    """

    def __init__(
        self, origin: str, headers: Mapping[str, str], credentials: Credentials | None = None
    ) -> None:
        """Take what goes along; headers to ``origin`` (``https://host:port``) alone."""
        self._origin = origin
        self._headers = Attachment(headers=dict(headers)) if headers else NOTHING
        self._credentials = credentials
        self._is_refused = False
        self._passed_over: set[str] = set()

    async def attachment_for(self, url: str) -> Attachment:
        """Return what goes along to a URL.

        Raises:
            CredentialsError: there is nothing to show, and without it there is no use in asking.
        """
        origin = origin_of(url)
        headers = self._headers
        if origin != self._origin and headers is not NOTHING:
            self._mention(origin)
            headers = NOTHING
        if self._credentials is None:
            return headers
        is_retry, self._is_refused = self._is_refused, False
        return headers.joined(await self._credentials.attach(origin, is_retry=is_retry))

    def renew(self) -> bool:
        """Note that the agent has refused what was shown; tell whether other can be shown."""
        self._is_refused = self._credentials is not None
        return self._is_refused

    def _mention(self, origin: str) -> None:
        if origin not in self._passed_over:
            self._passed_over.add(origin)
            _logger.warning(
                "the card points to %s, to which the headers given for %s are not sent",
                origin,
                self._origin,
            )
