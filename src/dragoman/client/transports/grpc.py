"""GrpcTransport: one interface over gRPC, on a channel of its own.

The library is optional, takes its time to import and comes without types: this is the one place of
the client that knows it.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import ssl
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from dragoman import telemetry
from dragoman.bindings.grpc.base import EVENT_ID, STATUS_DETAILS
from dragoman.bindings.sse import MAX_EVENT_BYTES
from dragoman.client.errors import CutError, ProtocolError, TimedOutError, UnreachableError
from dragoman.client.transports.base import (
    MAX_STREAM_BYTES,
    Batch,
    Frame,
    number_of,
    reading,
    version_headers,
)
from dragoman.client.transports.http import ANSWER_SECONDS, IDLE_SECONDS, SEND_SECONDS
from dragoman.client.transports.http_pool import CONNECT_SECONDS
from dragoman.dialects.negotiation import V1_0
from dragoman.errors import MethodNotFoundError
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from dragoman.bindings.grpc.base import GrpcDialect
    from dragoman.client.transports.request_headers import RequestHeaders
    from dragoman.client.transports.tls import Tls
    from dragoman.dialects.base import Received
    from dragoman.dialects.negotiation import Version
    from dragoman.model.operations import Request

__all__ = ("GrpcTransport", "PinnedCertificate", "pinned")

_logger = logging.getLogger(__name__)

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_EVENT_BYTES),
    ("grpc.max_send_message_length", -1),
    # A channel of its own has connections of its own, which end with it.
    ("grpc.use_local_subchannel_pool", 1),
    # Trying again is for those to decide who know what was asked.
    ("grpc.enable_retries", 0),
)

_DEADLINE_EXCEEDED: Final = 4
_UNIMPLEMENTED: Final = 12
_INTERNAL: Final = 13
_LINE_LOST: Final = (1, 14)
"""CANCELLED and UNAVAILABLE: without details they are gRPC's own words for a lost connection."""


class GrpcTransport:
    """One interface over gRPC.

    Args:
        url: the origin to connect to; https is by TLS.
    """

    def __init__(
        self,
        dialect: GrpcDialect,
        url: str,
        version: Version,
        request_headers: RequestHeaders,
        *,
        tls: Tls,
        idle_seconds: float = IDLE_SECONDS,
        max_stream_bytes: int = MAX_STREAM_BYTES,
    ) -> None:
        self._dialect = dialect
        self._url = url
        self._version = version
        self._request_headers = request_headers
        self._tls = tls
        self._idle_seconds = idle_seconds
        self._max_stream_bytes = max_stream_bytes
        self._grpc: Any = importlib.import_module("grpc")
        self._aio: Any = importlib.import_module("grpc.aio")
        self._channel: Any = None
        self._connecting = asyncio.Lock()

    async def call(
        self, operation: Operation, request: Request, extensions: tuple[str, ...]
    ) -> Received:
        """Perform a unary operation."""
        message = self._dialect.encode_request(operation, request)
        channel = await self._connected()
        metadata = await self._metadata(extensions)
        is_send = operation is Operation.SEND_MESSAGE
        try:
            answer: bytes = await channel.unary_unary(self._path(operation))(
                message, metadata=metadata, timeout=SEND_SECONDS if is_send else ANSWER_SECONDS
            )
        except self._aio.AioRpcError as problem:
            raise self._told(problem) from None
        with reading(self._url):
            return self._dialect.decode_result(operation, answer)

    async def stream(
        self, operation: Operation, request: Request, extensions: tuple[str, ...], cursor: int
    ) -> AsyncGenerator[Batch]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream."""
        message = self._dialect.encode_request(operation, request)
        channel = await self._connected()
        metadata = await self._metadata(extensions)
        if cursor:
            metadata = (*metadata, (EVENT_ID, str(cursor)))
        call = channel.unary_stream(self._path(operation))(message, metadata=metadata)
        # Until the first frame the agent may be at work on the request.
        seconds = SEND_SECONDS if operation is Operation.SEND_STREAMING_MESSAGE else ANSWER_SECONDS
        seq: int | None = None
        told = 0
        try:
            while (data := await self._read(call, seconds)) is not None:
                told += len(data)
                if told > self._max_stream_bytes:
                    finding = f"the stream has more than {self._max_stream_bytes} bytes"
                    raise ProtocolError(self._url, finding)
                seq = _next(seq) if seq is not None else self._first(await call.initial_metadata())
                with reading(self._url):
                    event = self._dialect.decode_event(data)
                seconds = self._idle_seconds
                yield (Frame(seq, event),)
        except self._aio.AioRpcError as problem:
            raise self._told(problem) from None
        finally:
            call.cancel()
            # Until it has ended, gRPC holds on to the event loop.
            await call.code()

    def renew(self) -> bool:
        """Note that what was shown was refused; tell whether other can be shown."""
        return self._request_headers.renew()

    async def aclose(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            await channel.close()

    async def _connected(self) -> Any:
        """Return the channel, once it is connected: what fails before has not been sent."""
        # One at a time: who finds no connection throws the channel away, which would go on trying
        # by itself, with pauses of its own.
        async with self._connecting:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    channel = self._channel = self._channel or await self._open()
                    if await self._is_ready(channel):
                        return channel
                finding = "no connection for gRPC could be made"
            except TimeoutError:
                finding = "connecting takes too long"
            await self.aclose()
            raise UnreachableError(self._url, finding)

    async def _is_ready(self, channel: Any) -> bool:
        """Wait until a channel is connected or has failed to."""
        states = self._grpc.ChannelConnectivity
        while (state := channel.get_state(try_to_connect=True)) is not states.READY:
            if state in (states.TRANSIENT_FAILURE, states.SHUTDOWN):
                return False
            await channel.wait_for_state_change(state)
        return True

    async def _open(self) -> Any:
        url = urlsplit(self._url)
        if url.scheme != "https":
            return self._aio.insecure_channel(url.netloc, options=_OPTIONS)
        known, options = self._tls.grpc(), _OPTIONS
        if self._tls.is_insecure:
            _logger.warning("THE CERTIFICATE OF %s IS NOT VERIFIED", self._url)
            shown = await pinned(self._url, self._tls)
            known["root_certificates"] = shown.pem
            options = (*options, ("grpc.ssl_target_name_override", shown.name))
        credentials = self._grpc.ssl_channel_credentials(**known)
        return self._aio.secure_channel(url.netloc, credentials, options=options)

    async def _read(self, call: Any, seconds: float) -> bytes | None:
        try:
            async with asyncio.timeout(seconds):
                data = await call.read()
        except TimeoutError:
            raise CutError(self._url, f"nothing came for {seconds:g} seconds") from None
        return None if data is self._aio.EOF else data

    async def _metadata(self, extensions: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        attached = await self._request_headers.attachment_for(self._url)
        stated = version_headers(self._version, extensions)
        if telemetry.active is not None:
            stated |= telemetry.active.outgoing()
        return (
            *attached.grpc_metadata(),
            *((name.lower(), value) for name, value in stated.items()),
        )

    def _path(self, operation: Operation) -> str:
        return f"/{self._dialect.service}/{self._dialect.rpc(operation)}"

    def _first(self, metadata: Any) -> int:
        """Return the number of a stream's first frame; only 1.0 counts them."""
        stated = dict(metadata).get(EVENT_ID, "") if self._version >= V1_0 else ""
        return number_of(str(stated))

    def _told(self, problem: Any) -> Exception:
        """Return what a failed call means: the agent's refusal, or what became of the line."""
        code: int = problem.code().value[0]
        details: str = problem.details() or ""
        trailing: dict[str, bytes] = dict(problem.trailing_metadata() or ())
        if STATUS_DETAILS in trailing:
            return self._dialect.decode_status(code, details, trailing[STATUS_DETAILS])
        if code == _DEADLINE_EXCEEDED:
            return TimedOutError(f"{self._url} did not answer in time")
        if code in _LINE_LOST or (code == _INTERNAL and "RST_STREAM" in details):
            return CutError(self._url, details or "the call was ended")
        told = self._dialect.decode_status(code, details, None)
        # So gRPC itself says that there is no such method; 0.3 also says it of errors, by name.
        is_bare = not details or told.message == details
        return MethodNotFoundError(details or None) if code == _UNIMPLEMENTED and is_bare else told


