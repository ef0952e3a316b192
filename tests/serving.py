"""Agents served for tests: over a real socket in this process, or as a process of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType

import uvicorn

from dragoman import Agent
from dragoman.server.asgi import App, build_app
from dragoman.server.one_port import speaking_both

__all__ = ("AgentProcess", "Served", "free_port", "serving")


class Served:
    """An agent that answers at ``url``; ``app`` is what answers."""

    def __init__(self, app: App, url: str) -> None:
        self.app = app
        self.url = url


@asynccontextmanager
async def serving(agent: Agent, **settings: object) -> AsyncGenerator[Served]:
    """Serve an agent on a free port of the loopback, in memory unless told otherwise."""
    app = build_app(agent, {"store": "memory:", **settings})
    app.offer_grpc()
    listener = _listen()
    config = uvicorn.Config(
        app,
        http=speaking_both(app.grpc),
        log_config=None,
        ws="none",
        access_log=False,
        proxy_headers=False,
        lifespan="on",
    )
    server = uvicorn.Server(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(_serve(server, listener))
        while not server.started:  # noqa: ASYNC110 - uvicorn offers nothing to wait on
            await asyncio.sleep(0.005)
        host, port = listener.getsockname()
        try:
            yield Served(app, f"http://{host}:{port}")
        finally:
            app.runtime.hub.close()
            await app.grpc.stop(grace_seconds=1)
            server.should_exit = True


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    # Without the signal handling of Server.serve: signals belong to the test runner.
    with listener:
        await server._serve(sockets=[listener])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - uvicorn has no public form of this


def _listen() -> socket.socket:
    # With its protocol named, asyncio sends small frames without delay.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    return listener


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class AgentProcess:
    """``dragoman serve`` in a process of its own, to be stopped or killed and started again."""

    def __init__(self, agent: Path, *arguments: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-m",
            "dragoman",
            "serve",
            str(agent),
            "--port",
            str(self.port),
            *arguments,
        ]
        self._process: subprocess.Popen[str] | None = None
        self.output: list[str] = []

    def start(self) -> None:
        """Start it and wait until it says that it serves."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append(line)
            if "stop:" in line:
                return
        self.kill()
        raise AssertionError("the agent did not start:\n" + "".join(self.output))

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL), unless it has ended already."""
        if self._process is not None:
            self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop (SIGTERM) and return its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        process = self._process
        assert process is not None
        if number is signal.SIGKILL:
            # With all that it has started: who is left would hold the pipe open.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        rest, _ = process.communicate(timeout=30)
        self.output.append(rest)
        self._process = None
        return process.returncode

    def __enter__(self) -> AgentProcess:
        if self._process is None:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self.kill()
