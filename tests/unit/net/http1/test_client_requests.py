import pytest

from dragoman.errors import UsageError
from dragoman.net.http1.client import endpoint_of, write_request


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://a.test", (False, "a.test", 80, "a.test", "/")),
        ("https://a.test/x?y=1", (True, "a.test", 443, "a.test", "/x?y=1")),
        ("http://a.test:8000/", (False, "a.test", 8000, "a.test:8000", "/")),
        ("http://[::1]:8000/x", (False, "::1", 8000, "[::1]:8000", "/x")),
        # Users and fragments are not for the wire.
        ("http://u:p@a.test/x#y", (False, "a.test", 80, "a.test", "/x")),
        ("http://bücher.test", (False, "xn--bcher-kva.test", 80, "xn--bcher-kva.test", "/")),
        ("http://a.test/ü?q=a b", (False, "a.test", 80, "a.test", "/%C3%BC?q=a%20b")),
        # What is quoted already stays as it is.
        ("http://a.test/a%2Fb", (False, "a.test", 80, "a.test", "/a%2Fb")),
    ],
)
def test_a_url_is_taken_apart(url: str, place: tuple[object, ...]) -> None:
    assert endpoint_of(url) == place


@pytest.mark.parametrize(
    "url",
    ["", "a.test", "ftp://a.test", "http://", "http://a.test:x/", "http://a b/", "http://[::1"],
)
def test_what_is_no_url_is_told(url: str) -> None:
    with pytest.raises(UsageError, match="is no http or https URL"):
        endpoint_of(url)


def test_a_request_is_written() -> None:
    place = endpoint_of("http://a.test:8000/rpc")
    assert write_request("POST", place, {"X-A": "b"}, b"{}") == (
        b"POST /rpc HTTP/1.1\r\nHost: a.test:8000\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{}"
    )


def test_only_what_could_have_a_body_says_how_long_it_is() -> None:
    place = endpoint_of("http://a.test")
    assert b"Content-Length" not in write_request("GET", place, {}, b"")
    assert b"Content-Length: 0\r\n" in write_request("POST", place, {}, b"")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b\r\nX-Evil: 1"),
        ("X-A\r\nX-Evil", "1"),
        ("X A", "b"),
        ("", "b"),
        ("X-A", "\x00"),
        ("X-A", "\N{SNOWMAN}"),
    ],
)
def test_what_would_break_the_head_is_not_sent(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be sent to a\.test"):
        write_request("GET", endpoint_of("http://a.test"), {name: value}, b"")


def test_a_path_cannot_begin_another_request() -> None:
    place = endpoint_of("http://a.test/x\tHTTP/1.1")
    written = write_request("GET", place, {}, b"")
    assert written.count(b"\r\n") == 3
    assert b"\t" not in written