def _next(seq: int) -> int:
    return seq + 1 if seq else 0


class PinnedCertificate(NamedTuple):
    """A certificate as PEM, and a name that it is for."""

    pem: bytes
    name: str


async def pinned(url: str, tls: Tls) -> PinnedCertificate:
    """Return the certificate that is shown at an origin, whoever shows it.

    gRPC cannot skip the verification. So the certificate that the server shows is looked up first,
    and then trusted by its own name: as blind as skipping the verification for HTTP. But one that
    has expired stays refused, and so is another one that is shown later.

    Raises:
        UnreachableError: none could be had, or it is for no name.
        UsageError: the certificate of the client cannot be read.
    """
    context = tls.unverified()
    context.set_alpn_protocols(["h2"])
    place = urlsplit(url)
    try:
        _, writer = await asyncio.open_connection(place.hostname, place.port or 443, ssl=context)
    except OSError as problem:
        raise UnreachableError(url, str(problem) or type(problem).__name__) from problem
    shown: ssl.SSLObject = writer.get_extra_info("ssl_object")
    der = shown.getpeercert(binary_form=True)
    writer.transport.abort()
    name = _name_in(der) if der else ""
    if not der or not name:
        raise UnreachableError(url, "its certificate is for no name, which gRPC insists on")
    return PinnedCertificate(ssl.DER_cert_to_PEM_cert(der).encode(), name)


def _name_in(der: bytes) -> str:
    """Return a name that the certificate is for; "" if there is none."""
    # This takes its time to import.
    from cryptography import x509  # noqa: PLC0415 - see above

    certificate = x509.load_der_x509_certificate(der)
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = map(str, found.get_values_for_type(x509.IPAddress))
        names = [*found.get_values_for_type(x509.DNSName), *addresses]
    except (x509.ExtensionNotFound, ValueError):
        common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        names = [str(each.value) for each in common]
    # One host of those that a wildcard stands for.
    return names[0].replace("*", "host") if names else ""
