"""Dialer: opens the transport of an offer, in its dialect and with the credentials for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.requirements import Choice, Held, choose
from dragoman.client.transports.grpc import GrpcTransport
from dragoman.client.transports.http import HttpTransport
from dragoman.client.transports.http_pool import HttpPool
from dragoman.client.transports.jsonrpc import RpcFraming
from dragoman.client.transports.request_headers import RequestHeaders
from dragoman.client.transports.rest import RestFraming
from dragoman.client.transports.tls import Tls
from dragoman.dialects.registry import called_rest, called_routes, called_rpc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.client.discovery.offers import Offer
    from dragoman.client.transports.base import Framing, Transport
    from dragoman.dialects.legacy.file_bytes import FileBytes
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard

__all__ = ("Dialer",)

_logger = logging.getLogger(__name__)


class Dialer:
    """Opens transports to one agent.

    Args:
        pool: the connections over HTTP that need no certificate of the client.
        own_origin: the agent's, as the user has named it; "" if the card is the user's own.
        held: what the user can show.
        marks: what the params of each JSON-RPC request say beside what they are.
        likely: how the agent has file content in protobuf, as far as its card was a sign of it.
    """

    def __init__(
        self,
        card: AgentCard,
        pool: HttpPool,
        tls: Tls,
        *,
        own_origin: str,
        headers: Mapping[str, str],
        held: Held | None,
        marks: JsonObject | None = None,
        likely: FileBytes | None = None,
    ) -> None:
        self._card = card
        self._pool = pool
        self._tls = tls
        self._own_origin = own_origin
        self._headers = headers
        self._held = held
        self._marks = marks or {}
        self._likely: FileBytes | None = likely
        self._pools: list[HttpPool] = []

    def open(self, offer: Offer) -> Transport:
        """Open the transport of an offer; it connects when it is used.

        Raises:
            MissingCredentialsError: the agent wants to see what the user does not have.
        """
        origin = origin_of(offer.url)
        choice = self._choose(origin)
        request_headers = RequestHeaders(self._own_origin or origin, self._headers, choice)
        tls, pool = self._tls, self._pool
        if choice is not None and choice.certificate is not None:
            tls = replace(tls, certificate=choice.certificate)
            pool = HttpPool(tls)
            self._pools.append(pool)
        if offer.binding == "GRPC":
            # This imports protobuf, which is optional and takes its time.
            from dragoman.bindings.grpc.services import called_grpc  # noqa: PLC0415 - see above

            dialect = called_grpc(offer.version, self._likely)
            return GrpcTransport(dialect, offer.url, offer.version, request_headers, tls=tls)
        return HttpTransport(_framing(offer, self._marks, self._likely), pool, request_headers)

    async def aclose(self) -> None:
        """Close the connections that were made for transports of this dialer alone."""
        for pool in self._pools:
            await pool.aclose()

    def _choose(self, origin: str) -> Choice | None:
        if self._held is None:
            return None
        choice = choose(self._card, self._held, origin=origin, own_origin=self._own_origin)
        for reason in choice.left_out:
            _logger.warning("a credential is not sent: %s", reason)
        return choice


def _framing(offer: Offer, marks: JsonObject, likely: FileBytes | None) -> Framing:
    if offer.binding == "JSONRPC":
        return RpcFraming(called_rpc(offer.form), offer.url, offer.version, marks)
    dialect, routes = called_rest(offer.form, likely), called_routes(offer.form)
    return RestFraming(dialect, offer.url, offer.version, routes)
