import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from dragoman.egress import DestinationRefusedError, Egress, EgressPolicy, NoAnswerError
from dragoman.errors import UsageError
from tests.support.egress.hosts import NAME, Host, Names, Script, answering, hosting, inner, trap
from tests.support.server.certificates import write_files

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: a=b\r\nX-Two: 1\r\nX-Two: 2\r\n\r\nok"


@asynccontextmanager
async def opened(host: Host, **changes: object) -> AsyncGenerator[Egress]:
    """Open a way out to a host on this machine."""
    async with Egress(
        inner(host.port, **changes), resolver=Names(hooks_test="127.0.0.1")
    ) as egress:
        yield egress


async def test_a_request_is_sent_as_it_should_be() -> None:
    async with hosting(answering(OK)) as host, opened(host) as egress:
        answer = await egress.ask("POST", f"{host.url}?a=b", headers={"X-Token": "é"}, body=b"hi")
        assert (answer.status, answer.body, answer.is_whole) == (200, b"ok", True)
        assert answer.headers["x-two"] == "1, 2"
        request, *headers = host.heads[0].splitlines()
        assert request == "POST /hook?a=b HTTP/1.1"
        assert f"Host: {NAME}:{host.port}" in headers
        assert "Content-Length: 2" in headers
        assert "Accept-Encoding: identity" in headers


async def test_connections_are_kept_for_their_host_and_nothing_else_is() -> None:
    names = Names(hooks_test="127.0.0.1")
    async with (
        hosting(answering(OK)) as host,
        Egress(inner(host.port), resolver=names) as egress,
    ):
        for _ in range(3):
            await egress.ask("GET", host.url, headers={})
        assert names.asked == [NAME]
        # What one webhook is given, the next one is not shown.
        assert not any("cookie" in head.lower() for head in host.heads)


