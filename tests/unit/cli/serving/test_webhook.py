import asyncio
import signal

import httpx2
import pytest

from dragoman.cli.serving.ports import address_of, listen
from dragoman.cli.serving.webhook import served
from dragoman.push.receiving.exchange import ASGIApp, Receive, Scope, Send


def answering(may_answer: asyncio.Event, events: list[str]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while not events or events[-1] != "lifespan.shutdown":
                events.append((await receive())["type"])
                await send({"type": f"{events[-1]}.complete"})
            return
        events.append(scope["path"])
        await may_answer.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    return app


async def test_an_application_is_served_while_the_block_runs() -> None:
    may_answer, events = asyncio.Event(), list[str]()
    may_answer.set()
    listener = listen("127.0.0.1", 0)
    url = f"http://{address_of(listener)}/hook"
    before = signal.getsignal(signal.SIGINT)
    async with served(answering(may_answer, events), listener), httpx2.AsyncClient() as http:
        assert (await http.get(url)).status_code == 204
        # Signals belong to the command.
        assert signal.getsignal(signal.SIGINT) is before
    assert events == ["lifespan.startup", "/hook", "lifespan.shutdown"]
    async with httpx2.AsyncClient() as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(url)


async def test_an_error_is_raised_as_it_is_when_answers_on_their_way_have_left() -> None:
    may_answer, events = asyncio.Event(), list[str]()
    listener = listen("127.0.0.1", 0)
    url = f"http://{address_of(listener)}/hook"
    answers: list[int] = []

    async def ask() -> None:
        async with httpx2.AsyncClient() as http:
            answers.append((await http.get(url)).status_code)

    async def fail() -> None:
        async with served(answering(may_answer, events), listener):
            asking = group.create_task(ask())
            while "/hook" not in events:
                assert not asking.done()
                await asyncio.sleep(0.005)
            may_answer.set()
            raise LookupError

    async with asyncio.TaskGroup() as group:
        with pytest.raises(LookupError):
            await fail()
    assert answers == [204]
