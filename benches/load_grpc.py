"""gRPC for the load generator: just enough HTTP/2 to make unary calls on this machine.

gRPC's own client takes four times the CPU, nearly as much as a bare server, and would be what is
measured. The messages are the caller's bytes. Headers are sent as any client compresses them, in
full once and by their index from then on. Those of an answer are not read: an rpc that failed is
one that ends without a message.
"""

import asyncio
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import cast

from benches.load import CALL_TIMEOUT_SECONDS, Caller, CheckError, Loop, closed_loop

__all__ = ("call_grpc", "grpc_calls")

# A frame's length and type, its flags, its stream.
_FRAME = struct.Struct(">IBI")
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM = _ACK = 0x1
_END_HEADERS = 0x4

# A message within its stream: not compressed, so long.
_PREFIX = struct.Struct(">BI")

_INITIAL_WINDOW_SIZE = 4
_LARGEST_WINDOW = 2**31 - 1
_FIRST_WINDOW = 65_535

# HPACK: the pairs every client knows, and the index of what was last remembered.
_POST, _HTTP = b"\x83", b"\x86"
_LAST_REMEMBERED = 62


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return _FRAME.pack(len(payload) << 8 | kind, flags, stream) + payload


# Windows are opened so far that this side never has to say that it has read something.
_HELLO = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + _frame(_SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW_SIZE, _LARGEST_WINDOW))
    + _frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", _LARGEST_WINDOW - _FIRST_WINDOW))
)


def _header_blocks(path: str, version: str) -> tuple[bytes, bytes]:
    """Return the headers of a connection's first call, and of every later one."""
    headers = {
        ":path": path,
        ":authority": "127.0.0.1",
        "te": "trailers",
        "content-type": "application/grpc",
        "a2a-version": version,
    }
    remembered = b"".join(
        b"\x40%c%b%c%b" % (len(name), name.encode(), len(value), value.encode())
        for name, value in headers.items()
    )
    indexes = range(_LAST_REMEMBERED + len(headers) - 1, _LAST_REMEMBERED - 1, -1)
    recalled = bytes(0x80 | index for index in indexes)
    return _POST + _HTTP + remembered, _POST + _HTTP + recalled


class _GrpcCaller(Caller):
    """One connection, several calls of one method in flight."""

    def __init__(self, loop: Loop, *, path: str, version: str, calls: int) -> None:
        self._loop = loop
        self._calls = calls
        self._block, self._later_block = _header_blocks(path, version)
        self._buffer = b""
        self._stream = -1
        # The number of the request and when it was sent, and what has come of the answer.
        self._sent: dict[int, tuple[int, int]] = {}
        self._answers: dict[int, bytes] = {}
        # How many bytes the server is ready to take.
        self._window = _FIRST_WINDOW

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(_HELLO)

    def start(self) -> None:
        self._loop.open += self._calls
        for _ in range(self._calls):
            self._next(time.perf_counter_ns())

    def close(self) -> None:
        self._sent.clear()
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        at = 0
        while len(data) - at >= _FRAME.size:
            head, flags, stream = _FRAME.unpack_from(data, at)
            end = at + _FRAME.size + (head >> 8)
            if end > len(data):
                break
            self._take(head & 0xFF, flags, stream, data[at + _FRAME.size : end])
            at = end
        self._buffer = data[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._sent:
            self._fail(f"a lost connection ({exc})")

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _DATA:
            self._answers[stream] = self._answers.get(stream, b"") + payload
        elif kind == _HEADERS:
            if flags & _END_STREAM:
                self._finish(stream, payload)
        elif kind == _WINDOW_UPDATE:
            if not stream:
                self._window += int.from_bytes(payload, "big")
        elif kind in (_SETTINGS, _PING):
            if not flags & _ACK:
                answer = payload if kind == _PING else b""
                self._transport.write(_frame(kind, _ACK, 0, answer))
        elif kind in (_RST_STREAM, _GOAWAY):
            self._fail(payload)

    def _finish(self, stream: int, trailers: bytes) -> None:
        """Judge the answer of a call, and make the next."""
        now_ns = time.perf_counter_ns()
        index, sent_ns = self._sent.pop(stream)
        answer = self._answers.pop(stream, b"")
        message = answer[_PREFIX.size :]
        loop = self._loop
        loop.latencies.append(now_ns - sent_ns)
        if not answer.startswith(_PREFIX.pack(0, len(message))):
            self._fail(trailers)
        elif not loop.check(index, message):
            self._fail(message[:900])
        else:
            if loop.keep_bodies:
                loop.bodies.append(message)
            self._next(now_ns)

    def _next(self, now_ns: int) -> None:
        index = self._loop.next_index(now_ns)
        if index < 0:
            self._loop.close_one(now_ns)
            return
        message = self._loop.request(index)
        data = _PREFIX.pack(0, len(message)) + message
        self._window -= len(data)
        if self._window < 0:
            self._fail("no room for it")
            return
        self._stream += 2
        self._sent[self._stream] = index, time.perf_counter_ns()
        self._transport.write(
            _frame(_HEADERS, _END_HEADERS, self._stream, self._block)
            + _frame(_DATA, _END_STREAM, self._stream, data)
        )
        self._block = self._later_block

    def _fail(self, got: object) -> None:
        self._loop.fail(CheckError(wanted="a good answer", got=got))


def grpc_calls(path: str, version: str, *, calls: int = 1) -> Callable[[Loop], Caller]:
    """Return what makes connections for `closed_loop` that keep `calls` calls in flight each.

    Requests, and what is checked and kept of answers, are bare messages then.
    """
    return partial(_GrpcCaller, path=path, version=version, calls=calls)


async def call_grpc(port: int, path: str, version: str, message: bytes) -> bytes:
    """Make one call on its own connection and return the message it is answered with."""
    run = await closed_loop(
        port,
        lambda _: message,
        lambda _, __: True,
        connections=1,
        seconds=CALL_TIMEOUT_SECONDS,
        limit=1,
        keep_bodies=True,
        caller_of=grpc_calls(path, version),
    )
    return run.bodies[0]
