"""An issuer of real tokens with real keys, served on a real socket, and what callers show."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qsl

import pytest
from joserfc.jws import JWSRegistry

from dragoman.auth.incoming.authenticator import Authenticator, BadCredentialsError, Evidence
from dragoman.auth.shared.key_sets import read_key
from dragoman.errors import UnauthenticatedError
from dragoman.net.asgi import Receive, Scope, Send
from dragoman.testing.clock import FakeClock
from tests.scenarios.authority import answer, listening
from tests.support.auth.signing_cards import new_key

__all__ = ("AUDIENCE", "Issuer", "bearer", "issuing", "packed", "refusal", "showing")

AUDIENCE: Final = "https://agent.example"


def showing(authorization: str | None = None, **more: str) -> Evidence:
    """Return what a request with some headers shows."""
    headers = {name.replace("_", "-").encode(): value for name, value in more.items()}
    if authorization is not None:
        headers[b"authorization"] = authorization
    return Evidence(headers=headers)


def bearer(token: str) -> Evidence:
    """Return what a request with a token shows."""
    return showing(f"Bearer {token}")


def packed(document: object) -> str:
    """Write a part of a JWT."""
    return urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


async def refusal(authenticator: Authenticator, evidence: Evidence) -> str:
    """Have credentials refused, and return the reason that the log gets; the peer gets none."""
    with pytest.raises(UnauthenticatedError) as caught:
        await authenticator.authenticate(evidence)
    assert caught.value.message == "The credentials are not good"
    assert isinstance(caught.value.__cause__, BadCredentialsError)
    return str(caught.value.__cause__)


class Issuer:
    """Signs tokens, shows its keys and says what tokens are worth.

    Attributes:
        asked: how often each path was asked for.
        is_down: it answers nothing but 503.
        answers: to questions about tokens, by the token; one that is not there is not active.
        secrets: who has asked, by the header of the request.
    """

    def __init__(self, clock: FakeClock, algorithm: str = "ES256") -> None:
        self.clock = clock
        self.url = "https://id.example"
        self.asked: Counter[str] = Counter()
        self.is_down = False
        self.answers: dict[str, tuple[int, object]] = {}
        self.secrets: list[str] = []
        self._keys: list[dict[str, object]] = []
        self.rotate(algorithm)

    def rotate(self, algorithm: str, *, kid: str = "", keep: bool = False) -> None:
        """Sign with another key from now on, and forget those of before unless told otherwise."""
        key = new_key(algorithm)
        key["kid"] = kid or f"{algorithm}-{key.get('x') or key.get('n')}"[:24]
        self._keys = [key, *(self._keys if keep else ())]

    @property
    def public_keys(self) -> list[dict[str, Any]]:
        """What it shows of its keys, the newest first."""
        public = ("kty", "kid", "alg", "crv", "x", "y", "n", "e")
        return [{k: v for k, v in key.items() if k in public} for key in self._keys]

    @property
    def jwks(self) -> dict[str, object]:
        """The same as a key set."""
        return {"keys": self.public_keys}

    def claims(self, **changes: object) -> dict[str, object]:
        """Return the claims of a good token, with changes; None takes one away."""
        now = self.clock.now_ms() // 1000
        found = {
            "iss": self.url,
            "sub": "alice",
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 600,
            "scope": "read write",
            **changes,
        }
        return {name: value for name, value in found.items() if value is not None}

    def token(self, *, header: dict[str, object] | None = None, **changes: Any) -> str:
        """Sign a token with the newest key."""
        key = self._keys[0]
        algorithm = str(key["alg"])
        head = {"alg": algorithm, "kid": key["kid"], **(header or {})}
        head = {name: value for name, value in head.items() if value is not None}
        body = f"{packed(head)}.{packed(self.claims(**changes))}"
        signature = JWSRegistry.algorithms[algorithm].sign(body.encode(), read_key(key))
        return f"{body}.{urlsafe_b64encode(signature).decode().rstrip('=')}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while (event := await receive()).get("more_body"):
            body += event["body"]
        body += event.get("body", b"")
        path = scope["path"]
        self.asked[path] += 1
        headers = dict(scope["headers"])
        self.secrets.append(headers.get(b"authorization", b"").decode())
        if self.is_down:
            await answer(send, 503, b"{}")
            return
        status, found = self._answer(path, body)
        await answer(send, status, json.dumps(found).encode())

    def _answer(self, path: str, body: bytes) -> tuple[int, object]:
        match path:
            case "/.well-known/openid-configuration":
                return 200, {
                    "issuer": self.url,
                    "token_endpoint": f"{self.url}/token",
                    "jwks_uri": f"{self.url}/jwks",
                }
            case "/jwks":
                return 200, self.jwks
            case "/introspect":
                token = dict(parse_qsl(body.decode()))["token"]
                return self.answers.get(token, (200, {"active": False}))
            case _:
                return 404, {}


@asynccontextmanager
async def issuing(clock: FakeClock, algorithm: str = "ES256") -> AsyncGenerator[Issuer]:
    """Serve an issuer on the loopback."""
    issuer = Issuer(clock, algorithm)
    async with listening(issuer) as url:
        issuer.url = url
        yield issuer
