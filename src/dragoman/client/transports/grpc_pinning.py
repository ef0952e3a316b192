"""Pinning: the way to call by gRPC without verifying who answers, which gRPC itself does not have.

The certificate that the server shows is looked up first, and then trusted by its own name: as blind
as skipping the verification for HTTP. But a certificate that has expired stays refused, and so is
another one that is shown later.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from cryptography import x509

from dragoman.client.errors import UnreachableError

if TYPE_CHECKING:
    from dragoman.client.transports.tls import Tls

__all__ = ("PinnedCertificate", "pinned")


class PinnedCertificate(NamedTuple):
    """A certificate as PEM, and a name that it is for."""

    pem: bytes
    name: str


async def pinned(url: str, tls: Tls) -> PinnedCertificate:
    """Return the certificate that is shown at an origin, whoever shows it.

    Raises:
        UnreachableError: none could be had, or it is for no name.
        UsageError: the certificate of the client cannot be read.
    """
    context = tls.unverified()
    context.set_alpn_protocols(["h2"])
    place = urlsplit(url)
    try:
        _, writer = await asyncio.open_connection(place.hostname, place.port or 443, ssl=context)
    except OSError as problem:
        raise UnreachableError(url, str(problem) or type(problem).__name__) from problem
    shown: ssl.SSLObject = writer.get_extra_info("ssl_object")
    der = shown.getpeercert(binary_form=True)
    writer.transport.abort()
    name = _name_in(x509.load_der_x509_certificate(der)) if der else ""
    if not der or not name:
        raise UnreachableError(url, "its certificate is for no name, which gRPC insists on")
    return PinnedCertificate(ssl.DER_cert_to_PEM_cert(der).encode(), name)


def _name_in(certificate: x509.Certificate) -> str:
    """Return a name that the certificate is for; "" if there is none."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = map(str, found.get_values_for_type(x509.IPAddress))
        names = [*found.get_values_for_type(x509.DNSName), *addresses]
    except (x509.ExtensionNotFound, ValueError):
        common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        names = [str(each.value) for each in common]
    # One host of those that a wildcard stands for.
    return names[0].replace("*", "host") if names else ""
