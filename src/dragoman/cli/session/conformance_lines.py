"""The lines of the checker: bytes to an agent and back, with the user's certificates and secrets.

What goes wrong on the way is told to the checks in one form; nothing of what is carried is read.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlencode

from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.cli.session.wire_log import WireLog
from dragoman.client.discovery.addresses import GrpcTarget
from dragoman.client.errors import ClientError
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.tls import Tls
from dragoman.conformance.lines import HttpReply, HttpRequest, NoAnswerError, RpcStatusError
from dragoman.errors import UsageError

__all__ = ("ChannelLine", "PoolLine")

_UNAVAILABLE: Final = 14
_DETAILS: Final = "grpc-status-details-bin"


class PoolLine:
    """A line over HTTP; the pool is not closed here.

    Args:
        read_seconds: how long to wait for the next bytes.
    """

    def __init__(self, pool: HttpPool, escort: RequestHeaders, *, read_seconds: float) -> None:
        self._pool = pool
        self._escort = escort
        self._read_seconds = read_seconds

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncGenerator[HttpReply]:
        """Send a request; the body of the reply is read inside."""
        try:
            attached = await self._escort.attachment_for(request.url)
            url = request.url
            if attached.query:
                url += f"{'&' if '?' in url else '?'}{urlencode(attached.query)}"
            async with self._pool.exchange(
                request.verb,
                url,
                headers={**attached.http_headers(request.body), **request.headers},
                body=request.body,
                read_seconds=self._read_seconds,
            ) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                yield HttpReply(response.status_code, headers, _chunks(response.aiter_bytes()))
        except (ClientError, CredentialsError, UsageError) as problem:
            raise NoAnswerError(str(problem)) from problem


async def _chunks(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in body:
        yield chunk


class ChannelLine:
    """A line over gRPC, on a channel of its own."""

    def __init__(
        self, target: GrpcTarget, escort: RequestHeaders, *, tls: Tls, log: WireLog
    ) -> None:
        self._target = target
        self._escort = escort
        self._tls = tls
        self._log = log
        # The library comes without types, is optional, and takes its time to import.
        self._grpc: Any = importlib.import_module("grpc")
        self._aio: Any = importlib.import_module("grpc.aio")
        self._channel: Any = None

    async def call(
        self, path: str, message: bytes, metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        """Call a method and yield the messages that come, until the server ends the call."""
        channel = self._channel = self._channel or self._open()
        try:
            attached = await self._escort.attachment_for(self._target.origin)
        except CredentialsError as problem:
            raise NoAnswerError(str(problem)) from problem
        self._log.tell(">", f"{path} {len(message)} bytes")
        # On the wire a call with one answer is a stream of one.
        call = channel.unary_stream(path)(
            message, metadata=(*attached.grpc_metadata(), *metadata.items())
        )
        try:
            while (data := await call.read()) is not self._aio.EOF:
                self._log.tell("<", f"{len(data)} bytes")
                yield data
        except self._aio.AioRpcError as problem:
            raise self._told(problem) from None
        finally:
            call.cancel()
            # Until it has ended, gRPC holds on to the event loop.
            await call.code()

    async def aclose(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            await channel.close()

    def _open(self) -> Any:
        # A channel of its own has connections of its own, which end with it.
        options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0))
        if not self._target.is_secure:
            return self._aio.insecure_channel(self._target.address, options=options)
        credentials = self._grpc.ssl_channel_credentials(**self._tls.grpc())
        return self._aio.secure_channel(self._target.address, credentials, options=options)

    def _told(self, problem: Any) -> Exception:
        code: int = problem.code().value[0]
        details: str = problem.details() or ""
        trailing: dict[str, bytes] = dict(problem.trailing_metadata() or ())
        self._log.tell("<", f"status {code} {details}")
        if code == _UNAVAILABLE and _DETAILS not in trailing:
            return NoAnswerError(f"{self._target.origin}: {details}")
        return RpcStatusError(code, details, trailing.get(_DETAILS))
