"""Webhooks of a test: our own receiver on a port of its own, and what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from dragoman.cli.serving.ports import listen
from dragoman.cli.serving.webhook import served
from dragoman.push import Notification, Receiver
from dragoman.push.receiving.exchange import ASGIApp, Receive, Scope, Send
from tests.support.wire import Json

__all__ = ("INNER", "SECRET", "TOKEN", "Hook", "hooked")

INNER: Final[Mapping[str, Any]] = {
    "push_allow_http": True,
    "push_allow_hosts": ("127.0.0.1:*",),
}
"""Settings of a server whose webhooks may be on this machine."""

TOKEN: Final = "a token"  # noqa: S105 - of a test
SECRET: Final = "s3cret"  # noqa: S105 - of a test

_PATIENCE_SECONDS: Final = 10.0


class Post:
    """A request as it came."""

    def __init__(self, headers: dict[str, str], body: bytes) -> None:
        self.headers = headers
        self.body: Json = msgspec.json.decode(body)


class Hook:
    """A webhook at work.

    Attributes:
        url: its address.
        posts: what came, raw.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hook"
        self.posts: list[Post] = []
        self._told: asyncio.Queue[Notification] = asyncio.Queue()

    async def take(self, notification: Notification) -> None:
        """Remember a notification that the receiver has found good."""
        self._told.put_nowait(notification)

    async def next(self) -> Notification:
        """Wait for a notification."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await self._told.get()

    async def until_end(self) -> list[Notification]:
        """Wait for the end of a task; return all that was told until then."""
        found = [await self.next()]
        while (state := found[-1].state) is None or not state.is_terminal:
            found.append(await self.next())
        return found

    @property
    def is_quiet(self) -> bool:
        """Tell whether nothing is left that nobody has looked at."""
        return self._told.empty()


@asynccontextmanager
async def hooked() -> AsyncGenerator[Hook]:
    """Serve a webhook that asks for ``TOKEN``."""
    with listen("127.0.0.1", 0) as listener:
        hook = Hook(listener.getsockname()[1])
        receiver = Receiver(hook.take, token=TOKEN)
        async with served(_recording(receiver, hook), listener):
            yield hook


def _recording(app: ASGIApp, hook: Hook) -> ASGIApp:
    async def record(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        pieces: list[bytes] = []

        async def overheard() -> Any:
            event = await receive()
            pieces.append(event.get("body", b""))
            if event["type"] == "http.request" and not event.get("more_body"):
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                hook.posts.append(Post(headers, b"".join(pieces)))
            return event

        await app(scope, overheard, send)

    return record
