"""Base58: bytes as text without letters that look alike, as keys and signatures travel.

The alphabet is Bitcoin's; the number is big-endian, and each zero byte in front is a ``1``.
"""

from __future__ import annotations

from typing import Final

from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("decode_base58", "encode_base58")

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES: Final = {letter: value for value, letter in enumerate(_ALPHABET)}


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
    number = 0
    for letter in text:
        value = _VALUES.get(letter)
        if value is None:
            raise MalformedError("the text has a character that base58 does not have")
        number = number * 58 + value
    if number.bit_length() > size * 8:
        raise MalformedError(f"the text has more than {size} bytes")
    data = number.to_bytes(size)
    # Fewer bytes would be filled up with zeros in front, which the text does not have.
    if len(data) - len(data.lstrip(b"\0")) != len(text) - len(text.lstrip("1")):
        raise MalformedError(f"the text does not have {size} bytes")
    return data
