"""Origins: who a secret is for. Pure: nothing is looked up."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from dragoman.errors import UsageError

__all__ = ("is_confidential", "origin_of")

_PORTS: Final = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL in lower case, the port always told.

    What comes after the host, and a user before it, do not count.

    Raises:
        UsageError: it is no http or https URL.
    """
    parts, port = _split(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def is_confidential(url: str) -> bool:
    """Tell whether nobody on the way can read what is sent there: by TLS, or on this machine.

    Raises:
        UsageError: it is no http or https URL.
    """
    parts, _ = _split(url)
    return parts.scheme == "https" or _is_loopback(parts.hostname or "")


def _split(url: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS[parts.scheme]
    except (KeyError, ValueError):
        raise UsageError(f"{url!r} is no http or https URL") from None
    if not parts.hostname:
        raise UsageError(f"{url!r} is no http or https URL")
    return parts, port


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
