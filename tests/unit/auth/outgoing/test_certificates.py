import ssl
from pathlib import Path

import pytest

from dragoman.auth.outgoing.certificates import ClientCertificate, GrpcKeys
from dragoman.auth.outgoing.credentials import NOTHING
from dragoman.errors import UsageError
from tests.support.server.certificates import Files, write_files

AGENT = "https://agent.example"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)


@pytest.fixture
def certificate(files: Files) -> ClientCertificate:
    return ClientCertificate(files.client, files.client_key, files.ca, for_origin=AGENT)


async def test_it_adds_nothing_to_a_request(certificate: ClientCertificate) -> None:
    assert await certificate.attach(AGENT) == NOTHING


def test_it_is_shown_at_its_own_origin_alone(files: Files, certificate: ClientCertificate) -> None:
    assert certificate.is_for(f"{AGENT}:443/path")
    assert not certificate.is_for("https://evil.example")
    assert not ClientCertificate(files.client, files.client_key).is_for(AGENT)


@pytest.mark.requirement("R-7.2-1")
def test_the_agent_has_to_show_a_certificate_that_is_trusted(
    files: Files, certificate: ClientCertificate
) -> None:
    for context in (
        certificate.ssl_context(),
        ClientCertificate(files.client, files.client_key).ssl_context(),
    ):
        assert context.verify_mode == ssl.CERT_REQUIRED
        assert context.check_hostname
        assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert len(certificate.ssl_context().get_ca_certs()) == 1


def test_a_channel_of_grpc_gets_the_same(files: Files, certificate: ClientCertificate) -> None:
    assert certificate.grpc_keys() == GrpcKeys(
        root_certificates=Path(files.ca).read_bytes(),
        private_key=Path(files.client_key).read_bytes(),
        certificate_chain=Path(files.client).read_bytes(),
    )
    assert ClientCertificate(files.client, files.client_key).grpc_keys().root_certificates is None


def test_the_key_is_not_shown(certificate: ClientCertificate) -> None:
    assert repr(certificate.grpc_keys()) == "GrpcKeys()"


def test_a_file_that_is_not_there_is_told(files: Files) -> None:
    told = "cannot read no.pem: No such file or directory"
    for certificate in (
        ClientCertificate("no.pem", files.client_key),
        ClientCertificate(files.client, "no.pem"),
        ClientCertificate(files.client, files.client_key, "no.pem"),
    ):
        with pytest.raises(UsageError, match=told):
            certificate.ssl_context()
        with pytest.raises(UsageError, match=told):
            certificate.grpc_keys()


def test_files_that_do_not_belong_together_are_told(files: Files) -> None:
    with pytest.raises(UsageError, match=r"cannot use .* with .*: key values mismatch"):
        ClientCertificate(files.client, files.server_key).ssl_context()
    with pytest.raises(UsageError, match=r"cannot use .* with .*"):
        ClientCertificate(files.client_key, files.client_key).ssl_context()
    with pytest.raises(UsageError, match="holds no certificate"):
        ClientCertificate(files.client, files.client_key, files.client_key).ssl_context()


def test_nobody_is_asked_for_a_password(files: Files) -> None:
    with pytest.raises(UsageError, match="the private key is encrypted"):
        ClientCertificate(files.server, files.locked_key).ssl_context()
