"""Addresses behind proxies: the caller's own, and the one under which it reached this server.

Both believe a header only as far as the peer that sent it is a trusted proxy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, Protocol
from urllib.parse import urlsplit

__all__ = (
    "Addressed",
    "Addressing",
    "base_url",
    "caller_address",
    "grpc_address",
    "host_of",
    "is_loopback",
    "network_of",
)


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


_NOWHERE: Final = "local"
"""Who comes over a unix socket is on this machine."""


def caller_address(
    peer: str | None, headers: Mapping[bytes, str], trusted_proxies: Collection[str]
) -> str:
    """Return the network address of the one who calls.

    Behind a trusted proxy it is the one which that proxy has seen, and so on from right to left:
    what stands further left was written by somebody nobody vouches for.
    """
    if peer is not None and peer not in trusted_proxies:
        return network_of(peer)
    if b"forwarded" not in headers and b"x-forwarded-for" not in headers:
        return network_of(peer) if peer is not None else _NOWHERE
    nearest = peer
    for hop in reversed(_hops(headers)):
        address = hop if _is_address(hop) else host_of(hop)
        if not _is_address(address):
            break
        nearest = address
        if address not in trusted_proxies:
            break
    return network_of(nearest) if nearest is not None else _NOWHERE


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Return what one caller can be told by: an IPv4 address, or the /64 of an IPv6 one.

    Whoever has an IPv6 address has 2**64 of them (RFC 6177), one for each request.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, 64), strict=False))


def _hops(headers: Mapping[bytes, str]) -> list[str]:
    """Return for whom each proxy acted, the nearest last."""
    if forwarded := headers.get(b"forwarded"):
        return [_for(hop) for hop in forwarded.split(",")]
    return [hop.strip() for hop in headers.get(b"x-forwarded-for", "").split(",")]


def _for(hop: str) -> str:
    """Return the ``for`` of one hop of a Forwarded header (RFC 7239)."""
    for pair in hop.split(";"):
        name, _, value = pair.strip().partition("=")
        if name.lower() == "for":
            return value.strip('" ')
    return ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def host_of(netloc: str) -> str:
    """Return the host of ``host:port``, without the brackets of IPv6, in lower case."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine: a loopback address, ``localhost`` or a name under it."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
