"""A program on a terminal of its own, typed at and read by a test."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ("CTRL_C", "CTRL_D", "Terminal", "on_terminal")

CTRL_C, CTRL_D = "\x03", "\x04"

_SECONDS = 15.0
_ROWS, _COLUMNS = 50, 200

# Opening a terminal makes it that of the session, so that Ctrl-C becomes a signal.
_SCRIPT = 'exec <"$0" >"$0" 2>&1; exec "$@"'


class Terminal:
    """A terminal; ``screen`` is all that was written to it, control codes and all."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self._process = process
        self._read = 0
        self.screen = ""

    def type(self, text: str) -> None:
        """Press keys, when the program waits for them."""
        self._rest()
        os.write(self._descriptor, text.encode())

    def enter(self, line: str) -> None:
        """Type a line."""
        self.type(f"{line}\r")

    def expect(self, pattern: str) -> re.Match[str]:
        """Wait until something is written after what was expected before, and return it."""
        deadline = time.monotonic() + _SECONDS
        while True:
            found = re.compile(pattern).search(self.screen, self._read)
            if found is not None:
                self._read = found.end()
                return found
            if not self._take(deadline):
                unread = self.screen[self._read :]
                raise AssertionError(f"{pattern!r} was not written, but {unread!r}")

    def wait(self) -> int:
        """Read to the end, and return the exit code."""
        deadline = time.monotonic() + _SECONDS
        while self._process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end: {self.screen!r}"
            self._take(time.monotonic() + 0.05)
        while self._take(time.monotonic()):
            pass
        return self._process.returncode

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to the program, when it waits for something."""
        self._rest()
        self._process.send_signal(number)

    def _rest(self) -> None:
        """Wait until the program does.

        Python's readline heeds signals while it waits for a key. One that comes just before, while
        the prompt is drawn, it sees with the next key only.
        """
        deadline = time.monotonic() + _SECONDS
        while not self._is_waiting():
            assert time.monotonic() < deadline, "the program does not come to rest"
            time.sleep(0.01)

    def _is_waiting(self) -> bool:
        status = Path(f"/proc/{self._process.pid}/stat")
        # The state stands after the name, which is in parentheses and may hold anything.
        return not status.exists() or status.read_text().rpartition(") ")[2].startswith("S")

    def _take(self, deadline: float) -> bool:
        """Read what is there; tell whether there was something before the deadline."""
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._descriptor], [], [], left)[0]:
            return False
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.screen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def on_terminal(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Generator[Terminal]:
    """Run a program until the block ends."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    process = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, os.ttyname(theirs), *command],
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
    )
    terminal = Terminal(ours, process)
    try:
        # Our end of theirs stays open: a terminal that nobody has can no longer be read.
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)
        os.close(theirs)
