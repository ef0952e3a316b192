"""Replicas of one agent, as processes on one database, to be killed, paused and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import httpx2

from tests.support.ports import steady_port

__all__ = ("PATIENCE_SECONDS", "THIS_VERSION", "Replica", "dragoman", "replicas")

THIS_VERSION: Final = ("-m", "dragoman")
"""The program, as Python is to run it."""

PATIENCE_SECONDS: Final = 60
_PAUSE_SECONDS: Final = 0.05


class Replica:
    """``dragoman serve`` on a port of its own; all that it logs goes to one file.

    Attributes:
        name: what the test calls it.
        log: the file; what earlier starts have logged stays in it.
    """

    def __init__(self, name: str, agent: Path, log: Path, *arguments: str) -> None:
        self.name = name
        self.log = log
        self.port = steady_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = ("serve", str(agent), "--port", str(self.port), *arguments)
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, settings: Mapping[str, str], *, program: Sequence[str] = THIS_VERSION) -> None:
        """Start it, with these settings in its environment; wait until it is ready afterwards."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                (sys.executable, *program, *self._arguments),
                stdout=log,
                stderr=log,
                env=_environment(settings),
                start_new_session=True,
            )

    async def wait_until_ready(self) -> None:
        """Wait until it takes work."""
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            httpx2.AsyncClient(base_url=self.url, trust_env=False, timeout=1) as http,
        ):
            while True:
                assert self._process is not None
                code = self._process.poll()
                assert code is None, f"{self.name} ended with {code}:\n{self.log.read_text()}"
                with suppress(httpx2.TransportError):
                    if (await http.get("/readyz")).status_code == 200:
                        return
                await asyncio.sleep(_PAUSE_SECONDS)

    def kill(self) -> None:
        """End it as a crash would, paused or not."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    async def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        code = await asyncio.to_thread(process.wait, PATIENCE_SECONDS)
        self._process = None
        return code

    def pause(self) -> None:
        """Let it stand still, as a machine that swaps or migrates does."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on, as if no time had passed."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            # With all that it has started.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


@asynccontextmanager
async def replicas(
    agent: Path,
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str],
    size: int = 3,
) -> AsyncGenerator[Sequence[Replica]]:
    """Run replicas of an agent; their logs are in the folder."""
    members = [
        Replica(f"replica {number}", agent, folder / f"replica-{number}.log", *arguments)
        for number in range(size)
    ]
    try:
        for member in members:
            member.begin(settings)
        for member in members:
            await member.wait_until_ready()
        yield members
    finally:
        for member in members:
            member.kill()


async def dragoman(
    *arguments: str, program: Sequence[str] = THIS_VERSION
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return await asyncio.to_thread(
        subprocess.run,
        (sys.executable, *program, *arguments),
        capture_output=True,
        text=True,
        env=_environment({}),
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
    return inherited | {f"DRAGOMAN_{name.upper()}": value for name, value in settings.items()}
