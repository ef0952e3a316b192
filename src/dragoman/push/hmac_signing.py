"""HMAC over a notification, made and checked, as Standard Webhooks has it.

Signed are the id, the time and the body: ``<id>.<timestamp>.<body>``, by HMAC-SHA256. The header
has one signature per secret (``v1,<base64>``, apart by spaces), so that secrets can be changed
without a gap.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.push import AuthenticationInfo
from dragoman.push.headers import ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, is_same_text

__all__ = ("check_hmac", "hmac_headers", "is_hmac", "read_secret")

_SCHEMES: Final = frozenset({"hmac", "hmac-sha256"})

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how secrets begin, and none itself
_LEAST_BYTES: Final = 24
"""What Standard Webhooks asks of a secret."""

_VERSION: Final = "v1,"


def is_hmac(authentication: AuthenticationInfo) -> bool:
    """Tell whether the credentials of a webhook are a secret to sign with, not one to show."""
    return authentication.scheme.lower() in _SCHEMES


def read_secret(text: str) -> bytes:
    """Return the key that a secret stands for: ``whsec_`` and base64, or any text.

    Raises:
        UsageError: it is too short, or no base64.
    """
    try:
        encoded = text.removeprefix(_SECRET_PREFIX)
        key = text.encode() if encoded == text else b64decode(encoded, validate=True)
    except ValueError:
        raise UsageError(f"a secret after {_SECRET_PREFIX} must be base64") from None
    if len(key) < _LEAST_BYTES:
        raise UsageError(f"a secret for HMAC must have at least {_LEAST_BYTES} bytes")
    return key


def hmac_headers(
    secrets: tuple[bytes, ...], *, notification_id: str, now_ms: int, body: bytes
) -> dict[str, str]:
    """Return the headers of a signed notification."""
    timestamp = str(now_ms // 1000)
    return {
        ID_HEADER: notification_id,
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: " ".join(
            _signature(secret, notification_id, timestamp, body) for secret in secrets
        ),
    }


def check_hmac(
    headers: Mapping[str, str],
    secrets: tuple[bytes, ...],
    *,
    body: bytes,
    now_ms: int,
    max_age_seconds: float,
) -> None:
    """Check the signature of a notification; the names of ``headers`` are in lower case.

    Raises:
        UnauthenticatedError: it has none, it is wrong, or it was not made just now (R-T.str-11).
    """
    for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER):
        if not headers.get(name):
            raise UnauthenticatedError(f"The header {name} is missing")
    timestamp = headers[TIMESTAMP_HEADER]
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) < 16):
        raise UnauthenticatedError(f"The header {TIMESTAMP_HEADER} must be in seconds")
    if abs(now_ms / 1000 - int(timestamp)) > max_age_seconds:
        raise UnauthenticatedError(f"The header {TIMESTAMP_HEADER} is too far from the time here")
    shown = headers[SIGNATURE_HEADER].split()
    wanted = [_signature(secret, headers[ID_HEADER], timestamp, body) for secret in secrets]
    if not any(is_same_text(one, other) for one in shown for other in wanted):
        raise UnauthenticatedError(f"The header {SIGNATURE_HEADER} is not that of this body")


def _signature(secret: bytes, notification_id: str, timestamp: str, body: bytes) -> str:
    signed = b"%b.%b.%b" % (notification_id.encode(), timestamp.encode(), body)
    return _VERSION + b64encode(hmac.digest(secret, signed, "sha256")).decode()
