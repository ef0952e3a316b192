"""Ports to listen on: taken first, so that one in use is told before anything else is done."""

from __future__ import annotations

import socket

from dragoman.errors import UsageError

__all__ = ("address_of", "listen")


def listen(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Take a port.

    Args:
        option: what chooses the port, for who has to choose another.

    Raises:
        UsageError: the address is not to be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, because asyncio sends small frames without delay only if it is.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}; "
            f"stop what uses it or choose another with {option}"
        ) from None
    listener.set_inheritable(True)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return an address that can be called from here."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"{f'[{host}]' if ':' in host else host}:{port}"
