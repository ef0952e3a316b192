import pytest
from hpack.exceptions import HPACKDecodingError
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman as decode_theirs
from hypothesis import given
from hypothesis import strategies as st

from dragoman.net.http2.protocol.huffman import LENGTHS, HuffmanError, codes, decode_huffman

# Another implementation, written by others from the same appendix.
theirs = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)


def test_every_octet_has_a_code_and_only_the_end_of_strings_is_missing() -> None:
    lengths = {octet: length for length, octets in LENGTHS.items() for octet in octets}
    assert sorted(lengths) == list(range(256))
    assert sum(2 ** (30 - length) for length in lengths.values()) == 2**30 - 1


def test_every_octet_has_the_code_that_others_give_it() -> None:
    ours = {octet: (code, length) for octet, code, length in codes()}
    others = zip(REQUEST_CODES[:256], REQUEST_CODES_LENGTH[:256], strict=True)
    assert ours == dict(enumerate(others))


def test_every_octet_is_read_as_others_write_it_alone_and_after_another() -> None:
    for octet in range(256):
        for text in (bytes((octet,)), bytes((octet, 255 - octet)), b"a" + bytes((octet,)) * 3):
            assert decode_huffman(theirs.encode(text)) == text


@given(st.binary(max_size=500))
def test_what_others_write_is_read(text: bytes) -> None:
    assert decode_huffman(theirs.encode(text)) == text


@given(st.binary(max_size=40))
def test_what_others_read_is_read_and_what_they_refuse_is_refused(data: bytes) -> None:
    try:
        expected = decode_theirs(data)
    except HPACKDecodingError:
        with pytest.raises(HuffmanError):
            decode_huffman(data)
    else:
        assert decode_huffman(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",  # Eight bits of padding.
        b"\x07\xff",  # A whole octet of it after an "0".
        b"\xff\xff\xff\xff",  # The end of the string.
        b"\x18",  # "3", padded with zeros.
    ],
)
def test_what_no_writer_writes_is_refused(data: bytes) -> None:
    with pytest.raises(HuffmanError):
        decode_huffman(data)
