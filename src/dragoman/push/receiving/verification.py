"""Verifier: whether a notification comes from whom it should (R-4.3.3-7, R-13.2-9, R-T.str-9).

Whatever a receiver was told to ask for must be shown, all of it. What headers alone can tell is
checked before the body is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from dragoman.auth.shared.issuer_keys import IssuerKeys
from dragoman.clock import Clock
from dragoman.errors import UnauthenticatedError
from dragoman.model.push import AuthenticationInfo
from dragoman.push.headers import (
    AUTHORIZATION,
    JWT_HEADER,
    TOKEN_HEADERS,
    shows_credentials,
    shows_token,
)
from dragoman.push.hmac_signing import check_hmac
from dragoman.push.jwt_signing import (
    JwtRules,
    check_claims,
    key_name,
    signed_body,
    verified_claims,
)

__all__ = ("Proof", "Verifier")


class Proof(Struct, frozen=True, kw_only=True):
    """What has been shown.

    Attributes:
        body: the body, as it is to be read.
        jti: the id of the JWT; "" if it has none, or there is no JWT.
        task_id: the task that the JWT is about; "" if it names none.
    """

    body: bytes
    jti: str = ""
    task_id: str = ""


class Verifier:
    """Checks what a receiver asks for.

    Args:
        tokens: any of which is good; so they can be changed without a gap.
        secrets: of HMAC, likewise.
        keys: of JWTs; None if none is asked for.
    """

    def __init__(
        self,
        *,
        tokens: tuple[str, ...],
        authentication: AuthenticationInfo | None,
        secrets: tuple[bytes, ...],
        keys: IssuerKeys | None,
        rules: JwtRules,
        clock: Clock,
    ) -> None:
        self._tokens = tokens
        self._authentication = authentication
        self._secrets = secrets
        self._keys = keys
        self._rules = rules
        self._clock = clock

    @property
    def asks_for_anything(self) -> bool:
        """Tell whether there is something to show at all."""
        return bool(self._tokens or self._authentication or self._secrets or self._keys)

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Check the token and the credentials.

        Raises:
            UnauthenticatedError: they are missing or wrong.
        """
        if self._tokens and not shows_token(headers, self._tokens):
            raise UnauthenticatedError(f"The token in {TOKEN_HEADERS[0]} is missing or wrong")
        wanted = self._authentication
        if wanted is not None and not shows_credentials(headers, wanted):
            raise UnauthenticatedError(f"The credentials of {wanted.scheme} are missing or wrong")

    async def check_body(self, headers: Mapping[str, str], body: bytes) -> Proof:
        """Check the signatures of a body.

        Raises:
            UnauthenticatedError: one is missing, wrong or too old.
            PermissionDeniedError: one is for another receiver or another body.
            UnavailableError: the keys to check it with cannot be fetched now.
        """
        if self._secrets:
            check_hmac(
                headers,
                self._secrets,
                body=body,
                now_ms=self._clock.now_ms(),
                max_age_seconds=self._rules.max_age_seconds,
            )
        if self._keys is None:
            return Proof(body=body)
        token = _jwt_in(headers)
        keys = await self._keys.find(key_name(token, self._rules.algorithms))
        claims = verified_claims(token, keys, self._rules.algorithms)
        check_claims(claims, self._rules, self._clock.now_ms())
        return Proof(body=signed_body(claims, body), jti=claims.jti, task_id=claims.task_id)


def _jwt_in(headers: Mapping[str, str]) -> str:
    own = headers.get(JWT_HEADER.lower())
    if own:
        return own
    scheme, _, credentials = headers.get(AUTHORIZATION.lower(), "").partition(" ")
    if scheme.lower() != "bearer" or not credentials.strip():
        raise UnauthenticatedError(f"There is no JWT in {JWT_HEADER} or {AUTHORIZATION}")
    return credentials.strip()
