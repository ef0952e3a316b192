import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.bindings.grpc.base import EVENT_ID
from dragoman.bindings.grpc.v0_3 import V0_3_GRPC
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.client.errors import (
    ClientError,
    CutError,
    ProtocolError,
    TimedOutError,
    UnreachableError,
)
from dragoman.client.transports.grpc import GrpcTransport
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.tls import Tls
from dragoman.dialects.negotiation import Version
from dragoman.errors import (
    InternalError,
    MethodNotFoundError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse
from dragoman.model.operations import GetTaskRequest, Operation
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import send, status, task
from tests.support.server.certificates import Files, write_files
from tests.support.server.grpc_fakes import aio, grpc
from tests.support.serving import free_port

READ = (Operation.GET_TASK, GetTaskRequest(id="t"))
STREAM = (Operation.SEND_STREAMING_MESSAGE, send())
SHOWN = StreamResponse(task=task())
DONE = status(TaskState.COMPLETED)

Handler = Callable[[bytes, Any], Any]


@pytest.fixture(scope="module", autouse=True)
async def one_loop() -> AsyncGenerator[None]:
    """Keep all tests on one event loop: a server of gRPC lets go of its loop a little late."""
    yield
    await asyncio.sleep(0)


def frame(event: StreamResponse) -> bytes:
    (written,) = V1_0_GRPC.frame_writer().write(EventDocument(1, msgspec.json.encode(event)))
    return written


@asynccontextmanager
async def serving(
    handler: Handler,
    *,
    is_stream: bool = False,
    credentials: Any = None,
    service: str = V1_0_GRPC.service,
) -> AsyncGenerator[str]:
    """Serve one rpc; yields the address."""
    make = (
        grpc.unary_stream_rpc_method_handler if is_stream else grpc.unary_unary_rpc_method_handler
    )
    name = "SendStreamingMessage" if is_stream else "GetTask"
    server = aio.server()
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {name: make(handler)})]
    )
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        yield f"{'http' if credentials is None else 'https'}://127.0.0.1:{port}"
    finally:
        await server.stop(None)


@asynccontextmanager
async def calling(url: str, **options: Any) -> AsyncGenerator[GrpcTransport]:
    request_headers = RequestHeaders(url, {"X-Team": "blue"})
    given: dict[str, Any] = {"tls": Tls(), **options}
    transport = GrpcTransport(V1_0_GRPC, url, Version(1, 0), request_headers, **given)
    try:
        yield transport
    finally:
        await transport.aclose()


# --- unary --------------------------------------------------------------------------------------


@pytest.mark.requirement("R-4.6.1-2", "R-10.2-3")
async def test_a_call_says_who_calls_and_in_which_version() -> None:
    seen: dict[str, str] = {}

    async def answer(_: bytes, context: Any) -> bytes:
        seen.update(context.invocation_metadata())
        return V1_0_GRPC.encode_result(Operation.GET_TASK, TaskDocument.of(task()))

    async with serving(answer) as url, calling(url) as transport:
        assert await transport.call(*READ, ("urn:x", "urn:y")) == task()
        assert await transport.call(*READ, ()) == task()
    assert (seen["a2a-version"], seen["a2a-extensions"]) == ("1.0", "urn:x,urn:y")
    assert seen["x-team"] == "blue"


@pytest.mark.parametrize(
    ("code", "details", "kind"),
    [
        ("NOT_FOUND", "gone", TaskNotFoundError),
        ("INTERNAL", "broken", InternalError),
        ("UNKNOWN", "broken", InternalError),
        # gRPC's own words for what happens to a line.
        ("UNAVAILABLE", "", CutError),
        ("CANCELLED", "", CutError),
        ("INTERNAL", "Received RST_STREAM with error code 2", CutError),
        ("DEADLINE_EXCEEDED", "", TimedOutError),
        ("UNIMPLEMENTED", "", MethodNotFoundError),
    ],
)
async def test_a_status_without_details_tells_what_it_can(
    code: str, details: str, kind: type[Exception]
) -> None:
    async def answer(_: bytes, context: Any) -> bytes:
        return await context.abort(getattr(grpc.StatusCode, code), details)

    async with serving(answer) as url, calling(url) as transport:
        with pytest.raises(kind):
            await transport.call(*READ, ())


