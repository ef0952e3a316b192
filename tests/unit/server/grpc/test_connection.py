"""Requests that are calls, and those that are none, frame by frame."""

import asyncio

import pytest

from dragoman.bindings.grpc.framing import frame_message
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.hpack import Header, encode_headers
from tests.support.programs import need
from tests.support.server.grpc_fakes import (
    SEND,
    FakePerforms,
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


async def test_a_call_of_the_other_kinds_of_http_is_answered_in_http() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        headers = ((b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"))
        client.send(payloads.headers(1, encode_headers(headers), ends=True))
        assert (await client.headers())[b":status"] == b"415"
        assert b"gRPC" in (await client.next(frames.DATA)).payload


async def test_a_request_with_too_many_headers_is_refused() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.call(1, *((b"name-%d" % number, b"x" * 100) for number in range(150)))
        assert (await client.headers())[b":status"] == b"431"


async def test_a_request_has_as_many_headers_as_the_limit_and_no_more() -> None:
    server = new_server(FakePerforms(), max_headers=10)
    async with one_port(server) as served, raw(served) as client:
        # The type of its content is one of them.
        for stream, count, status in ((1, 9, b"200"), (3, 10, b"431")):
            client.call(stream, *((b"name-%d" % number, b"x") for number in range(count)))
            client.data(stream, frame_message(b"hi"), ends=True)
            assert (await client.headers())[b":status"] == status
            if status == b"200":
                await client.headers()


@pytest.mark.parametrize(
    ("more", "body", "code"),
    [
        (((b"grpc-timeout", b"soon"),), b"", b"13"),
        ((), b"\x00\x00\x00\x00\x05ab", b"13"),
        (((b"grpc-encoding", b"snappy"),), b"\x01\x00\x00\x00\x01a", b"12"),
    ],
)
async def test_a_call_that_is_none_is_a_status(
    more: tuple[Header, ...], body: bytes, code: bytes
) -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.call(1, *more)
        client.data(1, body, ends=True)
        assert (await client.headers())[b"grpc-status"] == code


async def test_curl_is_told_what_is_spoken_here() -> None:
    curl = need("curl")
    async with one_port(new_server(FakePerforms())) as served:
        process = await asyncio.create_subprocess_exec(
            *(curl, "-s", "-i", "--http2-prior-knowledge", f"http://{served.target}/"),
            stdout=asyncio.subprocess.PIPE,
        )
        answer, _ = await process.communicate()
    assert answer.startswith(b"HTTP/2 415")
    assert b"gRPC" in answer


async def test_a_call_without_a_body_has_no_message() -> None:
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        client.call(1, ends=True)
        assert (await client.headers())[b"grpc-status"] == b"12"


async def test_a_call_that_does_not_ask_for_trailers_gets_them() -> None:
    # The header is for finding proxies that drop them; other servers of gRPC do without it, too.
    async with one_port(new_server(FakePerforms())) as served, raw(served) as client:
        for stream, more in ((1, ()), (3, ((b"te", b"trailers"),))):
            client.call(stream, *more)
            client.data(stream, frame_message(b"hi"), ends=True)
            assert (await client.headers())[b":status"] == b"200"
            assert (await client.headers()) == {b"grpc-status": b"0"}


async def test_binary_metadata_is_passed_over() -> None:
    performs = FakePerforms()
    async with one_port(new_server(performs)) as served:
        async with served.channel() as channel:
            metadata = (("trace-bin", b"\x00\xff, \n"), ("a2a-version", "1.0"))
            assert await channel.unary_unary(SEND)(b"hi", metadata=metadata) == b"echo hi"
        async with raw(served) as client:
            # Several in one header, as some write them; and what is no base64 at all.
            client.call(1, (b"trace-bin", b"AP8,AP8="), (b"other-bin", b"???"))
            client.data(1, frame_message(b"hi"), ends=True)
            assert (await client.headers())[b":status"] == b"200"
    assert performs.asked[0][1] == {
        b"a2a-version": "1.0",
        b"content-type": "application/grpc",
    }
