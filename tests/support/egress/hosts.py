"""Names, hosts and traps: what calls go out to in tests."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from typing import TypeAlias, cast

from dragoman.egress.networks import Address
from dragoman.egress.policy import EgressPolicy, read_allowed

__all__ = ("NAME", "Host", "Names", "Script", "Trap", "answering", "hosting", "inner", "trap")

NAME = "hooks.test"

Script: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Names:
    """A resolver in the hands of a test.

    Each name has its answers, one per question; the last one stays. "" stands for no address.
    """

    def __init__(self, **names: tuple[str, ...] | str) -> None:
        self._answers: dict[str, list[str]] = {
            name.replace("_", "."): [answers] if isinstance(answers, str) else list(answers)
            for name, answers in names.items()
        }
        self.asked: list[str] = []

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return the next answer: addresses, apart by spaces."""
        self.asked.append(host)
        answers = self._answers.get(host)
        if answers is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return tuple(map(ip_address, answer.split()))


def inner(port: int, **changes: object) -> EgressPolicy:
    """Return a policy under which ``NAME`` may be called on this machine, at one port."""
    options: dict[str, object] = {"allow_http": True, "total_seconds": 5.0, **changes}
    allowed = (read_allowed(f"{NAME}:{port}"),)
    return EgressPolicy(allowed=allowed, **options)  # pyright: ignore[reportArgumentType] - the options of a test


class Host:
    """A server that keeps what it is sent."""

    def __init__(self) -> None:
        self.port = 0
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.server_names: list[str] = []

    @property
    def url(self) -> str:
        """The address to call, by name."""
        return f"http://{NAME}:{self.port}/hook"


@asynccontextmanager
async def hosting(script: Script, context: ssl.SSLContext | None = None) -> AsyncGenerator[Host]:
    """Serve on this machine; ``script`` answers once a request has come."""
    host = Host()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(cast("asyncio.Task[None]", asyncio.current_task()))
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                host.heads.append(head)
                length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
                host.bodies.append(await reader.readexactly(int(length[1]) if length else 0))
                await script(reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def note(_: object, name: str | None, __: object) -> None:
        host.server_names.append(name or "")

    if context is not None:
        context.sni_callback = note
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
        # Some scripts never end by themselves.
        for task in serving:
            task.cancel()
        if serving:
            await asyncio.wait(serving)


def answering(data: bytes) -> Script:
    """Answer with these bytes, whatever is asked."""

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await asyncio.sleep(0)

    return script


class Trap:
    """A port of this machine, in IPv4 and IPv6, that nobody must reach."""

    def __init__(self, *listeners: socket.socket) -> None:
        self._listeners = listeners
        self.port: int = listeners[0].getsockname()[1]

    def callers(self) -> int:
        """Count who has connected since the last time; the system has accepted them already."""
        found = 0
        for listener in self._listeners:
            try:
                while True:
                    listener.accept()[0].close()
                    found += 1
            except BlockingIOError:
                pass
        return found


@contextmanager
def trap() -> Generator[Trap]:
    """Listen on both loopbacks, at the same port; a machine without IPv6 has but one."""
    with ExitStack() as opened:
        four = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        listeners = [four]
        with suppress(OSError):
            place = ("::1", four.getsockname()[1])
            six = socket.create_server(place, family=socket.AF_INET6)
            listeners.append(opened.enter_context(six))
        for listener in listeners:
            listener.settimeout(0)
        yield Trap(*listeners)
