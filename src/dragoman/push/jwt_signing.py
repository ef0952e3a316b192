"""The JWT of a notification, made and checked.

It names whom it is for (the address of the webhook), the task and the body, and lives shortly.
The 0.1 reference signs the body under the same claim, over its JSON without spaces; that is read,
too.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from hashlib import sha256
from typing import Annotated, Final

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from msgspec import Meta, Struct, field

from dragoman.auth.cards.jws import ALGORITHMS, BadSignatureError, read_jws
from dragoman.auth.shared.key_sets import Key
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from dragoman.model.cards import AgentCardSignature
from dragoman.push.headers import is_same_text

__all__ = (
    "BODY_CLAIM",
    "JWKS_PATH",
    "OWN_CLAIMS",
    "Claims",
    "JwtRules",
    "check_claims",
    "key_name",
    "sign_jwt",
    "signed_body",
    "verified_claims",
)

JWKS_PATH: Final = "/.well-known/jwks.json"
"""Where an agent shows the keys it signs with; the 0.1 reference has it there, too."""

BODY_CLAIM: Final = "request_body_sha256"
"""The SHA-256 of the body, in hexadecimal; the name is that of the 0.1 reference."""

OWN_CLAIMS: Final = ("aud", "exp", "jti", "taskId", BODY_CLAIM)
"""What a JWT of ours has beside ``iat``."""

_LIFE_SECONDS: Final = 120
"""An attempt takes at most 30 seconds (R-4.3.3-10); the rest is for clocks that differ."""

_MOST_BYTES: Final = 8192
"""Of a JWT. Ours have some 500; servers take headers of about 8 KiB."""

Seconds = Annotated[float, Meta(ge=0, le=2**53)]


class Claims(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a JWT says; "" and None stand for what it does not say."""

    iat: Seconds
    exp: Seconds | None = None
    nbf: Seconds | None = None
    iss: str = ""
    aud: str | tuple[str, ...] = ""
    jti: str = ""
    task_id: str = field(default="", name="taskId")
    body_sha256: str = field(default="", name=BODY_CLAIM)

    @property
    def audience(self) -> tuple[str, ...]:
        """All that it is for."""
        return (self.aud,) if isinstance(self.aud, str) else self.aud


class JwtRules(Struct, frozen=True, kw_only=True):
    """What a receiver asks of a JWT; a claim that is there is checked, asked for or not.

    Attributes:
        audience: the address of the webhook, as it was registered.
        required: claims that must be there, beside ``iat``.
        max_age_seconds: how long after ``iat`` it is good, whatever ``exp`` says.
        skew_seconds: how far the clocks of sender and receiver may be apart.
    """

    audience: str
    algorithms: frozenset[str] = ALGORITHMS
    required: tuple[str, ...] = OWN_CLAIMS
    max_age_seconds: float = 300
    skew_seconds: float = 30


def sign_jwt(
    body: bytes,
    key: Key,
    *,
    kid: str,
    url: str,
    task_id: str,
    notification_id: str,
    now_ms: int,
    issuer: str = "",
    algorithm: str = "ES256",
) -> str:
    """Sign one attempt to deliver a notification; a retry is signed anew, under the same id.

    Raises:
        JoseError: the key is not one for this algorithm, or has no private part.
    """
    claims = Claims(
        iat=now_ms // 1000,
        exp=now_ms // 1000 + _LIFE_SECONDS,
        iss=issuer,
        aud=url,
        jti=notification_id,
        task_id=task_id,
        body_sha256=sha256(body).hexdigest(),
    )
    header = {"alg": algorithm, "kid": kid}
    return jwt.encode(header, msgspec.to_builtins(claims), key, algorithms=[algorithm])


def key_name(token: str, algorithms: Collection[str]) -> str:
    """Return which key a JWT says it is signed with (``kid``); nothing is verified yet.

    Raises:
        UnauthenticatedError: it is no JWT that could be verified; says why.
    """
    pieces = token.split(".")
    if len(pieces) != 3 or len(token) > _MOST_BYTES:
        raise UnauthenticatedError("The JWT is none: it must have three parts")
    protected, _, signature = pieces
    try:
        jws = read_jws(AgentCardSignature(protected=protected, signature=signature))
    except BadSignatureError as error:
        raise UnauthenticatedError(f"The JWT cannot be verified: {error}") from None
    if jws.algorithm not in algorithms:
        raise UnauthenticatedError(f"The JWT is signed with {jws.algorithm}, not accepted here")
    return jws.kid


def verified_claims(token: str, keys: tuple[Key, ...], algorithms: Collection[str]) -> Claims:
    """Return what a JWT says if one of the keys has signed it.

    Raises:
        UnauthenticatedError: none has, or a claim has the wrong type.
    """
    for key in keys:
        try:
            found = jwt.decode(token, key, algorithms=algorithms)
            return msgspec.convert(found.claims, Claims)
        except msgspec.ValidationError as error:
            raise UnauthenticatedError(f"The JWT has a wrong claim: {error}") from None
        except (JoseError, ValueError):
            continue
    raise UnauthenticatedError("The JWT is not signed with a key of the sender")


def check_claims(claims: Claims, rules: JwtRules, now_ms: int) -> None:
    """Check all that does not depend on the body.

    Raises:
        UnauthenticatedError: a claim is missing, or the time is over or has not come.
        PermissionDeniedError: it is for somebody else.
    """
    present = msgspec.to_builtins(claims)
    for name in rules.required:
        if name not in present:
            raise UnauthenticatedError(f"The JWT lacks the claim {name}")
    now, skew = now_ms / 1000, rules.skew_seconds
    if claims.iat > now + skew or (claims.nbf is not None and claims.nbf > now + skew):
        raise UnauthenticatedError("The JWT is not good yet: iat or nbf lies in the future")
    if claims.exp is not None and now >= claims.exp + skew:
        raise UnauthenticatedError("The JWT has expired (exp)")
    # R-T.str-11: what is too old is refused, even if its sender would have it live on.
    if now - claims.iat > rules.max_age_seconds + skew:
        raise UnauthenticatedError("The JWT is too old (iat)")
    if "aud" in present and rules.audience not in claims.audience:
        raise PermissionDeniedError(f"The JWT is not for {rules.audience} (aud)")


def signed_body(claims: Claims, body: bytes) -> bytes:
    """Return the body that a JWT was made for, as it is to be read.

    Raises:
        PermissionDeniedError: it was made for another one.
    """
    if not claims.body_sha256 or _has_digest(body, claims):
        return body
    try:
        # What was signed is what is read: a difference that JSON does not see cannot matter.
        compact = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        compact = b""
    if not _has_digest(compact, claims):
        raise PermissionDeniedError(f"The JWT is for another body ({BODY_CLAIM})")
    return compact


def _has_digest(body: bytes, claims: Claims) -> bool:
    return is_same_text(sha256(body).hexdigest(), claims.body_sha256.lower())
