"""Where a caller is, as far as that can be believed; limits for strangers go by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from dragoman.server.admission.authentication import host_of

__all__ = ("caller_address", "network_of")

_NOWHERE: Final = "local"
"""Who comes over a unix socket is on this machine."""


def caller_address(
    peer: str | None, headers: Mapping[bytes, str], trusted_proxies: Collection[str]
) -> str:
    """Return the network address of the one who calls.

    Behind a trusted proxy it is the one which that proxy has seen, and so on from right to left:
    what stands further left was written by somebody nobody vouches for.
    """
    if peer is not None and peer not in trusted_proxies:
        return network_of(peer)
    if b"forwarded" not in headers and b"x-forwarded-for" not in headers:
        return network_of(peer) if peer is not None else _NOWHERE
    nearest = peer
    for hop in reversed(_hops(headers)):
        address = hop if _is_address(hop) else host_of(hop)
        if not _is_address(address):
            break
        nearest = address
        if address not in trusted_proxies:
            break
    return network_of(nearest) if nearest is not None else _NOWHERE


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Return what one caller can be told by: an IPv4 address, or the /64 of an IPv6 one.

    Whoever has an IPv6 address has 2**64 of them (RFC 6177), one for each request.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, 64), strict=False))


def _hops(headers: Mapping[bytes, str]) -> list[str]:
    """Return for whom each proxy acted, the nearest last."""
    if forwarded := headers.get(b"forwarded"):
        return [_for(hop) for hop in forwarded.split(",")]
    return [hop.strip() for hop in headers.get(b"x-forwarded-for", "").split(",")]


def _for(hop: str) -> str:
    """Return the ``for`` of one hop of a Forwarded header (RFC 7239)."""
    for pair in hop.split(";"):
        name, _, value = pair.strip().partition("=")
        if name.lower() == "for":
            return value.strip('" ')
    return ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
