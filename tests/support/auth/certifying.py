"""An authority that makes certificates for tests, as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from dragoman.testing.clock import FakeClock

__all__ = ("START", "der", "pem")

START: Final = datetime.fromtimestamp(FakeClock().now_ms() / 1000, UTC)
"""Where the clock of a test stands."""

_KEY: Final = ec.generate_private_key(ec.SECP256R1())


def _made(
    names: Sequence[x509.GeneralName], common_name: str, start: datetime, end: datetime
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]))
        .public_key(_KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(_KEY, hashes.SHA256())


def der(
    *names: x509.GeneralName,
    common_name: str = "agent",
    start: datetime = START,
    lasts: timedelta = timedelta(days=1),
) -> bytes:
    """Return a certificate with some alternative names."""
    return _made(names, common_name, start, start + lasts).public_bytes(Encoding.DER)


def pem(*names: x509.GeneralName) -> str:
    """Return the same as text."""
    return (
        _made(names, "agent", START, START + timedelta(days=1)).public_bytes(Encoding.PEM).decode()
    )
