"""Who is at the other end of a gRPC call.

gRPC tells a peer as text. For a connection that came through the relay that is the path which the
relay's end of the private socket is bound to; here it is turned back into the real peer.
"""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import unquote, urlsplit

from msgspec import Struct

__all__ = ("Peer", "Peers", "peer_of")


class Peer(Struct, frozen=True, gc=False):
    """The other end of a connection.

    Attributes:
        address: its IP address; None where the connection has none (a unix socket).
        certificate: the certificate it has shown, as PEM; "" for none.
        server: the address it has connected to, None if that is not known.
        is_secure: whether the connection is encrypted.
    """

    address: str | None
    certificate: str = ""
    server: tuple[str, int] | None = None
    is_secure: bool = False


class Peers:
    """The peers of relayed connections, while they are connected."""

    def __init__(self) -> None:
        self._by_path: dict[str, Peer] = {}

    def __len__(self) -> int:
        """Count the relayed connections."""
        return len(self._by_path)

    def add(self, path: str, peer: Peer) -> None:
        """Remember who is behind a path of the relay."""
        self._by_path[path] = peer

    def forget(self, path: str) -> None:
        """Forget a connection that has ended."""
        self._by_path.pop(path, None)

    def find(self, name: str, certificate: str = "") -> Peer | None:
        """Return the peer that gRPC calls by ``name``, None for one that nobody knows.

        An unknown peer must not be served: it has hung up already, and where it came from cannot
        be told any more.

        Args:
            certificate: what the peer has shown to the gRPC server itself, as PEM.
        """
        kind, _, address = name.partition(":")
        if kind == "unix":
            return self._by_path.get(address)
        if kind not in ("ipv4", "ipv6"):
            return None
        # The brackets of IPv6 come percent-encoded.
        host = urlsplit(f"//{unquote(address)}").hostname
        return Peer(host, certificate) if host else None


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """Return who is at the other end of an accepted connection."""
    # A pair, or four values for IPv6; the empty text of a unix socket otherwise.
    name: tuple[str, ...] | str | None = transport.get_extra_info("peername")
    ours: tuple[str, int] | str | None = transport.get_extra_info("sockname")
    secured = transport.get_extra_info("ssl_object")
    shown = secured.getpeercert(binary_form=True) if secured is not None else None
    return Peer(
        address=name[0] if isinstance(name, tuple) else None,
        certificate=ssl.DER_cert_to_PEM_cert(shown) if shown else "",
        server=ours[:2] if isinstance(ours, tuple) else None,
        is_secure=secured is not None,
    )
