"""Which IP addresses are no place on the public Internet. Pure: one table, and how to read it.

The table is that of IANA's registries of special addresses, and some of clouds. An IPv6 address
that stands for an IPv4 address is judged as that one.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final, Literal, TypeAlias

from msgspec import Struct

__all__ = ("INNER_KINDS", "REFUSED", "Address", "Kind", "Network", "Range", "range_of", "target_of")

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

Kind: TypeAlias = Literal[
    "loopback",
    "private",
    "shared",
    "link-local",
    "metadata",
    "unspecified",
    "multicast",
    "benchmark",
    "documentation",
    "tunnel",
    "reserved",
]

INNER_KINDS: Final[frozenset[Kind]] = frozenset({"loopback", "private", "shared"})
"""Where hosts of one's own are. A host that is allowed by its name may be found at these; at the
others, never."""


class Range(Struct, frozen=True):
    """Addresses that are not called, and what they are."""

    network: Network
    kind: Kind
    what: str


def _range(network: str, kind: Kind, what: str) -> Range:
    return Range(ip_network(network), kind, what)


REFUSED: Final = (
    # R-13.2-6, R-13.2-7 name the first; the others are where a request does as much harm.
    _range("127.0.0.0/8", "loopback", "this machine"),
    _range("10.0.0.0/8", "private", "inner networks (RFC 1918)"),
    _range("172.16.0.0/12", "private", "inner networks (RFC 1918)"),
    _range("192.168.0.0/16", "private", "inner networks (RFC 1918)"),
    _range("169.254.169.254/32", "metadata", "credentials of cloud machines"),
    _range("169.254.170.2/32", "metadata", "credentials of containers at AWS"),
    _range("100.100.100.200/32", "metadata", "credentials of machines at Alibaba Cloud"),
    _range("168.63.129.16/32", "metadata", "the host of machines at Azure"),
    _range("192.0.0.192/32", "metadata", "credentials of machines at Oracle Cloud"),
    _range("169.254.0.0/16", "link-local", "the same wire (RFC 3927)"),
    _range("100.64.0.0/10", "shared", "behind the NAT of a provider (RFC 6598)"),
    _range("0.0.0.0/8", "unspecified", "this host, on many systems"),
    _range("192.0.0.0/24", "reserved", "protocol assignments (RFC 6890)"),
    _range("192.0.2.0/24", "documentation", "examples (RFC 5737)"),
    _range("198.51.100.0/24", "documentation", "examples (RFC 5737)"),
    _range("203.0.113.0/24", "documentation", "examples (RFC 5737)"),
    _range("192.88.99.0/24", "tunnel", "relays of 6to4 (RFC 7526)"),
    _range("198.18.0.0/15", "benchmark", "test networks (RFC 2544)"),
    _range("224.0.0.0/4", "multicast", "groups of hosts"),
    _range("240.0.0.0/4", "reserved", "future use, and broadcast"),
    _range("::1/128", "loopback", "this machine"),
    _range("::/128", "unspecified", "this host, on many systems"),
    _range("::/96", "tunnel", "IPv4 in an old form (RFC 4291, 2.5.5.1)"),
    _range("64:ff9b:1::/48", "tunnel", "NAT64 of inner networks (RFC 8215)"),
    _range("100::/64", "reserved", "what is thrown away (RFC 6666)"),
    _range("2001::/32", "tunnel", "Teredo: IPv4 behind a NAT (RFC 4380)"),
    _range("2001:2::/48", "benchmark", "test networks (RFC 5180)"),
    _range("2001::/23", "reserved", "protocol assignments (RFC 2928)"),
    _range("2001:db8::/32", "documentation", "examples (RFC 3849)"),
    _range("3fff::/20", "documentation", "examples (RFC 9637)"),
    _range("2002::/16", "tunnel", "6to4: IPv4 in a prefix (RFC 7526)"),
    _range("fd00:ec2::254/128", "metadata", "credentials of machines at AWS"),
    _range("fd20:ce::254/128", "metadata", "credentials of machines at Google Cloud"),
    _range("fc00::/7", "private", "inner networks (RFC 4193)"),
    _range("fe80::/10", "link-local", "the same wire (RFC 4291)"),
    _range("fec0::/10", "private", "inner networks, in an old form (RFC 3879)"),
    _range("ff00::/8", "multicast", "groups of hosts"),
    # What is public in IPv6 is 2000::/3. These are the rest.
    _range("::/3", "reserved", "not given to anybody"),
    _range("4000::/2", "reserved", "not given to anybody"),
    _range("8000::/1", "reserved", "not given to anybody"),
)
"""The first that holds an address tells what it is."""

_NAT64: Final = IPv6Network("64:ff9b::/96")
"""RFC 6052: where there is no IPv4, names are resolved to these."""


def target_of(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address leads to; others as they are."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def range_of(address: Address) -> Range | None:
    """Return what an address is if it is not a public one, None if it is."""
    target = target_of(address)
    return next((each for each in REFUSED if target in each.network), None)