async def test_tls_is_for_the_name_and_not_for_the_address(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(files.server, files.server_key)
    trusted = ssl.create_default_context(cafile=files.ca)
    # The certificate is for localhost and for 127.0.0.1.
    names = Names(localhost="127.0.0.1", hooks_test="127.0.0.1")
    async with hosting(answering(OK), shown) as host:
        policy = EgressPolicy.of(f"localhost:{host.port}", f"{NAME}:{host.port}")
        async with Egress(policy, resolver=names, context=trusted) as egress:
            answer = await egress.ask("GET", f"https://localhost:{host.port}/", headers={})
            assert answer.status == 200
            assert f"Host: localhost:{host.port}" in host.heads[0]
            with pytest.raises(NoAnswerError, match="certificate"):
                await egress.ask("GET", f"https://{NAME}:{host.port}/", headers={})
    assert host.server_names == ["localhost", NAME]
    assert len(host.heads) == 1


async def test_by_default_only_authorities_of_the_machine_are_trusted(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(files.server, files.server_key)
    async with hosting(answering(OK), shown) as host:
        policy = EgressPolicy.of(f"localhost:{host.port}")
        async with Egress(policy, resolver=Names(localhost="127.0.0.1")) as egress:
            with pytest.raises(NoAnswerError):
                await egress.ask("GET", f"https://localhost:{host.port}/", headers={})
    assert host.heads == []


async def test_a_proxy_of_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with trap() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("all_proxy", f"http://127.0.0.1:{proxy.port}")
        async with hosting(answering(OK)) as host, opened(host) as egress:
            assert (await egress.ask("GET", host.url, headers={})).status == 200
        assert proxy.callers() == 0


# --- answers out of bounds ------------------------------------------------------------------------


async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def test_of_a_huge_answer_the_beginning_is_read() -> None:
    async with hosting(endless) as host, opened(host, max_answer_bytes=1000) as egress:
        answer = await egress.ask("GET", host.url, headers={})
        assert (answer.status, answer.body, answer.is_whole) == (200, b"x" * 1000, False)
        # The connection cannot be used again, and is not.
        assert (await egress.ask("GET", host.url, headers={})).status == 200


async def test_an_answer_that_just_fits_is_whole() -> None:
    async with hosting(answering(OK)) as host, opened(host, max_answer_bytes=2) as egress:
        assert (await egress.ask("GET", host.url, headers={})).is_whole


async def slow(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nbit")
    await writer.drain()
    await asyncio.sleep(3600)


async def test_a_body_that_does_not_end_leaves_the_status() -> None:
    async with hosting(slow) as host, opened(host, total_seconds=0.2) as egress:
        answer = await egress.ask("GET", host.url, headers={})
        assert (answer.status, answer.body, answer.is_whole) == (202, b"bit", False)


async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nbit")
    writer.close()
    await writer.wait_closed()


async def test_a_body_that_is_cut_leaves_the_status() -> None:
    async with hosting(cut) as host, opened(host) as egress:
        answer = await egress.ask("GET", host.url, headers={})
        assert (answer.status, answer.is_whole) == (202, False)


async def silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def continuing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    "script",
    [
        silent,
        hang_up,
        continuing,
        answering(b"SSH-2.0-OpenSSH_9.6\r\n"),
        answering(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 1_000_000),
        answering(b"HTTP/1.1 999999 OK\r\n\r\n"),
    ],
    ids=["silent", "reset", "endless 1xx", "not HTTP", "huge head", "no status"],
)
async def test_without_a_status_there_is_no_answer(script: Script) -> None:
    async with hosting(script) as host, opened(host, total_seconds=0.5) as egress:
        with pytest.raises(NoAnswerError) as told:
            await egress.ask("GET", host.url, headers={})
        assert told.value.host == NAME
        assert told.value.finding


async def test_where_nobody_listens_there_is_no_answer() -> None:
    with trap() as host:
        port = host.port
    async with Egress(inner(port), resolver=Names(hooks_test="127.0.0.1")) as egress:
        with pytest.raises(NoAnswerError):
            await egress.ask("GET", f"http://{NAME}:{port}/", headers={})


async def test_a_header_that_cannot_be_sent_sends_nothing() -> None:
    with trap() as host:
        async with Egress(inner(host.port), resolver=Names(hooks_test="127.0.0.1")) as egress:
            with pytest.raises(UsageError, match="X-Token"):
                await egress.ask(
                    "POST", f"http://{NAME}:{host.port}/", headers={"X-Token": "a\r\nX-Evil: b"}
                )
        assert host.callers() == 0


# --- before anything is sent ----------------------------------------------------------------------


async def test_a_check_tells_what_a_call_would() -> None:
    names = Names(
        public_example="93.184.216.34", inside_example="10.0.0.1", two_example="8.8.8.8 ::1"
    )
    async with Egress(resolver=names) as egress:
        await egress.check("https://public.example/hook")
        for url in ("https://inside.example/", "https://two.example/", "https://[::1]/", "x"):
            with pytest.raises(DestinationRefusedError):
                await egress.check(url)
        with pytest.raises(NoAnswerError):
            await egress.check("https://nowhere.example/")


# --- as a transport of httpx2 ---------------------------------------------------------------------


async def test_a_client_of_httpx2_keeps_the_rules() -> None:
    async with hosting(answering(OK)) as host, opened(host) as egress:
        client = httpx2.AsyncClient(transport=egress)
        response = await client.get(host.url)
        assert (response.status_code, response.text) == (200, "ok")
        with pytest.raises(DestinationRefusedError):
            await client.get(f"http://127.0.0.1:{host.port}/")


async def test_a_redirect_is_followed_by_a_client_only_to_where_it_may_go() -> None:
    with trap() as inside:
        away = f"HTTP/1.1 307 Away\r\nLocation: http://127.0.0.1:{inside.port}/\r\n"
        script = answering(f"{away}Content-Length: 0\r\n\r\n".encode())
        async with hosting(script) as host, opened(host) as egress:
            client = httpx2.AsyncClient(transport=egress, follow_redirects=True)
            with pytest.raises(DestinationRefusedError):
                await client.post(host.url, content=b"x")
        assert inside.callers() == 0


@pytest.mark.parametrize(
    ("script", "kinds"),
    [
        (hang_up, (httpx2.RemoteProtocolError, httpx2.ReadError)),
        (silent, (httpx2.ReadTimeout,)),
        (cut, (httpx2.RemoteProtocolError,)),
        (answering(b"SSH-2.0\r\n\r\n"), (httpx2.RemoteProtocolError,)),
    ],
    ids=["reset", "silent", "cut", "not HTTP"],
)
async def test_a_client_of_httpx2_gets_the_errors_it_knows(
    script: Script, kinds: tuple[type[Exception], ...]
) -> None:
    async with hosting(script) as host, opened(host) as egress:
        client = httpx2.AsyncClient(transport=egress, timeout=0.3)
        with pytest.raises(kinds):
            await client.get(host.url)
