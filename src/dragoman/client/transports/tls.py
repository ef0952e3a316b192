"""Tls: whom to trust, and what to show, when a connection is made."""

from __future__ import annotations

import ssl
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.errors import UsageError

__all__ = ("Tls",)


class Tls(Struct, frozen=True, kw_only=True):
    """How to make connections by TLS.

    Attributes:
        ca_file: the authorities to trust instead of the machine's own, as PEM.
        is_insecure: trust whatever certificate is shown.
        certificate: what to show, for agents that want mutual TLS.
    """

    ca_file: Path | None = None
    is_insecure: bool = False
    certificate: ClientCertificate | None = None

    def http(self) -> ssl.SSLContext | bool:
        """Return what the HTTP client takes as ``verify``.

        Raises:
            UsageError: a file cannot be used; says which.
        """
        if self.is_insecure:
            return self.unverified()
        shown = self._shown()
        if shown is not None:
            return shown.ssl_context()
        return _trusting(self.ca_file) if self.ca_file is not None else True

    def unverified(self) -> ssl.SSLContext:
        """Return what connects to whoever answers.

        Raises:
            UsageError: the certificate to show cannot be used.
        """
        shown = self._shown()
        context = shown.ssl_context() if shown else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    def grpc(self) -> dict[str, bytes | None]:
        """Return what ``grpc.ssl_channel_credentials`` takes, by its names.

        Raises:
            UsageError: a file cannot be read; says which.
        """
        shown = self._shown()
        if shown is not None:
            keys = shown.grpc_keys()
            return {
                "root_certificates": keys.root_certificates,
                "private_key": keys.private_key,
                "certificate_chain": keys.certificate_chain,
            }
        if self.ca_file is None:
            return {}
        try:
            return {"root_certificates": self.ca_file.read_bytes()}
        except OSError as problem:
            raise UsageError(f"cannot read {self.ca_file}: {problem.strerror}") from None

    def _shown(self) -> ClientCertificate | None:
        shown = self.certificate
        if shown is None or shown.ca or self.ca_file is None:
            return shown
        return replace(shown, ca=self.ca_file)


def _trusting(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as problem:
        reason = problem.strerror or "it holds no certificate"
        raise UsageError(f"cannot read {ca_file}: {reason}") from None
