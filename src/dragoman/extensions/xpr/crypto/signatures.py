"""Signatures over a hash of 32 bytes: made, read, verified, and the key recovered from them.

Strict: of the many forms of one signature, the one that the chain itself takes is read, and no
other. On K1 that is Antelope's canonical form, on R1 the low s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from dragoman.extensions.xpr.crypto.curves import CURVES, CurveName
from dragoman.extensions.xpr.crypto.ecdsa import Backend, backend_for
from dragoman.extensions.xpr.crypto.keys import PrivateKey, PublicKey
from dragoman.extensions.xpr.crypto.texts import read_text, write_text
from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("Signature", "is_canonical", "recover", "sign", "signer_among")

_BYTES: Final = 65
_LEAST_RECOVERY: Final = 27
_MOST_RECOVERY: Final = 34
_WRITTEN_RECOVERY: Final = 31
"""What the recovery id is written on top of: 27, and 4 for a compressed point."""

_LEAST: Final[Mapping[CurveName, bytes]] = {
    # Both must fill 32 bytes, as DER would write them.
    "K1": (2**247).to_bytes(32),
    "R1": (1).to_bytes(32),
}
_R_END: Final[Mapping[CurveName, bytes]] = {
    # The same, and without a sign bit. A low s has none.
    "K1": (2**255).to_bytes(32),
    "R1": CURVES["R1"].order.to_bytes(32),
}
_S_MOST: Final[Mapping[CurveName, bytes]] = {
    curve: (found.order // 2).to_bytes(32) for curve, found in CURVES.items()
}


class Signature(Struct, frozen=True, gc=False):
    """A signature in canonical form.

    Attributes:
        recovery: which of up to four points r stands for; 0 to 3.
        rs: r and s, 32 bytes each.
    """

    curve: CurveName
    recovery: int
    rs: bytes

    @classmethod
    def read(cls, text: str) -> Signature:
        """Read ``SIG_K1_…`` or ``SIG_R1_…``.

        Raises:
            MalformedError: it is none, or not in canonical form.
        """
        curve, payload = read_text(text, "SIG", _BYTES)
        # 27 to 30 stand for a point that is not compressed; the chain takes them as well.
        if not _LEAST_RECOVERY <= payload[0] <= _MOST_RECOVERY:
            raise MalformedError("the recovery byte is not one of 27 to 34")
        if not is_canonical(curve, payload[1:]):
            raise MalformedError("the signature is not in canonical form")
        return cls(curve, (payload[0] - _LEAST_RECOVERY) & 3, payload[1:])

    @property
    def text(self) -> str:
        """The signature as ``SIG_K1_…`` or ``SIG_R1_…``."""
        payload = bytes((_WRITTEN_RECOVERY + self.recovery,)) + self.rs
        return write_text("SIG", self.curve, payload)


def is_canonical(curve: CurveName, rs: bytes) -> bool:
    """Tell whether r and s are in the range of the curve, and in the form the chain takes."""
    # Numbers of 32 bytes are in the order of their bytes.
    r, s = rs[:32], rs[32:]
    return _LEAST[curve] <= min(r, s) and r < _R_END[curve] and s <= _S_MOST[curve]


def sign(key: PrivateKey, digest: bytes, backend: Backend | None = None) -> Signature:
    """Sign a hash of 32 bytes, with nonces until the result is canonical: two on average.

    Args:
        backend: what computes; the fastest there is unless given.
    """
    backend = backend or backend_for(key.curve)
    attempt = 0
    while True:
        rs, recovery = backend.sign(key, digest, attempt)
        if is_canonical(key.curve, rs):
            return Signature(key.curve, recovery, rs)
        attempt += 1


def recover(signature: Signature, digest: bytes, backend: Backend | None = None) -> PublicKey:
    """Return the key that has made a signature over a hash.

    Raises:
        MalformedError: no key has.
    """
    return (backend or backend_for(signature.curve)).recover(
        signature.curve, signature.rs, signature.recovery, digest
    )


def signer_among(
    keys: Iterable[PublicKey],
    signature: Signature,
    digest: bytes,
    backend: Backend | None = None,
) -> PublicKey | None:
    """Return the key among some that has made a signature, None if none has.

    The recovery id is not looked at: that is needed only by who does not know the keys.
    """
    backend = backend or backend_for(signature.curve)
    for key in keys:
        if key.curve == signature.curve and backend.verifies(key, signature.rs, digest):
            return key
    return None
