"""What the checker asks an agent through: interfaces of its card, with the user's secrets.

What goes wrong on the way is told to the checks in one form; nothing of what is carried is read.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.errors import CredentialsError, MissingCredentialsError
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.requirements import Held, choose
from dragoman.bindings.grpc.base import is_installed
from dragoman.cli.session.wire_log import WireLog
from dragoman.client.discovery.addresses import GrpcTarget, grpc_target, reachable_url
from dragoman.client.errors import ClientError
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.tls import Tls
from dragoman.conformance.cards import Declared
from dragoman.conformance.forms import Form, form_of
from dragoman.conformance.interface import Interface
from dragoman.conformance.lines import HttpReply, HttpRequest, NoAnswerError, RpcStatusError
from dragoman.conformance.over_jsonrpc import JsonRpcInterface
from dragoman.conformance.over_rest import RestInterface
from dragoman.dialects.registry import NEWEST
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard

__all__ = (
    "ChannelLine",
    "NotSpokenError",
    "Opener",
    "PoolLine",
)


_UNAVAILABLE: Final = 14
_DETAILS: Final = "grpc-status-details-bin"


class PoolLine:
    """A line over HTTP; the pool is not closed here.

    Args:
        read_seconds: how long to wait for the next bytes.
    """

    def __init__(self, pool: HttpPool, headers: RequestHeaders, *, read_seconds: float) -> None:
        self._pool = pool
        self._request_headers = headers
        self._read_seconds = read_seconds

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncGenerator[HttpReply]:
        """Send a request; the body of the reply is read inside."""
        try:
            attached = await self._request_headers.attachment_for(request.url)
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
        self, target: GrpcTarget, headers: RequestHeaders, *, tls: Tls, log: WireLog
    ) -> None:
        self._target = target
        self._request_headers = headers
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
            attached = await self._request_headers.attachment_for(self._target.origin)
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


class NotSpokenError(Exception):
    """An interface cannot be asked from here; the text says why."""


class Opener(Struct, frozen=True, kw_only=True):
    """Opens the interfaces of one card.

    Attributes:
        card: what was read of it; None if that could not be done, and then nothing is shown to
            the agent: nobody can tell what it asks for.
        url: where the card was; "" if it is the user's own.
        headers: what goes along to the origin of the card.
        held: what can be shown to the agent.
        stack: closes what was opened, when all is done.
        pool: connections over HTTP that need no certificate of the client.
    """

    card: AgentCard | None
    url: str
    headers: dict[str, str]
    held: Held | None
    tls: Tls
    log: WireLog
    stack: AsyncExitStack
    pool: HttpPool
    read_seconds: float

    async def card_headers(self) -> dict[str, str]:
        """Return the headers that the card comes with; none if it does not come again."""
        line = PoolLine(self.pool, self._bare_headers(self.url), read_seconds=self.read_seconds)
        request = HttpRequest(verb="GET", url=self.url, headers={"A2A-Version": str(NEWEST)})
        try:
            async with line.exchange(request) as reply:
                return dict(reply.headers)
        except NoAnswerError:
            return {}

    async def open(self, declared: Declared) -> Interface:
        """Open an interface.

        Raises:
            NotSpokenError: that cannot be done.
        """
        if declared.binding == "GRPC":
            return await self._open_grpc(declared)
        if declared.binding not in ("JSONRPC", "HTTP+JSON"):
            raise NotSpokenError(f"{declared.binding} is no binding of A2A")
        url = reachable_url(declared.url, self.url)
        if not url.startswith(("http://", "https://")):
            raise NotSpokenError(f"{declared.url!r} is no URL of HTTP")
        line = await self._http_line(url)
        form = _form_of(declared)
        if declared.binding == "JSONRPC":
            return JsonRpcInterface(
                line, url, version=declared.version, form=form, tenant=declared.tenant
            )
        return RestInterface(line, url, version=declared.version, tenant=declared.tenant)

    async def _open_grpc(self, declared: Declared) -> Interface:
        _form_of(declared)
        target = grpc_target(declared.url, self.url)
        if target is None:
            raise NotSpokenError(f"{declared.url!r} is no address of gRPC")
        if self.tls.is_insecure or not is_installed():
            raise NotSpokenError("gRPC is not installed, or cannot do without verification")
        # This imports protobuf, which is optional and takes its time.
        from dragoman.conformance.over_grpc import GrpcInterface  # noqa: PLC0415 - see above

        line = await self._grpc_line(target)
        return GrpcInterface(line, version=declared.version, tenant=declared.tenant)

    async def _http_line(self, url: str) -> PoolLine:
        headers, tls = self._request_headers(origin_of(url))
        pool = self.pool
        if tls is not self.tls:
            pool = await self.stack.enter_async_context(aclosing(HttpPool(tls)))
        return PoolLine(pool, headers, read_seconds=self.read_seconds)

    async def _grpc_line(self, target: GrpcTarget) -> ChannelLine:
        headers, tls = self._request_headers(target.origin)
        line = ChannelLine(target, headers, tls=tls, log=self.log)
        return await self.stack.enter_async_context(aclosing(line))

    def _request_headers(self, origin: str) -> tuple[RequestHeaders, Tls]:
        own = origin_of(self.url) if self.url else ""
        if self.held is None or self.card is None:
            return self._bare_headers(origin), self.tls
        try:
            choice = choose(self.card, self.held, origin=origin, own_origin=own)
        except MissingCredentialsError as problem:
            raise NotSpokenError(str(problem)) from problem
        certificate = choice.certificate
        tls = self.tls if certificate is None else replace(self.tls, certificate=certificate)
        return RequestHeaders(own or origin, self.headers, choice), tls

    def _bare_headers(self, url: str) -> RequestHeaders:
        return RequestHeaders(origin_of(self.url or url), self.headers)


def _form_of(declared: Declared) -> Form:
    form = form_of(declared.binding, declared.version)
    if form is None:
        raise NotSpokenError(f"{declared.version} is checked over JSON-RPC only, and from 0.2 on")
    return form
