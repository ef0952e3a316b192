"""Access tokens that are JWTs (RFC 7519, RFC 9068): what they say, and whether it counts here.

Pure: keys and the time are handed in. RFC 8725 is followed: the algorithms are listed, and each is
used only with a key of its own kind, so no public key can be taken for a shared secret.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from dragoman.auth.cards.jws import ALGORITHMS, Jws, is_signed_with
from dragoman.auth.incoming.authenticator import BadCredentialsError
from dragoman.auth.shared.key_sets import Key
from dragoman.errors import UsageError
from dragoman.model.base import is_array

__all__ = (
    "Claims",
    "Header",
    "TokenRules",
    "check_claims",
    "claims_of",
    "read_header",
    "read_issuer",
    "texts_in",
    "verified_claims",
)

_JWT: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
"""Three parts. One without a signature has an empty third part, one that is encrypted has five."""

_T = TypeVar("_T")

Seconds = Annotated[float, Meta(ge=0, le=2**53)]


class Header(Struct, frozen=True):
    """What a token says of how it is signed; nothing of it is to be trusted."""

    alg: str
    kid: str = ""
    typ: str = ""
    crit: object = msgspec.UNSET


class _Peek(Struct, frozen=True):
    iss: str = ""


class Claims(Struct, frozen=True, kw_only=True):
    """What a token says of itself; "" and None stand for what it does not say."""

    iss: str = ""
    sub: str = ""
    aud: str | tuple[str, ...] = ()
    exp: Seconds | None = None
    nbf: Seconds | None = None
    iat: Seconds | None = None


class TokenRules(Struct, frozen=True, kw_only=True):
    """What is asked of a token.

    Attributes:
        issuer: who must have issued it, to the letter; "" for whoever.
        audiences: any of which it must be for; empty if that is not asked.
        algorithms: those it may be signed with.
        skew_seconds: how far the clocks of the issuer and of this machine may be apart.
        token_type: its ``typ``, such as ``at+jwt`` (RFC 9068, 4); "" for any.
    """

    issuer: str
    audiences: frozenset[str]
    algorithms: frozenset[str] = ALGORITHMS
    skew_seconds: float = 30
    token_type: str = ""

    def __post_init__(self) -> None:
        """Refuse rules that would let in anybody."""
        foreign = sorted(self.algorithms - ALGORITHMS)
        if foreign or not self.algorithms:
            raise UsageError(
                f"algorithms must be among {', '.join(sorted(ALGORITHMS))}"
                + (f", and {foreign[0]!r} is not" if foreign else "")
            )
        if not 0 <= self.skew_seconds <= 300:
            raise UsageError("skew_seconds must be from 0 to 300")


def read_header(token: str, rules: TokenRules) -> Header:
    """Read how a token says it is signed.

    Raises:
        BadCredentialsError: it is no JWT, or not one that is accepted; says why.
    """
    header = _read(_pieces(token)[1], Header, "header")
    if header.alg not in rules.algorithms:
        raise BadCredentialsError(f"it is signed with {header.alg[:20]!r}, not accepted here")
    if header.crit is not msgspec.UNSET:
        # RFC 7515, 4.1.11: refused by who does not know what is critical.
        raise BadCredentialsError("its header has critical extensions")
    # RFC 9068, 4: the prefix may be there or not.
    found = header.typ.lower().removeprefix("application/")
    if rules.token_type and found != rules.token_type.lower():
        raise BadCredentialsError(f"its typ is {found[:20]!r}, not {rules.token_type!r}")
    return header


def read_issuer(token: str) -> str:
    """Return who a token says has issued it; nothing is verified yet.

    Raises:
        BadCredentialsError: it is no JWT.
    """
    return _read(_pieces(token)[2], _Peek, "payload").iss


def verified_claims(token: str, keys: Iterable[Key], algorithm: str) -> dict[str, object]:
    """Return what a token says if one of the keys has signed it.

    Raises:
        BadCredentialsError: none has.
    """
    protected, claims, signature = _pieces(token).groups()
    payload = _unpacked(claims)
    jws = Jws(algorithm, "", "", protected, _unpacked(signature))
    for key in keys:
        # RFC 7517, 4.4: a key that names its algorithm is for no other.
        if (key.alg or algorithm) != algorithm:
            continue
        if is_signed_with(jws, payload, key):
            return _read(claims, dict[str, object], "payload")
    raise BadCredentialsError("it is not signed with a key of the issuer")


def claims_of(document: Mapping[str, object]) -> Claims:
    """Read the claims that count everywhere.

    Raises:
        BadCredentialsError: one has the wrong type.
    """
    try:
        return msgspec.convert(document, Claims)
    except msgspec.ValidationError as error:
        raise BadCredentialsError(f"a claim is wrong: {error}") from None


def check_claims(claims: Claims, rules: TokenRules, now_ms: int) -> None:
    """Check from whom a token is, for whom, and when it is good.

    Raises:
        BadCredentialsError: it does not count here or now; says why.
    """
    if rules.issuer and claims.iss != rules.issuer:
        raise BadCredentialsError(f"it is from the issuer {claims.iss!r}, not {rules.issuer!r}")
    audience = (claims.aud,) if isinstance(claims.aud, str) else claims.aud
    if rules.audiences and not rules.audiences.intersection(audience):
        raise BadCredentialsError(f"it is for {', '.join(audience) or 'nobody'} (aud), not for us")
    now, skew = now_ms / 1000, rules.skew_seconds
    if claims.exp is None:
        raise BadCredentialsError("it does not say when it expires (exp)")
    if now >= claims.exp + skew:
        raise BadCredentialsError("it has expired (exp)")
    if max(claims.nbf or 0, claims.iat or 0) > now + skew:
        raise BadCredentialsError("it is not good yet (nbf, iat)")


def texts_in(document: Mapping[str, object], names: Iterable[str]) -> frozenset[str]:
    """Return what some claims list, each as one text with spaces or as an array of texts."""
    found: set[str] = set()
    for name in names:
        value = document.get(name)
        items = value.split() if isinstance(value, str) else value
        if is_array(items):
            found.update(item for item in items if isinstance(item, str))
    return frozenset(found)


def _pieces(token: str) -> re.Match[str]:
    match = _JWT.fullmatch(token)
    if match is None:
        raise BadCredentialsError("it is no signed JWT: that has three parts")
    return match


def _read(piece: str, kind: type[_T], what: str) -> _T:
    try:
        return msgspec.json.decode(_unpacked(piece), type=kind)
    except (ValueError, RecursionError):
        raise BadCredentialsError(f"its {what} cannot be read") from None


def _unpacked(piece: str) -> bytes:
    padding = "=" * (-len(piece) % 4)
    try:
        data = urlsafe_b64decode(piece + padding)
    except ValueError:
        raise BadCredentialsError("it is not written in base64url") from None
    # What is signed is the text; one that decodes to the same is another.
    if urlsafe_b64encode(data).decode() != piece + padding:
        raise BadCredentialsError("it is not written in base64url")
    return data
