from collections.abc import MutableMapping
from typing import Any

import pytest

from dragoman.demo.faults import CUT, CUT_WITHOUT_IDS, UNSPECIFIED, with_faults
from dragoman.net.asgi import REPLY, Receive, Scope, Send

Event = MutableMapping[str, Any]

STREAM: Event = {"type": "http.response.start", "status": 200, "headers": []}


def piece(text: str) -> Event:
    body = f'id: 7\ndata: {{"taskId":"t-1","text":"{text}"}}\n\n'.encode()
    return {"type": "http.response.body", "body": body, "more_body": True}


END: Event = {"type": "http.response.body", "body": b""}


class Stage:
    """An app that answers what it is told to, with faults; ``sent`` is what comes through."""

    def __init__(self, *events: Event) -> None:
        self.events = events
        self.sent: list[Event] = []
        self._app = with_faults(self._answer)

    async def call(self, kind: str = "http") -> bytes:
        """Return the body of an answer."""
        self.sent.clear()
        await self._app({"type": kind}, self._receive, self._keep)
        return b"".join(event.get("body", b"") for event in self.sent)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        for event in self.events:
            await send(dict(event))

    async def _receive(self) -> Event:
        raise NotImplementedError

    async def _keep(self, event: Event) -> None:
        self.sent.append(event)


@pytest.mark.parametrize("kind", ["http", "lifespan"])
async def test_what_asks_for_no_fault_passes(kind: str) -> None:
    stage = Stage(STREAM, piece("hello"), END)
    await stage.call(kind)
    assert stage.sent == [STREAM, piece("hello"), END]


async def test_a_stream_is_cut_once() -> None:
    stage = Stage(STREAM, piece(CUT), piece("more"), END)
    first = await stage.call()
    assert first == piece(CUT)["body"]
    # Whoever resumes it gets all of it.
    assert await stage.call() == piece(CUT)["body"] + piece("more")["body"]


async def test_a_stream_is_cut_without_telling_where_it_was() -> None:
    assert b"id:" not in await Stage(STREAM, piece(CUT_WITHOUT_IDS), END).call()


async def test_a_task_that_says_so_has_no_state() -> None:
    body = f'{{"status":{{"state":"TASK_STATE_WORKING","text":"{UNSPECIFIED}"}}}}'.encode()
    whole: Event = {"type": REPLY, "status": 200, "headers": (), "body": body}
    found = await Stage(whole).call()
    assert found == body.replace(b"WORKING", b"UNSPECIFIED")
    other = body.replace(UNSPECIFIED.encode(), b"at work")
    assert await Stage({**whole, "body": other}).call() == other
