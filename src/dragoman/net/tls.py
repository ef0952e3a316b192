"""TLS: the files it needs, read once and checked before anything is served."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from dragoman.errors import UsageError

__all__ = ("Tls", "read_tls")

_PROTOCOLS: Final = ["http/1.1", "h2"]
"""What ALPN offers, best first. A client of gRPC asks for h2 alone. One that can do both means to
speak HTTP with us, and over HTTP/2 there is only gRPC here."""


class Tls(Struct, frozen=True, kw_only=True):
    """What a server shows of itself, and whom it lets in.

    Attributes:
        context: for a port that speaks HTTP/1.1 and HTTP/2.
        http2: the same for a port that speaks HTTP/2 alone.
    """

    context: ssl.SSLContext
    http2: ssl.SSLContext


def read_tls(certificate: str, key: str, client_ca: str = "") -> Tls:
    """Read the files.

    Raises:
        UsageError: a file cannot be read or does not hold what it should; says which.
    """
    for path in (certificate, key, *((client_ca,) if client_ca else ())):
        _check_readable(path)
    return Tls(
        context=_context(certificate, key, client_ca, _PROTOCOLS),
        http2=_context(certificate, key, client_ca, ["h2"]),
    )


def _context(certificate: str, key: str, client_ca: str, protocols: list[str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=_refuse_password)
    except ssl.SSLError as error:
        reason = error.reason.replace("_", " ").lower() if error.reason else "not in PEM form"
        raise UsageError(f"cannot use {certificate} with {key}: {reason}") from None
    if client_ca:
        try:
            context.load_verify_locations(client_ca)
        except ssl.SSLError:
            raise UsageError(f"{client_ca} holds no certificate") from None
        context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(protocols)
    return context


def _check_readable(path: str) -> None:
    try:
        Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _refuse_password() -> NoReturn:
    # OpenSSL would ask for it on the terminal, where perhaps nobody is.
    raise UsageError("the private key is encrypted; give one that is not")
