"""The official SDK in an environment of its own, made once and kept under ``.interop/``."""

from __future__ import annotations

import fcntl
import hashlib
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.wire import Json

__all__ = ("BINDINGS", "VERSION", "Saw", "UnreachableError", "play", "sdk_python")

VERSION: Final = "1.3.0"
BINDINGS: Final = ("JSONRPC", "HTTP+JSON")

_HERE: Final = Path(__file__).resolve().parent
_KEPT: Final = _HERE.parents[1] / ".interop"
_HOME: Final = _KEPT / f"sdk-{VERSION}"
_CONSTRAINTS: Final = _HERE / f"sdk-{VERSION}.txt"

_PIP_SECONDS: Final = 240
"""A cold download of some 40 wheels over a slow line; the timeout of the tests is longer."""

_PLAY_SECONDS: Final = 120
"""All scenarios take a few seconds, and each is cut off on its own; this ends what slips by."""


_UNREACHABLE: Final = ("Retrying (", "(from versions: none)")
"""What pip says when a registry does not answer, or knows nothing of what is asked for."""


class UnreachableError(Exception):
    """No registry that has the SDK can be reached; the text is pip's last word."""


def sdk_python() -> Path:
    """Return the python that has the SDK, after making its environment if there is none yet.

    Raises:
        UnreachableError: pip found no registry; whatever else fails is an AssertionError.
    """
    _KEPT.mkdir(exist_ok=True)
    python = _HOME / "bin" / "python"
    stamp = _HOME / "stamp"
    wanted = hashlib.sha256(_CONSTRAINTS.read_bytes() + sys.version.encode()).hexdigest()
    with _locked(_KEPT / f"sdk-{VERSION}.lock"):
        if not stamp.is_file() or stamp.read_text() != wanted:
            _run([sys.executable, "-m", "venv", "--clear", str(_HOME)])
            _run(
                [
                    *(str(python), "-m", "pip", "install", "--quiet"),
                    *("--disable-pip-version-check", "--timeout", "20", "--retries", "1"),
                    *("--constraint", str(_CONSTRAINTS)),
                    # The server extra is for the day when our client is tried on their server.
                    *(f"a2a-sdk[http-server]=={VERSION}", "httpx"),
                ]
            )
            stamp.write_text(wanted)
    return python


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Let one process at a time in; the kernel lifts the lock when the process ends, however."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_PIP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(f"no answer within {_PIP_SECONDS} s") from error
    if done.returncode and any(words in done.stdout for words in _UNREACHABLE):
        raise UnreachableError(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout


class Saw:
    """What the SDK saw in one run: ``saw("send")`` is what the scenario of that name printed."""

    def __init__(self, lines: str) -> None:
        self._scenarios: dict[str, Json] = {}
        for line in lines.splitlines():
            told: Json = json.loads(line)
            self._scenarios[told["scenario"]] = told

    def __call__(self, scenario: str) -> Any:
        told = self._scenarios[scenario]
        assert "saw" in told, f"the scenario broke in the SDK:\n{told['trace']}"
        return told["saw"]


def play(python: Path, program: str, url: str, binding: str, *scenarios: str) -> Saw:
    """Play scenarios of a program beside this file (all, if none is named) in one process."""
    done = subprocess.run(
        # -E and -s: nothing of the environment we are called in.
        [str(python), "-E", "-s", str(_HERE / program), url, binding, *scenarios],
        capture_output=True,
        text=True,
        timeout=_PLAY_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"the SDK could not reach the agent:\n{done.stderr}"
    return Saw(done.stdout)
