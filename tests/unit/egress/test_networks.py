from ipaddress import ip_address

import pytest

from dragoman.egress.networks import REFUSED, Kind, Range, range_of, target_of


@pytest.mark.parametrize("each", REFUSED, ids=lambda each: str(each.network))
def test_a_range_is_refused_from_its_first_address_to_its_last(each: Range) -> None:
    assert range_of(each.network[0]) is not None
    assert range_of(each.network[-1]) is not None
    # None is hidden by those before it.
    assert each in {range_of(address) for address in (each.network[0], each.network[-1])}


@pytest.mark.requirement("R-13.2-6", "R-13.2-7")
@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.0.1", "link-local"),
        ("169.254.169.254", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("100.64.0.1", "shared"),
        ("100.127.255.255", "shared"),
        ("0.0.0.0", "unspecified"),  # noqa: S104 - nothing is bound
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("fc00::1", "private"),
        ("fdff::1", "private"),
        ("fec0::1", "private"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("198.18.0.1", "benchmark"),
        ("2001:2::1", "benchmark"),
        ("192.0.2.1", "documentation"),
        ("2001:db8::1", "documentation"),
        # IPv4 in the clothes of IPv6: what it leads to is what counts.
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:169.254.169.254", "metadata"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "metadata"),
        # Forms that no host on the Internet has.
        ("::127.0.0.1", "tunnel"),
        ("2002:7f00:1::", "tunnel"),
        ("2002:5db8:d822::1", "tunnel"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "tunnel"),
        ("64:ff9b:1::a00:1", "tunnel"),
        ("::ffff:0:127.0.0.1", "reserved"),
        ("4000::1", "reserved"),
        ("5f00::1", "reserved"),
    ],
)
def test_addresses_that_are_no_place_on_the_internet(address: str, kind: Kind) -> None:
    found = range_of(ip_address(address))
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "8.8.8.8",
        # The neighbours of refused ranges.
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "168.63.129.17",
        "192.167.255.255",
        "192.169.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:200::1",
        "2001:db9::1",
        "2003::1",
        # Public ones, in the clothes of IPv6.
        "::ffff:93.184.216.34",
        "64:ff9b::5db8:d822",
    ],
)
def test_public_addresses(address: str) -> None:
    assert range_of(ip_address(address)) is None


def test_what_an_address_leads_to() -> None:
    four = ip_address("93.184.216.34")
    assert target_of(four) == four
    assert target_of(ip_address("::ffff:93.184.216.34")) == four
    assert target_of(ip_address("64:ff9b::5db8:d822")) == four
    six = ip_address("2606:4700::1111")
    assert target_of(six) == six
