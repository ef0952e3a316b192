"""Room for the requests of one connection: who may send how much of a long message, and when."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from dragoman.bindings.http2.grpc_framing import PREFIX_BYTES

if TYPE_CHECKING:
    from dragoman.bindings.http2.connection import Connection
    from dragoman.server.http2_call import Call

__all__ = ("Uploads",)


class Uploads:
    """A pool that the calls of a connection borrow from.

    Every stream has a small window of its own. A message that is longer is granted the rest of its
    length at once, so that it can be finished whatever others do; who finds the pool empty waits in
    line.

    Args:
        max_message_bytes: the longest that one may be; the pool has room for two of those.
    """

    def __init__(self, http2: Connection, max_message_bytes: int) -> None:
        self._http2 = http2
        self._free = 2 * (max_message_bytes + PREFIX_BYTES)
        self._line: deque[Call] = deque()

    def is_short(self, call: Call) -> bool:
        """Tell whether a call has begun a message that it cannot end without more room."""
        return self._need(call) > 0

    def ask(self, call: Call) -> None:
        """Let a call go on that has begun a message, now or when it is its turn."""
        if not call.is_in_line and self.is_short(call):
            call.is_in_line = True
            self._line.append(call)
            self._serve()

    def give_back(self, call: Call) -> None:
        """Take back what was granted a call that has sent its message, or is over."""
        if call.borrowed:
            self._free += call.borrowed
            call.borrowed = 0
            self._serve()

    def _need(self, call: Call) -> int:
        """Return how many bytes a call cannot send yet of the message it has begun."""
        return call.reader.missing - self._http2.granted(call.stream)

    def _serve(self) -> None:
        while self._line:
            call = self._line[0]
            need = self._need(call)
            if not call.is_over and need > self._free:
                return
            self._line.popleft()
            call.is_in_line = False
            if not call.is_over and need > 0:
                self._free -= need
                call.borrowed += need
                call.grant(need)
