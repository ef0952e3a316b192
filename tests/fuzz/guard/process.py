"""The guarded agent as a process: started, looked at from outside, and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

from tests.fuzz.guard.callers import Callers
from tests.support.serving import free_port

__all__ = ("KEEP_ALIVE_SECONDS", "GuardedProcess")

START_SECONDS: Final = 30
KEEP_ALIVE_SECONDS: Final = 3

_SETTINGS: Final = {
    # Every limit is on. Those on sizes are low, so that what is sent gets beyond them; those on
    # rates are such that callers reach them now and then, and not all the time.
    "MAX_BODY_BYTES": 200_000,
    "MAX_DEPTH": 100,
    "MAX_PARTS": 50,
    "MAX_ID_LENGTH": 200,
    "MAX_TEXT_LENGTH": 20_000,
    "MAX_PART_BYTES": 50_000,
    "MAX_METADATA_BYTES": 10_000,
    "MAX_HEADERS": 50,
    "MAX_HEADER_BYTES": 16_384,
    "HEAD_SECONDS": 2,
    "BODY_SECONDS": 2,
    "KEEP_ALIVE_SECONDS": KEEP_ALIVE_SECONDS,
    "STALL_SECONDS": 10,
    "HEARTBEAT_SECONDS": 2,
    "RATE_LIMIT": "3000/min",
    "RATE_LIMIT_PER_ADDRESS": "300/s",
    "RATE_LIMIT_PER_TENANT": "1000000/min",
    "RATE_LIMIT_PER_OPERATION": "ListTasks=60/min,CancelTask=600/min",
    "RATE_LIMIT_REFUSALS": "60/min",
    "MAX_STREAMS_PER_OWNER": 10,
    "MAX_TURNS_PER_OWNER": 10,
    "MAX_RUNNING_TURNS": 100,
    "MAX_WAIT_SECONDS": 5,
    "IDEMPOTENCY_SECONDS": 20,
    "PARK_AFTER_SECONDS": 1,
}


class GuardedProcess:
    """``dragoman serve`` with the target, authenticators and all limits."""

    def __init__(self, folder: Path, callers: Callers) -> None:
        self.port = free_port()
        self._folder = folder
        self._log = folder / "log"
        self._environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("DRAGOMAN_")},
            **{f"DRAGOMAN_{name}": str(value) for name, value in _SETTINGS.items()},
            "FUZZ_KEYS": str(callers.keys_file),
            "FUZZ_JWKS": str(callers.jwks_file),
        }

    def __enter__(self) -> GuardedProcess:
        target = Path(__file__).with_name("target.py")
        store = f"sqlite:///{self._folder}/tasks.db"
        arguments = ("--port", str(self.port), "--store", store)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dragoman", "serve", str(target), *arguments],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise AssertionError(f"the agent did not start:\n{self.log}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as found:
                return found.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    @property
    def log(self) -> str:
        """What it has written."""
        return self._log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def memory_mb(self) -> float:
        """Return how much memory it has, as the system counts it."""
        asked = ["ps", "-o", "rss=", "-p", str(self._process.pid)]
        if (status := Path(f"/proc/{self._process.pid}/status")).exists():
            found = next(line for line in status.read_text().splitlines() if "VmRSS" in line)
            return int(found.split()[1]) / 1024
        return int(subprocess.check_output(asked)) / 1024

    def open_files(self) -> int | None:
        """Count its open files and connections; None where the system does not tell."""
        folder = Path(f"/proc/{self._process.pid}/fd")
        return len(list(folder.iterdir())) if folder.exists() else None

    def stop(self) -> int:
        """Ask it to stop and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(30)
