"""What the settings say of webhooks: who may be called, and with which keys that is signed.

The modules of the network and of cryptography take their time, and most servers never see a
webhook. So they are imported when there is one to be called, and not at the start.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError
from dragoman.server.config import Settings
from dragoman.stores.urls import database_path

if TYPE_CHECKING:
    from dragoman.clock import Clock
    from dragoman.egress import EgressPolicy
    from dragoman.push.signing_keys import SigningKeys

__all__ = ("KEYS_SUFFIX", "PushKeys", "check_push", "egress_policy_of", "keys_file_of")

KEYS_SUFFIX: Final = ".push-keys.json"
"""Behind the name of the store, for the keys that belong to it."""

_MEMORY: Final = "memory:"


def egress_policy_of(settings: Settings) -> EgressPolicy:
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
    if settings.push_keys:
        return Path(settings.push_keys)
    if settings.store == _MEMORY:
        return None
    database = database_path(settings.store)
    return database.with_name(f"{database.name}{KEYS_SUFFIX}")


def check_push(settings: Settings) -> None:
    """Tell now what would otherwise be found out with the first webhook.

    Raises:
        UsageError: a host or the file of keys cannot be read.
    """
    if settings.push and settings.push_allow_hosts:
        egress_policy_of(settings)
    if settings.push and settings.push_keys and settings.push_signing != "none":
        from dragoman.push.signing_keys import SigningKeys  # noqa: PLC0415 - see above

        SigningKeys(Path(settings.push_keys))


class PushKeys:
    """The keys that sign notifications, read or made when they are first needed."""

    def __init__(self, settings: Settings, clock: Clock, *, is_passing: bool = False) -> None:
        """Prepare; keys for a passing store, which the settings do not name, are in memory."""
        self._settings = settings
        self._is_passing = is_passing
        self._clock = clock
        self._keys: SigningKeys | None = None
        self.is_used: Final = settings.push and settings.push_signing != "none"
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
