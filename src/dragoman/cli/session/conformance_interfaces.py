"""Opener: from an interface that a card declares to one that the checks can ask."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.errors import MissingCredentialsError
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.requirements import Held, choose
from dragoman.bindings.grpc.base import is_installed
from dragoman.cli.session.conformance_lines import ChannelLine, PoolLine
from dragoman.cli.session.wire_log import WireLog
from dragoman.client.discovery.addresses import GrpcTarget, grpc_target, reachable_url
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.tls import Tls
from dragoman.conformance.cards import Declared
from dragoman.conformance.forms import FORM_0_3, FORM_1_0
from dragoman.conformance.interface import Interface
from dragoman.conformance.lines import HttpRequest, NoAnswerError
from dragoman.conformance.over_jsonrpc import JsonRpcInterface
from dragoman.conformance.over_rest import RestInterface
from dragoman.model.cards import AgentCard

__all__ = ("NotSpokenError", "Opener")

# What the checker speaks; older versions have forms of their own on the other bindings.
_RPC_FORMS: Final = {"1.0": FORM_1_0, "0.3": FORM_0_3, "0.2": FORM_0_3}


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
        line = PoolLine(self.pool, self._bare_escort(self.url), read_seconds=self.read_seconds)
        request = HttpRequest(verb="GET", url=self.url, headers={"A2A-Version": "1.0"})
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
        form = _RPC_FORMS.get(declared.version)
        if declared.binding == "JSONRPC" and form is not None:
            return JsonRpcInterface(
                line, url, version=declared.version, form=form, tenant=declared.tenant
            )
        _check_version(declared)
        return RestInterface(line, url, version=declared.version, tenant=declared.tenant)

    async def _open_grpc(self, declared: Declared) -> Interface:
        _check_version(declared)
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
        escort, tls = self._escort(origin_of(url))
        pool = self.pool
        if tls is not self.tls:
            pool = await self.stack.enter_async_context(aclosing(HttpPool(tls)))
        return PoolLine(pool, escort, read_seconds=self.read_seconds)

    async def _grpc_line(self, target: GrpcTarget) -> ChannelLine:
        escort, tls = self._escort(target.origin)
        line = ChannelLine(target, escort, tls=tls, log=self.log)
        return await self.stack.enter_async_context(aclosing(line))

    def _escort(self, origin: str) -> tuple[RequestHeaders, Tls]:
        own = origin_of(self.url) if self.url else ""
        if self.held is None or self.card is None:
            return self._bare_escort(origin), self.tls
        try:
            choice = choose(self.card, self.held, origin=origin, own_origin=own)
        except MissingCredentialsError as problem:
            raise NotSpokenError(str(problem)) from problem
        certificate = choice.certificate
        tls = self.tls if certificate is None else replace(self.tls, certificate=certificate)
        return RequestHeaders(own or origin, self.headers, choice), tls

    def _bare_escort(self, url: str) -> RequestHeaders:
        return RequestHeaders(origin_of(self.url or url), self.headers)


def _check_version(declared: Declared) -> None:
    if declared.version != "1.0":
        raise NotSpokenError(f"{declared.version} is checked over JSON-RPC only, and from 0.2 on")
