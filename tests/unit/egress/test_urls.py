from ipaddress import ip_address

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.egress.errors import DestinationRefusedError
from dragoman.egress.policy import EgressPolicy, read_allowed
from dragoman.egress.urls import RULES, Destination, read_url

STRICT = EgressPolicy()
PLAIN = EgressPolicy(allow_http=True)
EXAMPLES = [(rule, url) for rule, each in RULES.items() for url in each.examples]


@pytest.mark.requirement("R-13.2-5")
@pytest.mark.parametrize(("rule", "url"), EXAMPLES, ids=lambda text: ascii(text)[:60])
def test_what_breaks_a_rule_is_refused_by_that_rule(rule: str, url: str) -> None:
    with pytest.raises(DestinationRefusedError) as refused:
        read_url(url, STRICT)
    assert refused.value.rule == rule
    assert refused.value.finding == RULES[rule].refuses


@pytest.mark.parametrize("url", ["ftp://hooks.example/s3cret", "https://s3cret@hooks.example/"])
def test_what_may_be_a_secret_is_not_told(url: str) -> None:
    with pytest.raises(DestinationRefusedError) as refused:
        read_url(url, STRICT)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (
            "https://hooks.example/a/b?c=d%20e&f",
            Destination(url="https://hooks.example/a/b?c=d%20e&f", host="hooks.example", port=443),
        ),
        (
            "HTTPS://Hooks.Example",
            Destination(url="https://hooks.example", host="hooks.example", port=443),
        ),
        # The usual port goes without saying, in whatever way it was said.
        (
            "https://hooks.example:0443?a",
            Destination(url="https://hooks.example?a", host="hooks.example", port=443),
        ),
        (
            "https://hooks.example:80/",
            Destination(url="https://hooks.example:80/", host="hooks.example", port=80),
        ),
        # An @ in a path is no user.
        (
            "https://hooks.example/@me",
            Destination(url="https://hooks.example/@me", host="hooks.example", port=443),
        ),
        # International names go as they stand in the DNS.
        (
            "https://bücher.example/",
            Destination(
                url="https://xn--bcher-kva.example/", host="xn--bcher-kva.example", port=443
            ),
        ),
        (
            "https://my_hook.internal/",
            Destination(url="https://my_hook.internal/", host="my_hook.internal", port=443),
        ),
        (
            "https://93.184.216.34/",
            Destination(
                url="https://93.184.216.34/",
                host="93.184.216.34",
                port=443,
                address=ip_address("93.184.216.34"),
            ),
        ),
        (
            "https://[2606:4700:0::1111]:443/",
            Destination(
                url="https://[2606:4700::1111]/",
                host="2606:4700::1111",
                port=443,
                address=ip_address("2606:4700::1111"),
            ),
        ),
    ],
)
def test_what_keeps_the_rules_is_taken_apart(url: str, wanted: Destination) -> None:
    assert read_url(url, STRICT) == wanted


def test_http_is_called_where_it_is_allowed() -> None:
    assert read_url("http://hooks.example/", PLAIN).port == 80
    with pytest.raises(DestinationRefusedError):
        read_url("ftp://hooks.example/", PLAIN)


def test_a_port_is_open_if_any_exception_opens_it() -> None:
    policy = EgressPolicy(allowed=(read_allowed("hooks.test:8443"),))
    assert read_url("https://hooks.test:8443/", policy).port == 8443
    with pytest.raises(DestinationRefusedError):
        read_url("https://hooks.test:8444/", policy)


@pytest.mark.parametrize("port", ["0", "65536", "", "１", "-1"])  # noqa: RUF001 - a digit to some
def test_an_exception_for_every_port_opens_none_that_there_is_not(port: str) -> None:
    policy = EgressPolicy(allowed=(read_allowed("hooks.test:*"),))
    assert read_url("https://hooks.test:65535/", policy).port == 65535
    with pytest.raises(DestinationRefusedError) as refused:
        read_url(f"https://hooks.test:{port}/", policy)
    assert refused.value.rule == "port"


@pytest.mark.parametrize(
    "url", ["https://[::1/", "https://[::1]x/", "https://[/", "https://[::1]:x/"]
)
def test_brackets_that_do_not_match_are_refused(url: str) -> None:
    with pytest.raises(DestinationRefusedError) as refused:
        read_url(url, STRICT)
    assert refused.value.rule in {"address", "port"}


ANY_PORT = EgressPolicy(allow_http=True, allowed=(read_allowed("hooks.test:*"),))
PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "http://",
                "https://",
                "a",
                "b.c",
                "xn--a",
                "ü",
                ".",
                "..",
                "-",
                "_",
                "@",
                ":",
                ":80",
            ),
            *("//", "/", "?", "#", "%", "%41", "%2e", "[", "]", "::1", "::ffff:1.2.3.4", "1"),
            *("127.1", "0x7f", "\\", " ", "\t", "\u3002", "'", "~", "+", "=", "&", "é", "..;/"),
        ]
    ),
    max_size=10,
).map("".join)


@given(st.one_of(st.text(max_size=60), PIECES, PIECES.map("https://a.example".__add__)))
def test_what_is_called_is_what_was_read(text: str) -> None:
    try:
        place = read_url(text, ANY_PORT)
    except DestinationRefusedError:
        return
    # The client below finds the same host and the same port in it, and so do we in what it makes.
    url = httpx2.URL(place.url)
    usual = {"http": 80, "https": 443}[url.scheme]
    assert (url.raw_host.decode(), url.port or usual) == (place.host, place.port)
    assert not url.userinfo
    again = read_url(str(url), ANY_PORT)
    assert (again.host, again.port, again.address) == (place.host, place.port, place.address)