async def test_what_the_agent_says_itself_counts_before_its_status() -> None:
    problem = V1_0_GRPC.encode_status(TaskNotFoundError("t"))

    async def answer(_: bytes, context: Any) -> bytes:
        trailer = (("grpc-status-details-bin", problem.trailer),)
        return await context.abort(grpc.StatusCode.UNAVAILABLE, "x", trailer)

    async with serving(answer) as url, calling(url) as transport:
        with pytest.raises(TaskNotFoundError):
            await transport.call(*READ, ())


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        ("TaskNotCancelableError: too late", TaskNotCancelableError),
        ("UnsupportedOperationError: no", UnsupportedOperationError),
        ("Method not implemented!", MethodNotFoundError),
    ],
)
async def test_an_error_that_0_3_names_is_not_taken_for_a_missing_rpc(
    details: str, kind: type[Exception]
) -> None:
    async def answer(_: bytes, context: Any) -> bytes:
        return await context.abort(grpc.StatusCode.UNIMPLEMENTED, details)

    async with serving(answer, service=V0_3_GRPC.service) as url:
        transport = GrpcTransport(V0_3_GRPC, url, Version(0, 3), RequestHeaders(url, {}), tls=Tls())
        with pytest.raises(kind):
            await transport.call(*READ, ())
        await transport.aclose()


async def test_an_rpc_that_is_not_there() -> None:
    async def answer(_: bytes, __: Any) -> bytes:
        raise AssertionError

    async with serving(answer) as url, calling(url) as transport:
        with pytest.raises(MethodNotFoundError):
            await transport.call(Operation.CANCEL_TASK, READ[1], ())  # the bytes do not matter


async def test_what_is_no_message_is_a_protocol_error() -> None:
    async def answer(_: bytes, __: Any) -> bytes:
        return b"\xff\xff"

    async with serving(answer) as url, calling(url) as transport:
        with pytest.raises(ProtocolError):
            await transport.call(*READ, ())


async def test_nobody_listens() -> None:
    async with calling(f"http://127.0.0.1:{free_port()}") as transport:
        for _ in range(2):
            with pytest.raises(UnreachableError):
                await transport.call(*READ, ())


