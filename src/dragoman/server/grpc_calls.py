"""The rpcs of A2A: from gRPC's call to the dispatcher and back, in raw bytes.

What ``grpc.aio`` gives a handler is described here by a port, because the library is optional and
comes without types. The bytes are the dialect's business.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, NoReturn, Protocol, TypeAlias

from dragoman.auth.authenticator import Evidence
from dragoman.bindings.grpc.base import EVENT_ID, STATUS_DETAILS, GrpcDialect
from dragoman.dialects.base import Dialect
from dragoman.errors import A2AError, UnavailableError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.server.door import Visitor
from dragoman.server.headers import all_headers, gather_headers
from dragoman.server.nursery import Nursery
from dragoman.server.peers import Peer, Peers
from dragoman.service.principal import NOBODY, Principal
from dragoman.service.service import EventStream

__all__ = ("Answer", "Calls", "Context", "Enter", "Performs", "Unary", "UnaryStream")

_logger = logging.getLogger(__name__)

MAX_STATUS_BYTES: Final = 4096
"""An error longer than this loses its details: beyond 8 KiB clients refuse the whole answer."""

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]


class Context(Protocol):
    """What gRPC tells of a call and lets one do with it."""

    def peer(self) -> str:
        """Return who calls, such as ``ipv4:192.0.2.1:5000``."""
        ...

    def auth_context(self) -> Mapping[str, Iterable[bytes]]:
        """Return what TLS has found out about the caller."""
        ...

    def invocation_metadata(self) -> Metadata:
        """Return what stands for headers."""
        ...

    async def send_initial_metadata(self, metadata: Metadata) -> None:
        """Send what stands for the headers of the answer, before anything else."""
        ...

    async def write(self, message: bytes) -> None:
        """Send a frame of a stream; waits while the reader takes nothing."""
        ...

    async def abort(self, code: object, details: str, trailing_metadata: Metadata) -> NoReturn:
        """End the call with a status."""
        ...


Unary: TypeAlias = Callable[[bytes, Context], Awaitable[bytes]]
UnaryStream: TypeAlias = Callable[[bytes, Context], Awaitable[None]]


class Answer(Protocol):
    """What a performed operation has to say: a body, or events to follow."""

    @property
    def dialect(self) -> Dialect:
        """The dialect to write events in."""
        ...

    @property
    def body(self) -> bytes:
        """The message to answer with, unless there are events."""
        ...

    @property
    def events(self) -> EventStream | None:
        """What to follow."""
        ...

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What to tell beside it: the activated extensions."""
        ...


class Performs(Protocol):
    """Whoever performs operations: the dispatcher."""

    async def serve_rpc(
        self,
        dialect: GrpcDialect,
        operation: Operation,
        params: bytes,
        visitor: Visitor,
    ) -> Answer:
        """Perform an operation for a caller who was let in."""
        ...

    def explain(self, problem: Exception) -> A2AError:
        """Return what to tell the peer of any problem."""
        ...


Enter: TypeAlias = Callable[[Visitor], Awaitable[Principal]]
"""Tells who calls; raises for a caller who is not let in."""


class RpcVisitor:
    """A call at the door."""

    root_path = ""

    def __init__(self, peer: Peer, metadata: Iterable[tuple[bytes, bytes]]) -> None:
        self._peer = peer
        self._metadata = tuple(metadata)
        self.peer = peer.address
        self.headers: Mapping[bytes, str] = gather_headers(self._metadata)
        self.scheme = "https" if peer.is_secure else "http"
        self.server = peer.server
        self.principal: Principal = NOBODY
        self.allowance: tuple[tuple[bytes, bytes], ...] = ()

    def evidence(self) -> Evidence:
        """Return what the call shows of its caller."""
        certificate = self._peer.certificate
        return Evidence(
            headers=all_headers(self._metadata),
            peer=self.peer,
            certificate=ssl.PEM_cert_to_DER_cert(certificate) if certificate else None,
        )


