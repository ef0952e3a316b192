"""The turnstile: who counts as whom, and what an answer tells."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman.errors import RateLimitedError, TaskNotFoundError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.server.admission.concurrency import ExpiringStream, Turnstile
from dragoman.server.admission.rate_limits import RateSettings
from dragoman.server.http.exchange import Exchange
from dragoman.service.principal import Principal
from dragoman.service.service import EventStream
from dragoman.testing.clock import FakeClock

GET = Operation.GET_TASK


class Events:
    """A stream of nothing."""

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        for batch in list[tuple[EventDocument, ...]]():
            yield batch

    async def aclose(self) -> None:
        pass


async def opening() -> EventStream:
    return Events()


async def failing() -> EventStream:
    raise TaskNotFoundError("t")


async def never() -> None:
    raise AssertionError("nothing is read or sent here")


def visitor(owner: str = "", peer: str = "203.0.113.5", **headers: str) -> Exchange:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": raw, "client": (peer, 1)}
    found = Exchange(scope, never, lambda _: never())  # type: ignore[arg-type] - never called
    if owner:
        found.principal = Principal(owner=owner)
    return found


def turnstile(max_streams: int = 2, **rates: str) -> Turnstile:
    return Turnstile(
        RateSettings(**rates),  # type: ignore[arg-type] - the rates alone are set
        FakeClock(),
        max_streams=max_streams,
        trusted_proxies=("10.0.0.1",),
    )


def remaining(found: Exchange) -> bytes | None:
    return dict(found.allowance).get(b"x-ratelimit-remaining")


def test_known_callers_are_told_by_who_they_are() -> None:
    gate = turnstile(rate_limit="10/min")
    for peer in ("203.0.113.5", "203.0.113.6"):
        gate.admit(GET, visitor("alice", peer), "")
    found = visitor("alice")
    gate.admit(GET, found, "")
    assert remaining(found) == b"7"
    gate.admit(GET, other := visitor("bob"), "")
    assert remaining(other) == b"9"


def test_unknown_callers_are_told_by_where_they_are() -> None:
    gate = turnstile(rate_limit="10/min")
    gate.admit(GET, visitor(), "")
    gate.admit(GET, near := visitor(), "")
    gate.admit(GET, far := visitor(peer="203.0.113.6"), "")
    assert (remaining(near), remaining(far)) == (b"8", b"9")


def test_a_caller_cannot_pass_for_an_address() -> None:
    gate = turnstile(rate_limit="10/min")
    gate.admit(GET, visitor(), "")
    gate.admit(GET, found := visitor("203.0.113.5"), "")
    assert remaining(found) == b"9"


def test_the_address_is_the_one_behind_a_trusted_proxy() -> None:
    gate = turnstile(rate_limit_per_address="10/min")
    gate.meet(visitor(peer="10.0.0.1", x_forwarded_for="198.51.100.1"))
    gate.meet(found := visitor(peer="10.0.0.1", x_forwarded_for="198.51.100.2"))
    assert remaining(found) == b"9"


def test_what_is_left_at_the_gate_counts_for_more_than_at_the_door() -> None:
    gate = turnstile(rate_limit="100/min", rate_limit_per_address="10/min")
    found = visitor("alice")
    gate.meet(found)
    assert remaining(found) == b"9"
    gate.admit(GET, found, "")
    assert remaining(found) == b"99"


def test_a_refusal_at_the_gate_tells_its_own_allowance_alone() -> None:
    gate = turnstile(rate_limit_per_tenant="10/min", rate_limit_per_address="100/min")
    gate.admit(Operation.SEND_MESSAGE, visitor("alice"), "")
    found = visitor("alice")
    gate.meet(found)
    with pytest.raises(RateLimitedError):
        gate.admit(GET, found, "")
    assert found.allowance == ()


def test_without_limits_nothing_is_told() -> None:
    gate, found = turnstile(), visitor()
    gate.meet(found)
    gate.admit(GET, found, "")
    assert found.allowance == ()


def test_addresses_with_bad_credentials_are_stopped_at_the_door() -> None:
    gate = turnstile(rate_limit_refusals="2/min")
    for _ in range(2):
        gate.turned_away(visitor())
    with pytest.raises(RateLimitedError):
        gate.meet(visitor("whoever"))
    gate.meet(visitor(peer="203.0.113.6"))


async def test_a_caller_may_have_so_many_streams_open() -> None:
    gate = turnstile(max_streams=2)
    first = await gate.hold(visitor("alice"), opening)
    await gate.hold(visitor("alice"), opening)
    with pytest.raises(RateLimitedError, match="2 streams at once"):
        await gate.hold(visitor("alice"), opening)
    await gate.hold(visitor("bob"), opening)
    await first.aclose()
    await gate.hold(visitor("alice"), opening)


async def test_a_stream_that_does_not_open_is_not_held() -> None:
    gate = turnstile(max_streams=1)
    for _ in range(3):
        with pytest.raises(TaskNotFoundError):
            await gate.hold(visitor("alice"), failing)
    await gate.hold(visitor("alice"), opening)


async def test_a_stream_ends_with_what_its_caller_has_shown_and_counts_until_it_is_closed() -> None:
    gate, found = turnstile(max_streams=1), visitor("alice")
    found.principal = Principal(owner="alice", expires_ms=FakeClock().now_ms() + 1000)
    stream = await gate.hold(found, opening)
    assert isinstance(stream, ExpiringStream)
    with pytest.raises(RateLimitedError):
        await gate.hold(found, opening)
    await stream.aclose()
    await gate.hold(found, opening)
