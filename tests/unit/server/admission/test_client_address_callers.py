"""Where a caller is: only what trusted proxies say is believed."""

from __future__ import annotations

import pytest

from dragoman.server.admission.client_address import caller_address, network_of

PROXIES = frozenset({"10.0.0.1", "10.0.0.2"})


@pytest.mark.parametrize(
    ("peer", "headers", "address"),
    [
        ("203.0.113.5", {}, "203.0.113.5"),
        # Whoever is no proxy of ours cannot say that he is somebody else.
        ("203.0.113.5", {b"x-forwarded-for": "198.51.100.1"}, "203.0.113.5"),
        ("203.0.113.5", {b"forwarded": "for=198.51.100.1"}, "203.0.113.5"),
        ("10.0.0.1", {b"x-forwarded-for": "198.51.100.1"}, "198.51.100.1"),
        # What stands left of what our proxy has seen was written by the caller himself.
        ("10.0.0.1", {b"x-forwarded-for": "192.0.2.9, 198.51.100.1"}, "198.51.100.1"),
        ("10.0.0.1", {b"x-forwarded-for": "198.51.100.1, 10.0.0.2"}, "198.51.100.1"),
        ("10.0.0.1", {b"x-forwarded-for": "10.0.0.2"}, "10.0.0.2"),
        ("10.0.0.1", {b"forwarded": "for=192.0.2.9, For=198.51.100.1;proto=https"}, "198.51.100.1"),
        ("10.0.0.1", {b"forwarded": 'for="[2001:db8::7]:4711"'}, "2001:db8::/64"),
        ("10.0.0.1", {b"forwarded": 'for="198.51.100.1:80"'}, "198.51.100.1"),
        # The standard header counts for more than the customary one.
        (
            "10.0.0.1",
            {b"forwarded": "for=198.51.100.1", b"x-forwarded-for": "192.0.2.9"},
            "198.51.100.1",
        ),
        # A proxy that does not say for whom it acts is the caller.
        ("10.0.0.1", {}, "10.0.0.1"),
        ("10.0.0.1", {b"x-forwarded-for": ""}, "10.0.0.1"),
        ("10.0.0.1", {b"x-forwarded-for": "unknown"}, "10.0.0.1"),
        ("10.0.0.1", {b"forwarded": "for=_hidden"}, "10.0.0.1"),
        ("10.0.0.1", {b"forwarded": "proto=https"}, "10.0.0.1"),
        ("10.0.0.1", {b"x-forwarded-for": "198.51.100.1, unknown"}, "10.0.0.1"),
        # A unix socket: whoever can open it is on this machine.
        (None, {}, "local"),
        (None, {b"x-forwarded-for": "198.51.100.1"}, "198.51.100.1"),
    ],
)
def test_the_address_is_what_can_be_believed(
    peer: str | None, headers: dict[bytes, str], address: str
) -> None:
    assert caller_address(peer, headers, PROXIES) == address


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.5", "203.0.113.5"),
        # Two addresses of one caller, out of 2**64 that he has.
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
        ("testclient", "testclient"),
    ],
)
def test_a_caller_with_many_addresses_is_told_by_their_network(address: str, network: str) -> None:
    assert network_of(address) == network
