"""RequestHeaders: the headers and credentials to send with a request, by where it goes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dragoman.auth.outgoing.credentials import NOTHING, Attachment
from dragoman.auth.outgoing.origins import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.auth.outgoing.credentials import Credentials

__all__ = ("RequestHeaders",)

_logger = logging.getLogger(__name__)


class RequestHeaders:
    """The user's headers and credentials, each for those it is meant for.

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
        self._left_out: set[str] = set()

    async def attachment_for(self, url: str) -> Attachment:
        """Return what goes along to a URL.

        Raises:
            CredentialsError: there is nothing to show, and without it there is no use in asking.
        """
        origin = origin_of(url)
        headers = self._headers
        if origin != self._origin and headers is not NOTHING:
            self._warn_about(origin)
            headers = NOTHING
        if self._credentials is None:
            return headers
        is_retry, self._is_refused = self._is_refused, False
        return headers.joined(await self._credentials.attach(origin, is_retry=is_retry))

    def renew(self) -> bool:
        """Note that the agent has refused what was shown; tell whether other can be shown."""
        self._is_refused = self._credentials is not None
        return self._is_refused

    def _warn_about(self, origin: str) -> None:
        if origin not in self._left_out:
            self._left_out.add(origin)
            _logger.warning(
                "the card points to %s, to which the headers given for %s are not sent",
                origin,
                self._origin,
            )
