"""Agents made with other implementations, each served by a process of its own."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from types import TracebackType
from typing import Final

from tests.interop.environments import PEERS, environment

__all__ = ("PeerServers",)

_END_SECONDS: Final = 10
"""A server has nothing to finish; one that has not ended by then is killed."""


class PeerServers:
    """The servers of ``peers/serve_*``, started when they are first asked for, ended together."""

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._running = ExitStack()

    def url(self, peer: str) -> str:
        """Return where a peer (``py_0_3``) is served.

        Raises:
            UnreachableError: the peer cannot be had here.
        """
        if peer not in self._urls:
            self._urls[peer] = self._start(peer)
        return self._urls[peer]

    def __enter__(self) -> PeerServers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.close()

    def _start(self, peer: str) -> str:
        command, folder = environment(peer)
        suffix = ".mjs" if peer.startswith("js") else ".py"
        process = subprocess.Popen(
            [*command, str(PEERS / f"serve_{peer}{suffix}")],
            cwd=folder,
            # It ends with this pipe, even if nobody is left to close it.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running.callback(_end, process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"{peer} did not start; what it said is above"
        return json.loads(line)["url"]


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
