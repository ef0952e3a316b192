"""The Huffman code of header strings (RFC 7541, 5.2 and appendix B).

The code is canonical: its codes follow from which octets have codes of which length. Strings are
read four bits at a time, by a table that is made when the first one comes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("LENGTHS", "HuffmanError", "codes", "decode_huffman")

LENGTHS: Final = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\x00$@[]~",
    14: b"^}",
    15: b"<`{",
    19: bytes.fromhex("5cc3d0"),
    20: bytes.fromhex("808283a2b8c2e0e2"),
    21: bytes.fromhex("99a1a7acb0b1b3d1d8d9e3e5e6"),
    22: bytes.fromhex("8184858688929a9ca0a3a4a9aaadb2b5b9babbbdbec4c6e4e8e9"),
    23: bytes.fromhex("0187898a8b8c8d8f93959697989b9d9ea5a6a8aeafb4b6b7bcbfc5e7ef"),
    24: bytes.fromhex("098e9091949fabced7e1eced"),
    25: bytes.fromhex("c7cfeaeb"),
    26: bytes.fromhex("c0c1c8c9cacdd2d5dadbeef0f2f3ff"),
    27: bytes.fromhex("cbccd3d4d6dddedff1f4f5f6f7f8fafbfcfdfe"),
    28: bytes.fromhex("020304050607080b0c0e0f1011121314151718191a1b1c1d1e1f7fdcf9"),
    30: bytes.fromhex("0a0d16"),
}
"""The octets by the length of their code, in the order of their codes. The last code of 30 bits,
all ones, stands for the end of the string, which is never written."""

_DEAD: Final = -1
_MAX_PADDING: Final = 7


class HuffmanError(ValueError):
    """The bytes are no string in this code."""


class _Step(NamedTuple):
    """Where four bits lead: to a state, and to an octet if they complete one."""

    state: int
    octet: int | None


class _Table(NamedTuple):
    """Steps by state and bits (state * 16 + bits), and the states in which a string may end."""

    steps: list[_Step]
    ends: frozenset[int]


def decode_huffman(data: bytes) -> bytes:
    """Read a string.

    Raises:
        HuffmanError: it holds the end of a string, or is padded with anything but its beginning.
    """
    steps, ends = _table()
    state = 0
    found = bytearray()
    for byte in data:
        for bits in (byte >> 4, byte & 0xF):
            state, octet = steps[state << 4 | bits]
            if state == _DEAD:
                raise HuffmanError
            if octet is not None:
                found.append(octet)
    if state not in ends:
        raise HuffmanError
    return bytes(found)


@cache
def _table() -> _Table:
    # The octets by their codes, each with a one before it.
    octets = {1 << length | code: octet for octet, code, length in codes()}
    # A state is what has been read of a code: a prefix with a one before it.
    prefixes = sorted({code >> cut for code in octets for cut in range(1, code.bit_length())})
    # The end of a string is the one code that is missing; its beginnings are all ones.
    ones = [(1 << length) - 1 for length in range(1, 31)]
    prefixes = sorted({*prefixes, *ones})
    states = {prefix: number for number, prefix in enumerate(prefixes)}
    steps = [_step(prefix, bits, octets, states) for prefix in prefixes for bits in range(16)]
    return _Table(steps, frozenset(states[prefix] for prefix in ones[: _MAX_PADDING + 1]))


def _step(prefix: int, bits: int, octets: dict[int, int], states: dict[int, int]) -> _Step:
    octet = None
    for shift in (3, 2, 1, 0):
        prefix = prefix << 1 | (bits >> shift & 1)
        if prefix in octets:
            # The shortest code has five bits: four cannot complete two.
            octet, prefix = octets[prefix], 1
        elif prefix not in states:
            return _Step(_DEAD, None)
    return _Step(states[prefix], octet)


def codes() -> Iterator[tuple[int, int, int]]:
    """Yield every octet with its code and how many bits that has."""
    code = previous = 0
    for length, group in LENGTHS.items():
        code <<= length - previous
        previous = length
        for octet in group:
            yield octet, code, length
            code += 1
