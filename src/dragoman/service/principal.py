"""Principal: a caller who is known, as every layer above the model knows it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

__all__ = ("ANONYMOUS", "NOBODY", "READ_ONLY", "Principal")

ANONYMOUS: Final = "anonymous"
"""The owner all callers share while the agent has no authenticator (Q-34)."""


READ_ONLY: Final = "read-only"
"""The scope of callers who may only look: skills that do more are closed to them."""


class Principal(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A caller who is known.

    Attributes:
        owner: whose records the caller's are; never empty. Made so that two authenticators cannot
            name two callers alike.
        scopes: what the caller was granted.
        tenants: the tenants the caller may act in; None for all.
        expires_ms: when this is to be asked anew, in milliseconds since the Unix epoch; 0 for not.
    """

    owner: str
    scopes: frozenset[str] = frozenset()
    tenants: frozenset[str] | None = None
    expires_ms: int = 0

    def may_act_in(self, tenant: str) -> bool:
        """Tell whether the caller may act in a tenant; "" is the default one."""
        return self.tenants is None or tenant in self.tenants


NOBODY: Final = Principal(owner=ANONYMOUS)
"""Whoever calls an agent that has no authenticator."""
