"""The checksum, with OpenSSL and without."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto.ripemd160 import begun, compute_ripemd160, ripemd160


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "9c1185a5c5e9fc54612808977ee8f548b2258d31"),
        (b"abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
        (b"message digest", "5d0689ef49d2fae572b881b123a85ffa21595f36"),
        (b"1234567890" * 8, "9b752e45573d4b39f4dbd3323cab82bf63326bfb"),
    ],
)
def test_the_examples_of_its_authors(data: bytes, expected: str) -> None:
    assert compute_ripemd160(data).hex() == expected
    assert ripemd160(data).hex() == expected


@given(st.binary(max_size=200))
def test_both_ways_agree(data: bytes) -> None:
    assert compute_ripemd160(data) == ripemd160(data)


def test_without_openssl_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *_: object, **__: object) -> None:
        raise ValueError(f"unsupported hash type {name}")

    monkeypatch.setattr(hashlib, "new", missing)
    begun.cache_clear()
    assert begun() is None
    assert ripemd160(b"abc").hex() == "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"
    # Others are to have it back.
    begun.cache_clear()
