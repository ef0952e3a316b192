import asyncio
from typing import Any, cast

import pytest

from dragoman.errors import InvalidRequestError
from dragoman.server.grpc import standard_services as grpc_health
from dragoman.server.grpc.calls import Context
from dragoman.server.grpc.descriptors import message_class
from dragoman.server.grpc.standard_services import Health, UnknownServiceError

SERVING, NOT_SERVING, SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"


def asking(service: str) -> bytes:
    request: Any = message_class("grpc.health.v1.HealthCheckRequest")(service=service)
    return request.SerializeToString()


@pytest.mark.parametrize("service", ["", "a2a.v1.A2AService"])
@pytest.mark.parametrize(("is_ready", "status"), [(True, SERVING), (False, NOT_SERVING)])
def test_every_service_is_as_ready_as_the_agent(
    service: str, status: bytes, *, is_ready: bool
) -> None:
    health = Health(["a2a.v1.A2AService"], lambda: is_ready)
    assert health.check(asking(service)) == status


def test_a_service_that_is_not_served_is_unknown() -> None:
    with pytest.raises(UnknownServiceError):
        Health(["one"], lambda: True).check(asking("two"))


def test_bytes_that_are_no_request_are_refused() -> None:
    with pytest.raises(InvalidRequestError):
        Health([], lambda: True).check(b"\xff")


class Watching:
    """Takes what is written; ``is_ready`` follows ``states``, one for each look: + or -."""

    def __init__(self, states: str = "+") -> None:
        self.written: list[bytes] = []
        self.all_looked_at = asyncio.Event()
        self._states = [state == "+" for state in states]

    def write(self, message: bytes) -> None:
        self.written.append(message)

    async def drain(self) -> None:
        """Be done: it takes everything at once."""

    def is_ready(self) -> bool:
        if len(self._states) == 1:
            self.all_looked_at.set()
            return self._states[0]
        return self._states.pop(0)


async def watched(watching: Watching, service: str) -> list[bytes]:
    health = Health(["one"], watching.is_ready)
    watch = asyncio.ensure_future(health.watch(asking(service), cast("Context", watching)))
    if service == "one":
        await watching.all_looked_at.wait()
    else:
        await asyncio.sleep(0.01)
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch
    return watching.written


async def test_one_who_watches_is_told_now_and_at_every_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grpc_health, "WATCH_SECONDS", 0)
    # Whoever looks at the last state has written what came before.
    watching = Watching("++--++")
    assert await watched(watching, "one") == [SERVING, NOT_SERVING, SERVING]


async def test_one_who_watches_what_is_not_served_is_told_that() -> None:
    assert await watched(Watching(), "two") == [SERVICE_UNKNOWN]


async def test_one_who_watches_with_bytes_that_are_no_request_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        await Health([], lambda: True).watch(b"\xff", cast("Context", Watching()))
