"""Agents by a name that a directory knows, instead of by an address.

Where the name leads is somebody else's word. So everything that is then called, be it the card or
an interface that the card lists, is called within the bounds that the directory sets.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import httpx2

from dragoman.egress import Egress

if TYPE_CHECKING:
    from dragoman.client.discovery.card_access import Address
    from dragoman.client.transports.tls import Tls
    from dragoman.egress import EgressPolicy
    from dragoman.extensions.base import Directory

__all__ = ("guarded", "name_in")


def name_in(address: Address, directory: Directory | None) -> str | None:
    """Return the name that an address has for a directory, None if it is an address of its own."""
    if directory is None or not isinstance(address, str):
        return None
    scheme, colon, name = address.partition(":")
    is_name = bool(colon) and scheme == directory.scheme and not name.startswith("//")
    return name if is_name else None


async def guarded(policy: EgressPolicy, tls: Tls, stack: AsyncExitStack) -> httpx2.AsyncClient:
    """Return a client that calls what a policy allows; it is closed with the stack."""
    egress = Egress(policy, context=httpx2.create_ssl_context(tls.http()))
    client = httpx2.AsyncClient(transport=egress, trust_env=False)
    return await stack.enter_async_context(client)
