"""Bytes as text, and back; one text for each, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto.base58 import decode_base58, encode_base58
from dragoman.extensions.xpr.errors import MalformedError


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"\0", "1"),
        (b"\0\0\0", "111"),
        (b"\0\0\x01", "112"),
        (b"Hello World!", "2NEpo7TZRRrLZSi2U"),
        (bytes.fromhex("0000287fb4cd"), "11233QC4"),
    ],
)
def test_known_pairs(data: bytes, text: str) -> None:
    assert encode_base58(data) == text
    assert decode_base58(text, len(data)) == data


@given(st.binary(max_size=200))
def test_what_was_written_is_read(data: bytes) -> None:
    assert decode_base58(encode_base58(data), len(data)) == data


@given(st.binary(max_size=40), st.integers(0, 45))
def test_another_length_is_refused(data: bytes, size: int) -> None:
    if size != len(data):
        with pytest.raises(MalformedError):
            decode_base58(encode_base58(data), size)


@given(st.text(max_size=60), st.integers(0, 40))
def test_whatever_is_accepted_is_the_only_text_for_its_bytes(text: str, size: int) -> None:
    try:
        data = decode_base58(text, size)
    except MalformedError:
        return
    assert encode_base58(data) == text


@pytest.mark.parametrize("text", ["0", "O", "I", "l", " 2", "2\n", "é", "\N{FULLWIDTH DIGIT ONE}"])
def test_letters_that_look_alike_are_refused(text: str) -> None:
    with pytest.raises(MalformedError, match="character"):
        decode_base58(text, 1)


def test_a_long_text_is_refused_before_it_is_read() -> None:
    with pytest.raises(MalformedError, match="too long"):
        decode_base58("z" * 10_000_000, 65)
