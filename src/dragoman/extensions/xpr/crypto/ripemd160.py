"""RIPEMD-160, the checksum in keys and signatures; no secret depends on it.

OpenSSL has it, but not everywhere: builds for FIPS leave it out. Then it is computed here.
"""

from __future__ import annotations

import hashlib
from functools import cache
from struct import pack, unpack
from typing import Final, Protocol, Self

__all__ = ("compute_ripemd160", "ripemd160")

_MASK: Final = 0xFFFFFFFF
_START: Final = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)

# A digit for each of the 16 steps in each of the 5 rounds of the two lines: the word that is mixed
# in, and by how many bits is rotated.
_LEFT_WORDS: Final = (
    *("0123456789abcdef", "74d1a6f3c0952eb8", "3ae49f812706db5c"),
    *("19ba08c4d37fe562", "40597c2ae138b6fd"),
)
_RIGHT_WORDS: Final = (
    *("5e7092b4d6f81a3c", "6b370d5aef8c4912", "f5137e69b8c2a04d"),
    *("86413bf05c2d97ae", "cfa4158762de039b"),
)
_LEFT_TURNS: Final = (
    *("befc5879bdef6798", "768db97f7cf9b7dc", "bd67e9dfe8d65c75"),
    *("bcefef989e56865c", "9f5b68dc5cdeb856"),
)
_RIGHT_TURNS: Final = (
    *("899bdff5778beec6", "9df7c89b77c76fdb", "97fb866ecd5edd75"),
    *("f58bee6e69c9c5f8", "85c9c5e68d65fdbb"),
)
_LEFT_SUMMANDS: Final = (0, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E)
_RIGHT_SUMMANDS: Final = (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0)


class _Hash(Protocol):
    def copy(self) -> Self: ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


@cache
def begun() -> _Hash | None:
    """Return the hash of nothing yet, None if OpenSSL has none.

    Kept, because looking it up by its name takes longer than hashing a signature.
    """
    try:
        return hashlib.new("ripemd160", usedforsecurity=False)
    except ValueError:
        return None


def ripemd160(data: bytes) -> bytes:
    """Return the 20 bytes of the hash."""
    empty = begun()
    if empty is None:
        return compute_ripemd160(data)
    whole = empty.copy()
    whole.update(data)
    return whole.digest()


def compute_ripemd160(data: bytes) -> bytes:
    """Return the same without OpenSSL."""
    padding = b"\x80" + b"\0" * ((55 - len(data)) % 64)
    padded = data + padding + pack("<Q", len(data) * 8)
    state = _START
    for start in range(0, len(padded), 64):
        words = unpack("<16I", padded[start : start + 64])
        left = _line(state, words, _LEFT_WORDS, _LEFT_TURNS, _LEFT_SUMMANDS, (0, 1, 2, 3, 4))
        right = _line(state, words, _RIGHT_WORDS, _RIGHT_TURNS, _RIGHT_SUMMANDS, (4, 3, 2, 1, 0))
        state = tuple(
            (state[(i + 1) % 5] + left[(i + 2) % 5] + right[(i + 3) % 5]) & _MASK for i in range(5)
        )
    return pack("<5I", *state)


def _line(
    state: tuple[int, ...],
    words: tuple[int, ...],
    orders: tuple[str, ...],
    turns: tuple[str, ...],
    summands: tuple[int, ...],
    mixes: tuple[int, ...],
) -> tuple[int, ...]:
    a, b, c, d, e = state
    for order, turn, summand, mix in zip(orders, turns, summands, mixes, strict=True):
        for word, bits in zip(order, turn, strict=True):
            total = a + _mixed(mix, b, c, d) + words[int(word, 16)] + summand
            a, b, c, d, e = e, (_turned(total & _MASK, int(bits, 16)) + e) & _MASK, b, c, d
            d = _turned(d, 10)
    return a, b, c, d, e


def _mixed(mix: int, x: int, y: int, z: int) -> int:
    match mix:
        case 0:
            return x ^ y ^ z
        case 1:
            return (x & y) | (~x & z & _MASK)
        case 2:
            return ((x | (~y & _MASK)) ^ z) & _MASK
        case 3:
            return (x & z) | (y & ~z & _MASK)
        case _:
            return x ^ ((y | (~z & _MASK)) & _MASK)


def _turned(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK
