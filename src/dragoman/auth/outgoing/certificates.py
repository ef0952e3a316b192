"""Mutual TLS: the certificate by which a client is known, before any request is made."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from dragoman.auth.outgoing.credentials import NOTHING, Attachment, OriginBound
from dragoman.auth.outgoing.origins import origin_of
from dragoman.errors import UsageError

__all__ = ("ClientCertificate", "GrpcKeys")


class GrpcKeys(Struct, frozen=True):
    """What ``grpc.ssl_channel_credentials`` takes, by the same names, as PEM."""

    root_certificates: bytes | None
    private_key: bytes
    certificate_chain: bytes

    def __repr__(self) -> str:
        """Show no secret."""
        return "GrpcKeys()"


class ClientCertificate(OriginBound, frozen=True):
    """A certificate and its private key, as PEM files; the certificate with its chain.

    It is shown while the connection is made, so nothing is attached to requests. Whoever connects
    asks ``is_for`` first, and uses ``ssl_context`` or ``grpc_keys`` for that origin alone.

    Attributes:
        ca: who must have signed the agent's certificate, as PEM file; without it, those whom this
            machine trusts.
    """

    certificate: str | Path
    key: str | Path
    ca: str | Path = ""

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return nothing."""
        del is_retry
        return NOTHING

    def is_for(self, origin: str) -> bool:
        """Tell whether the certificate is to be shown at this origin."""
        return origin_of(origin) == self.for_origin

    def ssl_context(self) -> ssl.SSLContext:
        """Return what an HTTP client connects with.

        Raises:
            UsageError: a file cannot be read or does not hold what it should; says which.
        """
        ca = _read(self.ca).decode("ascii", "replace") if self.ca else None
        for path in (self.certificate, self.key):
            _read(path)
        try:
            context = ssl.create_default_context(cadata=ca)
        except ssl.SSLError:
            raise UsageError(f"{self.ca} holds no certificate") from None
        try:
            context.load_cert_chain(self.certificate, self.key, password=_refuse_password)
        except ssl.SSLError as error:
            reason = error.reason.replace("_", " ").lower() if error.reason else "not in PEM form"
            raise UsageError(f"cannot use {self.certificate} with {self.key}: {reason}") from None
        return context

    def grpc_keys(self) -> GrpcKeys:
        """Return what a gRPC channel connects with.

        Raises:
            UsageError: a file cannot be read; says which.
        """
        return GrpcKeys(
            root_certificates=_read(self.ca) if self.ca else None,
            private_key=_read(self.key),
            certificate_chain=_read(self.certificate),
        )


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _refuse_password() -> NoReturn:
    # OpenSSL would ask for it on the terminal, where perhaps nobody is.
    raise UsageError("the private key is encrypted; give one that is not")
