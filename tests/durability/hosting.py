"""Agents on a store of the test's own, served without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count

import httpx2

from dragoman import Agent, Message, Part, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.server.app import App
from dragoman.server.assembly import build_app
from dragoman.stores.base import TaskStore
from tests.support.wire import Wire

__all__ = ("Hosted", "hosting", "send_request")

_ids = count(1)


class Hosted(Wire):
    """A client of an app in this process; streams are given only when they have ended."""

    def __init__(self, app: App) -> None:
        super().__init__("http://localhost")
        self.app = app
        self.http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app),
            base_url=self.url,
            headers={"A2A-Version": "1.0"},
            timeout=30,
        )


@asynccontextmanager
async def hosting(agent: Agent, store: TaskStore, **settings: object) -> AsyncGenerator[Hosted]:
    """Run an agent on a store. At the end, turns that still run are stopped at once."""
    app = build_app(agent, {"shutdown_grace_seconds": 0, **settings}, store=store)
    await app.runtime.start()
    try:
        hosted = Hosted(app)
        async with hosted:
            yield hosted
    finally:
        await app.runtime.stop()


def send_request(text: str, skill: str | None = None) -> SendMessageRequest:
    """Return a request for the service itself."""
    return SendMessageRequest(
        message=Message(
            message_id=f"request-{next(_ids)}", role=Role.USER, parts=(Part(text=text),)
        ),
        metadata=None if skill is None else {"skillId": skill},
    )
