"""What HTTP/2 and the HTTP/1.1 client of our own save: `python -m benches.net`, about a minute.

Ours and theirs run in turn in one process, and CPU time is compared, so that other work on the
machine matters little. Both answer the same bytes. The decisions that rest on it are in
docs/explanation/adr/.
"""

import gc
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median

import h2.config
import h2.connection
import h2.events
import hpack
import httpx2
import uvloop

from dragoman.bindings.grpc.framing import ANSWER, OK, frame_message
from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.net.http1.client import Http1Pool
from dragoman.net.http1.client_connection import Http1Errors
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.events import DataReceived

ROUNDS = 7
CALLS = 5000
REQUESTS = 1500
SIZE = 300
"""Bytes of a message, each way."""

MESSAGE = frame_message(b"x" * SIZE)
HEAD = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/lf.a2a.v1.A2AService/SendMessage"),
    (":authority", "127.0.0.1:8000"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
    ("user-agent", "grpc-python-asyncio/1.76.0 grpc-c/51.0.0 (linux; chttp2)"),
    ("grpc-accept-encoding", "identity, deflate, gzip"),
    ("a2a-version", "1.0"),
)
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "A2A-Version": "1.0",
    "Accept-Encoding": "gzip, deflate",
}
SERVER = f"""
import asyncio, uvloop
class Answers(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        self.transport.write(
            b"HTTP/1.1 200 OK\\r\\ncontent-length: {SIZE}\\r\\n\\r\\n" + b"y" * {SIZE}
        )
async def main():
    server = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()
uvloop.run(main())
"""


# --- HTTP/2 -------------------------------------------------------------------------------------


def calls() -> list[bytes]:
    """Return what a client sends: its greeting, then one call at a time."""
    encoder = hpack.Encoder()
    greeting = frames.PREFACE + payloads.settings(()) + payloads.window_update(0, 2**30)
    return [greeting] + [
        payloads.headers(stream, encoder.encode(HEAD), ends=False)
        + frames.write_frame(frames.DATA, frames.END_STREAM, stream, MESSAGE)
        for stream in range(1, 2 * CALLS, 2)
    ]


def serve_with_ours(received: list[bytes]) -> int:
    connection, answered = Connection(), 0
    for number, data in enumerate(received):
        connection.receive(data, number / 1000)
        for event in connection.take_events():
            if isinstance(event, DataReceived) and event.ends:
                connection.send_headers(event.stream, ANSWER)
                connection.send_data(event.stream, MESSAGE)
                connection.send_headers(event.stream, OK, ends=True)
                answered += 1
        connection.take_output()
        connection.room = 65_536
    return answered


def serve_with_h2(received: list[bytes]) -> int:
    config = h2.config.H2Configuration(client_side=False, header_encoding=None)
    connection, answered = h2.connection.H2Connection(config), 0
    connection.initiate_connection()
    for data in received:
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                size = event.flow_controlled_length
                connection.acknowledge_received_data(size, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                stream = event.stream_id
                head = [(b":status", b"200"), (b"content-type", b"application/grpc")]
                connection.send_headers(stream, head)
                connection.send_data(stream, MESSAGE)
                connection.send_headers(stream, [(b"grpc-status", b"0")], end_stream=True)
                answered += 1
        connection.data_to_send()
    return answered


def cpu_of_calls(serve: Callable[[list[bytes]], int], received: list[bytes]) -> float:
    gc.collect()
    begun = time.process_time()
    answered = serve(received)
    spent = time.process_time() - begun
    assert answered == CALLS
    return spent / CALLS * 1e6


# --- HTTP/1.1 -----------------------------------------------------------------------------------


async def cpu_of_requests(ask: Callable[[], Awaitable[bytes]]) -> float:
    gc.collect()
    begun = time.process_time()
    for _ in range(REQUESTS):
        assert len(await ask()) == SIZE
    return (time.process_time() - begun) / REQUESTS * 1e6


async def compare_clients(url: str) -> list[tuple[float, float]]:
    errors = Http1Errors(
        unreachable=UnreachableError, cut=CutError, malformed=ProtocolError, timed_out=TimedOutError
    )
    pool = Http1Pool(ssl.create_default_context, errors)
    body = b"x" * SIZE

    async def ask_with_ours() -> bytes:
        async with pool.exchange(
            "POST",
            url,
            headers=HEADERS,
            body=body,
            connect_seconds=10,
            write_seconds=10,
            read_seconds=10,
        ) as answer:
            return b"".join([piece async for piece in answer.aiter_bytes()])

    async with httpx2.AsyncClient(trust_env=False) as client:

        async def ask_with_httpx2() -> bytes:
            async with client.stream("POST", url, headers=HEADERS, content=body) as answer:
                return b"".join([piece async for piece in answer.aiter_bytes()])

        await cpu_of_requests(ask_with_ours)
        rounds = [
            (await cpu_of_requests(ask_with_ours), await cpu_of_requests(ask_with_httpx2))
            for _ in range(ROUNDS)
        ]
    await pool.aclose()
    return rounds


# --- the program --------------------------------------------------------------------------------


def report(name: str, rounds: list[tuple[float, float]]) -> None:
    ours, theirs = (median(values) for values in zip(*rounds, strict=True))
    ratio = median(other / own for own, other in rounds)
    print(f"{name}: {ours:.0f} us of CPU, {theirs:.0f} us theirs, {ratio:.1f} times as much")


def main() -> None:
    received = calls()
    pairs = [
        (cpu_of_calls(serve_with_ours, received), cpu_of_calls(serve_with_h2, received))
        for _ in range(ROUNDS)
    ]
    report("a call, without I/O, against h2", pairs)
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
        report("a request, with I/O, against httpx2", uvloop.run(compare_clients(url)))
        server.terminate()


if __name__ == "__main__":
    main()
