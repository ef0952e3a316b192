import asyncio

import pytest

from dragoman.auth.outgoing.tokens import Token, TokenKeeper, TokenKey
from dragoman.testing.clock import FakeClock

KEY = TokenKey("https://id.example/token", "me", ("read",))
OTHER = KEY._replace(scopes=("write",))


class Issuer:
    """Issues t1, t2 and so on, and remembers what it was given for each."""

    def __init__(self, clock: FakeClock, lifetime_seconds: float | None = 3600) -> None:
        self.clock = clock
        self.lifetime_seconds = lifetime_seconds
        self.given: list[str | None] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, last: Token | None) -> Token:
        self.given.append(last and last.access_token)
        await self.gate.wait()
        now, lifetime = self.clock.now_ms(), self.lifetime_seconds
        expires_at_ms = None if lifetime is None else now + round(lifetime * 1000)
        return Token(f"t{len(self.given)}", now, expires_at_ms)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def text(
    keeper: TokenKeeper, issuer: Issuer, key: TokenKey = KEY, *, is_refused: bool = False
) -> str:
    return (await keeper.get(key, issuer, issuer.clock, is_refused=is_refused)).access_token


async def test_a_token_is_kept_until_shortly_before_it_expires(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock)
    assert await text(keeper, issuer) == "t1"
    clock.advance(3600 - 61)
    assert await text(keeper, issuer) == "t1"
    clock.advance(1)
    assert await text(keeper, issuer) == "t2"
    assert issuer.given == [None, "t1"]


async def test_a_token_that_lives_shortly_is_used_for_half_its_life(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock, 20)
    assert await text(keeper, issuer) == "t1"
    clock.advance(9)
    assert await text(keeper, issuer) == "t1"
    clock.advance(1)
    assert await text(keeper, issuer) == "t2"


async def test_a_token_without_an_end_is_used_until_it_is_refused(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock, None)
    assert await text(keeper, issuer) == "t1"
    clock.advance(10_000_000)
    assert await text(keeper, issuer) == "t1"
    assert await text(keeper, issuer, is_refused=True) == "t2"


async def test_a_token_that_was_just_got_is_not_renewed_for_a_refusal(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock)
    await text(keeper, issuer)
    assert await text(keeper, issuer, is_refused=True) == "t1"
    clock.advance(5)
    assert await text(keeper, issuer, is_refused=True) == "t2"
    assert await text(keeper, issuer, is_refused=True) == "t2"


async def test_one_renews_the_token_for_all_who_wait(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock)
    issuer.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(text(keeper, issuer, is_refused=n % 2 == 0)) for n in range(20)]
        await asyncio.sleep(0)
        issuer.gate.set()
    assert {task.result() for task in tasks} == {"t1"}
    assert issuer.given == [None]


async def test_who_gives_up_leaves_the_renewal_to_the_next(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock)
    issuer.gate.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await text(keeper, issuer)
    issuer.gate.set()
    assert await text(keeper, issuer) == "t2"


async def test_a_failure_is_not_remembered(clock: FakeClock) -> None:
    async def fail(last: Token | None) -> Token:
        raise LookupError

    keeper = TokenKeeper()
    with pytest.raises(LookupError):
        await keeper.get(KEY, fail, clock)
    assert await text(keeper, Issuer(clock)) == "t1"


async def test_tokens_for_different_ends_are_kept_apart(clock: FakeClock) -> None:
    keeper, issuer = TokenKeeper(), Issuer(clock)
    assert await text(keeper, issuer) == "t1"
    assert await text(keeper, issuer, OTHER) == "t2"
    assert await text(keeper, issuer) == "t1"


async def test_tokens_can_be_kept_beyond_the_process(clock: FakeClock) -> None:
    kept: dict[TokenKey, Token] = {}
    await text(TokenKeeper(keep=kept.__setitem__), Issuer(clock))
    assert [token.access_token for token in kept.values()] == ["t1"]
    later = Issuer(clock)
    assert await text(TokenKeeper(kept), later) == "t1"
    assert later.given == []


def test_a_token_is_not_shown() -> None:
    shown = repr(Token("s3cret", 0, 1, "s3cret-too"))
    assert shown == "Token(expires_at_ms=1)"
