from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from dragoman.client.errors import UnreachableError
from dragoman.client.transports.grpc import pinned
from dragoman.client.transports.tls import Tls
from tests.support.server.certificates import write_files

INSECURE = Tls(is_insecure=True)


def write_own(folder: Path, common_name: str, names: Sequence[x509.GeneralName]) -> tuple[str, str]:
    """Write a certificate that nobody else has signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name(
        [x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)] if common_name else []
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName(names), critical=not common_name
        )
    certificate = builder.sign(key, hashes.SHA256())
    (folder / "own.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "own-key.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return str(folder / "own.pem"), str(folder / "own-key.pem")


@asynccontextmanager
async def showing(certificate: str, key: str) -> AsyncGenerator[str]:
    """Listen with a certificate; yields the address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_what_is_shown_is_pinned_by_its_own_name(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    async with showing(files.server, files.server_key) as url:
        found = await pinned(url, INSECURE)
    assert found.name == "localhost"
    subject = x509.load_pem_x509_certificate(found.pem).subject
    assert subject.rfc4514_string() == "CN=server"


@pytest.mark.parametrize(
    ("common_name", "names", "expected"),
    [
        ("box", [], "box"),
        ("box", [x509.DNSName("box.example")], "box.example"),
        ("box", [x509.DNSName("*.box.example")], "host.box.example"),
        ("", [x509.IPAddress(ip_address("10.0.0.1"))], "10.0.0.1"),
    ],
)
async def test_a_name_is_found_where_certificates_have_it(
    tmp_path: Path, common_name: str, names: Sequence[x509.GeneralName], expected: str
) -> None:
    async with showing(*write_own(tmp_path, common_name, names)) as url:
        assert (await pinned(url, INSECURE)).name == expected


async def test_a_certificate_without_a_name_cannot_be_used(tmp_path: Path) -> None:
    mail = [x509.RFC822Name("a@b.example")]
    async with showing(*write_own(tmp_path, "", mail)) as url:
        with pytest.raises(UnreachableError, match="for no name"):
            await pinned(url, INSECURE)


async def test_where_nobody_speaks_tls_there_is_nothing_to_pin() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(UnreachableError):
            await pinned(f"https://127.0.0.1:{port}", INSECURE)
    with pytest.raises(UnreachableError):
        await pinned(f"https://127.0.0.1:{port}", INSECURE)
