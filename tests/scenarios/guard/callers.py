"""What callers of a guarded agent show: those who are somebody, and those who attack.

Keys are those of ``PEOPLE``. Tokens are real: an issuer with an RSA key on a socket of its own has
signed those that are good, and every bad one differs from a good one in one thing.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final, Protocol

from joserfc.jwk import RSAKey

from dragoman.auth.incoming.authenticator import Authenticator
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from tests.scenarios.guard.attacks import Attack, Scheme
from tests.scenarios.guarding import PEOPLE, Keys, keyed
from tests.support.auth.issuing import AUDIENCE, Issuer, packed

__all__ = ("ByKey", "ByToken", "Callers")

_HOUR: Final = 3600
_TENANTS: Final = ("", "acme", "umbrella")


class Callers(Protocol):
    """What callers show under one scheme."""

    scheme: Scheme

    @property
    def authenticator(self) -> Authenticator:
        """What the agent is given."""
        ...

    def good(self, name: str) -> Mapping[str, str]:
        """Return the headers of somebody who is known."""
        ...

    def bad(self, attack: Attack) -> Mapping[str, str]:
        """Return the headers of an attack at the door."""
        ...

    def challenge(self, attack: Attack) -> str:
        """Return the ``WWW-Authenticate`` that an attack at the door must be told."""
        ...


class ByKey:
    """An API key in a header."""

    scheme = Scheme.KEY

    def __init__(self) -> None:
        self.authenticator = Keys()

    def good(self, name: str) -> Mapping[str, str]:
        return keyed(f"key-of-{name}")

    def bad(self, attack: Attack) -> Mapping[str, str]:
        return {} if attack is Attack.NO_CREDENTIALS else self.good("nobody")

    def challenge(self, attack: Attack) -> str:
        del attack
        return 'ApiKey realm="guarded"'


class ByToken:
    """A JWT; each is made once."""

    scheme = Scheme.JWT

    def __init__(self, issuer: Issuer) -> None:
        self.authenticator = BearerJwt(
            issuer=issuer.url,
            audience=AUDIENCE,
            jwks_url=f"{issuer.url}/jwks",
            owner=lambda claims: str(claims["sub"]),
            tenant_claim="tenants",
            clock=issuer.clock,
        )
        self._good = {
            person.owner: issuer.token(
                sub=person.owner,
                scope=" ".join(person.scopes),
                tenants=_TENANTS if person.tenants is None else sorted(person.tenants),
            )
            for person in PEOPLE.values()
        }
        self._bad = _bad_tokens(issuer, self._good["ada"])

    def good(self, name: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._good[name]}"}

    def bad(self, attack: Attack) -> Mapping[str, str]:
        if attack is Attack.NO_CREDENTIALS:
            return {}
        return {"Authorization": f"Bearer {self._bad[attack]}"}

    def challenge(self, attack: Attack) -> str:
        # RFC 6750, 3: no error is told to who has shown nothing.
        if attack is Attack.NO_CREDENTIALS:
            return 'Bearer realm="a2a"'
        return 'Bearer realm="a2a", error="invalid_token"'


def _bad_tokens(issuer: Issuer, good: str) -> dict[Attack, str]:
    now = issuer.clock.now_ms() // 1000
    ada: dict[str, Any] = {"sub": "ada", "scope": "vault:open cellar", "tenants": _TENANTS}
    [public] = issuer.public_keys
    stranger = Issuer(issuer.clock, "RS256")
    unsigned = f"{packed({'alg': 'none', 'typ': 'JWT'})}.{packed(issuer.claims(**ada))}."
    foreign: dict[str, Any] = {"iss": issuer.url, **ada}
    return {
        # It calls its key as the issuer calls its own.
        Attack.WRONG_CREDENTIALS: stranger.token(header={"kid": public["kid"]}, **foreign),
        Attack.EXPIRED: issuer.token(**ada, iat=now - 2 * _HOUR, exp=now - _HOUR),
        Attack.NOT_YET_VALID: issuer.token(**ada, nbf=now + _HOUR, exp=now + 2 * _HOUR),
        Attack.WRONG_AUDIENCE: issuer.token(**ada, aud="https://another.example"),
        Attack.WRONG_ISSUER: issuer.token(**ada, iss="https://id.another.example"),
        Attack.UNSIGNED: unsigned,
        Attack.NONE_BUT_SIGNED: unsigned + good.rpartition(".")[2],
        Attack.KEY_CONFUSION: _confused(issuer, public, ada),
        Attack.KEY_OF_ITS_OWN: stranger.token(
            header={"kid": public["kid"], "jwk": stranger.public_keys[0]}, **foreign
        ),
    }


def _confused(issuer: Issuer, public: dict[str, Any], claims: Mapping[str, object]) -> str:
    """Sign with what everybody knows, as if it were a secret that only the issuer has."""
    secret = RSAKey.import_key(public).as_pem(private=False)
    head = {"alg": "HS256", "kid": public["kid"]}
    body = f"{packed(head)}.{packed(issuer.claims(**claims))}"
    signature = hmac.digest(secret, body.encode(), "sha256")
    return f"{body}.{urlsafe_b64encode(signature).decode().rstrip('=')}"
