from collections.abc import Mapping

import pytest

from dragoman.server.admission.client_address import Addressing, base_url

PROXY = "10.0.0.1"
STRANGER = "203.0.113.7"


def url(
    headers: Mapping[bytes, str] | None = None,
    *,
    peer: str | None = PROXY,
    scheme: str = "http",
    server: tuple[str, int | None] | None = ("127.0.0.1", 8000),
    root_path: str = "",
    public_url: str | None = None,
) -> str:
    return base_url(
        headers or {},
        scheme=scheme,
        server=server,
        root_path=root_path,
        peer=peer,
        trusted_proxies=frozenset({PROXY}),
        public_url=public_url,
    )


HOST = {b"host": "inner:8000"}
X_FORWARDED = {
    **HOST,
    b"x-forwarded-proto": "https",
    b"x-forwarded-host": "outer.example",
    b"x-forwarded-prefix": "/agents/one",
}
FORWARDED = {**X_FORWARDED, b"forwarded": "for=1.2.3.4;proto=https;host=best.example"}


@pytest.mark.parametrize(
    ("headers", "public_url", "expected"),
    [
        # The configured address is above all.
        (FORWARDED, "https://public.example/a2a/", "https://public.example/a2a"),
        # Then the standard header, then the customary ones, then Host, then the socket.
        (FORWARDED, None, "https://best.example/agents/one"),
        (X_FORWARDED, None, "https://outer.example/agents/one"),
        (HOST, None, "http://inner:8000"),
        ({}, None, "http://127.0.0.1:8000"),
    ],
)
def test_the_best_source_wins(
    headers: Mapping[bytes, str], public_url: str | None, expected: str
) -> None:
    assert url(headers, public_url=public_url) == expected


def test_each_member_may_come_from_another_header() -> None:
    assert url({**X_FORWARDED, b"forwarded": "host=best.example"}) == (
        "https://best.example/agents/one"
    )


@pytest.mark.parametrize("headers", [X_FORWARDED, FORWARDED])
def test_who_is_not_trusted_is_not_believed(headers: Mapping[bytes, str]) -> None:
    assert url(headers, peer=STRANGER) == "http://inner:8000"


def test_a_peer_without_an_address_is_a_proxy() -> None:
    assert url(X_FORWARDED, peer=None) == "https://outer.example/agents/one"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Case, blanks and quotes do not matter.
        ('Host="Best.example:8443" ; PROTO=https', "https://Best.example:8443"),
        # The outermost proxy comes first.
        ("host=best.example, host=inner.example", "http://best.example"),
        # What is missing, or nonsense, says nothing.
        ("for=1.2.3.4", "http://inner:8000"),
        (";;=;", "http://inner:8000"),
        ("", "http://inner:8000"),
    ],
)
def test_the_forwarded_header_is_read(value: str, expected: str) -> None:
    assert url({**HOST, b"forwarded": value}) == expected


def test_of_several_customary_values_the_outermost_counts() -> None:
    headers = {
        b"x-forwarded-host": "outer.example, inner.example",
        b"x-forwarded-proto": "https, http",
        b"x-forwarded-prefix": "/a, /b",
    }
    assert url(headers) == "https://outer.example/a"


@pytest.mark.parametrize(
    "host",
    [
        # Markup, a path, a user, a second line: nothing that a card should repeat.
        '"><script>',
        "example.com/path",
        "user@example.com",
        "example.com\r\nx: y",
        "example.com:port",
        "example.com:123456",
        "[::1",
        "exämple.com",
        "",
    ],
)
def test_what_is_no_host_is_not_echoed(host: str) -> None:
    assert url({b"host": host}) == "http://127.0.0.1:8000"
    assert url({b"x-forwarded-host": host}) == "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    "host", ["example.com", "example.com:8000", "127.0.0.1:1", "[::1]", "[2001:db8::1]:8000"]
)
def test_every_form_of_host_is_echoed(host: str) -> None:
    assert url({b"host": host}) == f"http://{host}"


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("/agents/one/", "http://inner:8000/agents/one"),
        ("/a%20b/~c", "http://inner:8000/a%20b/~c"),
        ("/", "http://inner:8000"),
        # What is no path would run into the host, or lead elsewhere.
        (".evil.example", "http://inner:8000"),
        ("@evil.example", "http://inner:8000"),
        ("//evil.example", "http://inner:8000"),
        ("/a?b", "http://inner:8000"),
        ("/<script>", "http://inner:8000"),
    ],
)
def test_a_prefix_is_a_path_or_nothing(prefix: str, expected: str) -> None:
    assert url({**HOST, b"x-forwarded-prefix": prefix}) == expected


def test_where_the_application_is_mounted_comes_last() -> None:
    assert url(HOST, root_path="/mount", peer=STRANGER) == "http://inner:8000/mount"
    assert url(X_FORWARDED, root_path="/mount") == "https://outer.example/agents/one/mount"


@pytest.mark.parametrize("proto", ["ftp", "javascript", "https:", ""])
def test_a_scheme_that_is_not_http_is_not_echoed(proto: str) -> None:
    assert url({**HOST, b"x-forwarded-proto": proto}) == "http://inner:8000"


def test_the_scheme_of_the_connection_counts_when_nobody_says_another() -> None:
    assert url(HOST, scheme="https") == "https://inner:8000"
    assert url(HOST, scheme="wss") == "http://inner:8000"


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (("192.0.2.1", 80), "http://192.0.2.1:80"),
        (("::1", 8000), "http://[::1]:8000"),
        # A Unix socket has no address of the network, and some servers tell none.
        (("/run/agent.sock", None), "http://localhost"),
        (None, "http://localhost"),
    ],
)
def test_without_a_host_the_address_connected_to_will_do(
    server: tuple[str, int | None] | None, expected: str
) -> None:
    assert url(server=server) == expected


class Sent:
    """A request that came to this place."""

    headers: Mapping[bytes, str] = {b"host": "agent.example", b"x-forwarded-host": "other.example"}
    scheme, root_path, server = "https", "/bots", None

    def __init__(self, peer: str) -> None:
        self.peer = peer


def test_a_request_tells_its_address_as_far_as_it_is_believed() -> None:
    addressing = Addressing(None, ["192.0.2.1"])
    assert addressing.base_of(Sent("192.0.2.1")) == "https://other.example/bots"
    assert addressing.base_of(Sent("192.0.2.2")) == "https://agent.example/bots"
    assert Addressing("https://public.example/", ()).base_of(Sent("192.0.2.2")) == (
        "https://public.example"
    )
