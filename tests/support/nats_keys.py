"""Keys, JWTs and credentials as the tools of NATS make them, for servers and clients in tests.

Written from the description of the format, and apart from ``dragoman.bus.nats.nkeys``, which reads
it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

__all__ = ("Issuer", "credentials", "make_seed")

_KINDS: Final = {"operator": 14 << 3, "account": 0, "user": 20 << 3}
_SEED: Final = 18 << 3


def make_seed(kind: str, raw: bytes) -> str:
    """Return the text of a seed."""
    prefix = _KINDS[kind]
    return _text(bytes([_SEED | prefix >> 5, (prefix & 31) << 3]) + raw)


class Issuer:
    """A key that signs JWTs, and is named in them."""

    def __init__(self, kind: str, raw: bytes) -> None:
        self.seed = make_seed(kind, raw)
        self._key = Ed25519PrivateKey.from_private_bytes(raw)
        public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.public = _text(bytes([_KINDS[kind]]) + public)

    def sign(self, subject: str, claims: dict[str, object]) -> str:
        """Return a JWT about somebody."""
        body: dict[str, object] = {
            "iat": 1_700_000_000,
            "iss": self.public,
            "name": "tests",
            "sub": subject,
            "nats": {"version": 2, **claims},
        }
        body["jti"] = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        header = {"typ": "JWT", "alg": "ed25519-nkey"}
        signed = ".".join(_segment(json.dumps(part).encode()) for part in (header, body))
        return f"{signed}.{_segment(self._key.sign(signed.encode()))}"


def credentials(token: str, seed: str) -> str:
    """Return the content of a file of credentials."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n"
        "NKEY Seed printed below can be used to sign and prove identity.\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def _text(raw: bytes) -> str:
    checksum = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(raw + checksum).decode().rstrip("=")


def _segment(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
