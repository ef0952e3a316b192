"""The gRPC server between real sockets, called by gRPC's own client."""

import asyncio
import logging
import ssl
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from dragoman.bindings.grpc.framing import frame_message
from dragoman.errors import UsageError
from dragoman.model.documents import EventDocument
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.tls import read_tls
from dragoman.server.grpc.server import GrpcServer
from tests.support.server.certificates import Files, write_files
from tests.support.server.grpc_fakes import (
    SEND,
    STREAM,
    Answered,
    FakePerforms,
    OnePort,
    ScriptedEvents,
    aio,
    grpc,
    new_server,
    one_port,
)
from tests.support.server.http2_raw import raw

LOOPS = [
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
]


@pytest.fixture(scope="module", params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return request.param


@pytest.fixture(autouse=True)
async def heard_out(anyio_backend: object) -> AsyncGenerator[None]:
    """Let gRPC's client hand out what it has left.

    Its poller gives what comes late to the loop that it was meant for, though that be closed, and
    the test that runs then fails for it.
    """
    del anyio_backend
    yield
    await asyncio.sleep(0.02)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)


def fixed_windows(served: OnePort) -> Any:
    """Return a channel that does not take more and more, the faster it is served."""
    return aio.insecure_channel(served.target, options=[("grpc.http2.bdp_probe", 0)])


async def rest_of(call: Any) -> list[bytes]:
    """Read a stream to its end."""
    found: list[bytes] = []
    while (frame := await call.read()) is not aio.EOF:
        found.append(frame)
    return found


async def test_one_port_speaks_both() -> None:
    async with one_port(new_server(FakePerforms())) as served:
        assert not served.grpc.is_started
        assert (await served.get()).endswith(b"hello")
        assert not served.grpc.is_started
        async with served.channel() as channel:
            assert await channel.unary_unary(SEND)(b"one") == b"echo one"
            assert served.grpc.is_started
            assert (await served.get()).endswith(b"hello")
            assert await channel.unary_unary(SEND)(b"two") == b"echo two"


async def test_many_calls_at_once_from_many_connections() -> None:
    async def call(number: int) -> bytes:
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with aio.insecure_channel(served.target, options=options) as channel:
            return await channel.unary_unary(SEND)(b"%d" % number)

    async with one_port(new_server(FakePerforms())) as served:
        # All of them find the server not started yet.
        answers = await asyncio.gather(*map(call, range(50)), served.get())
    assert answers[:50] == [b"echo %d" % number for number in range(50)]


async def test_the_peer_is_known() -> None:
    performs = FakePerforms()
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        await channel.unary_unary(SEND)(b"")
    assert performs.admitted == ["127.0.0.1"]


async def test_a_long_stream_to_a_slow_reader_arrives_whole_and_blocks_nobody() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"%06d" % number * 2000) for number in range(1, 1001)]
    stream = ScriptedEvents(*((event,) for event in events))
    async with one_port(new_server(performs)) as served, fixed_windows(served) as channel:
        performs.answer = Answered(events=stream)
        call = channel.unary_stream(STREAM)(b"")
        assert await call.read() == events[0].json
        await asyncio.sleep(0.3)
        # 12 MB are waiting; what the reader did not take is not even made.
        assert stream.shown < 900
        performs.answer = None
        assert await channel.unary_unary(SEND)(b"quick") == b"echo quick"
        assert await rest_of(call) == [event.json for event in events[1:]]
    assert stream.closed.is_set()


async def test_a_client_that_cancels_ends_its_stream_and_nothing_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"x" * 100_000) for number in range(1, 1001)]
    stream = ScriptedEvents(*((event,) for event in events), is_live=True)
    performs.answer = Answered(events=stream)
    async with one_port(new_server(performs)) as served, served.channel() as channel:
        call = channel.unary_stream(STREAM)(b"")
        await call.read()
        call.cancel()
        async with asyncio.timeout(5):
            await stream.closed.wait()
    assert [record.getMessage() for record in caplog.records if record.levelno > 20] == []


async def test_a_client_that_vanishes_ends_its_stream_and_nothing_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    performs = FakePerforms()
    stream = ScriptedEvents((EventDocument(1, b"one"),), is_live=True)
    performs.answer = Answered(events=stream)
    async with one_port(new_server(performs)) as served:
        channel = served.channel()
        call = channel.unary_stream(STREAM)(b"")
        assert await call.read() == b"one"
        await channel.close()
        async with asyncio.timeout(5):
            await stream.closed.wait()
        assert (await served.get()).endswith(b"hello")
    assert [record.getMessage() for record in caplog.records if record.levelno > 20] == []


