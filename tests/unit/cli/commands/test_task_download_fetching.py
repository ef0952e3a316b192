import ssl
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dragoman.cli.commands import task_download
from dragoman.cli.commands.task_download import fetch
from dragoman.client.errors import ClientError, UnreachableError
from tests.support.server.certificates import write_files


class Files(BaseHTTPRequestHandler):
    """Serves one file, and a redirect; tells which name it was asked by."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
        else:
            self.send_response(200)
        body = f"{self.headers['host']} {self.headers.get('authorization')}".encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Where files are served by TLS, by the name of this machine."""
    files = write_files(Path(tmp_path_factory.mktemp("tls")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server, files.server_key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


async def test_a_file_is_fetched_by_its_name_and_without_credentials(place: str) -> None:
    content = await fetch(f"{place}/file", is_private_allowed=True, is_insecure=True)
    assert content.decode() == f"{place.removeprefix('https://')} None"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://a.example/x", "only https"),
        ("file:///etc/passwd", "only https"),
        ("https:///x", "only https"),
        ("https://127.0.0.1/x", "private network"),
        ("https://[::1]/x", "private network"),
        ("https://10.0.0.1/x", "private network"),
        ("https://169.254.169.254/latest/meta-data", "private network"),
    ],
)
async def test_some_addresses_are_not_fetched_from(url: str, reason: str) -> None:
    with pytest.raises(ClientError, match=reason):
        await fetch(url, is_private_allowed=False, is_insecure=False)


async def test_a_redirect_is_not_followed(place: str) -> None:
    with pytest.raises(ClientError, match="HTTP status 302"):
        await fetch(f"{place}/moved", is_private_allowed=True, is_insecure=True)


async def test_a_file_may_be_too_large(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_download, "MAX_BYTES", 3)
    with pytest.raises(ClientError, match="more than 3 bytes"):
        await fetch(f"{place}/file", is_private_allowed=True, is_insecure=True)


async def test_who_cannot_be_verified_is_not_read_from(place: str) -> None:
    with pytest.raises(UnreachableError):
        await fetch(f"{place}/file", is_private_allowed=True, is_insecure=False)


async def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(UnreachableError, match=r"nothing\.invalid"):
        await fetch("https://nothing.invalid/x", is_private_allowed=False, is_insecure=False)
