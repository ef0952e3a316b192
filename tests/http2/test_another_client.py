"""hyper-h2 as a client: it reads strictly, so whatever we write has to be right."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    Event,
    PingAckReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)

from dragoman.bindings.grpc.framing import frame_message
from dragoman.model.documents import EventDocument
from tests.http2.frame_peer import REQUEST
from tests.support.server.grpc_fakes import (
    STREAM,
    Answered,
    FakePerforms,
    OnePort,
    ScriptedEvents,
    new_server,
    one_port,
)

E = TypeVar("E", bound=Event)


class Client:
    """A client by hyper-h2."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self.events: list[Event] = []
        self._reader = reader
        self.writer = writer
        self.h2.initiate_connection()

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    async def pump(self) -> None:
        """Read once, take what has come, and let more come."""
        self.flush()
        async with asyncio.timeout(5):
            received = await self._reader.read(65_536)
        if not received:
            raise EOFError
        for event in self.h2.receive_data(received):
            if isinstance(event, DataReceived) and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.events.append(event)
        self.flush()

    async def wait_for(self, kind: type[E], test: Callable[[E], bool] = lambda _: True) -> E:
        """Return the first event of a kind, past ones included."""
        while True:
            for event in self.events:
                if isinstance(event, kind) and test(event):
                    return event
            await self.pump()

    async def send(self, stream: int, body: bytes, *, path: str = "") -> None:
        """Send a request, as fast as the windows allow."""
        head = [(n, path.encode() if path and n == b":path" else v) for n, v in REQUEST]
        self.h2.send_headers(stream, head)
        while body:
            size = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if not size:
                await self.pump()
                continue
            self.h2.send_data(stream, body[:size])
            body = body[size:]
        self.h2.end_stream(stream)
        self.flush()

    async def answer(self, stream: int) -> tuple[dict[bytes, bytes], bytes, dict[bytes, bytes]]:
        """Return headers, body and trailers of an answer."""

        def of_stream(event: ResponseReceived | TrailersReceived | StreamEnded) -> bool:
            return event.stream_id == stream

        await self.wait_for(StreamEnded, of_stream)
        head = await self.wait_for(ResponseReceived, of_stream)
        tail = await self.wait_for(TrailersReceived, of_stream)
        body = b"".join(
            event.data or b""
            for event in self.events
            if isinstance(event, DataReceived) and event.stream_id == stream
        )
        return dict(head.headers or ()), body, dict(tail.headers or ())  # type: ignore[arg-type] - bytes, as configured


@asynccontextmanager
async def connect(served: OnePort) -> AsyncGenerator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_call_is_answered(served: OnePort) -> None:
    async with connect(served) as client:
        await client.send(1, frame_message(b"hi"))
        head, body, tail = await client.answer(1)
    assert head == {b":status": b"200", b"content-type": b"application/grpc"}
    assert (body, tail) == (frame_message(b"echo hi"), {b"grpc-status": b"0"})


async def test_a_hundred_calls_at_once_are_answered(served: OnePort) -> None:
    async with connect(served) as client:
        streams = range(1, 200, 2)
        for stream in streams:
            await client.send(stream, frame_message(b"%d" % stream))
        for stream in streams:
            _, body, _ = await client.answer(stream)
            assert body == frame_message(b"echo %d" % stream)


async def test_a_long_message_goes_both_ways_through_small_windows() -> None:
    message = b"0123456789" * 90_000
    async with one_port(new_server(FakePerforms())) as served, connect(served) as client:
        await client.send(1, frame_message(message))
        _, body, _ = await client.answer(1)
    assert body == frame_message(b"echo " + message)


async def test_a_stream_is_read_and_given_up(served: OnePort, performs: FakePerforms) -> None:
    stream = ScriptedEvents((EventDocument(1, b"one"),), is_live=True)
    performs.answer = Answered(events=stream)
    async with connect(served) as client:
        await client.send(1, frame_message(b""), path=STREAM)
        event = await client.wait_for(DataReceived)
        assert event.data == frame_message(b"one")
        client.h2.reset_stream(1, error_code=8)
        client.flush()
        async with asyncio.timeout(5):
            await stream.closed.wait()
        # The connection serves the next.
        performs.answer = None
        await client.send(3, frame_message(b"next"))
        assert (await client.answer(3))[1] == frame_message(b"echo next")


async def test_a_refusal_stands_alone(served: OnePort) -> None:
    async with connect(served) as client:
        await client.send(1, frame_message(b"unknown"))
        ended = await client.wait_for(StreamEnded)
        assert ended.stream_id == 1
        head = await client.wait_for(ResponseReceived)
        assert dict(head.headers or ())[b"grpc-status"] == b"5"  # type: ignore[index] - bytes, as configured


async def test_an_early_refusal_tells_that_the_rest_is_of_no_use(served: OnePort) -> None:
    async with connect(served) as client:
        client.h2.send_headers(1, [(n, b"/no/such" if n == b":path" else v) for n, v in REQUEST])
        client.flush()
        reset = await client.wait_for(StreamReset)
        assert reset.error_code == 0


async def test_pings_are_answered(served: OnePort) -> None:
    async with connect(served) as client:
        client.h2.ping(b"12345678")
        assert (await client.wait_for(PingAckReceived)).ping_data == b"12345678"