async def test_a_reader_that_is_stuck_is_cut_and_told_so_should_it_read_again() -> None:
    performs = FakePerforms()
    events = [EventDocument(number, b"x" * 100_000) for number in range(1, 1001)]
    stream = ScriptedEvents(*((event,) for event in events))
    performs.answer = Answered(events=stream)
    server = new_server(performs, stall_seconds=0.3)
    async with one_port(server) as served, fixed_windows(served) as channel:
        call = channel.unary_stream(STREAM)(b"")
        await call.read()
        async with asyncio.timeout(5):
            await stream.closed.wait()
        assert stream.shown < 900
        with pytest.raises(aio.AioRpcError) as told:
            await rest_of(call)
        assert told.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_server_that_stops_ends_its_streams() -> None:
    performs = FakePerforms()
    stream = ScriptedEvents((EventDocument(1, b"one"),), is_live=True)
    performs.answer = Answered(events=stream)
    server = new_server(performs)
    channel = None
    async with one_port(server) as served:
        channel = served.channel()
        call = channel.unary_stream(STREAM)(b"")
        assert await call.read() == b"one"
    assert stream.closed.is_set()
    with pytest.raises(aio.AioRpcError):
        await call.read()
    await channel.close()


async def test_what_finishes_in_time_is_answered_although_the_server_stops() -> None:
    performs = FakePerforms()
    performs.hold = asyncio.Event()
    async with one_port(new_server(performs)) as served:
        channel = served.channel()
        call = asyncio.ensure_future(channel.unary_unary(SEND)(b"late"))
        await performs.called.wait()
        asyncio.get_running_loop().call_later(0.2, performs.hold.set)
    assert await call == b"echo late"
    await channel.close()


async def test_a_connection_that_comes_after_the_stop_is_cut() -> None:
    server = new_server(FakePerforms())
    async with one_port(server) as served:
        await server.stop(0)
        async with served.channel() as channel:
            with pytest.raises(aio.AioRpcError):
                await channel.unary_unary(SEND)(b"")
        assert not server.is_started


async def test_a_body_beyond_the_limit_is_refused() -> None:
    server = new_server(FakePerforms(), max_body_bytes=1000)
    async with one_port(server) as served, served.channel() as channel:
        with pytest.raises(aio.AioRpcError) as refused:
            await channel.unary_unary(SEND)(b"x" * 1001)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        # One that only unpacks to more is no way around it.
        with pytest.raises(aio.AioRpcError) as refused:
            await channel.unary_unary(SEND)(b"x" * 100_000, compression=grpc.Compression.Gzip)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_method_that_is_none_is_refused() -> None:
    async with one_port(new_server(FakePerforms())) as served, served.channel() as channel:
        with pytest.raises(aio.AioRpcError) as refused:
            await channel.unary_unary("/test.Service/Nothing")(b"")
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


# --- TLS --------------------------------------------------------------------------------------


def credentials(files: Files, *, as_client: bool = False) -> Any:
    if not as_client:
        return grpc.ssl_channel_credentials(Path(files.ca).read_bytes())
    return grpc.ssl_channel_credentials(
        Path(files.ca).read_bytes(),
        Path(files.client_key).read_bytes(),
        Path(files.client).read_bytes(),
    )


def client_context(files: Files, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.ca)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


async def test_one_port_speaks_both_under_tls(files: Files) -> None:
    performs = FakePerforms()
    tls = read_tls(files.server, files.server_key)
    async with one_port(new_server(performs), tls=tls) as served:
        async with aio.secure_channel(f"localhost:{served.port}", credentials(files)) as channel:
            assert await channel.unary_unary(SEND)(b"one") == b"echo one"
        reader, writer = await asyncio.open_connection(
            "localhost", served.port, ssl=client_context(files)
        )
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"x-scheme: https" in await reader.read(-1)
        writer.close()
        await writer.wait_closed()
    assert performs.admitted == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        # A client of gRPC.
        (["h2"], "h2"),
        # One that can do both, such as a browser: there is no HTTP/2 but gRPC here.
        (["h2", "http/1.1"], "http/1.1"),
        (["http/1.1"], "http/1.1"),
        ([], None),
    ],
)
async def test_alpn_gives_http_2_to_those_who_want_nothing_else(
    offered: list[str], chosen: str | None, files: Files
) -> None:
    tls = read_tls(files.server, files.server_key)
    async with one_port(new_server(FakePerforms()), tls=tls) as served:
        context = client_context(files, *offered)
        _, writer = await asyncio.open_connection("localhost", served.port, ssl=context)
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == chosen
        writer.close()
        await writer.wait_closed()


