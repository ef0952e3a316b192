from dragoman.server.http.headers import AllHeaders, gather_headers


def test_the_headers_we_look_at_are_gathered() -> None:
    raw = [(b"a2a-version", b"1.0"), (b"host", b"example.com")]
    assert gather_headers(raw) == {b"a2a-version": "1.0", b"host": "example.com"}


def test_others_are_left_alone() -> None:
    assert gather_headers([(b"cookie", b"secret"), (b"user-agent", b"x")]) == {}


def test_several_of_one_name_are_joined_in_order() -> None:
    raw = [(b"a2a-extensions", b"a"), (b"accept", b"x"), (b"a2a-extensions", b"b, c")]
    assert gather_headers(raw)[b"a2a-extensions"] == "a,b, c"


def test_any_byte_can_be_read() -> None:
    assert gather_headers([(b"host", bytes(range(128, 256)))])[b"host"] == (
        bytes(range(128, 256)).decode("latin-1")
    )


# --- all of them --------------------------------------------------------------------------------


def test_authenticators_see_every_header() -> None:
    raw = [(b"x-api-key", b"k"), (b"authorization", b"Bearer t")]
    assert AllHeaders(raw) == {b"x-api-key": "k", b"authorization": "Bearer t"}


def test_two_credentials_in_one_header_are_one_text_that_is_neither() -> None:
    raw = [(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")]
    assert AllHeaders(raw) == {b"authorization": "Bearer a,Bearer b"}


def test_cookies_that_were_split_are_put_together() -> None:
    raw = [(b"cookie", b"a=1"), (b"host", b"x"), (b"cookie", b"b=2")]
    assert AllHeaders(raw)[b"cookie"] == "a=1; b=2"


def test_what_is_not_there_is_not_found() -> None:
    headers = AllHeaders([(b"host", b"a"), (b"host", b"b")])
    assert headers.get(b"cookie") is None
    assert headers.get(b"cookie", "") == ""
    assert b"cookie" not in headers
    assert list(headers) == [b"host"]
    assert len(headers) == 1
