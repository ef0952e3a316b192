"""Base58: bytes as text without letters that look alike, as keys and signatures travel.

The alphabet is Bitcoin's; the number is big-endian, and each zero byte in front is a ``1``.
"""

from __future__ import annotations

from typing import Final

from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("decode_base58", "encode_base58")

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_NO_DIGIT: Final = 255
_DIGITS: Final = bytes(
    _ALPHABET.index(chr(code)) if chr(code) in _ALPHABET else _NO_DIGIT for code in range(256)
)
"""The value of each character, for ``bytes.translate``."""

_LANES: Final = 128
"""Digits that are summed up at once; a signature has 96."""

_STEPS: Final = tuple(
    # Of pairs of lanes, the right one; how wide a lane is; what the left one counts for.
    (sum(((1 << width) - 1) << place for place in range(0, 8 * _LANES, 2 * width)), width, factor)
    for width, factor in ((8 << step, 58 ** (1 << step)) for step in range(7))
)


def encode_base58(data: bytes) -> str:
    """Write bytes."""
    number = int.from_bytes(data)
    letters: list[str] = []
    while number:
        number, value = divmod(number, 58)
        letters.append(_ALPHABET[value])
    zeros = len(data) - len(data.lstrip(b"\0"))
    return "1" * zeros + "".join(reversed(letters))


def decode_base58(text: str, size: int) -> bytes:
    """Read exactly so many bytes; every text that is accepted is the only one for its bytes.

    Work is bounded by ``size``, however long the text is.

    Raises:
        MalformedError: it has another letter, or another length.
    """
    # 58 ** 1.4 > 2 ** 8: no text for so many bytes is longer.
    if len(text) > size * 7 // 5 + 1:
        raise MalformedError(f"the text is too long for {size} bytes")
    digits = text.encode("latin-1", "replace").translate(_DIGITS)
    if _NO_DIGIT in digits:
        raise MalformedError("the text has a character that base58 does not have")
    number = 0
    for start in range(0, len(digits), _LANES):
        piece = digits[start : start + _LANES]
        if number:
            number *= 58 ** len(piece)
        number += _value(piece)
    if number.bit_length() > size * 8:
        raise MalformedError(f"the text has more than {size} bytes")
    data = number.to_bytes(size)
    # Fewer bytes would be filled up with zeros in front, which the text does not have.
    if len(data) - len(data.lstrip(b"\0")) != len(text) - len(text.lstrip("1")):
        raise MalformedError(f"the text does not have {size} bytes")
    return data


def _value(digits: bytes) -> int:
    """Return the number that some digits are, at most as many as there are lanes.

    Every signed request comes by here. Beginning with a digit to a byte, each step makes one lane
    of two neighbours, all pairs at once: seven steps of long numbers instead of one for each digit.
    """
    lanes = int.from_bytes(digits)
    for right, width, factor in _STEPS:
        lanes = (lanes & right) + ((lanes >> width) & right) * factor
    return lanes
