"""The challenge of a webhook, put to real servers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from dragoman.cli.serving.ports import address_of, listen
from dragoman.cli.serving.webhook import served
from dragoman.egress import Egress, EgressPolicy
from dragoman.errors import InvalidParamsError
from dragoman.push import Receiver
from dragoman.push.receiving.exchange import ASGIApp, Exchange, Receive, Scope, Send
from dragoman.push.registration import VALIDATION, ask_for_consent, challenge_url

Answer = Callable[[Exchange, str], Awaitable[None]]


class Asked:
    """A webhook that answers as it is told, and remembers how it was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.exchanges: list[Exchange] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (event := (await receive())["type"]) != "lifespan.shutdown":
                await send({"type": f"{event}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        exchange = Exchange(scope, receive, send)
        self.exchanges.append(exchange)
        await self._answer(exchange, exchange.query(VALIDATION) or "")


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[str]:
    with listen("127.0.0.1", 0) as listener:
        async with served(app, listener):
            yield f"http://{address_of(listener)}"


@asynccontextmanager
async def way_out() -> AsyncGenerator[Egress]:
    policy = EgressPolicy.of("127.0.0.1:*", allow_http=True)
    async with Egress(policy) as egress:
        yield egress


async def is_willing(app: ASGIApp, path: str) -> bool:
    """Tell whether a webhook is found to be willing."""
    async with serving(app) as url, way_out() as egress:
        try:
            await ask_for_consent(f"{url}{path}", egress)
        except InvalidParamsError as error:
            return [each.field for each in error.violations] != ["url"]
    return True


async def echo(exchange: Exchange, token: str) -> None:
    await exchange.reply(200, f"{token}\n".encode(), "text/plain")


async def test_our_receiver_is_willing() -> None:
    assert await is_willing(Receiver(token="a-token"), "/hook")  # noqa: S106 - of a test


@pytest.mark.parametrize("path", ["/", "/hook?a=1&b=2"])
async def test_who_sends_back_what_it_was_asked_is_willing(path: str) -> None:
    webhook = Asked(echo)
    assert await is_willing(webhook, path)
    (exchange,) = webhook.exchanges
    assert exchange.method == "GET"
    # A stranger is shown no credentials.
    assert "authorization" not in exchange.headers


async def test_a_query_that_is_there_stays() -> None:
    webhook = Asked(echo)
    assert await is_willing(webhook, "/hook?key=k")
    assert webhook.exchanges[0].query("key") == "k"


async def test_every_question_is_another() -> None:
    webhook = Asked(echo)
    for _ in range(2):
        assert await is_willing(webhook, "/")
    assert len({exchange.query(VALIDATION) for exchange in webhook.exchanges}) == 2


async def fixed(exchange: Exchange, _: str) -> None:
    await exchange.reply(200, b"yes", "text/plain")


async def wrong_status(exchange: Exchange, token: str) -> None:
    await exchange.reply(202, token.encode(), "text/plain")


async def within(exchange: Exchange, token: str) -> None:
    # A page that shows whatever it was asked, as many do.
    await exchange.reply(200, f"<p>No page {token}</p>".encode(), "text/html")


async def elsewhere(exchange: Exchange, token: str) -> None:
    await exchange.reply(302, location=f"/other?{VALIDATION}={token}")


async def endless(exchange: Exchange, token: str) -> None:
    await exchange.reply(200, token.encode() + b" " * 1_000_000, "text/plain")


@pytest.mark.parametrize("answer", [fixed, wrong_status, within, elsewhere, endless])
async def test_any_other_answer_is_none(answer: Answer) -> None:
    webhook = Asked(answer)
    assert not await is_willing(webhook, "/")
    assert len(webhook.exchanges) == 1


async def test_who_may_not_be_called_is_not_asked() -> None:
    webhook = Asked(echo)
    async with serving(webhook) as url, Egress(EgressPolicy(allow_http=True)) as egress:
        with pytest.raises(InvalidParamsError):
            await ask_for_consent(url, egress)
    assert webhook.exchanges == []


def test_the_question_is_in_the_query() -> None:
    assert challenge_url("https://a.example/b?c=d", "x") == (
        f"https://a.example/b?c=d&{VALIDATION}=x"
    )
    assert challenge_url("https://a.example", "x") == f"https://a.example?{VALIDATION}=x"
