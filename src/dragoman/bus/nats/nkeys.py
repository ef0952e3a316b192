"""Keys of NATS: a seed as text, and the signature that shows who holds it.

A seed is base32 over: two bytes that hold the kind of key, 32 bytes of an Ed25519 key, and a CRC-16
of these. A file of credentials holds a seed beside the JWT that an operator has signed for it.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

__all__ = ("NKey", "read_credentials", "read_seed")

_SEED: Final = 18 << 3
"""The first five bits of every seed: its text begins with S."""

_USER: Final = 20 << 3
"""The kind that clients have: the text of their seeds begins with SU, that of their keys with U."""

_SEED_BYTES: Final = 2 + 32 + 2

_ARMOURED: Final = re.compile(
    r"-{3,}BEGIN (?P<label>NATS USER JWT|USER NKEY SEED)-{3,}\s+(?P<text>\S+)\s+-{3,}END"
)


class NKey:
    """The key pair of a user.

    Raises ValueError when the seed is none; the message never holds it.
    """

    def __init__(self, seed: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(_raw_key(seed))

    @property
    def public(self) -> str:
        """The key as servers are told it: U and 55 more characters."""
        raw = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return _with_checksum(bytes([_USER]) + raw)

    def sign(self, nonce: str) -> bytes:
        """Return the signature of what the server made up, in base64."""
        return base64.b64encode(self._key.sign(nonce.encode()))


def read_seed(text: str) -> NKey:
    """Return the key in a seed file: the seed on a line of its own, or armoured."""
    sections = _sections(text)
    return NKey(sections.get("USER NKEY SEED") or text.strip())


def read_credentials(text: str) -> tuple[str, NKey]:
    """Return the JWT and the key of a file of credentials; raises ValueError if one is missing."""
    sections = _sections(text)
    missing = {"NATS USER JWT", "USER NKEY SEED"} - sections.keys()
    if missing:
        raise ValueError(f"it has no section {min(missing)}")
    return sections["NATS USER JWT"], NKey(sections["USER NKEY SEED"])


def _sections(text: str) -> dict[str, str]:
    return {match["label"]: match["text"] for match in _ARMOURED.finditer(text)}


def _raw_key(seed: str) -> bytes:
    try:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except binascii.Error:
        raw = b""
    if len(raw) != _SEED_BYTES or _with_checksum(raw[:-2]) != seed:
        raise ValueError("it holds no NKey seed")
    if raw[0] & 0xF8 != _SEED or (raw[0] & 7) << 5 | raw[1] >> 3 != _USER:
        raise ValueError("it holds the seed of another kind of key; a user's begins with SU")
    return raw[2:-2]


def _with_checksum(raw: bytes) -> str:
    # binascii's CRC is CRC-16/XMODEM, which NATS uses, written little-endian.
    checksum = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(raw + checksum).decode().rstrip("=")
