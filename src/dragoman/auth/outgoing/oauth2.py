"""OAuth 2.0: what is said to an authorization server about tokens, and what it answers.

Client credentials (RFC 6749, 4.4), device authorization (RFC 8628), refreshing (RFC 6749, 6),
revoking (RFC 7009) and introspection (RFC 7662).
Who asks, and when, is decided in ``dragoman.auth.outgoing.grants``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import quote_plus

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.errors import AuthorizationServerError, TokenRefusedError
from dragoman.auth.outgoing.origins import is_confidential
from dragoman.auth.outgoing.tokens import Token
from dragoman.auth.shared.fetching import Answer, post_form
from dragoman.clock import Clock
from dragoman.errors import UsageError

__all__ = ("AuthorizationServer", "ClientAuth", "Device", "DevicePrompt")

ClientAuth: TypeAlias = Literal["basic", "post"]
"""How the secret of a client travels (RFC 6749, 2.3.1): in a header, which servers must take, or
in the body."""

_DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"

_INTERVAL_SECONDS: Final = 5.0
"""How often to ask when the server does not say (RFC 8628, 3.2), and what slow_down adds (3.5)."""

_PERSON_SECONDS: Final = 600.0
"""How long a person has when the server does not say, though it must."""

_SHOWN_LENGTH: Final = 200
"""How much of a server's own words is passed on."""


class DevicePrompt(Struct, frozen=True):
    """What a person is shown: an address to open, and the code to enter there.

    Attributes:
        complete_url: the address with the code in it, for a link or a QR code; may be empty.
    """

    url: str
    user_code: str
    complete_url: str
    expires_in_seconds: float


class Device(Struct, frozen=True):
    """An authorization that waits for a person."""

    prompt: DevicePrompt
    device_code: str
    interval_seconds: float
    expires_at_ms: float


