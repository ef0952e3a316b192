"""The headers of a notification: what senders write and receivers look for.

Where it can, a notification speaks a language that is spoken already: id, time and HMAC are those
of Standard Webhooks, the token travels as the SDKs have it, and credentials as HTTP has them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

from dragoman.model.push import AuthenticationInfo

__all__ = (
    "API_KEY_HEADER",
    "AUTHORIZATION",
    "ID_HEADER",
    "JWT_HEADER",
    "SIGNATURE_HEADER",
    "TIMESTAMP_HEADER",
    "TOKEN_HEADERS",
    "credential_headers",
    "is_same_text",
    "shows_credentials",
    "shows_token",
    "token_headers",
)

TOKEN_HEADERS: Final = ("X-A2A-Notification-Token", "A2A-Notification-Token")
"""Q-16: peers differ, so both are sent and either is read. 0.x has the first."""

ID_HEADER: Final = "webhook-id"
"""What a notification is called. Every attempt to deliver it repeats this name."""

TIMESTAMP_HEADER: Final = "webhook-timestamp"
"""When the attempt was signed, in seconds since the Unix epoch."""

SIGNATURE_HEADER: Final = "webhook-signature"
"""HMACs, see ``dragoman.push.hmac_signing``."""

AUTHORIZATION: Final = "Authorization"

JWT_HEADER: Final = "X-A2A-Notification-JWT"
"""Where a JWT travels if the credentials of the webhook have taken ``Authorization``."""

API_KEY_HEADER: Final = "X-API-Key"

_API_KEY: Final = "apikey"
_BASIC: Final = "basic"


def token_headers(token: str) -> dict[str, str]:
    """Return the headers that show the token of a webhook."""
    return dict.fromkeys(TOKEN_HEADERS, token)


def shows_token(headers: Mapping[str, str], tokens: tuple[str, ...]) -> bool:
    """Tell whether one of the tokens is shown; the names of ``headers`` are in lower case.

    Who sends both headers says the same in both.
    """
    shown = {headers[name.lower()] for name in TOKEN_HEADERS if name.lower() in headers}
    return len(shown) == 1 and _is_any_of(shown.pop(), tokens)


def credential_headers(authentication: AuthenticationInfo) -> dict[str, str]:
    """Return the header that shows the credentials of a webhook (R-4.3.3-3)."""
    scheme, credentials = authentication.scheme, authentication.credentials
    if _is_api_key(scheme):
        return {API_KEY_HEADER: credentials}
    if scheme.lower() == _BASIC and ":" in credentials:
        # RFC 7617: base64 has no colon, so this is a user and a password as people write them.
        credentials = b64encode(credentials.encode()).decode()
    return {AUTHORIZATION: f"{scheme} {credentials}"}


def shows_credentials(headers: Mapping[str, str], authentication: AuthenticationInfo) -> bool:
    """Tell whether the credentials are shown; the names of ``headers`` are in lower case.

    R-4.3.2-1: the case of the scheme does not matter. Some agents write every scheme into
    ``Authorization`` as it stands in the registration; that is good, too.
    """
    literal = {AUTHORIZATION: f"{authentication.scheme} {authentication.credentials}"}
    return any(
        _is_shown(headers, name, value)
        for form in (credential_headers(authentication), literal)
        for name, value in form.items()
    )


def is_same_text(one: str, other: str) -> bool:
    """Compare in a time that tells nothing of where they differ."""
    return compare_digest(one.encode(), other.encode())


def _is_shown(headers: Mapping[str, str], name: str, value: str) -> bool:
    shown = headers.get(name.lower())
    if shown is None:
        return False
    if name == AUTHORIZATION:
        shown, value = _with_small_scheme(shown), _with_small_scheme(value)
    return is_same_text(shown, value)


def _is_any_of(shown: str, known: tuple[str, ...]) -> bool:
    # All are compared, so that the time does not tell which it is.
    return sum(is_same_text(shown, one) for one in known) > 0


def _with_small_scheme(value: str) -> str:
    scheme, _, credentials = value.partition(" ")
    return f"{scheme.lower()} {credentials.strip()}"


def _is_api_key(scheme: str) -> bool:
    return scheme.lower().replace("-", "") == _API_KEY
