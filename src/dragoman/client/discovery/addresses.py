"""Addresses: what a user gives, what a card says, and where one really has to connect.

Pure: nothing is looked up and nothing is fetched.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from dragoman.auth.outgoing.origins import is_confidential
from dragoman.dialects.base import CARD_PATH, OLD_CARD_PATH
from dragoman.errors import UsageError

__all__ = (
    "GrpcTarget",
    "card_locations",
    "file_path",
    "grpc_target",
    "reachable_url",
)

_PORTS: Final = {"http": 80, "https": 443}
_SECURE: Final = frozenset({"https", "grpcs"})
_PLAIN: Final = frozenset({"http", "grpc"})
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PATH_STARTS: Final = ("/", "./", "../", "~")
_ONE_OF_MANY: Final = re.compile(r"(.*)/a2a(/[^/]+)")
_UNSPECIFIED: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what cards say, nothing is bound


class GrpcTarget(NamedTuple):
    """Where to connect for gRPC: ``host:port``, and whether by TLS."""

    address: str
    is_secure: bool

    @property
    def origin(self) -> str:
        """Return it as an origin, to compare with those of URLs."""
        return f"{'https' if self.is_secure else 'http'}://{self.address}"


def file_path(address: str) -> Path | None:
    """Return the file that an address names by its form, None if it names a host."""
    if address.startswith("file:"):
        return Path(unquote(urlsplit(address).path))
    if address.startswith(_PATH_STARTS):
        return Path(address).expanduser()
    return None


def card_locations(address: str) -> tuple[str, ...]:
    """Return the URLs at which to look for the card, in this order (0.x reference, 6.4).

    An address without a path is an origin. One with a path may be the card itself, or where the
    agent lives. Without a scheme it is https, on the loopback http.

    Raises:
        UsageError: it is no address.
    """
    url = _parsed(address)
    origin = urlunsplit((url.scheme, url.netloc, "", "", ""))
    base = url.path.rstrip("/")
    if not base:
        return (origin + CARD_PATH, origin + OLD_CARD_PATH)
    found = [
        urlunsplit(url._replace(fragment="")),
        *(origin + base + path for path in (CARD_PATH, OLD_CARD_PATH)),
        *(origin + path for path in (CARD_PATH, OLD_CARD_PATH)),
    ]
    if named := _ONE_OF_MANY.fullmatch(base):
        # Mastra has many agents: /api/a2a/x, and its card /api/.well-known/x/agent-card.json.
        folder, slash, name = CARD_PATH.rpartition("/")
        found.append(f"{origin}{named[1]}{folder}{named[2]}{slash}{name}")
    return tuple(dict.fromkeys(found))


def reachable_url(url: str, card_url: str) -> str:
    """Return the URL of an interface as it can be reached by who has read the card there.

    A relative or empty one is relative to the card. A host that means "this machine", in a card of
    another machine, stands for the host of the card (0.x reference, 6.4).
    """
    found = urljoin(card_url, url) if card_url else url
    parts, card = urlsplit(found), urlsplit(card_url)
    host = parts.hostname or ""
    if not card.hostname or card.hostname == host:
        return found
    if host in _UNSPECIFIED or (_is_loopback(host) and not _is_loopback(card.hostname)):
        port = f":{parts.port}" if parts.port else ""
        found = urlunsplit(parts._replace(netloc=f"{_bracketed(card.hostname)}{port}"))
    return found


def grpc_target(url: str, card_url: str) -> GrpcTarget | None:
    """Read the address of a gRPC interface: ``host:port``, or a URL (Q-10; 0.x reference, 4.1).

    A bare address is reached as the card was if it is on the same host; otherwise by TLS, except
    on the loopback. None if it is no address.
    """
    is_bare = _SCHEME.match(url) is None
    try:
        parts = urlsplit(reachable_url(f"grpc://{url}" if is_bare else url, card_url))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.scheme not in _SECURE | _PLAIN:
        return None
    is_secure = parts.scheme in _SECURE
    if is_bare:
        card = urlsplit(card_url)
        is_secure = card.scheme == "https" if card.hostname == host else not _is_loopback(host)
    return GrpcTarget(f"{_bracketed(host)}:{port or (443 if is_secure else 80)}", is_secure)


def _parsed(address: str) -> SplitResult:
    text = address.strip()
    if not _SCHEME.match(text):
        host = urlsplit(f"//{text}").hostname or ""
        text = f"{'http' if _is_loopback(host) else 'https'}://{text}"
    try:
        url = urlsplit(text)
        is_usable = url.scheme in _PORTS and bool(url.hostname) and url.port != 0
    except ValueError:
        is_usable = False
        url = SplitResult("", "", "", "", "")
    if not is_usable:
        raise UsageError(
            f"{address!r} is no address of an agent: give a host, an http or https URL, or a file"
        )
    return url


def _is_loopback(host: str) -> bool:
    # Without TLS, only what stays on this machine is confidential.
    return bool(host) and is_confidential(f"http://{_bracketed(host)}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
