"""Webhooks of strangers: a program that takes notifications well or badly, and its driver.

It uses nothing of ours, so that it sees what any receiver would. All that it gets is in a file, on
the disk, before it answers: who is killed afterwards has still got it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, Literal, cast

__all__ = ("Mode", "ReceiverProcess", "Request")

Mode = Literal[
    "ok",  # takes everything
    "errors",  # 500
    "busy",  # 429, with Retry-After
    "silent",  # no answer at all
    "reset",  # the connection is torn down in place of an answer
    "redirect",  # 307 to another path of its own
    "gone",  # 410
    "slow-body",  # an answer that does not end for long
    "huge",  # an answer that does not end at all
]
"""How the program answers, for the first requests or for all."""

RETRY_AFTER_SECONDS: Final = 2
PATIENCE_SECONDS: Final = 60.0
"""Longer than any attempt to deliver is allowed to take."""


class Request:
    """A request as the program has seen it.

    Attributes:
        at: when it came, by the monotonic clock that all processes of a machine share.
    """

    def __init__(self, line: str) -> None:
        document: dict[str, Any] = json.loads(line)
        self.at: float = document["at"]
        self.path: str = document["path"]
        self.headers: dict[str, str] = document["headers"]
        self.text: str = document["body"]

    @property
    def id(self) -> str:
        """What the sender calls the notification."""
        return self.headers["webhook-id"]

    @property
    def body(self) -> dict[str, Any]:
        """What is told."""
        return json.loads(self.text)

    @property
    def state(self) -> str | None:
        """The state that a body of 1.0 tells, None for one that tells none."""
        found = self.body.get("statusUpdate") or self.body.get("task")
        return found["status"]["state"].removeprefix("TASK_STATE_") if found else None


class ReceiverProcess:
    """The program in a process of its own; it can be stopped and started again at its address."""

    def __init__(
        self, folder: Path, mode: Mode = "ok", *, times: int = 0, port: int | None = None
    ) -> None:
        """Prepare one.

        Args:
            times: how many requests are answered so, before all others are taken; 0 for all.
        """
        with socket.create_server(("127.0.0.1", port or 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = folder / f"received-{self.port}.jsonl"
        self._log.touch()
        self._command = [sys.executable, __file__, str(self.port), str(self._log), mode, str(times)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"

    def stop(self) -> None:
        """End it at once; what it has got is kept."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def requests(self, path: str | None = None) -> list[Request]:
        """Return what has come so far: all, or what came at one path."""
        # A line without its end is still being written.
        lines = self._log.read_text("utf-8").splitlines(keepends=True)
        found = [Request(line) for line in lines if line.endswith("\n")]
        return [one for one in found if path is None or one.path == path]

    def count(self) -> int:
        """Count what has come so far."""
        return self._log.read_bytes().count(b"\n")

    def __enter__(self) -> ReceiverProcess:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


# --- the program ------------------------------------------------------------------------------


class _Webhook(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, log: Path, mode: str, times: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._lock = Lock()
        self._mode = mode
        self._times = times
        self._seen = 0

    def take(self, document: dict[str, object]) -> str:
        """Write a request down for good; return how to answer it."""
        with self._lock:
            os.write(self._log, json.dumps(document).encode() + b"\n")
            os.fsync(self._log)
            self._seen += 1
            return self._mode if not self._times or self._seen <= self._times else "ok"

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave it: senders go away, and that is none of our failures."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return  # Its sender was killed over it.
        webhook = cast("_Webhook", self.server)
        mode = webhook.take(
            {
                "at": time.monotonic(),
                "path": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "body": body.decode(),
            }
        )
        match mode:
            case "errors":
                self._answer(500)
            case "busy":
                self._answer(429, ("Retry-After", str(RETRY_AFTER_SECONDS)))
            case "gone":
                self._answer(410)
            case "redirect":
                self._answer(307, ("Location", "/elsewhere"))
            case "silent":
                time.sleep(PATIENCE_SECONDS)
            case "reset":
                # Without lingering, closing sends RST.
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
            case "slow-body":
                self._pour(piece=b".", pause=0.2)
            case "huge":
                self._pour(piece=b"." * 65_536, pause=0.0)
            case _:
                self._answer(204)

    def _answer(self, status: int, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def _pour(self, *, piece: bytes, pause: float) -> None:
        """Answer 200 with a body that goes on for as long as somebody reads it."""
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        until = time.monotonic() + PATIENCE_SECONDS
        with suppress(OSError):
            while time.monotonic() < until:
                self.wfile.write(piece)
                time.sleep(pause)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the library
        """Say nothing."""


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("log", type=Path)
    parser.add_argument("mode")
    parser.add_argument("times", type=int)
    arguments = parser.parse_args()
    with _Webhook(arguments.port, arguments.log, arguments.mode, arguments.times) as server:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    _main()
