"""What the settings say of webhooks: who may be called, and with which keys that is signed.

The modules of the network and of cryptography take their time, and most servers never see a
webhook. So they are imported when there is one to be called, and not at the start.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError
from dragoman.server.settings import Settings, WebhookSettings
from dragoman.stores.opening import is_shared, store_file

if TYPE_CHECKING:
    from dragoman.clock import Clock
    from dragoman.egress import EgressPolicy
    from dragoman.push.signing_keys import SigningKeys

__all__ = (
    "KEYS_SUFFIX",
    "PushKeys",
    "check_push",
    "egress_policy_of",
    "keys_beside",
    "keys_file_of",
    "tell_unsigned",
)

_logger = logging.getLogger(__name__)

KEYS_SUFFIX: Final = ".push-keys.json"
"""Behind the name of the store, for the keys that belong to it."""


def egress_policy_of(settings: WebhookSettings) -> EgressPolicy:
    """Return whom notifications may be sent to, and within which bounds.

    Raises:
        UsageError: one of ``push_allow_hosts`` cannot be read.
    """
    from dragoman.egress import EgressPolicy, read_allowed  # noqa: PLC0415 - see above

    try:
        allowed = tuple(map(read_allowed, settings.push_allow_hosts))
    except UsageError as error:
        raise UsageError(f"push_allow_hosts: {error}") from None
    total = settings.push_timeout_seconds
    usual = EgressPolicy()
    return EgressPolicy(
        allow_http=settings.push_allow_http,
        ports=frozenset(settings.push_ports),
        allowed=allowed,
        connect_seconds=min(usual.connect_seconds, total),
        total_seconds=total,
    )


def keys_file_of(settings: Settings) -> Path | None:
    """Return the file with the keys that sign; None for keys in memory.

    Raises:
        UsageError: the store is none.
    """
    return Path(settings.push_keys) if settings.push_keys else keys_beside(settings.store)


def keys_beside(store: str) -> Path | None:
    """Return the file with the keys that belong to a store; None for one that is no file.

    Raises:
        UsageError: the store is none.
    """
    database = store_file(store)
    return None if database is None else database.with_name(f"{database.name}{KEYS_SUFFIX}")


def check_push(settings: WebhookSettings) -> None:
    """Tell now what would otherwise be found out with the first webhook.

    Raises:
        UsageError: a host or the file of keys cannot be read.
    """
    if settings.push and settings.push_allow_hosts:
        egress_policy_of(settings)
    if settings.push and settings.push_keys and settings.push_signing != "none":
        from dragoman.push.signing_keys import SigningKeys  # noqa: PLC0415 - see above

        SigningKeys(Path(settings.push_keys))


def tell_unsigned(settings: Settings) -> None:
    """Warn whoever would expect notifications to be signed, if they are not."""
    if settings.push and _lacks_keys(settings):
        _logger.warning(
            "notifications are not signed: replicas on PostgreSQL need the same keys; name a file "
            "that all of them have with --push-keys, or say --push-signing none"
        )


def _lacks_keys(settings: Settings) -> bool:
    """Tell whether keys are to sign that replicas would each make for themselves.

    A receiver that asks one of them for its keys could not verify what another has signed.
    """
    is_alone = not is_shared(settings.store)
    return not (is_alone or settings.push_keys or settings.push_signing == "none")


class PushKeys:
    """The keys that sign notifications, read or made when they are first needed."""

    def __init__(self, settings: Settings, clock: Clock, *, is_passing: bool = False) -> None:
        """Prepare; keys for a passing store, which the settings do not name, are in memory."""
        self._settings = settings
        self._is_passing = is_passing
        self._clock = clock
        self._keys: SigningKeys | None = None
        self.is_used: Final = (
            settings.push and settings.push_signing != "none" and not _lacks_keys(settings)
        )
        """Whether anything is signed."""

    def get(self) -> SigningKeys | None:
        """Return the keys, None if nothing is signed.

        Raises:
            UsageError: they cannot be read or made.
        """
        if self._keys is None and self.is_used:
            from dragoman.push.signing_keys import SigningKeys  # noqa: PLC0415 - see above

            is_kept = bool(self._settings.push_keys) or not self._is_passing
            file = keys_file_of(self._settings) if is_kept else None
            self._keys = SigningKeys(file, clock=self._clock)
        return self._keys
