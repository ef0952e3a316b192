from dragoman.server.headers import gather_headers


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
