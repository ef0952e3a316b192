"""Authority: which keys may sign for an account, as its active permission says."""

from __future__ import annotations

from msgspec import Struct

from dragoman.extensions.xpr.crypto.keys import PublicKey
from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("Account", "Authority")


class _KeyWeight(Struct, frozen=True):
    key: str
    weight: int


class _RequiredAuth(Struct, frozen=True):
    threshold: int
    keys: tuple[_KeyWeight, ...] = ()


class _Permission(Struct, frozen=True):
    perm_name: str
    required_auth: _RequiredAuth


class Authority(Struct, frozen=True):
    """The keys of a permission with their weights; those of kinds unknown here are left out."""

    threshold: int
    keys: tuple[tuple[PublicKey, int], ...]

    def signers(self, *, honours_weights: bool) -> tuple[PublicKey, ...]:
        """Return the keys any of which may sign alone.

        Args:
            honours_weights: only those whose own weight reaches the threshold. A request has one
                signature, so keys that need each other cannot sign one.
        """
        return tuple(
            key for key, weight in self.keys if not honours_weights or weight >= self.threshold
        )


class Account(Struct, frozen=True):
    """What ``get_account`` tells, as far as it matters here."""

    account_name: str
    permissions: tuple[_Permission, ...]

    def authority(self, permission: str) -> Authority | None:
        """Return a permission of the account, None if it does not have it."""
        for one in self.permissions:
            if one.perm_name == permission:
                return _read(one.required_auth)
        return None


def _read(required: _RequiredAuth) -> Authority:
    keys: list[tuple[PublicKey, int]] = []
    for one in required.keys:
        try:
            keys.append((PublicKey.read(one.key), one.weight))
        except MalformedError:
            # Keys of WebAuthn (PUB_WA_…) sign no requests.
            continue
    return Authority(required.threshold, tuple(keys))
