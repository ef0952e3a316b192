"""Header compression: the worked examples of RFC 7541 appendix C, and what must be refused."""

import pytest
from hpack import Decoder as TheirDecoder
from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as st

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.hpack import (
    Decoder,
    Header,
    TooManyHeadersError,
    encode_headers,
)

GET = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
SECURE = [
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
]


def as_bytes(headers: list[tuple[str, str]]) -> tuple[Header, ...]:
    return tuple((name.encode(), value.encode()) for name, value in headers)


def decoder(max_list_bytes: int = 16_384) -> Decoder:
    return Decoder(max_list_bytes)


@pytest.mark.parametrize(
    "blocks",
    [
        # C.3: plain strings.
        [
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ],
        # C.4: the same in Huffman code.
        [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ],
    ],
)
def test_requests_of_one_connection_are_read(blocks: list[str]) -> None:
    reader = decoder()
    read = [reader.decode(bytes.fromhex(block)) for block in blocks]
    assert read == [
        as_bytes(GET),
        as_bytes([*GET, ("cache-control", "no-cache")]),
        as_bytes(SECURE),
    ]


@pytest.mark.parametrize(
    ("block", "header"),
    [
        # C.2.1: a literal that is remembered.
        (
            "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
            (b"custom-key", b"custom-header"),
        ),
        # C.2.2: one that is not.
        ("040c2f73616d706c652f70617468", (b":path", b"/sample/path")),
        # C.2.3: one that never is.
        ("100870617373776f726406736563726574", (b"password", b"secret")),
        # C.2.4: one from the table.
        ("82", (b":method", b"GET")),
    ],
)
def test_every_way_to_write_a_header_is_read(block: str, header: Header) -> None:
    assert decoder().decode(bytes.fromhex(block)) == (header,)


def test_a_smaller_table_forgets_the_oldest() -> None:
    # C.5 and C.6 use a table of 256 bytes, which a size update asks for here.
    reader = decoder()
    first = bytes.fromhex(
        "3fe101"
        "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff"
        "6e919d29ad171863c78f0b97c8e9ae82ae43d3"
    )
    date = ("date", "Mon, 21 Oct 2013 20:13:21 GMT")
    rest = [("cache-control", "private"), date, ("location", "https://www.example.com")]
    assert reader.decode(first) == as_bytes([(":status", "302"), *rest])
    # The status 307 pushes the status 302 out.
    assert reader.decode(bytes.fromhex("4883640effc1c0bf")) == as_bytes([(":status", "307"), *rest])
    third = bytes.fromhex(
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335"
        "dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007"
    )
    assert reader.decode(third) == as_bytes(
        [
            (":status", "200"),
            ("cache-control", "private"),
            ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
            ("location", "https://www.example.com"),
            ("content-encoding", "gzip"),
            ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
        ]
    )


def test_a_header_larger_than_the_table_empties_it() -> None:
    reader = decoder()
    reader.decode(b"\x40\x01a\x01b")
    reader.decode(b"\x3f\x01" + b"\x40\x01c\x01d")  # 32 bytes are less than one header.
    with pytest.raises(ConnectionFailedError):
        reader.decode(b"\xbe")


def test_the_revision_changes_with_what_is_remembered_and_only_then() -> None:
    reader = decoder()
    reader.decode(b"\x82\x00\x01a\x01b")
    assert reader.revision == 0
    reader.decode(b"\x40\x01a\x01b")
    assert reader.revision == 1
    reader.decode(b"\x20")
    assert reader.revision == 2


@pytest.mark.parametrize(
    "block",
    [
        b"\x80",  # Index 0.
        b"\xbe",  # Nothing is remembered yet.
        b"\xff",  # A number without its end.
        b"\xff\xff\xff\xff\xff\xff",  # A number too large.
        b"\x40",  # A literal without a name.
        b"\x40\x05ab",  # A name cut short.
        b"\x40\x01a",  # No value.
        b"\x00\x81\x00\x00",  # Padding of a Huffman code that is not of ones.
        b"\x00\x84\xff\xff\xff\xff\x00",  # The end of a string within it.
        b"\x3f\xe2\x1f",  # A table of 4097 bytes.
        b"\x82\x20",  # A new size after a header.
    ],
)
def test_what_is_no_block_ends_the_connection(block: bytes) -> None:
    with pytest.raises(ConnectionFailedError) as told:
        decoder().decode(block)
    assert told.value.code is ErrorCode.COMPRESSION_ERROR


def test_a_list_beyond_the_limit_is_refused_and_the_next_block_is_read() -> None:
    reader = decoder(100)
    with pytest.raises(TooManyHeadersError):
        reader.decode(b"\x40\x01a\x01b" + b"\xbe" * 5000)
    assert reader.decode(b"\xbe") == ((b"a", b"b"),)


def test_what_the_table_has_is_written_by_its_index() -> None:
    assert encode_headers([(b":status", b"200")]) == b"\x88"
    assert encode_headers([(b"content-type", b"x")]) == b"\x0f\x10\x01x"


header_lists = st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=300)), max_size=10)


@given(header_lists)
def test_what_is_written_is_read(headers: list[Header]) -> None:
    assert decoder(1_000_000).decode(encode_headers(headers)) == tuple(headers)


@given(st.lists(st.binary(max_size=60)))
def test_bytes_of_any_kind_are_headers_or_an_error(blocks: list[bytes]) -> None:
    reader = decoder(1000)
    for block in blocks:
        try:
            reader.decode(block)
        except TooManyHeadersError:
            continue
        except ConnectionFailedError:
            return


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.one_of(
                    st.sampled_from([b":path", b"content-type", b"x-key"]),
                    st.binary(min_size=1, max_size=20),
                ),
                st.binary(max_size=60),
                st.booleans(),
            ),
            max_size=12,
        ),
        max_size=8,
    ),
    st.sampled_from([0, 64, 200, 4096]),
)
def test_what_another_implementation_writes_is_read(
    blocks: list[list[tuple[bytes, bytes, bool]]], table_bytes: int
) -> None:
    theirs, ours = Encoder(), decoder()
    theirs.header_table_size = table_bytes
    for number, headers in enumerate(blocks):
        # A third part of the tuple makes a header one that is never remembered.
        block = theirs.encode(headers, huffman=number % 2 == 0)
        assert ours.decode(block) == tuple((name, value) for name, value, _ in headers)


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=20), st.binary(max_size=200))))
def test_what_is_written_is_read_by_another_implementation(headers: list[Header]) -> None:
    assert theirs_of(encode_headers(headers)) == headers


def theirs_of(block: bytes) -> list[Header]:
    return [(bytes(name), bytes(value)) for name, value in TheirDecoder().decode(block, raw=True)]
