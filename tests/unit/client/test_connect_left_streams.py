"""Streams that are left before their end, and that nobody closes."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from dragoman import connect
from dragoman.client.discovery.card_cache import CardCache

WORKING = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}
CARD = {
    "name": "Slow",
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
    "url": "/",
    "capabilities": {"streaming": True},
}


class SlowAgent:
    """Tells that it works on a task, and nothing more."""

    def __init__(self) -> None:
        self.url = ""
        self.is_left = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            kind, body = "application/json", json.dumps(CARD)
        else:
            event = json.dumps({"jsonrpc": "2.0", "id": 1, "result": WORKING})
            kind, body = "text/event-stream", f"data: {event}\n\n"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n{body}".encode())
        while head.startswith(b"POST") and await reader.read(65536):
            pass
        writer.close()
        if head.startswith(b"POST"):
            self.is_left.set()


@asynccontextmanager
async def slow_agent() -> AsyncGenerator[SlowAgent]:
    agent = SlowAgent()
    async with await asyncio.start_server(agent.answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        agent.url = f"http://{host}:{port}"
        yield agent


@contextmanager
def begun_generators() -> Generator[list[AsyncGenerator[Any]]]:
    """Collect the asynchronous generators that are begun, in that order."""
    begun: list[AsyncGenerator[Any]] = []
    before = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=begun.append)
    try:
        yield begun
    finally:
        sys.set_asyncgen_hooks(*before)


async def test_one_that_is_dropped_lets_go_of_its_connection_at_once() -> None:
    async with slow_agent() as agent, connect(agent.url, cards=CardCache()) as remote:
        gc.disable()
        try:
            async for event in remote.stream("hi"):
                assert event.task_id == "t"
                break
            async with asyncio.timeout(60):
                await agent.is_left.wait()
        finally:
            gc.enable()


async def test_one_that_is_kept_is_closed_with_the_agent() -> None:
    async with slow_agent() as agent:
        async with connect(agent.url, cards=CardCache()) as remote:
            stream = remote.stream("hi")
            with begun_generators() as left:
                async for _ in stream:
                    break
        async with asyncio.timeout(60):
            await agent.is_left.wait()
    # An event loop that ends closes what is left in any order: this one is the worst.
    for generator in reversed(left):
        await generator.aclose()
    assert stream.task_id == "t"
