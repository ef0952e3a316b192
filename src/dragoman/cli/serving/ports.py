"""Ports to listen on: taken first, so that one in use is told before anything else is done."""

from __future__ import annotations

import errno
import socket
import sys

from dragoman.errors import UsageError

__all__ = ("address_of", "listen", "listen_beside")

# Others have the option as well, but give all connections to the last one that came.
_CAN_SPREAD = sys.platform == "linux"


def listen(
    host: str,
    port: int,
    *,
    option: str = "--port",
    host_option: str = "--host",
    is_shared: bool = False,
) -> socket.socket:
    """Take a port.

    Args:
        option: what chooses the port, for who has to choose another.
        host_option: the same for the host.
        is_shared: processes of this one will ``listen_beside`` it.

    Raises:
        UsageError: the address is not to be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, because asyncio sends small frames without delay only if it is.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared and _CAN_SPREAD:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        reason = _reason(error, option, host_option)
        raise UsageError(f"cannot listen on {host} port {port}: {reason}") from None
    listener.set_inheritable(True)
    return listener


def _reason(error: OSError, option: str, host_option: str) -> str:
    """Tell why an address is not to be had, and what to do."""
    said = (error.strerror or str(error)).lower()
    if isinstance(error, socket.gaierror):
        return f"{said}; name an address of this machine with {host_option}"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"this machine has no such address; name one that it has with {host_option}"
    if error.errno == errno.EADDRINUSE:
        return f"{said}; stop what uses it or choose another with {option}"
    return f"{said}; choose another with {option} or {host_option}"


def listen_beside(listener: socket.socket) -> socket.socket:
    """Return a socket for one of several processes on a port that was taken for all of them.

    Where the system spreads connections over sockets of one port, it is a new one: with a single
    one, whoever is awake first takes a whole burst of connections, and keeps them.
    """
    if not _CAN_SPREAD:
        return listener
    host, port = listener.getsockname()[:2]
    return listen(host, port, is_shared=True)


def address_of(listener: socket.socket) -> str:
    """Return an address that can be called from here."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"{f'[{host}]' if ':' in host else host}:{port}"