async def test_somebody_listens_who_does_not_speak_grpc() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with calling(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as transport:
        with pytest.raises(UnreachableError):
            await transport.call(*READ, ())
    server.close()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_files(tmp_path)


@pytest.fixture
def pair(files: Files) -> tuple[bytes, bytes]:
    """The key of the server and its certificate."""
    return Path(files.server_key).read_bytes(), Path(files.server).read_bytes()


async def test_tls(files: Files, pair: tuple[bytes, bytes]) -> None:
    async def answer(_: bytes, __: Any) -> bytes:
        return V1_0_GRPC.encode_result(Operation.GET_TASK, TaskDocument.of(task()))

    credentials = grpc.ssl_server_credentials((pair,))
    async with serving(answer, credentials=credentials) as url:
        async with calling(url, tls=Tls(ca_file=Path(files.ca))) as transport:
            assert await transport.call(*READ, ()) == task()
        async with calling(url) as transport:
            with pytest.raises(UnreachableError):
                await transport.call(*READ, ())


@pytest.fixture
def authority(files: Files) -> bytes:
    """Who has signed the certificates."""
    return Path(files.ca).read_bytes()


async def test_a_certificate_of_the_client_is_shown(
    files: Files, pair: tuple[bytes, bytes], authority: bytes
) -> None:
    async def answer(_: bytes, context: Any) -> bytes:
        assert context.auth_context()["x509_common_name"] == [b"client"]
        return V1_0_GRPC.encode_result(Operation.GET_TASK, TaskDocument.of(task()))

    credentials = grpc.ssl_server_credentials((pair,), authority, require_client_auth=True)
    shown = ClientCertificate(certificate=files.client, key=files.client_key)
    async with serving(answer, credentials=credentials) as url:
        for trusting in (Tls(ca_file=Path(files.ca)), Tls(is_insecure=True)):
            async with calling(url, tls=replace(trusting, certificate=shown)) as transport:
                assert await transport.call(*READ, ()) == task()
            async with calling(url, tls=trusting) as transport:
                with pytest.raises(ClientError):
                    await transport.call(*READ, ())


async def test_who_does_not_care_who_answers_is_warned(
    pair: tuple[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(_: bytes, __: Any) -> bytes:
        return V1_0_GRPC.encode_result(Operation.GET_TASK, TaskDocument.of(task()))

    credentials = grpc.ssl_server_credentials((pair,))
    async with serving(answer, credentials=credentials) as url:
        async with calling(url, tls=Tls(is_insecure=True)) as transport:
            assert await transport.call(*READ, ()) == task()
        assert f"THE CERTIFICATE OF {url} IS NOT VERIFIED" in caplog.text


# --- streams ------------------------------------------------------------------------------------


async def test_frames_are_counted_from_where_the_agent_says() -> None:
    seen: list[str] = []

    async def answer(_: bytes, context: Any) -> AsyncGenerator[bytes]:
        seen.append(dict(context.invocation_metadata()).get(EVENT_ID, ""))
        await context.send_initial_metadata(((EVENT_ID, "7"),))
        yield frame(SHOWN)
        yield frame(DONE)

    async with serving(answer, is_stream=True) as url, calling(url) as transport:
        batches = [batch async for batch in transport.stream(*STREAM, (), 7)]
    assert [(item.seq, item.event) for batch in batches for item in batch] == [
        (7, SHOWN),
        (8, DONE),
    ]
    assert seen == ["7"]


async def test_a_stream_may_not_be_endless() -> None:
    async def answer(_: bytes, __: Any) -> AsyncGenerator[bytes]:
        while True:
            yield frame(SHOWN)

    async with (
        serving(answer, is_stream=True) as url,
        calling(url, max_stream_bytes=100) as transport,
    ):
        with pytest.raises(ProtocolError, match="the stream has more than 100 bytes"):
            async for _ in transport.stream(*STREAM, (), 0):
                pass


async def test_a_number_that_cannot_be_true_is_none() -> None:
    async def answer(_: bytes, context: Any) -> AsyncGenerator[bytes]:
        await context.send_initial_metadata(((EVENT_ID, "9" * 5000),))
        yield frame(DONE)

    async with serving(answer, is_stream=True) as url, calling(url) as transport:
        batches = [batch async for batch in transport.stream(*STREAM, (), 0)]
    assert [item.seq for batch in batches for item in batch] == [0]


async def test_frames_without_a_beginning_have_no_numbers() -> None:
    async def answer(_: bytes, context: Any) -> AsyncGenerator[bytes]:
        del context
        yield frame(SHOWN)
        yield frame(DONE)

    async with serving(answer, is_stream=True) as url, calling(url) as transport:
        batches = [batch async for batch in transport.stream(*STREAM, (), 0)]
    assert [batch[0].seq for batch in batches] == [0, 0]


async def test_silence_is_taken_for_a_cut() -> None:
    async def answer(_: bytes, context: Any) -> AsyncGenerator[bytes]:
        del context
        yield frame(SHOWN)
        await asyncio.sleep(60)

    async with serving(answer, is_stream=True) as url, calling(url, idle_seconds=0.05) as transport:
        stream = transport.stream(*STREAM, (), 0)
        await anext(stream)
        with pytest.raises(CutError, match=r"nothing came for 0\.05 seconds"):
            await anext(stream)


async def test_an_error_may_end_a_stream() -> None:
    async def answer(_: bytes, context: Any) -> AsyncGenerator[bytes]:
        yield frame(SHOWN)
        await context.abort(grpc.StatusCode.NOT_FOUND, "gone")

    async with serving(answer, is_stream=True) as url, calling(url) as transport:
        stream = transport.stream(*STREAM, (), 0)
        await anext(stream)
        with pytest.raises(TaskNotFoundError):
            await anext(stream)


async def test_leaving_a_stream_ends_the_call() -> None:
    ended = asyncio.Event()

    async def answer(_: bytes, context: Any) -> AsyncGenerator[bytes]:
        del context
        try:
            yield frame(SHOWN)
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with serving(answer, is_stream=True) as url, calling(url) as transport:
        stream = transport.stream(*STREAM, (), 0)
        await anext(stream)
        await stream.aclose()
        await asyncio.wait_for(ended.wait(), 5)


async def test_credentials_can_be_renewed_if_there_are_any() -> None:
    async with calling("http://127.0.0.1:1") as transport:
        assert not transport.renew()
