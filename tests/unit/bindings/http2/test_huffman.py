import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bindings.http2.huffman import LENGTHS, HuffmanError, decode_huffman


def codes() -> dict[int, str]:
    """Return the code of every octet in bits, as appendix B of RFC 7541 lists them."""
    written: dict[int, str] = {}
    code = previous = 0
    for length, octets in LENGTHS.items():
        code <<= length - previous
        previous = length
        for octet in octets:
            written[octet] = f"{code:0{length}b}"
            code += 1
    return written


CODES = codes()


def encode(text: bytes) -> bytes:
    bits = "".join(CODES[octet] for octet in text)
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else b""


def test_every_octet_has_a_code_and_only_the_end_of_strings_is_missing() -> None:
    assert sorted(CODES) == list(range(256))
    assert sum(2 ** (30 - len(code)) for code in CODES.values()) == 2**30 - 1


@pytest.mark.parametrize(
    ("octet", "code"),
    [(0, 0x1FF8), (32, 0x14), (48, 0x0), (92, 0x7FFF0), (199, 0x1FFFFEC), (255, 0x3FFFFEE)],
)
def test_some_codes_are_those_of_the_appendix(octet: int, code: int) -> None:
    assert int(CODES[octet], 2) == code


@given(st.binary(max_size=200))
def test_what_is_coded_is_read(text: bytes) -> None:
    assert decode_huffman(encode(text)) == text


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
