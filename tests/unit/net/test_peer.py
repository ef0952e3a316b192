import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from dragoman.net.peer import Peer, peer_of
from dragoman.net.tls import read_tls
from tests.support.server.certificates import write_files

LOOPS = [
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
]


class FakeTransport(asyncio.BaseTransport):
    """A connection that tells only what is asked for here."""


def transport(**told: object) -> asyncio.BaseTransport:
    return FakeTransport(extra=told)


class FakeSecured:
    """What a connection under TLS knows."""

    def __init__(self, certificate: bytes | None) -> None:
        self._certificate = certificate

    def getpeercert(self, *, binary_form: bool) -> Any:
        assert binary_form
        return self._certificate


@pytest.mark.parametrize(
    ("name", "address"),
    [
        (("192.0.2.1", 5000), "192.0.2.1"),
        (("::1", 5000, 0, 0), "::1"),
        ("", None),
        (None, None),
    ],
)
def test_an_accepted_connection_tells_its_peer(name: object, address: str | None) -> None:
    assert peer_of(transport(peername=name)) == Peer(address)


def test_a_certificate_that_was_shown_comes_with_the_peer() -> None:
    shown = peer_of(transport(peername=("::1", 1), ssl_object=FakeSecured(b"der")))
    assert shown.certificate.splitlines() == [
        "-----BEGIN CERTIFICATE-----",
        "ZGVy",
        "-----END CERTIFICATE-----",
    ]
    unshown = peer_of(transport(peername=("::1", 1), ssl_object=FakeSecured(None)))
    assert unshown == Peer("::1", is_secure=True)


@pytest.mark.parametrize(
    ("name", "server"),
    [
        (("192.0.2.1", 443), ("192.0.2.1", 443)),
        (("::1", 8000, 0, 0), ("::1", 8000)),
        ("/run/agent.sock", None),
    ],
)
def test_an_accepted_connection_tells_where_it_was_made_to(
    name: object, server: tuple[str, int] | None
) -> None:
    assert peer_of(transport(peername=("192.0.2.7", 1), sockname=name)).server == server


@pytest.mark.parametrize("anyio_backend", LOOPS, scope="module")
async def test_a_client_that_shows_a_certificate_is_known_by_it(tmp_path: Path) -> None:
    class Accepting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            seen.set_result(peer_of(transport))

    files = write_files(tmp_path)
    loop = asyncio.get_running_loop()
    seen: asyncio.Future[Peer] = loop.create_future()
    tls = read_tls(files.server, files.server_key, files.ca)
    server = await loop.create_server(Accepting, "127.0.0.1", 0, ssl=tls.context)
    context = ssl.create_default_context(cafile=files.ca)
    context.load_cert_chain(files.client, files.client_key)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=context)
    peer = await seen
    assert peer.address == "127.0.0.1"
    assert peer.certificate == read(files.client)
    writer.close()
    await writer.wait_closed()
    server.close()


def read(path: str) -> str:
    return Path(path).read_text()
