"""How keys and signatures are written: a prefix, and base58 of bytes with a checksum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dragoman.extensions.xpr.crypto.base58 import decode_base58, encode_base58
from dragoman.extensions.xpr.crypto.curves import CurveName
from dragoman.extensions.xpr.crypto.ripemd160 import ripemd160
from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("checksum", "read_checked", "read_text", "write_text")

_CHECK_BYTES: Final = 4
_CURVES: Final[Mapping[str, CurveName]] = {"_K1_": "K1", "_R1_": "R1"}
_MIDDLE: Final = 4
"""How long what names the curve is, with the strokes around it."""


def write_text(kind: str, curve: CurveName, payload: bytes) -> str:
    """Write ``PUB_K1_…``, ``PVT_R1_…``, ``SIG_K1_…`` and the like."""
    return f"{kind}_{curve}_" + encode_base58(payload + checksum(payload, curve))


def read_text(text: str, kind: str, size: int) -> tuple[CurveName, bytes]:
    """Read the same: the curve, and a payload of exactly so many bytes.

    Raises:
        MalformedError: the prefix, a character, the length or the checksum is wrong.
    """
    start = len(kind) + _MIDDLE
    curve = _CURVES.get(text[len(kind) : start])
    if curve is None or not text.startswith(kind):
        raise MalformedError(f"the text does not begin with {kind}_K1_ or {kind}_R1_")
    return curve, read_checked(text[start:], size, curve)


def read_checked(text: str, size: int, suffix: str) -> bytes:
    """Read base58 of a payload and its checksum, which goes over a suffix, too.

    Raises:
        MalformedError: a character, the length or the checksum is wrong.
    """
    data = decode_base58(text, size + _CHECK_BYTES)
    payload = data[:size]
    # No secret: whoever has the payload can work it out.
    if data[size:] != checksum(payload, suffix):
        raise MalformedError("the checksum is wrong")
    return payload


def checksum(payload: bytes, suffix: str) -> bytes:
    """Return the first bytes of RIPEMD-160 over a payload and a suffix."""
    return ripemd160(payload + suffix.encode())[:_CHECK_BYTES]
