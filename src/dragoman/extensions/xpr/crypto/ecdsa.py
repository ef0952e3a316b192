"""ECDSA on both curves: by ``cryptography`` everywhere, by ``coincurve`` on K1 where it is there.

The two give the same answers, and sign with other nonces. coincurve (libsecp256k1) verifies several
times as fast; the extra ``dragoman[xpr]`` brings it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
    encode_dss_signature,
)

from dragoman.extensions.xpr.crypto.curves import CURVES, CurveName
from dragoman.extensions.xpr.crypto.keys import PrivateKey, PublicKey
from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("Backend", "FastBackend", "PlainBackend", "backend_for", "has_fast_backend")

_PREHASHED: Final = ec.ECDSA(Prehashed(hashes.SHA256()))
_RS_BYTES: Final = 64
_DIGEST_BYTES: Final = 32
_MOST_KEPT: Final = 1024
"""Keys that are kept unpacked."""


class Backend(Protocol):
    """What computes signatures. ``rs`` is r and s, 32 bytes each; a digest has 32 bytes."""

    def sign(self, key: PrivateKey, digest: bytes, attempt: int) -> tuple[bytes, int]:
        """Return a signature with a low s, and its recovery id; each attempt has its own nonce."""
        ...

    def verifies(self, key: PublicKey, rs: bytes, digest: bytes) -> bool:
        """Tell whether a key of this backend's curve has made a signature."""
        ...

    def recover(self, curve: CurveName, rs: bytes, recovery: int, digest: bytes) -> PublicKey:
        """Return the key that has made a signature; raises MalformedError if there is none."""
        ...


def backend_for(curve: CurveName) -> Backend:
    """Return the fastest backend there is for a curve."""
    return _fast() if curve == "K1" and has_fast_backend() else _PLAIN


@cache
def has_fast_backend() -> bool:
    """Tell whether coincurve is installed."""
    return find_spec("coincurve") is not None


@cache
def _fast() -> Backend:
    return FastBackend()


class PlainBackend:
    """By ``cryptography``."""

    def sign(self, key: PrivateKey, digest: bytes, attempt: int) -> tuple[bytes, int]:
        """Sign with a random nonce, whatever the attempt."""
        del attempt
        order = CURVES[key.curve].order
        r, s = decode_dss_signature(key.native.sign(digest, _PREHASHED))
        # OpenSSL does not tell the point R that r stands for. The nonce can be had back from the
        # signature with the key, and R is its public key. Integers of Python do not take the same
        # time for all numbers: who signs where that can be measured installs coincurve.
        nonce = (int.from_bytes(digest) + r * int.from_bytes(key.secret)) * pow(s, -1, order)
        kind = CURVES[key.curve].kind
        point = ec.derive_private_key(nonce % order, kind).public_key().public_numbers()
        recovery = point.y % 2 + (2 if point.x != r else 0)
        if s > order // 2:
            s, recovery = order - s, recovery ^ 1
        return r.to_bytes(32) + s.to_bytes(32), recovery

    def verifies(self, key: PublicKey, rs: bytes, digest: bytes) -> bool:
        """Tell whether a key has made a signature."""
        try:
            _native(key).verify(_der(rs), digest, _PREHASHED)
        except (InvalidSignature, ValueError):
            return False
        return True

    def recover(self, curve: CurveName, rs: bytes, recovery: int, digest: bytes) -> PublicKey:
        """Return the key that has made a signature (SEC 1, 4.1.6)."""
        on = CURVES[curve]
        r, s = int.from_bytes(rs[:32]), int.from_bytes(rs[32:])
        if not 0 < r < on.order or not 0 < s < on.order:
            raise MalformedError("r or s is out of range")
        point = on.lift(r + (on.order if recovery & 2 else 0), is_odd=bool(recovery & 1))
        inverse = pow(r, -1, on.order)
        total = on.add(
            on.multiply(s * inverse % on.order, point),
            on.multiply(-int.from_bytes(digest) * inverse % on.order, on.base),
        )
        if total is None:
            raise MalformedError("no key can have made the signature")
        return PublicKey.of_point(curve, *total)


class FastBackend:
    """By ``coincurve``; K1 alone.

    Raises:
        ImportError: it is not installed.
    """

    def __init__(self) -> None:
        # An extra, of which a part comes without types: the library that it wraps.
        self._coincurve: Any = import_module("coincurve")
        wrapped: Any = import_module("coincurve._libsecp256k1")
        self._ffi: Any = wrapped.ffi
        self._parse: Any = wrapped.lib.secp256k1_ecdsa_signature_parse_compact
        self._verify: Any = wrapped.lib.secp256k1_ecdsa_verify
        self._context: Any = self._coincurve.context.GLOBAL_CONTEXT.ctx
        self._unpacked = lru_cache(maxsize=_MOST_KEPT)(self._unpack)

    def sign(self, key: PrivateKey, digest: bytes, attempt: int) -> tuple[bytes, int]:
        """Sign with the nonce of RFC 6979; attempts after the first are its additional data."""
        extra: Any = self._ffi.NULL
        if attempt:
            extra = self._ffi.new("unsigned char[32]", attempt.to_bytes(32))
        signature: bytes = self._coincurve.PrivateKey(key.secret).sign_recoverable(
            digest, hasher=None, custom_nonce=(self._ffi.NULL, extra)
        )
        return signature[:64], signature[64]

    def verifies(self, key: PublicKey, rs: bytes, digest: bytes) -> bool:
        """Tell whether a key has made a signature."""
        if len(rs) != _RS_BYTES or len(digest) != _DIGEST_BYTES:
            # It would read beyond their end.
            return False
        try:
            point = self._unpacked(key.point)
        except ValueError:
            return False
        # Not by way of coincurve, which has signatures as DER: that is to be written, and read.
        parsed = self._ffi.new("secp256k1_ecdsa_signature *")
        if not self._parse(self._context, parsed, rs):
            return False
        return self._verify(self._context, parsed, digest, point) == 1

    def recover(self, curve: CurveName, rs: bytes, recovery: int, digest: bytes) -> PublicKey:
        """Return the key that has made a signature."""
        packed = rs + bytes((recovery,))
        try:
            found = self._coincurve.PublicKey.from_signature_and_message(
                packed, digest, hasher=None
            )
        except ValueError:
            raise MalformedError("no key can have made the signature") from None
        return PublicKey(curve, found.format())

    def _unpack(self, point: bytes) -> Any:
        return self._coincurve.PublicKey(point).public_key


_PLAIN: Final = PlainBackend()


@lru_cache(maxsize=_MOST_KEPT)
def _native(key: PublicKey) -> ec.EllipticCurvePublicKey:
    kind = CURVES[key.curve].kind
    return ec.EllipticCurvePublicKey.from_encoded_point(kind, key.point)


def _der(rs: bytes) -> bytes:
    return encode_dss_signature(int.from_bytes(rs[:32]), int.from_bytes(rs[32:]))
