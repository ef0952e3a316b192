import ssl
from pathlib import Path

import pytest

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.client.transports.tls import Tls
from dragoman.errors import UsageError
from tests.support.server.certificates import write_files


def test_by_default_the_machine_says_whom_to_trust() -> None:
    assert Tls().http() is True
    assert Tls().grpc() == {}


def test_insecure_trusts_anybody() -> None:
    context = Tls(is_insecure=True).http()
    assert isinstance(context, ssl.SSLContext)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.requirement("R-7.2-1")
def test_authorities_of_ones_own(tmp_path: Path) -> None:
    ca = Path(write_files(tmp_path).ca)
    context = Tls(ca_file=ca).http()
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert Tls(ca_file=ca).grpc() == {"root_certificates": ca.read_bytes()}
    loose = Tls(ca_file=ca, is_insecure=True).http()
    assert isinstance(loose, ssl.SSLContext)
    assert loose.verify_mode is ssl.CERT_NONE


def test_a_certificate_is_shown(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    shown = ClientCertificate(certificate=files.client, key=files.client_key)
    tls = Tls(certificate=shown, ca_file=Path(files.ca))
    assert isinstance(tls.http(), ssl.SSLContext)
    keys = tls.grpc()
    assert keys["certificate_chain"] == Path(files.client).read_bytes()
    assert keys["root_certificates"] == Path(files.ca).read_bytes()
    assert Tls(certificate=shown).grpc()["root_certificates"] is None


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    missing = Tls(ca_file=tmp_path / "none.pem")
    with pytest.raises(UsageError, match=r"cannot read .*none\.pem"):
        missing.http()
    with pytest.raises(UsageError, match=r"cannot read .*none\.pem"):
        missing.grpc()
    (tmp_path / "odd.pem").write_text("odd")
    with pytest.raises(UsageError, match=r"cannot read .*odd\.pem"):
        Tls(ca_file=tmp_path / "odd.pem").http()
