import asyncio
from collections.abc import Iterator
from typing import cast

import pytest

from dragoman.auth.shared.issuer_keys import IssuerKeys
from dragoman.errors import UnauthenticatedError, UnavailableError, UsageError
from dragoman.testing.clock import FakeClock
from tests.support.push.receiving import Sender, served_app

ONE, TWO = Sender("one"), Sender("two")


class Document:
    """A key set that changes; ``asked`` counts who has looked at it."""

    def __init__(self, *answers: tuple[int, object]) -> None:
        self.asked = 0
        self._answers: Iterator[tuple[int, object]] = iter(answers)

    def __call__(self) -> tuple[int, object]:
        self.asked += 1
        return next(self._answers)


def keys_at(url: str, clock: FakeClock) -> IssuerKeys:
    return IssuerKeys(url=url, clock=clock)


async def test_keys_that_were_given_are_found_by_their_name() -> None:
    keys = IssuerKeys(keys=ONE.jwks, clock=FakeClock())
    assert [key.kid for key in await keys.find("one")] == ["one"]
    with pytest.raises(UnauthenticatedError, match="the key is not known"):
        await keys.find("two")


async def test_keys_are_fetched_once_and_again_when_one_is_missing() -> None:
    document = Document((200, ONE.jwks), (200, TWO.jwks))
    clock = FakeClock()
    async with served_app(document) as url:
        keys = keys_at(url, clock)
        for _ in range(3):
            assert await keys.find("one")
        assert document.asked == 1
        clock.advance(10)
        assert await keys.find("two")
        # What the sender has withdrawn is no longer good.
        with pytest.raises(UnauthenticatedError, match="the key is not known"):
            await keys.find("one")
    assert document.asked == 2


async def test_many_who_look_for_keys_at_once_fetch_them_once() -> None:
    document = Document((200, ONE.jwks))
    async with served_app(document) as url:
        keys = keys_at(url, FakeClock())
        async with asyncio.TaskGroup() as group:
            found = [group.create_task(keys.find("one")) for _ in range(10)]
    assert all(each.result() for each in found)
    assert document.asked == 1


async def test_an_address_that_fails_is_left_alone_for_a_while() -> None:
    document = Document((200, ONE.jwks), (500, {}), (200, TWO.jwks))
    clock = FakeClock()
    async with served_app(document) as url:
        keys = keys_at(url, clock)
        assert await keys.find("one")
        clock.advance(10)
        for _ in range(3):
            with pytest.raises(UnavailableError) as caught:
                await keys.find("two")
            assert caught.value.retry_after_seconds == 10
        assert document.asked == 2
        # Meanwhile the keys of before are as good as they were.
        assert await keys.find("one")
        clock.advance(10)
        assert await keys.find("two")
    assert document.asked == 3


async def test_an_address_that_nobody_serves_is_no_proof_against_the_sender() -> None:
    with pytest.raises(UnavailableError, match="cannot be fetched now"):
        await keys_at("http://127.0.0.1:1/jwks.json", FakeClock()).find("one")


def test_keys_are_not_fetched_where_others_can_change_them() -> None:
    with pytest.raises(UsageError, match="by https alone"):
        keys_at("http://keys.example/jwks.json", FakeClock())


async def test_a_fetch_that_is_given_up_keeps_nobody_from_the_keys() -> None:
    clock = FakeClock()
    started, released = asyncio.Event(), asyncio.Event()

    async def locate() -> str:
        started.set()
        await released.wait()
        return url

    async with served_app(Document((200, ONE.jwks))) as url:
        keys = IssuerKeys(locate=locate, clock=clock)
        async with asyncio.TaskGroup() as group:
            given_up = group.create_task(keys.find("one"))
            await started.wait()
            given_up.cancel()
        released.set()
        # Not at once: nobody can have them fetched all the time that way.
        with pytest.raises(UnavailableError):
            await keys.find("one")
        clock.advance(1)
        assert await keys.find("one")


async def test_keys_that_cannot_be_fetched_again_are_good_for_an_hour() -> None:
    document = Document((200, ONE.jwks), (500, None), (500, None))
    clock = FakeClock()
    async with served_app(document) as url:
        keys = keys_at(url, clock)
        assert await keys.find("one")
        clock.advance(300)
        assert await keys.find("one")
        clock.advance(3299)
        assert await keys.find("one")
        clock.advance(1)
        with pytest.raises(UnavailableError):
            await keys.find("one")
    assert document.asked == 3


async def test_a_set_may_have_keys_that_are_no_use() -> None:
    [good] = cast("list[dict[str, object]]", ONE.jwks["keys"])
    useless = [{**good, "use": "enc", "kid": "enc"}, {"kty": "oct", "k": "AA", "kid": "oct"}, {}]
    keys = IssuerKeys(keys={"keys": [*useless, good]}, clock=FakeClock())
    assert [key.kid for key in await keys.find("one")] == ["one"]
    for kid in ("enc", "oct"):
        with pytest.raises(UnauthenticatedError):
            await keys.find(kid)
    # A token that names no key is tried with those that are left.
    assert [key.kid for key in await keys.find("")] == ["one"]
    with pytest.raises(UsageError, match="no key that signatures can be verified with"):
        IssuerKeys(keys={"keys": useless}, clock=FakeClock())


async def test_a_key_that_is_not_in_force_is_no_key() -> None:
    [key] = cast("list[dict[str, object]]", ONE.jwks["keys"])
    keys = IssuerKeys(keys={"keys": [{**key, "exp": 1}]}, clock=FakeClock())
    with pytest.raises(UnauthenticatedError):
        await keys.find("one")