async def test_a_client_without_a_certificate_is_refused_where_one_is_needed(files: Files) -> None:
    tls = read_tls(files.server, files.server_key, files.ca)
    async with one_port(new_server(FakePerforms()), tls=tls) as served:
        target = f"localhost:{served.port}"
        async with aio.secure_channel(target, credentials(files)) as channel:
            with pytest.raises(aio.AioRpcError):
                await channel.unary_unary(SEND)(b"one")
        async with aio.secure_channel(target, credentials(files, as_client=True)) as channel:
            assert await channel.unary_unary(SEND)(b"one") == b"echo one"


# --- a port of its own ------------------------------------------------------------------------


@pytest.mark.parametrize(("host", "seen"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1")])
async def test_a_port_of_its_own_is_served(host: str, seen: str) -> None:
    performs = FakePerforms()
    server = new_server(performs)
    port = await server.listen(host, 0)
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    async with aio.insecure_channel(target) as channel:
        assert await channel.unary_unary(SEND)(b"one") == b"echo one"
    await server.stop(0)
    assert performs.admitted == [seen]


async def test_a_port_of_its_own_stands_beside_the_shared_one() -> None:
    server = new_server(FakePerforms())
    port = await server.listen("127.0.0.1", 0)
    async with one_port(server) as served:
        for target in (f"127.0.0.1:{port}", served.target):
            async with aio.insecure_channel(target) as channel:
                assert await channel.unary_unary(SEND)(b"one") == b"echo one"


async def test_a_port_of_its_own_has_tls(files: Files) -> None:
    server = new_server(FakePerforms())
    tls = read_tls(files.server, files.server_key, files.ca)
    port = await server.listen("127.0.0.1", 0, tls)
    target = f"localhost:{port}"
    async with aio.secure_channel(target, credentials(files, as_client=True)) as channel:
        assert await channel.unary_unary(SEND)(b"one") == b"echo one"
    async with aio.secure_channel(target, credentials(files)) as channel:
        with pytest.raises(aio.AioRpcError):
            await channel.unary_unary(SEND)(b"one")
    await server.stop(0)


async def test_a_port_that_is_taken_is_told() -> None:
    one, two = new_server(FakePerforms()), new_server(FakePerforms())
    port = await one.listen("127.0.0.1", 0)
    with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port} for gRPC"):
        await two.listen("127.0.0.1", port)
    await one.stop(0)
    await two.stop(0)


# --- without the packages ---------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which protobuf is not installed."""
    monkeypatch.setitem(sys.modules, "google.protobuf", None)


@pytest.mark.usefixtures("bare")
async def test_without_the_packages_a_client_is_cut_and_the_extra_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = new_server(FakePerforms())
    with caplog.at_level(logging.ERROR):
        async with one_port(server) as served:
            for _ in range(3):
                async with served.channel() as channel:
                    with pytest.raises(aio.AioRpcError):
                        await channel.unary_unary(SEND)(b"")
            assert (await served.get()).endswith(b"hello")
    lines = [record.getMessage() for record in caplog.records if "gRPC" in record.getMessage()]
    assert lines == [
        "gRPC is not served: gRPC needs a package that is not installed: pip install protobuf"
    ]


@pytest.mark.usefixtures("bare")
async def test_without_the_packages_there_is_no_port_for_grpc() -> None:
    server = new_server(FakePerforms())
    with pytest.raises(UsageError, match="pip install protobuf"):
        await server.listen("127.0.0.1", 0)
    await server.stop(0)


async def test_a_server_that_never_started_stops() -> None:
    server: GrpcServer = new_server(FakePerforms())
    await server.stop(0)
    assert not server.is_started


async def test_a_call_that_was_under_way_when_the_server_stopped_is_answered() -> None:
    performs = FakePerforms()
    server = new_server(performs)
    async with one_port(server) as served, raw(served) as client:
        await client.next(frames.SETTINGS)
        stopping = asyncio.ensure_future(server.stop(5))
        told = await client.next(frames.GOAWAY)
        assert payloads.number_of(told.payload[:4]) == 2**31 - 1
        ping = await client.next(frames.PING)
        # The client has sent this before it heard of the end.
        client.call(1)
        client.data(1, frame_message(b"late"), ends=True)
        client.send(frames.write_frame(frames.PING, frames.ACK, 0, ping.payload))
        assert (await client.next(frames.DATA)).payload == frame_message(b"echo late")
        told = await client.next(frames.GOAWAY)
        assert payloads.number_of(told.payload[:4]) == 1
        client.writer.close()
        await stopping


async def test_a_peer_that_does_not_answer_does_not_hold_up_the_stop() -> None:
    server = new_server(FakePerforms())
    async with one_port(server) as served, raw(served) as client:
        await client.next(frames.SETTINGS)
        async with asyncio.timeout(10):
            await server.stop(30)
        assert await client.is_cut()
