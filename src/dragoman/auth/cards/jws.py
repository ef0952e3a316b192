"""JSON Web Signatures with a detached payload, as cards have them (RFC 7515, appendix F).

Keys and algorithms are the library's. Headers are read here, and what is signed is put together
here, because nothing but ``alg``, ``kid`` and ``jku`` may have a say in it.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry
from msgspec import Struct

from dragoman.auth.shared.key_sets import Key
from dragoman.model.cards import AgentCardSignature

__all__ = ("ALGORITHMS", "BadSignatureError", "Jws", "is_signed_with", "read_jws", "sign")

ALGORITHMS: Final = frozenset(
    {
        *("ES256", "ES384", "ES512"),
        *("RS256", "RS384", "RS512"),
        *("PS256", "PS384", "PS512"),
        # RFC 9864 has renamed the first to the second.
        *("EdDSA", "Ed25519"),
    }
)
"""Those with a private and a public key. There is no ``none``, and no HMAC: who can verify that
could have signed it."""

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")


class BadSignatureError(Exception):
    """A signature cannot be read; the message says why."""


class _Header(Struct, frozen=True):
    alg: str
    kid: str
    jku: str = ""
    crit: object = msgspec.UNSET


class Jws(Struct, frozen=True):
    """A signature without what it is made over."""

    algorithm: str
    kid: str
    jku: str
    protected: str
    signature: bytes


def read_jws(signature: AgentCardSignature) -> Jws:
    """Read a signature; the header that is not protected has no say in anything.

    Raises:
        BadSignatureError: it is none that could be verified; says why.
    """
    try:
        # R-8.4.2-1, R-8.4.2-2: alg and kid are required.
        header = msgspec.json.decode(_unpacked(signature.protected), type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadSignatureError("its header has no alg and kid") from None
    if header.alg not in ALGORITHMS:
        raise BadSignatureError(f"its algorithm {header.alg!r} is not accepted")
    if header.crit is not msgspec.UNSET:
        # RFC 7515, 4.1.11: refused by who does not know what is critical.
        raise BadSignatureError("its header has critical extensions")
    return Jws(
        algorithm=header.alg,
        kid=header.kid,
        jku=header.jku,
        protected=signature.protected,
        signature=_unpacked(signature.signature),
    )


def is_signed_with(jws: Jws, payload: bytes, key: Key) -> bool:
    """Tell whether the signature was made over this payload, with this key."""
    algorithm = JWSRegistry.algorithms[jws.algorithm]
    try:
        algorithm.check_key(key)
        return algorithm.verify(_input(jws.protected, payload), jws.signature, key)
    except (JoseError, ValueError):
        return False


def sign(
    payload: bytes, key: Key, algorithm: str, *, kid: str, jku: str = ""
) -> AgentCardSignature:
    """Sign a payload. R-8.4.2-1 to -4: alg, kid and typ are in the header, jku may be.

    Raises:
        JoseError: the key is not one for this algorithm, or has no private part.
    """
    header = {"alg": algorithm, "kid": kid, "typ": "JOSE"}
    if jku:
        header["jku"] = jku
    protected = _packed(msgspec.json.encode(header))
    how = JWSRegistry.algorithms[algorithm]
    how.check_key(key)
    return AgentCardSignature(
        protected=protected, signature=_packed(how.sign(_input(protected, payload), key))
    )


def _input(protected: str, payload: bytes) -> bytes:
    # R-8.4.2-5.
    return f"{protected}.{_packed(payload)}".encode("ascii")


def _packed(data: bytes) -> str:
    # R-8.4.2-6: without padding.
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _unpacked(text: str) -> bytes:
    bare = text.rstrip("=")
    if not _BASE64URL.fullmatch(bare):
        raise BadSignatureError("it is not written in base64url")
    try:
        return urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    except ValueError:
        raise BadSignatureError("it is not written in base64url") from None
