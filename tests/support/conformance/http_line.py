"""A line of HTTP that replies as a test says, and remembers what was sent."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from dragoman.conformance.lines import HttpReply, HttpRequest

__all__ = ("ScriptedLine", "reply")


def reply(body: object, status: int = 200, content_type: str = "application/json") -> HttpReply:
    """Return a reply of JSON, or of these very bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def chunks() -> AsyncIterator[bytes]:
        yield content

    return HttpReply(status, {"content-type": content_type}, chunks())


class ScriptedLine:
    """Gives its replies one after the other."""

    def __init__(self, *replies: HttpReply) -> None:
        self._replies = list(replies)
        self.sent: list[HttpRequest] = []

    @asynccontextmanager
    async def exchange(self, request: HttpRequest) -> AsyncGenerator[HttpReply]:
        """Remember the request, and give the next reply."""
        self.sent.append(request)
        yield self._replies.pop(0)
