import ssl
from pathlib import Path

import pytest

from dragoman.errors import UsageError
from dragoman.net.tls import read_tls
from tests.support.server.certificates import Files, write_files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)


def test_without_an_authority_clients_need_no_certificate(files: Files) -> None:
    tls = read_tls(files.server, files.server_key)
    assert tls.context.verify_mode == ssl.CERT_NONE


def test_with_an_authority_they_do(files: Files) -> None:
    tls = read_tls(files.server, files.server_key, files.ca)
    assert tls.context.verify_mode == ssl.CERT_REQUIRED
    assert tls.http2.verify_mode is ssl.CERT_REQUIRED


def test_tls_older_than_1_2_is_not_spoken(files: Files) -> None:
    tls = read_tls(files.server, files.server_key)
    assert tls.context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_file_that_is_not_there_is_told(files: Files) -> None:
    told = "cannot read no.pem: No such file or directory"
    with pytest.raises(UsageError, match=told):
        read_tls("no.pem", files.server_key)
    with pytest.raises(UsageError, match=told):
        read_tls(files.server, "no.pem")
    with pytest.raises(UsageError, match=told):
        read_tls(files.server, files.server_key, "no.pem")


def test_a_folder_is_no_file(tmp_path: Path, files: Files) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*: Is a directory"):
        read_tls(str(tmp_path), files.server_key)


def test_a_key_of_another_certificate_is_told(files: Files) -> None:
    with pytest.raises(UsageError, match=r"cannot use .*server\.pem with .*: key values mismatch"):
        read_tls(files.server, files.client_key)


def test_files_of_another_kind_are_told(tmp_path: Path, files: Files) -> None:
    other = tmp_path / "other.txt"
    other.write_text("hello")
    with pytest.raises(UsageError, match="cannot use"):
        read_tls(str(other), files.server_key)
    with pytest.raises(UsageError, match="cannot use"):
        read_tls(files.server, str(other))
    with pytest.raises(UsageError, match=r"other\.txt holds no certificate"):
        read_tls(files.server, files.server_key, str(other))


def test_a_key_that_needs_a_password_is_told_and_nobody_is_asked_for_it(files: Files) -> None:
    with pytest.raises(UsageError, match="the private key is encrypted"):
        read_tls(files.server, files.locked_key)
