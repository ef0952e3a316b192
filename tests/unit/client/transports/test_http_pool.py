import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from dragoman.client.errors import (
    ClientError,
    CutError,
    ProtocolError,
    TimedOutError,
    UnreachableError,
)
from dragoman.client.transports.http_pool import HttpPool, read_body
from dragoman.client.transports.tls import Tls
from dragoman.errors import UsageError
from tests.support.client.fakes import Web, web_pool
from tests.support.server.certificates import write_files
from tests.support.serving import free_port

URL = "http://agent.test/x"


async def get(pool: HttpPool, url: str = URL, limit: int = 100) -> bytes:
    async with pool.exchange("GET", url, headers={"X-A": "b"}, read_seconds=1) as response:
        return await read_body(response, limit)


async def test_a_request_is_sent_and_its_answer_read() -> None:
    web = Web(lambda _: httpx2.Response(200, content=b"hello"))
    assert await get(web_pool(web)) == b"hello"
    assert (str(web.last.url), web.last.headers["x-a"]) == (URL, "b")


async def test_redirects_are_not_followed() -> None:
    web = Web(lambda _: httpx2.Response(302, headers={"location": "http://evil.test"}))
    await get(web_pool(web))
    assert len(web.requests) == 1


async def test_an_answer_may_not_be_endless() -> None:
    web = Web(lambda _: httpx2.Response(200, content=b"x" * 101))
    with pytest.raises(ProtocolError, match="more than 100 bytes"):
        await get(web_pool(web))


async def test_an_answer_that_drips_in_is_given_up() -> None:
    class Drip(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b"x"
                await asyncio.sleep(0.001)

    web = Web(lambda _: httpx2.Response(200, stream=Drip()))
    async with web_pool(web).exchange("GET", URL, headers={}, read_seconds=1) as response:
        with pytest.raises(TimedOutError, match=r"agent\.test:80 did not answer in time"):
            await read_body(response, 10**9, 0.05)


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (httpx2.ConnectError("refused"), UnreachableError),
        (httpx2.ConnectTimeout(""), UnreachableError),
        (httpx2.ProxyError("no"), UnreachableError),
        (httpx2.ReadTimeout(""), TimedOutError),
        (httpx2.WriteTimeout(""), TimedOutError),
        (httpx2.ReadError("reset"), CutError),
        (httpx2.WriteError("reset"), CutError),
        (httpx2.RemoteProtocolError("gone"), CutError),
        (httpx2.DecodingError("gzip"), ProtocolError),
        (httpx2.LocalProtocolError("bad header"), UsageError),
    ],
)
async def test_what_goes_wrong_is_told_honestly(problem: Exception, kind: type[Exception]) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise problem

    with pytest.raises(kind, match=r"agent\.test"):
        await get(web_pool(Web(fail)))


async def test_nobody_listens() -> None:
    pool = HttpPool(Tls())
    with pytest.raises(UnreachableError):
        await get(pool, f"http://127.0.0.1:{free_port()}/")
    await pool.aclose()


async def test_a_certificate_that_is_not_trusted_is_no_connection(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server, files.server_key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    outcomes: list[bytes | str] = []
    for tls in (Tls(), Tls(ca_file=Path(files.ca)), Tls(is_insecure=True)):
        pool = HttpPool(tls)
        try:
            outcomes.append(await get(pool, url))
        except ClientError as problem:
            outcomes.append(type(problem).__name__)
        await pool.aclose()
    server.close()
    assert outcomes == ["UnreachableError", b"ok", b"ok"]
