"""Under which address the caller reached this server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

__all__ = ("Addressed", "Addressing", "base_url", "grpc_address")

_HOST = re.compile(r"[A-Za-z0-9._~\-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?", re.ASCII)
_PATH = re.compile(r"(/[A-Za-z0-9._~%\-]+)*", re.ASCII)


class Addressed(Protocol):
    """A request, as far as it tells where it was sent to."""

    @property
    def headers(self) -> Mapping[bytes, str]:
        """Its headers."""
        ...

    @property
    def scheme(self) -> str:
        """The scheme of the connection."""
        ...

    @property
    def server(self) -> tuple[str, int | None] | None:
        """The address that was connected to."""
        ...

    @property
    def root_path(self) -> str:
        """Where the application is mounted."""
        ...

    @property
    def peer(self) -> str | None:
        """The address of the other end of the connection."""
        ...


class Addressing:
    """Works out under which address callers know this server."""

    def __init__(self, public_url: str | None, trusted_proxies: Iterable[str]) -> None:
        self._public_url = public_url
        self._trusted_proxies = frozenset(trusted_proxies)

    def base_of(self, request: Addressed) -> str:
        """Return the URL of this application as the caller knows it; see ``base_url``."""
        return base_url(
            request.headers,
            scheme=request.scheme,
            server=request.server,
            root_path=request.root_path,
            peer=request.peer,
            trusted_proxies=self._trusted_proxies,
            public_url=self._public_url,
        )


def base_url(
    headers: Mapping[bytes, str],
    *,
    scheme: str,
    server: tuple[str, int | None] | None,
    root_path: str,
    peer: str | None,
    trusted_proxies: frozenset[str],
    public_url: str | None,
) -> str:
    """Return the URL of this application as the caller knows it, without a slash at the end.

    The configured public URL wins; then what a trusted proxy says (``Forwarded``, else
    ``X-Forwarded-*``); then Host. What is no host name, or no path, is not echoed.
    """
    if public_url:
        return public_url.rstrip("/")
    host = headers.get(b"host", "")
    prefix = root_path
    if peer is None or peer in trusted_proxies:
        forwarded = _forwarded(headers.get(b"forwarded", ""))
        scheme = _first(forwarded.get("proto") or headers.get(b"x-forwarded-proto")) or scheme
        host = _first(forwarded.get("host") or headers.get(b"x-forwarded-host")) or host
        outer = _first(headers.get(b"x-forwarded-prefix")).rstrip("/")
        prefix = (outer if _PATH.fullmatch(outer) else "") + root_path
    if not _HOST.fullmatch(host):
        host = _listening_at(server)
    if scheme not in ("http", "https"):
        scheme = "http"
    return f"{scheme}://{host}{prefix}".rstrip("/")


def grpc_address(base: str, port: int) -> str:
    """Return ``host:port`` for gRPC (Q-10), beside the base URL; port 0 is the port of the URL."""
    url = urlsplit(base)
    host = url.hostname or "localhost"
    default = 443 if url.scheme == "https" else 80
    return f"{f'[{host}]' if ':' in host else host}:{port or url.port or default}"


def _listening_at(server: tuple[str, int | None] | None) -> str:
    """Return the address that was connected to, if it is one of the network."""
    if server is None or server[1] is None:
        return "localhost"
    host, port = server
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _first(value: str | None) -> str:
    """Return the value the outermost proxy gave."""
    return (value or "").partition(",")[0].strip()


def _forwarded(value: str) -> dict[str, str]:
    """Return the pairs of the first hop of a Forwarded header (RFC 7239)."""
    pairs = (pair.strip().partition("=") for pair in value.split(",", maxsplit=1)[0].split(";"))
    return {name.lower(): text.strip('"') for name, _, text in pairs if name}