class AuthorizationServer(Struct, frozen=True, kw_only=True):
    """The endpoints of a server, and who we are to it.

    Every call raises ``TokenRefusedError`` when the server says no, ``AuthorizationServerError``
    when it cannot be asked or makes no sense.

    Attributes:
        parameters: sent along with every request for a token, such as ``audience``.
    """

    token_url: str
    device_url: str = ""
    revocation_url: str = ""
    introspection_url: str = ""
    client_id: str
    client_secret: str = ""
    client_auth: ClientAuth = "basic"
    scopes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = {}
    http: httpx2.AsyncClient | None = None
    clock: Clock

    def __repr__(self) -> str:
        """Show no secret."""
        return f"AuthorizationServer(token_url={self.token_url!r})"

    async def client_credentials(self) -> Token:
        """Get a token for the client itself."""
        return await self._token({"grant_type": "client_credentials", **self._scope()})

    async def refresh(self, token: Token) -> Token:
        """Get the next token by the refresh token of the last one."""
        renewed = await self._token(
            {"grant_type": "refresh_token", "refresh_token": token.refresh_token}
        )
        # RFC 6749, 6: a server that sends no other refresh token leaves this one in force.
        return replace(renewed, refresh_token=renewed.refresh_token or token.refresh_token)

    async def ask_person(self) -> Device:
        """Begin an authorization that a person completes elsewhere (RFC 8628, 3.1)."""
        form = {**self.parameters, **self._scope()}
        answer = await self._post(self.device_url, form)
        prompt = DevicePrompt(
            url=_link(answer, "verification_uri", self.device_url),
            user_code=_shown(_text(answer, "user_code", self.device_url)),
            complete_url=_link(answer, "verification_uri_complete", self.device_url)
            if "verification_uri_complete" in answer
            else "",
            expires_in_seconds=_seconds(answer.get("expires_in")) or _PERSON_SECONDS,
        )
        return Device(
            prompt=prompt,
            device_code=_text(answer, "device_code", self.device_url),
            interval_seconds=_seconds(answer.get("interval")) or _INTERVAL_SECONDS,
            expires_at_ms=self.clock.now_ms() + prompt.expires_in_seconds * 1000,
        )

    async def wait_for_person(self, device: Device) -> Token:
        """Ask again and again until the person has decided, or time is up (RFC 8628, 3.4, 3.5)."""
        interval = device.interval_seconds
        form = {"grant_type": _DEVICE_GRANT, "device_code": device.device_code}
        while True:
            await self.clock.sleep(interval)
            if self.clock.now_ms() >= device.expires_at_ms:
                raise TokenRefusedError(self.token_url, "expired_token", "nobody has signed in")
            try:
                return await self._token(form)
            except TokenRefusedError as error:
                if error.code == "slow_down":
                    interval += _INTERVAL_SECONDS
                elif error.code != "authorization_pending":
                    raise
            except AuthorizationServerError:
                # RFC 8628, 3.5: a server that does not answer is asked less and less often.
                interval *= 2

    async def revoke(self, token: Token) -> None:
        """Have a token, and all that came from the same authorization, be worth nothing.

        The server must have a ``revocation_url``. One that is worthless already is no failure
        (RFC 7009, 2.2).
        """
        kinds = {"refresh_token": token.refresh_token, "access_token": token.access_token}
        for kind, secret in kinds.items():
            if secret:
                form = {"token": secret, "token_type_hint": kind}
                await self._post(self.revocation_url, form)

    async def introspect(self, token: str) -> dict[str, object]:
        """Ask what a token that somebody has shown is worth (RFC 7662, 2).

        The server must have an ``introspection_url``.
        """
        form = {"token": token, "token_type_hint": "access_token"}
        return await self._post(self.introspection_url, form)

    async def _token(self, form: Mapping[str, str]) -> Token:
        now_ms = self.clock.now_ms()
        answer = await self._post(self.token_url, {**self.parameters, **form})
        kind = answer.get("token_type", "Bearer")
        if not isinstance(kind, str) or kind.lower() != "bearer":
            raise AuthorizationServerError(self.token_url, f"gives a token of type {kind!r}")
        token = _text(answer, "access_token", self.token_url)
        if not token.isascii() or not token.isprintable():
            raise AuthorizationServerError(self.token_url, "gives a token that no header can carry")
        seconds = _seconds(answer.get("expires_in"))
        refresh, scope = answer.get("refresh_token"), answer.get("scope")
        return Token(
            access_token=token,
            obtained_at_ms=now_ms,
            expires_at_ms=None if seconds is None else now_ms + round(seconds * 1000),
            refresh_token=refresh if isinstance(refresh, str) else "",
            scope=scope if isinstance(scope, str) else "",
        )

    async def _post(self, url: str, form: Mapping[str, str]) -> dict[str, object]:
        headers: dict[str, str] = {}
        who = {"client_id": self.client_id}
        if self.client_secret and self.client_auth == "basic":
            # RFC 6749, 2.3.1: both are encoded as in a form before they are joined.
            pair = f"{quote_plus(self.client_id)}:{quote_plus(self.client_secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
            who = {}
        elif self.client_secret:
            who["client_secret"] = self.client_secret
        return _accepted(await post_form(self.http, url, {**form, **who}, headers), url)

    def _scope(self) -> dict[str, str]:
        return {"scope": " ".join(self.scopes)} if self.scopes else {}


def _accepted(answer: Answer, url: str) -> dict[str, object]:
    if answer.status == 200 and "error" not in answer.body:
        return answer.body
    code, description = answer.body.get("error"), answer.body.get("error_description")
    if not isinstance(code, str):
        raise AuthorizationServerError(url, f"answers with HTTP status {answer.status}")
    raise TokenRefusedError(
        url, _shown(code), _shown(description) if isinstance(description, str) else ""
    )


def _text(answer: Mapping[str, object], name: str, url: str) -> str:
    found = answer.get(name)
    if not isinstance(found, str) or not found:
        raise AuthorizationServerError(url, f"answers without {name}")
    return found


def _link(answer: Mapping[str, object], name: str, url: str) -> str:
    """Return an address for a person to open, who may be asked for a password there."""
    found = _text(answer, name, url)
    try:
        if is_confidential(found) and found.isprintable():
            return found
    except UsageError:
        pass
    raise AuthorizationServerError(url, f"answers with a {name} that is not safe to open")


def _seconds(value: object) -> float | None:
    """Read a duration; some servers send it as text."""
    if isinstance(value, str) and value.isdecimal():
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    return None


def _shown(words: str) -> str:
    """Return what can be shown on a terminal, and not too much of it."""
    return "".join(letter for letter in words if letter.isprintable())[:_SHOWN_LENGTH]
