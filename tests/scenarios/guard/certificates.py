"""An authority that certifies callers: real certificates with keys of their own, as files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from dragoman.clock import SystemClock

__all__ = ("CertificateAuthority", "Identity")

_DAY: Final = timedelta(days=1)


class Identity(NamedTuple):
    """What a caller shows: the paths of its certificate and of its key."""

    certificate: str
    key: str


class CertificateAuthority:
    """Signs certificates with a key that nobody else has.

    Attributes:
        path: its own certificate, for who trusts it.
    """

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
        certificate = (
            self._builder(self._name, self._key.public_key(), self._now + _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.path = self._write(f"{name}.pem", certificate.public_bytes(Encoding.PEM))

    def certify(self, host: str, *, ends: timedelta = _DAY) -> Identity:
        """Certify a caller that is known as a host; one that ends before now has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "client")])
        certificate = (
            self._builder(subject, key.public_key(), self._now + ends)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        stem = f"{certificate.serial_number:x}"
        return Identity(
            self._write(f"{stem}.pem", certificate.public_bytes(Encoding.PEM)),
            self._write(f"{stem}.key", secret),
        )

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, end: datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - 30 * _DAY)
            .not_valid_after(end)
        )

    def _write(self, name: str, content: bytes) -> str:
        path = self._folder / name
        path.write_bytes(content)
        return str(path)
