import pytest

from dragoman.auth.outgoing.origins import is_confidential, origin_of
from dragoman.errors import UsageError


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://agent.example", "https://agent.example:443"),
        ("http://agent.example/a?b#c", "http://agent.example:80"),
        ("HTTPS://Agent.Example:8443/", "https://agent.example:8443"),
        ("https://user:secret@agent.example", "https://agent.example:443"),
        ("https://[2001:DB8::1]/x", "https://[2001:db8::1]:443"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin
    assert origin_of(origin) == origin


@pytest.mark.parametrize(
    "url",
    ["agent.example", "ftp://agent.example", "https://", "https://a:b", "https://a:99999", ""],
)
def test_what_is_no_url_of_http_has_no_origin(url: str) -> None:
    with pytest.raises(UsageError, match="is no http or https URL"):
        origin_of(url)


@pytest.mark.parametrize(
    "url",
    ["https://agent.example", "http://127.0.0.1:8000", "http://[::1]:1", "http://a.localhost"],
)
def test_tls_and_the_loopback_are_confidential(url: str) -> None:
    assert is_confidential(url)


@pytest.mark.parametrize(
    "url", ["http://agent.example", "http://10.0.0.1", "http://localhost.evil"]
)
def test_what_others_can_read_is_not(url: str) -> None:
    assert not is_confidential(url)
