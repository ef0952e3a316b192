"""The door: what is decided on raw headers, before anything is parsed.

While an agent has no authenticator it is closed to other machines: only loopback peers are served,
and of those only ones that are not a web page or a proxy acting for somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from dragoman.bindings.nesting import is_nested_deeper_than
from dragoman.errors import JSONParseError, PayloadTooLargeError, PermissionDeniedError

__all__ = ("Door", "host_of", "is_loopback")

_CLOSED = (
    "This agent has no authentication and serves only callers on its own machine; "
    "start it with --allow-anonymous to open it"
)


class Door:
    """Lets requests in, or not."""

    def __init__(
        self, *, allow_anonymous: bool, max_body_bytes: int, max_depth: int, public_url: str | None
    ) -> None:
        self._is_open = allow_anonymous
        self._max_depth = max_depth
        self._max_body_bytes = max_body_bytes
        self._public_host = host_of(urlsplit(public_url).netloc) if public_url else ""

    def admit(self, peer: str | None, headers: Mapping[bytes, str]) -> None:
        """Raise PermissionDeniedError for a caller who has no business here.

        A proxy on this machine does not make its callers local: the address it reports counts. A
        page in a browser on this machine is not a local caller either: it is told by its Origin,
        or, where a foreign name was made to point here (DNS rebinding), by its Host.
        """
        if self._is_open:
            return
        if peer is not None and not is_loopback(peer):
            raise PermissionDeniedError(_CLOSED)
        for name in (b"x-forwarded-for", b"forwarded"):
            if name in headers and not _is_forwarded_locally(headers[name]):
                raise PermissionDeniedError(_CLOSED)
        origin = headers.get(b"origin")
        if origin is not None and not self._is_own(origin.partition("//")[2]):
            raise PermissionDeniedError("Web pages of other sites are not served")
        host = headers.get(b"host")
        if peer is not None and host is not None and not self._is_own(host):
            raise PermissionDeniedError(f"{_CLOSED}, or name its address with --public-url")

    def check_size(self, size: int) -> None:
        """Raise PayloadTooLargeError for a body beyond the limit (R-13.4-6)."""
        if size > self._max_body_bytes:
            raise PayloadTooLargeError(
                f"The request body is larger than {self._max_body_bytes} bytes"
            )

    def check_depth(self, body: bytes) -> None:
        """Raise JSONParseError for a body nested beyond the limit (R-13.4-6)."""
        if is_nested_deeper_than(self._max_depth, body):
            raise JSONParseError(f"The body is nested more than {self._max_depth} levels deep")

    def _is_own(self, netloc: str) -> bool:
        host = host_of(netloc)
        # No host at all is nobody's: "Origin: null" is what a sandboxed page of any site sends.
        return host != "" and (host == self._public_host or is_loopback(host))


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


def _is_forwarded_locally(value: str) -> bool:
    """Tell whether every address in a Forwarded or X-Forwarded-For header is of this machine."""
    for hop in value.split(","):
        address = hop.strip()
        if "=" in address:
            pairs = (pair.strip().partition("=") for pair in address.split(";"))
            address = next((value for name, _, value in pairs if name.lower() == "for"), "")
        address = address.strip('" ')
        # A hop that does not say for whom it acts may act for anybody.
        if not (is_loopback(address) or is_loopback(host_of(address))):
            return False
    return True
