"""The public keys of an agent, as one document: those that verify its card and its notifications.

Later versions leave open where a receiver finds them; the 0.1 reference has one place for all (0.x
reference, 2.7). They are told from each other by their names (``kid``).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.server.cards.signing import CardSigning
    from dragoman.server.webhooks.keys import PushKeys

__all__ = ("PublishedKeys",)

_logger = logging.getLogger(__name__)


class PublishedKeys:
    """Puts the keys of an agent together, as they are at the moment."""

    def __init__(self, cards: CardSigning | None, push: PushKeys) -> None:
        self._cards = cards
        self._push = push

    def document(self) -> bytes | None:
        """Return the key set (JWKS, RFC 7517), None if the agent signs nothing.

        Keys of notifications are read again if their file has changed: a notification may be about
        that was signed with a new one.
        """
        if self._cards is None and not self._push.is_used:
            return None
        keys: list[object] = [*self._cards.public_keys] if self._cards is not None else []
        return msgspec.json.encode({"keys": [*keys, *self._push_keys()]})

    def _push_keys(self) -> list[object]:
        try:
            keys = self._push.get()
        except UsageError as error:
            # Nothing is signed with keys that cannot be read.
            _logger.warning("the keys of notifications are not published: %s", error)
            return []
        if keys is None:
            return []
        try:
            keys.refresh()
        except UsageError as error:
            _logger.warning("the keys of notifications are those of before: %s", error)
        return [*keys.jwks()["keys"]]
