import asyncio
from collections.abc import Iterator

import pytest

from dragoman.errors import UnauthenticatedError, UnavailableError, UsageError
from dragoman.push.sender_keys import SenderKeys
from dragoman.testing.clock import FakeClock
from tests.unit.push.receiving import Sender, served_app

ONE, TWO = Sender("one"), Sender("two")


class Document:
    """A key set that changes; ``asked`` counts who has looked at it."""

    def __init__(self, *answers: tuple[int, object]) -> None:
        self.asked = 0
        self._answers: Iterator[tuple[int, object]] = iter(answers)

    def __call__(self) -> tuple[int, object]:
        self.asked += 1
        return next(self._answers)


def keys_at(url: str, clock: FakeClock) -> SenderKeys:
    return SenderKeys(keys=None, url=url, http=None, clock=clock)


async def test_keys_that_were_given_are_found_by_their_name() -> None:
    keys = SenderKeys(keys=ONE.jwks, url="", http=None, clock=FakeClock())
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
