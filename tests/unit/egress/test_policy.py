from ipaddress import ip_address, ip_network

import pytest

from dragoman.egress.errors import DestinationRefusedError
from dragoman.egress.policy import Allowed, EgressPolicy, read_allowed
from dragoman.errors import UsageError

PUBLIC = "93.184.216.34"


def rule_of(policy: EgressPolicy, host: str, address: str, port: int = 443) -> str:
    """Return the rule by which an address is refused, "" if it is not."""
    try:
        policy.check_address(host, port, ip_address(address))
    except DestinationRefusedError as refused:
        return refused.rule
    return ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("hooks.corp.example", Allowed(name="hooks.corp.example")),
        ("Hooks.Corp.Example:8443", Allowed(name="hooks.corp.example", port=8443)),
        ("*.corp.example:*", Allowed(name="*.corp.example", port=0)),
        ("localhost", Allowed(name="localhost")),
        ("10.1.0.0/16", Allowed(network=ip_network("10.1.0.0/16"))),
        ("10.1.2.3:8080", Allowed(network=ip_network("10.1.2.3/32"), port=8080)),
        ("fd00::/8", Allowed(network=ip_network("fd00::/8"))),
        ("[fd00::/8]:*", Allowed(network=ip_network("fd00::/8"), port=0)),
        ("::1", Allowed(network=ip_network("::1/128"))),
    ],
)
def test_exceptions_are_read(text: str, wanted: Allowed) -> None:
    assert read_allowed(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "*",
            "a b",
            "http://a.example",
            "a.example:0",
            "a.example:00",
            "a.example:70000",
            "a.*.example",
        ),
        # Bits that are set beyond the prefix, forms that are none, and a user.
        *("10.1.2.3/8", "127.1", "10.0.0.0/33", "me@a.example", "[fd00::/8", "a.example:x"),
    ],
)
def test_what_is_no_exception_is_told(text: str) -> None:
    with pytest.raises(UsageError, match=r"is neither a host|has a port"):
        read_allowed(text)


def test_without_exceptions_public_addresses_may_be_called() -> None:
    assert rule_of(EgressPolicy(), "a.example", PUBLIC) == ""
    assert rule_of(EgressPolicy(), "a.example", PUBLIC, port=8443) == "port"
    assert rule_of(EgressPolicy(), "a.example", "10.0.0.1") == "private"
    assert rule_of(EgressPolicy(), "a.example", "fe80::1%eth0") == "zone"


def test_a_host_that_is_allowed_may_be_inside() -> None:
    policy = EgressPolicy.of("hooks.corp.example", "*.pods.example")
    for host in ("hooks.corp.example", "a.pods.example", "a.b.pods.example"):
        for address in ("10.0.0.1", "127.0.0.1", "fd00::1", "100.64.0.1", "::ffff:10.0.0.1"):
            assert rule_of(policy, host, address) == ""
    for host in ("corp.example", "x.hooks.corp.example", "pods.example", "evilpods.example"):
        assert rule_of(policy, host, "10.0.0.1") == "private"


def test_a_host_that_is_allowed_is_never_found_at_metadata() -> None:
    policy = EgressPolicy.of("hooks.corp.example")
    assert rule_of(policy, "hooks.corp.example", "169.254.169.254") == "metadata"
    assert rule_of(policy, "hooks.corp.example", "fd00:ec2::254") == "metadata"
    assert rule_of(policy, "hooks.corp.example", "0.0.0.0") == "unspecified"  # noqa: S104 - not bound
    assert rule_of(policy, "hooks.corp.example", "169.254.1.1") == "link-local"


def test_a_network_that_is_allowed_may_be_called_by_any_name() -> None:
    policy = EgressPolicy.of("10.1.0.0/16", "169.254.7.7")
    assert rule_of(policy, "a.example", "10.1.2.3") == ""
    assert rule_of(policy, "a.example", "::ffff:10.1.2.3") == ""
    assert rule_of(policy, "a.example", "169.254.7.7") == ""
    assert rule_of(policy, "a.example", "10.2.0.1") == "private"


def test_a_port_is_open_where_an_exception_says_so() -> None:
    policy = EgressPolicy.of("hooks.corp.example:8080", "10.1.0.0/16:*")
    assert rule_of(policy, "hooks.corp.example", "10.9.0.1", 8080) == ""
    assert rule_of(policy, "hooks.corp.example", "10.9.0.1", 6379) == "port"
    assert rule_of(policy, "a.example", PUBLIC, 8080) == "port"
    assert rule_of(policy, "a.example", "10.1.0.1", 6379) == ""
    assert policy.may_open(6379)
    assert not EgressPolicy.of("hooks.corp.example:8080").may_open(6379)


@pytest.mark.requirement("R-13.2-8")
def test_a_list_may_be_all_there_is() -> None:
    policy = EgressPolicy.of("hooks.example", "10.1.0.0/16", only_allowed=True)
    assert rule_of(policy, "hooks.example", PUBLIC) == ""
    assert rule_of(policy, "a.example", "10.1.0.1") == ""
    assert rule_of(policy, "a.example", PUBLIC) == "policy"


def test_further_networks_can_be_refused_even_to_those_that_are_allowed() -> None:
    policy = EgressPolicy(
        allowed=(read_allowed("hooks.example"),), refused=(ip_network("93.184.216.0/24"),)
    )
    assert rule_of(policy, "a.example", PUBLIC) == "policy"
    assert rule_of(policy, "hooks.example", f"::ffff:{PUBLIC}") == "policy"


@pytest.mark.requirement("R-4.3.3-10")
def test_webhooks_get_as_long_as_they_should() -> None:
    assert 10 <= EgressPolicy().total_seconds <= 30
