"""Who is at the other end of a connection."""

from __future__ import annotations

import asyncio
import ssl

from msgspec import Struct

__all__ = ("Peer", "peer_of")


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
