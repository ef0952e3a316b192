"""The rpcs of A2A: from gRPC's call to the dispatcher and back, in raw bytes.

What a call can be asked and told is described here by a port. The bytes are the dialect's business.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final, NoReturn, Protocol, TypeAlias

from msgspec import Struct

from dragoman.auth.incoming.authenticator import Evidence, ReadBody
from dragoman.bindings.grpc.base import EVENT_ID, STATUS_DETAILS, GrpcDialect
from dragoman.bindings.grpc.framing import GrpcFailedError, Metadata
from dragoman.dialects.base import Dialect
from dragoman.errors import A2AError, UnavailableError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import STREAMING, Operation
from dragoman.net.peer import Peer
from dragoman.server.admission.authentication import IncomingRequest
from dragoman.server.http.headers import AllHeaders
from dragoman.service.principal import NOBODY, Principal
from dragoman.service.service import EventStream

__all__ = (
    "Admission",
    "Answer",
    "BidiRpc",
    "Calls",
    "Context",
    "Enter",
    "Performs",
    "Rpc",
    "UnaryRpc",
)

_logger = logging.getLogger(__name__)

MAX_STATUS_BYTES: Final = 4096
"""An error longer than this loses its details: beyond 8 KiB clients refuse the whole answer."""


class Context(Protocol):
    """A call: what came with it, and what one can do with it.

    Whoever handles it returns the last message or None, or raises GrpcFailedError. A caller that
    leaves does not end what is done for it, until that allows it; what is sent then goes nowhere.
    """

    @property
    def peer(self) -> Peer:
        """Who calls."""
        ...

    @property
    def headers(self) -> Mapping[bytes, str]:
        """The headers that this server looks at."""
        ...

    @property
    def fields(self) -> Sequence[tuple[bytes, bytes]]:
        """All of its headers, as they came."""
        ...

    incoming: IncomingRequest | None
    """Who calls, if that was asked before the message came."""

    @property
    def is_full(self) -> bool:
        """Whether the reader does not take what is written; then ``drain`` before the next."""
        ...

    def allow_cancel(self) -> None:
        """From now on cancel the task when the caller leaves.

        Raises:
            CancelledError: it has left already.
        """
        ...

    def send_initial_metadata(self, metadata: Metadata) -> None:
        """Send what stands for the headers of the answer, before anything else."""
        ...

    def write(self, message: bytes) -> None:
        """Send a message."""
        ...

    async def drain(self) -> None:
        """Wait while the reader takes nothing."""
        ...


UnaryRpc: TypeAlias = Callable[[bytes, Context], Awaitable[bytes | None]]
"""Takes one message; returns one, or writes some."""
BidiRpc: TypeAlias = Callable[[AsyncIterator[bytes], Context], Awaitable[None]]
"""Takes messages as they come."""
Admission: TypeAlias = Callable[[Context], Awaitable[None]]
"""Finds out who calls, and notes it; raises GrpcFailedError for who is not let in."""


class Rpc(Struct, frozen=True):
    """How a method is served: by one of the first two.

    Attributes:
        admit: asked before a message is let come that is too long to come unasked.
    """

    unary: UnaryRpc | None = None
    bidi: BidiRpc | None = None
    admit: Admission | None = None


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
        incoming: IncomingRequest,
    ) -> Answer:
        """Perform an operation for a caller who was let in."""
        ...

    def explain(self, problem: Exception) -> A2AError:
        """Return what to tell the peer of any problem."""
        ...


Enter: TypeAlias = Callable[[IncomingRequest], Awaitable[Principal]]
"""Tells who calls; raises for a caller who is not let in."""


class IncomingRpc:
    """A call whose caller is not known yet."""

    __slots__ = (
        "_certificate",
        "_fields",
        "allowance",
        "headers",
        "peer",
        "principal",
        "scheme",
        "server",
    )

    root_path = ""

    def __init__(self, context: Context) -> None:
        peer = context.peer
        self._certificate = peer.certificate
        self._fields = context.fields
        self.peer: Final = peer.address
        self.headers: Final = context.headers
        self.scheme = "https" if peer.is_secure else "http"
        self.server: Final = peer.server
        self.principal: Principal = NOBODY
        self.allowance: tuple[tuple[bytes, bytes], ...] = ()

    def evidence(self, read_body: ReadBody | None = None) -> Evidence:
        """Return what the call shows of its caller; nobody signs messages of gRPC."""
        del read_body
        certificate = self._certificate
        return Evidence(
            headers=AllHeaders(self._fields),
            peer=self.peer,
            certificate=ssl.PEM_cert_to_DER_cert(certificate) if certificate else None,
        )


class Calls:
    """Answers the rpcs of A2A's services.

    Args:
        enter: tells who calls.
    """

    def __init__(self, performs: Performs, *, enter: Enter, stall_seconds: float) -> None:
        self._performs = performs
        self._enter = enter
        self._stall_seconds = stall_seconds

    def rpc(self, dialect: GrpcDialect, operation: Operation) -> Rpc:
        """Return what performs an operation."""
        make = self._streaming if operation in STREAMING else self._unary
        return Rpc(unary=make(dialect, operation), admit=self._admission(dialect))

    def _admission(self, dialect: GrpcDialect) -> Admission:
        async def admit(context: Context) -> None:
            try:
                context.incoming = await self._let_in(context)
            except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
                self._refuse(dialect, problem)

        return admit

    def _unary(self, dialect: GrpcDialect, operation: Operation) -> UnaryRpc:
        async def handle(params: bytes, context: Context) -> bytes:
            try:
                answer = await self._perform(dialect, operation, params, context)
            except Exception as problem:  # noqa: BLE001 - whatever went wrong, the peer gets an answer
                self._refuse(dialect, problem)
            if answer.headers:
                context.send_initial_metadata(_as_metadata(answer.headers))
            return answer.body

        return handle

    def _streaming(self, dialect: GrpcDialect, operation: Operation) -> UnaryRpc:
        async def handle(params: bytes, context: Context) -> None:
            try:
                answer = await self._perform(dialect, operation, params, context)
                if answer.events is not None:
                    await self._follow(answer.events, answer, context)
            except Exception as problem:  # noqa: BLE001 - whatever ends a stream is told its reader
                # Reference, 5: an error within a stream is the final status of the call.
                self._refuse(dialect, problem)

        return handle

    async def _perform(
        self, dialect: GrpcDialect, operation: Operation, params: bytes, context: Context
    ) -> Answer:
        """Have an operation performed, to its end even if the caller leaves.

        What is done may be shared with others (a commit, a send that is repeated).
        """
        incoming = context.incoming or await self._let_in(context)
        return await self._performs.serve_rpc(dialect, operation, params, incoming)

    async def _let_in(self, context: Context) -> IncomingRequest:
        incoming = IncomingRpc(context)
        incoming.principal = await self._enter(incoming)
        return incoming

    async def _follow(self, events: EventStream, answer: Answer, context: Context) -> None:
        """Send events as they come; an empty batch is a heartbeat, for which HTTP/2 has pings."""
        writer = answer.dialect.frame_writer()
        metadata = _as_metadata(answer.headers)
        has_begun = False
        try:
            context.allow_cancel()
            async for batch in events:
                if batch and not has_begun:
                    has_begun = True
                    context.send_initial_metadata((*metadata, *_place(batch[0])))
                for event in batch:
                    for frame in writer.write(event):
                        context.write(frame)
                        if context.is_full:
                            await self._drain(context)
                    if writer.has_ended:
                        return
        finally:
            await events.aclose()

    async def _drain(self, context: Context) -> None:
        try:
            async with asyncio.timeout(self._stall_seconds):
                await context.drain()
        except TimeoutError:
            _logger.info(
                "a stream to %s is cut: its reader took nothing for too long", context.peer.address
            )
            # It hears of it should it ever read again; until then one frame waits for it.
            raise UnavailableError("The stream was not read for too long") from None

    def _refuse(self, dialect: GrpcDialect, problem: Exception) -> NoReturn:
        code, details, trailer = dialect.encode_status(self._performs.explain(problem))
        trailing: tuple[tuple[str, bytes], ...] = ((STATUS_DETAILS, trailer),)
        if len(details.encode()) + len(trailer) > MAX_STATUS_BYTES:
            # The trailer repeats the text. What is left says the same, if not in full.
            details, trailing = details[: MAX_STATUS_BYTES // 4], ()
        raise GrpcFailedError(code, details, trailing) from None


def _place(first: EventDocument) -> Metadata:
    """Tell where a stream begins, unless its frame has no place in a log."""
    return ((EVENT_ID, str(first.seq)),) if first.seq else ()


def _as_metadata(headers: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
