"""Scope: whose a record is. Apart from ``base``, because that and ``webhooks`` both need it."""

from __future__ import annotations

from msgspec import Struct

__all__ = ("Scope",)


class Scope(Struct, frozen=True, gc=False):
    """Whose records: every record belongs to exactly one tenant and owner."""

    tenant: str
    owner: str