class Calls:
    """Answers the rpcs of A2A's services.

    Args:
        enter: tells who calls.
        statuses: gRPC's own status objects by their number.
        gone: what gRPC raises when it cannot send, because nobody is there any more.
    """

    def __init__(
        self,
        performs: Performs,
        *,
        enter: Enter,
        peers: Peers,
        nursery: Nursery,
        stall_seconds: float,
        statuses: Mapping[int, object],
        gone: type[Exception],
    ) -> None:
        self._performs = performs
        self._enter = enter
        self._peers = peers
        self._nursery = nursery
        self._stall_seconds = stall_seconds
        self._statuses = statuses
        self._gone = gone

    def unary(self, dialect: GrpcDialect, operation: Operation) -> Unary:
        """Return what answers an operation with one message."""

        async def handle(params: bytes, context: Context) -> bytes:
            try:
                answer = await self._perform(dialect, operation, params, context)
            except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
                await self._refuse(context, dialect, problem)
            if answer.headers:
                await context.send_initial_metadata(_as_metadata(answer.headers))
            return answer.body

        return handle

    def streaming(self, dialect: GrpcDialect, operation: Operation) -> UnaryStream:
        """Return what answers an operation with a stream."""

        async def handle(params: bytes, context: Context) -> None:
            try:
                answer = await self._perform(dialect, operation, params, context)
                if answer.events is not None:
                    await self._follow(answer.events, answer, context)
            except self._gone:
                # So gRPC itself ends the handler of a client that is gone, unless a write finds
                # out first. Anything else it would log as a failure of ours.
                raise asyncio.CancelledError from None
            except Exception as problem:  # noqa: BLE001 - whatever ends a stream is told its reader
                # Reference, 5: an error within a stream is the final status of the call.
                await self._refuse(context, dialect, problem)

        return handle

    async def _perform(
        self, dialect: GrpcDialect, operation: Operation, params: bytes, context: Context
    ) -> Answer:
        """Have an operation performed, to its end even if the caller leaves.

        gRPC cancels a handler whose caller is gone. What is done here may be shared with others (a
        commit, a send that is repeated), so it does not happen in the handler's own task.
        """
        name = context.peer()
        # Of a relayed connection the relay knows the certificate; asking gRPC costs 8 µs.
        certificate = "" if name.startswith("unix:") else _certificate(context)
        peer = self._peers.find(name, certificate)
        if peer is None:
            raise UnavailableError("The connection is gone")
        visitor = RpcVisitor(peer, _as_headers(context.invocation_metadata()))
        visitor.principal = await self._enter(visitor)
        work = self._performs.serve_rpc(dialect, operation, params, visitor)
        outcome: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._nursery.spawn(_carry_out(work, outcome), name=f"gRPC {operation.name}")
        try:
            return await asyncio.shield(outcome)
        except asyncio.CancelledError:
            outcome.add_done_callback(self._leave_alone)
            raise

    def _leave_alone(self, outcome: asyncio.Future[Answer]) -> None:
        """Let go of an answer that nobody waits for any more."""
        problem = outcome.exception()
        if isinstance(problem, Exception):
            self._performs.explain(problem)  # Which logs it, if it is our own fault.
        elif (events := outcome.result().events) is not None:
            self._nursery.spawn(events.aclose(), name="an unread stream")

    async def _follow(self, events: EventStream, answer: Answer, context: Context) -> None:
        """Send events as they come; an empty batch is a heartbeat, for which HTTP/2 has pings."""
        writer = answer.dialect.frame_writer()
        metadata = _as_metadata(answer.headers)
        has_begun = False
        try:
            async for batch in events:
                if batch and not has_begun:
                    has_begun = True
                    await context.send_initial_metadata((*metadata, *_place(batch[0])))
                for event in batch:
                    for frame in writer.write(event):
                        await self._write(context, frame)
                    if writer.has_ended:
                        return
        finally:
            await events.aclose()

    async def _write(self, context: Context, frame: bytes) -> None:
        try:
            async with asyncio.timeout(self._stall_seconds):
                await context.write(frame)
        except TimeoutError:
            _logger.info(
                "a stream to %s is cut: its reader took nothing for too long", context.peer()
            )
            # It hears of it should it ever read again; until then one frame waits for it.
            raise UnavailableError("The stream was not read for too long") from None

    async def _refuse(self, context: Context, dialect: GrpcDialect, problem: Exception) -> NoReturn:
        code, details, trailer = dialect.encode_status(self._performs.explain(problem))
        trailing: tuple[tuple[str, bytes], ...] = ((STATUS_DETAILS, trailer),)
        if len(details.encode()) + len(trailer) > MAX_STATUS_BYTES:
            # The trailer repeats the text. What is left says the same, if not in full.
            details, trailing = details[: MAX_STATUS_BYTES // 4], ()
        await context.abort(self._statuses[code], details, trailing)


async def _carry_out(work: Awaitable[Answer], outcome: asyncio.Future[Answer]) -> None:
    try:
        outcome.set_result(await work)
    except Exception as problem:  # noqa: BLE001 - told to whoever waits
        outcome.set_exception(problem)
    except asyncio.CancelledError:
        outcome.set_exception(UnavailableError("The server is shutting down; try again"))
        raise


def _place(first: EventDocument) -> Metadata:
    """Tell where a stream begins, unless its frame has no place in a log."""
    return ((EVENT_ID, str(first.seq)),) if first.seq else ()


def _as_headers(metadata: Metadata) -> Iterable[tuple[bytes, bytes]]:
    for name, value in metadata:
        yield name.encode(), value.encode() if isinstance(value, str) else value


def _as_metadata(headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _certificate(context: Context) -> str:
    shown = context.auth_context().get("x509_pem_cert", ())
    return "".join(item.decode("latin-1") for item in shown)
