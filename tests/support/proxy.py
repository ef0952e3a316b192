"""A TCP proxy that cuts connections where a test says."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

__all__ = ("Proxy", "proxied")


class Proxy:
    """Passes bytes on. The connections of the plan are cut after so many bytes of the server's.

    Attributes:
        is_refusing: whoever connects is cut off at once.
        swallows_questions, swallows_answers: what clients or the server say is lost on its way.
        connections, cuts: how many there were.
    """

    def __init__(self, target: str, plan: Sequence[int]) -> None:
        self._target = urlsplit(target)
        self._plan = list(plan)
        self._open: set[StreamWriter] = set()
        self.url = ""
        self.cuts = 0
        self.connections = 0
        self.is_refusing = False
        self.swallows_questions = False
        self.swallows_answers = False

    def cut_all(self) -> None:
        """Cut what is open now."""
        for writer in self._open:
            self.cuts += 1
            writer.transport.abort()
        self._open.clear()

    async def carry(self, near: StreamReader, near_writer: StreamWriter) -> None:
        """Carry one connection to its end."""
        self.connections += 1
        if self.is_refusing:
            near_writer.transport.abort()
            return
        # What ends before its time leaves its place in the plan to the next.
        budget = self._plan[0] if self._plan else None
        far, far_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._open.add(near_writer)
        try:
            async with asyncio.TaskGroup() as group:
                up = group.create_task(
                    _pass(near, far_writer, None, lambda: self.swallows_questions)
                )
                is_cut = await _pass(far, near_writer, budget, lambda: self.swallows_answers)
                up.cancel()
            if is_cut and near_writer in self._open:
                self._plan.pop(0)
                self.cuts += 1
                near_writer.transport.abort()
        finally:
            self._open.discard(near_writer)
            near_writer.close()
            far_writer.transport.abort()


async def _pass(
    reader: StreamReader, writer: StreamWriter, budget: int | None, swallows: Callable[[], bool]
) -> bool:
    """Pass bytes on to the end, or to the end of the budget; tell whether it was that."""
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            if swallows():
                continue
            writer.write(data if budget is None else data[:budget])
            await writer.drain()
            if budget is not None:
                budget -= len(data)
                if budget <= 0:
                    return True
    return False


@asynccontextmanager
async def proxied(target: str, plan: Sequence[int] = ()) -> AsyncGenerator[Proxy]:
    """Put a proxy before a server; ``url`` is its address."""
    proxy = Proxy(target, plan)
    carriers: set[asyncio.Task[None]] = set()

    def accept(reader: StreamReader, writer: StreamWriter) -> None:
        carrier = group.create_task(proxy.carry(reader, writer))
        carriers.add(carrier)
        carrier.add_done_callback(carriers.discard)

    async with asyncio.TaskGroup() as group:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        proxy.url = f"http://{host}:{port}"
        try:
            yield proxy
        finally:
            server.close()
            for carrier in tuple(carriers):
                carrier.cancel()
