"""Keys of accounts, in all the forms they are written in."""

from __future__ import annotations

from functools import cached_property, lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct

from dragoman.extensions.xpr.crypto.base58 import decode_base58, encode_base58
from dragoman.extensions.xpr.crypto.curves import CURVES, CurveName
from dragoman.extensions.xpr.crypto.texts import checksum, read_checked, read_text, write_text
from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("PrivateKey", "PublicKey")

_LEGACY: Final = "EOS"
_POINT_BYTES: Final = 33
_SECRET_BYTES: Final = 32
_WIF_VERSION: Final = b"\x80"
_WIF_CHECK_BYTES: Final = 4
_MOST_READ: Final = 1024
"""Public keys that are kept ready; checking that a point is on its curve takes its time."""


class PublicKey(Struct, frozen=True, gc=False):
    """A public key: its curve, and the point in the compressed form (33 bytes)."""

    curve: CurveName
    point: bytes

    @classmethod
    def read(cls, text: str) -> PublicKey:
        """Read ``PUB_K1_…``, ``PUB_R1_…`` or the older ``EOS…``.

        Raises:
            MalformedError: it is none of these, or no point of its curve.
        """
        return _read_public(text)

    @classmethod
    def of_point(cls, curve: CurveName, x: int, y: int) -> Self:
        """Make one of affine coordinates."""
        return cls(curve, bytes((2 + y % 2,)) + x.to_bytes(32))

    @property
    def text(self) -> str:
        """The key as ``PUB_K1_…`` or ``PUB_R1_…``."""
        return write_text("PUB", self.curve, self.point)

    @property
    def legacy_text(self) -> str:
        """The key as ``EOS…``, as nodes write those of K1; those of R1 have no such form."""
        if self.curve != "K1":
            return self.text
        return _LEGACY + encode_base58(self.point + checksum(self.point, ""))

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=_MOST_READ)
def _read_public(text: str) -> PublicKey:
    if text.startswith(_LEGACY):
        key = PublicKey("K1", read_checked(text[len(_LEGACY) :], _POINT_BYTES, ""))
    else:
        key = PublicKey(*read_text(text, "PUB", _POINT_BYTES))
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(CURVES[key.curve].kind, key.point)
    except ValueError:
        raise MalformedError("there is no such point on the curve") from None
    return key


class PrivateKey(Struct, frozen=True, dict=True):
    """A private key: its curve and its secret (32 bytes). It does not show itself."""

    curve: CurveName
    secret: bytes

    @classmethod
    def read(cls, text: str) -> Self:
        """Read ``PVT_K1_…``, ``PVT_R1_…`` or the older WIF, which is K1.

        Raises:
            MalformedError: it is none of these; the message does not show it.
        """
        if text.startswith("PVT_"):
            curve, secret = read_text(text, "PVT", _SECRET_BYTES)
        else:
            curve, secret = "K1", _read_wif(text)
        if not 0 < int.from_bytes(secret) < CURVES[curve].order:
            raise MalformedError("the number is no private key of its curve")
        return cls(curve, secret)

    @property
    def text(self) -> str:
        """The key as ``PVT_K1_…`` or ``PVT_R1_…``: a secret."""
        return write_text("PVT", self.curve, self.secret)

    @property
    def wif(self) -> str:
        """The key in the older form, which those of R1 do not have: a secret."""
        if self.curve != "K1":
            return self.text
        data = _WIF_VERSION + self.secret
        return encode_base58(data + _wif_check(data))

    @cached_property
    def native(self) -> ec.EllipticCurvePrivateKey:
        """The key for ``cryptography``, made once."""
        return ec.derive_private_key(int.from_bytes(self.secret), CURVES[self.curve].kind)

    @cached_property
    def public(self) -> PublicKey:
        """The public key that belongs to it."""
        point = self.native.public_key()
        data = point.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
        return PublicKey(self.curve, data)

    def __repr__(self) -> str:
        """Show no secret."""
        return f"PrivateKey({self.curve})"

    __str__ = __repr__


def _read_wif(text: str) -> bytes:
    size = len(_WIF_VERSION) + _SECRET_BYTES
    # The form of 38 bytes that Bitcoin has for compressed points is not one of these chains.
    data = decode_base58(text, size + _WIF_CHECK_BYTES)
    payload, check = data[:size], data[size:]
    if payload[:1] != _WIF_VERSION or not compare_digest(check, _wif_check(payload)):
        raise MalformedError("the WIF has another version, or its checksum is wrong")
    return payload[1:]


def _wif_check(payload: bytes) -> bytes:
    return sha256(sha256(payload).digest()).digest()[:_WIF_CHECK_BYTES]
