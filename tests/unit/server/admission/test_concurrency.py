"""The turnstile: who counts as whom, and what an answer tells."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman.errors import RateLimitedError, TaskNotFoundError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.server.admission.concurrency import CallerLimits, ExpiringStream
from dragoman.server.http.exchange import Exchange
from dragoman.server.settings import RateSettings
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


def incoming(owner: str = "", peer: str = "203.0.113.5", **headers: str) -> Exchange:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": raw, "client": (peer, 1)}
    found = Exchange(scope, never, lambda _: never())  # type: ignore[arg-type] - never called
    if owner:
        found.principal = Principal(owner=owner)
    return found


def caller_limits(max_streams: int = 2, **rates: str) -> CallerLimits:
    return CallerLimits(
        RateSettings(max_streams_per_owner=max_streams, **rates),  # type: ignore[arg-type] - the rates alone are set
        FakeClock(),
        trusted_proxies=("10.0.0.1",),
    )


def remaining(found: Exchange) -> bytes | None:
    return dict(found.allowance).get(b"x-ratelimit-remaining")


def test_known_callers_are_told_by_who_they_are() -> None:
    validator = caller_limits(rate_limit="10/min")
    for peer in ("203.0.113.5", "203.0.113.6"):
        validator.admit(GET, incoming("alice", peer), "")
    found = incoming("alice")
    validator.admit(GET, found, "")
    assert remaining(found) == b"7"
    validator.admit(GET, other := incoming("bob"), "")
    assert remaining(other) == b"9"


def test_unknown_callers_are_told_by_where_they_are() -> None:
    validator = caller_limits(rate_limit="10/min")
    validator.admit(GET, incoming(), "")
    validator.admit(GET, near := incoming(), "")
    validator.admit(GET, far := incoming(peer="203.0.113.6"), "")
    assert (remaining(near), remaining(far)) == (b"8", b"9")


def test_a_caller_cannot_pass_for_an_address() -> None:
    validator = caller_limits(rate_limit="10/min")
    validator.admit(GET, incoming(), "")
    validator.admit(GET, found := incoming("203.0.113.5"), "")
    assert remaining(found) == b"9"


def test_the_address_is_the_one_behind_a_trusted_proxy() -> None:
    validator = caller_limits(rate_limit_per_address="10/min")
    validator.meet(incoming(peer="10.0.0.1", x_forwarded_for="198.51.100.1"))
    validator.meet(found := incoming(peer="10.0.0.1", x_forwarded_for="198.51.100.2"))
    assert remaining(found) == b"9"


def test_what_is_left_at_the_gate_counts_for_more_than_at_the_door() -> None:
    validator = caller_limits(rate_limit="100/min", rate_limit_per_address="10/min")
    found = incoming("alice")
    validator.meet(found)
    assert remaining(found) == b"9"
    validator.admit(GET, found, "")
    assert remaining(found) == b"99"


def test_a_refusal_at_the_gate_tells_its_own_allowance_alone() -> None:
    validator = caller_limits(rate_limit_per_tenant="10/min", rate_limit_per_address="100/min")
    validator.admit(Operation.SEND_MESSAGE, incoming("alice"), "")
    found = incoming("alice")
    validator.meet(found)
    with pytest.raises(RateLimitedError):
        validator.admit(GET, found, "")
    assert found.allowance == ()


def test_without_limits_nothing_is_told() -> None:
    validator, found = caller_limits(), incoming()
    validator.meet(found)
    validator.admit(GET, found, "")
    assert found.allowance == ()


def test_addresses_with_bad_credentials_are_stopped_at_the_door() -> None:
    validator = caller_limits(rate_limit_refusals="2/min")
    for _ in range(2):
        validator.turned_away(incoming())
    with pytest.raises(RateLimitedError):
        validator.meet(incoming("whoever"))
    validator.meet(incoming(peer="203.0.113.6"))


async def test_a_caller_may_have_so_many_streams_open() -> None:
    validator = caller_limits(max_streams=2)
    first = await validator.hold(incoming("alice"), opening)
    await validator.hold(incoming("alice"), opening)
    with pytest.raises(RateLimitedError, match="2 streams at once"):
        await validator.hold(incoming("alice"), opening)
    await validator.hold(incoming("bob"), opening)
    await first.aclose()
    await validator.hold(incoming("alice"), opening)


async def test_a_stream_that_does_not_open_is_not_held() -> None:
    validator = caller_limits(max_streams=1)
    for _ in range(3):
        with pytest.raises(TaskNotFoundError):
            await validator.hold(incoming("alice"), failing)
    await validator.hold(incoming("alice"), opening)


async def test_a_stream_ends_with_what_its_caller_has_shown_and_counts_until_it_is_closed() -> None:
    validator, found = caller_limits(max_streams=1), incoming("alice")
    found.principal = Principal(owner="alice", expires_ms=FakeClock().now_ms() + 1000)
    stream = await validator.hold(found, opening)
    assert isinstance(stream, ExpiringStream)
    with pytest.raises(RateLimitedError):
        await validator.hold(found, opening)
    await stream.aclose()
    await validator.hold(found, opening)
