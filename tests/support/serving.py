"""Agents served for tests: over a real socket in this process, or as a process of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from dragoman.testing.serving import Served
from dragoman.testing.serving import served as serving

__all__ = ("AgentProcess", "Served", "free_port", "serving")


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class AgentProcess:
    """``dragoman serve`` in a process of its own, to be stopped or killed and started again.

    Without an agent it is ``dragoman demo-server``.
    """

    def __init__(self, agent: Path | None, *arguments: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable,
            "-m",
            "dragoman",
            *(("serve", str(agent)) if agent is not None else ("demo-server",)),
            "--port",
            str(self.port),
            *arguments,
        ]
        self._process: subprocess.Popen[str] | None = None
        self.output: list[str] = []

    def start(self, **variables: str) -> None:
        """Start it, with these variables in its environment; wait until it says that it serves."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DRAGOMAN_")}
        environment |= variables
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            start_new_session=True,
        )
        if not self._says("stop:"):
            self.kill()
            raise AssertionError("the agent did not start:\n" + "".join(self.output))

    def wait_for(self, text: str) -> None:
        """Read on until it says something."""
        assert self._says(text), f"{text!r} was not said:\n" + "".join(self.output)

    def _says(self, text: str) -> bool:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append(line)
            if text in line:
                return True
        return False

    def wait(self) -> None:
        """Wait until it has ended by itself."""
        assert self._process is not None
        self._process.wait()

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL), unless it has ended already."""
        if self._process is not None:
            self._end(signal.SIGKILL)

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal, and go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop and return its exit code."""
        return self._end(number)

    def _end(self, number: signal.Signals) -> int:
        process = self._process
        assert process is not None
        if number is signal.SIGKILL:
            # With all that it has started: who is left would hold the pipe open.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert process.stdout is not None
        # Not by communicate: it would pass over what was read ahead.
        self.output.append(process.stdout.read())
        process.stdout.close()
        process.wait(timeout=30)
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
