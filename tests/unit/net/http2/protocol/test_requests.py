import pytest

from dragoman.net.http2.protocol.hpack import Header
from dragoman.net.http2.protocol.requests import MalformedError, check_trailers, read_head

METHOD, SCHEME, PATH = (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/a")
HEAD = (METHOD, SCHEME, PATH)


def test_a_head_is_read() -> None:
    head = read_head(
        (*HEAD, (b":authority", b"x"), (b"te", b"trailers"), (b"content-length", b"7"))
    )
    assert (head.method, head.path, head.length) == (b"POST", b"/a", 7)
    assert head.fields == ((b"te", b"trailers"), (b"content-length", b"7"))


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (SCHEME, PATH),  # No method.
        (METHOD, PATH),  # No scheme.
        (METHOD, SCHEME),  # No path.
        (METHOD, SCHEME, (b":path", b"")),
        (*HEAD, METHOD),  # Twice.
        (*HEAD, (b":status", b"200")),  # Of an answer.
        (*HEAD, (b":other", b"")),
        (METHOD, SCHEME, (b"a", b"b"), PATH),  # Behind a header.
        (*HEAD, (b"Upper", b"")),
        (*HEAD, (b"", b"")),
        (*HEAD, (b"with space", b"")),
        (*HEAD, (b"a", b"b\r\nc")),
        (*HEAD, (b"a", b"b\0")),
        (*HEAD, (b"a", b" b")),
        (*HEAD, (b"a", b"b\t")),
        (METHOD, SCHEME, (b":path", b"/\n")),
        (*HEAD, (b"connection", b"close")),
        (*HEAD, (b"transfer-encoding", b"chunked")),
        (*HEAD, (b"te", b"gzip")),
        (*HEAD, (b"content-length", b"-1")),
        (*HEAD, (b"content-length", b"1" * 19)),
        (*HEAD, (b"content-length", b"1"), (b"content-length", b"2")),
    ],
)
def test_what_is_no_head_is_refused(headers: tuple[Header, ...]) -> None:
    with pytest.raises(MalformedError):
        read_head(headers)


def test_trailers_have_no_pseudo_headers() -> None:
    check_trailers(((b"a", b"b"),))
    with pytest.raises(MalformedError):
        check_trailers((PATH,))
