"""Calls an application as an ASGI server would, without one."""

import asyncio
import json
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from dragoman import Agent, AgentExtension
from dragoman.model.documents import EventDocument
from dragoman.server.app import App
from dragoman.server.assembly import build_app
from dragoman.stores.base import StoredPage, TaskQuery
from dragoman.stores.memory.store import MemoryTaskStore

__all__ = ("SEND", "BrokenStore", "Client", "Event", "Json", "Response", "calling", "echo_agent")

Json = dict[str, Any]
Event = MutableMapping[str, Any]

SEND: Json = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}


class Response:
    """What came back."""

    def __init__(self, events: list[Event]) -> None:
        self.status: int = events[0]["status"]
        self.headers: dict[str, str] = {
            name.decode(): value.decode() for name, value in events[0]["headers"]
        }
        self.body = b"".join(event.get("body", b"") for event in events[1:])
        self.is_complete = not events[-1].get("more_body", False)

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def data(self) -> list[Json]:
        """The data of every event of a stream."""
        lines = self.body.decode().splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line[:5] == "data:"]


class Client:
    """Calls an application in its own process."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        peer: str = "127.0.0.1",
        **headers: str,
    ) -> Response:
        sent: list[Event] = []
        incoming: list[Event] = [{"type": "http.request", "body": body}]
        raw = {"a2a_version": "1.0", "host": "localhost:8000", **headers}

        async def receive() -> Event:
            if incoming:
                return incoming.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(event: Event) -> None:
            sent.append(event)

        path, _, query = path.partition("?")
        scope: Event = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in raw.items()],
            "client": (peer, 5000),
            "server": ("127.0.0.1", 8000),
        }
        await self.app(scope, receive, send)
        return Response(sent)

    async def rpc(self, method: str, params: object, **headers: str) -> Response:
        envelope = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return await self.request("POST", "/", json.dumps(envelope).encode(), **headers)


async def echo(text: str) -> str:
    """Repeat."""
    return text


def echo_agent(*, extensions: tuple[AgentExtension, ...] = ()) -> Agent:
    agent = Agent("Echo", "Repeats.", extensions=extensions)
    agent.skill(echo)
    return agent


class BrokenStore(MemoryTaskStore):
    """A store that cannot be read from, by a fault of its own."""

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        raise RuntimeError("/var/lib/agent.db is broken")

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        raise RuntimeError("/var/lib/agent.db is broken")


@asynccontextmanager
async def calling(agent: Agent | None = None, **settings: object) -> AsyncGenerator[Client]:
    app = build_app(agent or echo_agent(), {"store": "memory:", **settings})
    await app.runtime.start()
    try:
        yield Client(app)
    finally:
        await app.runtime.stop()
