"""gRPC's health service: probes and load balancers ask it whether to send calls here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from google.protobuf.message import DecodeError

from dragoman.errors import InvalidRequestError
from dragoman.server.grpc.calls import Context
from dragoman.server.grpc.descriptors import HEALTH, SERVING_STATUS, message_class

__all__ = ("Health", "UnknownServiceError")

WATCH_SECONDS: Final = 1.0
"""How often one who watches is looked after."""


class UnknownServiceError(Exception):
    """The service that was asked for is not one of ours."""


class Health:
    """Tells for every service the same: whether the agent can take work.

    Args:
        services: the full names of what is served; "" stands for all of it.
    """

    def __init__(self, services: Iterable[str], is_ready: Callable[[], bool]) -> None:
        self._services = frozenset({"", *services})
        self._is_ready = is_ready

    def check(self, request: bytes) -> bytes:
        """Answer a Check.

        Raises:
            InvalidRequestError: the bytes are no request.
            UnknownServiceError: it asks for a service that is not served.
        """
        status = self._status(_read(request))
        if status == "SERVICE_UNKNOWN":
            raise UnknownServiceError
        return _write(status)

    async def watch(self, request: bytes, context: Context) -> None:
        """Answer a Watch: the status now, and again whenever it changes."""
        service = _read(request)
        told = ""
        while True:
            status = self._status(service)
            if status != told:
                context.write(_write(status))
                await context.drain()
                told = status
            await asyncio.sleep(WATCH_SECONDS)

    def _status(self, service: str) -> str:
        if service not in self._services:
            return "SERVICE_UNKNOWN"
        return "SERVING" if self._is_ready() else "NOT_SERVING"


def _read(request: bytes) -> str:
    asked = message_class(f"{HEALTH}.HealthCheckRequest")()
    try:
        asked.ParseFromString(request)
    except DecodeError:
        raise InvalidRequestError("This is no request for a health check") from None
    return asked.service


def _write(status: str) -> bytes:
    response = message_class(f"{HEALTH}.HealthCheckResponse")(status=SERVING_STATUS.index(status))
    return response.SerializeToString()
