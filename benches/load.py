"""The load generator: a raw HTTP/1.1 client that costs far less than the servers it drives.

A connection sends its next request from inside the callback that took the last answer: no task,
no future and no queue per request. It knows just enough HTTP for servers on this machine:
keep-alive, `Content-Length` and chunked bodies. It judges no answer beyond the given check;
deeper checks run on the kept bytes after the clock has stopped.
"""

import asyncio
import re
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import cast

__all__ = (
    "CALL_TIMEOUT_SECONDS",
    "HOST",
    "Caller",
    "Check",
    "CheckError",
    "Loop",
    "Reader",
    "Request",
    "Run",
    "Stamp",
    "Stream",
    "call",
    "closed_loop",
    "open_stream",
    "percentile",
    "stream_loop",
)

HOST = "127.0.0.1"

# A request or a stream that shows no end after this long fails its sample.
CALL_TIMEOUT_SECONDS = 60.0

# Slack on top of a sample's own length before the loop is given up.
LOOP_GRACE_SECONDS = 30.0

_END_OF_CHUNKS = b"\r\n0\r\n\r\n"
_STAMP = re.compile(rb"#(\d{6})@(\d{18});")

Request = Callable[[int], bytes]
Check = Callable[[int, bytes], bool]


class CheckError(Exception):
    """An answer was not what the contract says; the sample it belongs to is void."""

    def __init__(self, *, wanted: str, got: object) -> None:
        super().__init__(f"wanted {wanted}, got {got}")


@dataclass
class Run:
    """What a closed loop did. `latencies_ns` has one entry per answered request."""

    seconds: float
    latencies_ns: list[int]
    bodies: list[bytes]

    @property
    def count(self) -> int:
        """The number of answered requests."""
        return len(self.latencies_ns)

    @property
    def per_second(self) -> float:
        """The rate of answers."""
        return self.count / self.seconds

    def latency_ms(self, fraction: float) -> float:
        """Return the latency that `fraction` of the requests did not exceed."""
        return percentile(self.latencies_ns, fraction) / 1e6


@dataclass(frozen=True)
class Stamp:
    """One stamped chunk: its number, when the agent made it, when it arrived here."""

    index: int
    made_ns: int
    arrived_ns: int


@dataclass
class Stream:
    """One event stream as it came off the wire; parsed only on request."""

    sent_ns: int
    arrivals: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])

    @property
    def raw(self) -> bytes:
        """All bytes, HTTP framing included."""
        return b"".join(data for _, data in self.arrivals)

    @property
    def ended_ns(self) -> int:
        """When the last byte arrived."""
        return self.arrivals[-1][0]

    def first_event_ns(self) -> int:
        """Return when the first event arrived."""
        return self._arrival_at(self.raw.index(b"data:"))

    def stamps(self) -> list[Stamp]:
        """Return the stamped chunks in order of arrival.

        The bytes are searched with their HTTP framing left in. That is safe because a server
        sends whole events per HTTP chunk; one that does not loses stamps here and fails its check.
        """
        raw = self.raw
        ends = list(accumulate(len(data) for _, data in self.arrivals))
        times = [arrived for arrived, _ in self.arrivals]
        return [
            Stamp(int(match[1]), int(match[2]), times[bisect_right(ends, match.end() - 1)])
            for match in _STAMP.finditer(raw)
        ]

    def _arrival_at(self, offset: int) -> int:
        seen = 0
        for arrived, data in self.arrivals:
            seen += len(data)
            if offset < seen:
                return arrived
        return self.ended_ns

    def check(self, count: int) -> None:
        """Raise `CheckError` unless all `count` chunks came, once, in order, and the task ended."""
        raw = self.raw
        if not raw.startswith(b"HTTP/1.1 200"):
            raise CheckError(wanted="a stream", got=raw[:400])
        indexes = [int(match[1]) for match in _STAMP.finditer(raw)]
        if indexes != list(range(count)):
            raise CheckError(wanted=f"{count} chunks in order", got=len(indexes))
        if b"TASK_STATE_COMPLETED" not in raw[raw.rindex(b"data:") :]:
            raise CheckError(wanted="a completed task at the end", got=raw[-400:])


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the value at `fraction` of the sorted values, without interpolation."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


class Loop:
    """The state the connections of one closed loop share."""

    def __init__(
        self,
        request: Request,
        check: Check,
        *,
        deadline_ns: int,
        limit: int,
        keep_bodies: bool,
    ) -> None:
        self.request = request
        self.check = check
        self.deadline_ns = deadline_ns
        self.limit = limit
        self.keep_bodies = keep_bodies
        self.issued = 0
        # Requests that are kept in flight, each followed by the next.
        self.open = 0
        self.latencies: list[int] = []
        self.bodies: list[bytes] = []
        self.finished_ns = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def next_index(self, now_ns: int) -> int:
        """Hand out the next request number, or -1 when time or count is used up."""
        if now_ns >= self.deadline_ns or self.issued >= self.limit:
            return -1
        self.issued += 1
        return self.issued - 1

    def close_one(self, now_ns: int) -> None:
        """Count one in flight out; the last one ends the loop."""
        self.open -= 1
        if not self.open and not self.done.done():
            self.finished_ns = now_ns
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        """End the loop with an error."""
        if not self.done.done():
            self.done.set_exception(error)


class Caller(asyncio.Protocol, ABC):
    """A connection of a closed loop."""

    @abstractmethod
    def start(self) -> None:
        """Send what is to be in flight; from then on every answer is followed by a request."""

    @abstractmethod
    def close(self) -> None:
        """Drop the connection."""


class _HttpCaller(Caller):
    """One keep-alive connection, one request in flight."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._buffer = b""
        self._index = -1
        self._sent_ns = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def start(self) -> None:
        """Send the first request."""
        self._loop.open += 1
        self._next(time.perf_counter_ns())

    def close(self) -> None:
        """Drop the connection."""
        self._index = -1
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        body_at = data.find(b"\r\n\r\n") + 4
        if body_at == 3 or len(data) < body_at + _content_length(data, body_at):
            self._buffer = data
            return
        now_ns = time.perf_counter_ns()
        loop = self._loop
        self._buffer = b""
        loop.latencies.append(now_ns - self._sent_ns)
        if data[9:12] != b"200" or not loop.check(self._index, data):
            loop.fail(CheckError(wanted=f"a good answer to {self._index}", got=data[:900]))
            return
        if loop.keep_bodies:
            loop.bodies.append(data[body_at:])
        self._next(now_ns)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._index >= 0:
            self._loop.fail(CheckError(wanted="an answer", got=f"a lost connection ({exc})"))

    def _next(self, now_ns: int) -> None:
        loop = self._loop
        self._index = index = loop.next_index(now_ns)
        if index < 0:
            loop.close_one(now_ns)
            return
        request = loop.request(index)
        self._sent_ns = time.perf_counter_ns()
        self._transport.write(request)


def _content_length(data: bytes, body_at: int) -> int:
    """Read the body length; every answer of the contract's unary calls declares it."""
    at = data.find(b"content-length: ", 0, body_at)
    if at < 0:
        at = data[:body_at].lower().find(b"content-length: ")
    if at < 0:
        return 0
    return int(data[at + 16 : data.index(b"\r", at)])


async def closed_loop(
    port: int,
    request: Request,
    check: Check,
    *,
    connections: int,
    seconds: float,
    limit: int = 1_000_000,
    keep_bodies: bool = False,
    caller_of: Callable[[Loop], Caller] = _HttpCaller,
) -> Run:
    """Keep every one of `connections` busy for `seconds` or until `limit`, whichever is first.

    `request(n)` gives the bytes of the n-th request and `check(n, answer)` judges its answer; the
    first bad answer ends the loop with `CheckError`. The last answers are waited for and counted.
    `caller_of` makes a connection's protocol; without it that is HTTP/1.1, one request at a time.
    """
    running = asyncio.get_running_loop()
    state = Loop(request, check, deadline_ns=0, limit=limit, keep_bodies=keep_bodies)
    callers: list[Caller] = []
    try:
        for _ in range(connections):
            _, caller = await running.create_connection(lambda: caller_of(state), HOST, port)
            callers.append(caller)
        started_ns = time.perf_counter_ns()
        state.deadline_ns = started_ns + int(seconds * 1e9)
        for caller in callers:
            caller.start()
        async with asyncio.timeout(seconds + LOOP_GRACE_SECONDS):
            await state.done
    finally:
        for caller in callers:
            caller.close()
    if len(state.latencies) != state.issued:
        raise CheckError(wanted=f"{state.issued} answers", got=len(state.latencies))
    return Run((state.finished_ns - started_ns) / 1e9, state.latencies, state.bodies)


async def call(port: int, request: bytes) -> bytes:
    """Make one call on its own connection and return the body of its answer."""
    run = await closed_loop(
        port,
        lambda _: request,
        lambda _, __: True,
        connections=1,
        seconds=CALL_TIMEOUT_SECONDS,
        limit=1,
        keep_bodies=True,
    )
    return run.bodies[0]


class Reader(asyncio.Protocol):
    """One connection that takes event streams, one after the other."""

    def __init__(self) -> None:
        self._tail = b""
        self._stream: Stream | None = None
        self._ended: asyncio.Future[Stream] | None = None
        self._event_seen: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def begin(self, request: bytes) -> asyncio.Future[Stream]:
        """Ask for a stream; the future ends with it."""
        running = asyncio.get_running_loop()
        self._tail = b""
        self._ended = running.create_future()
        self._event_seen = running.create_future()
        self._stream = Stream(time.perf_counter_ns())
        self._transport.write(request)
        return self._ended

    async def first_event(self) -> bytes:
        """Wait for the first event and return all bytes so far."""
        assert self._event_seen is not None
        async with asyncio.timeout(CALL_TIMEOUT_SECONDS):
            return await self._event_seen

    def received(self) -> bytes:
        """Return all bytes of the stream so far."""
        return self._stream.raw if self._stream else b""

    async def ended(self) -> Stream:
        """Wait for the end of the stream that was begun."""
        assert self._ended is not None
        return await self._ended

    def close(self) -> None:
        """Drop the connection."""
        self._ended = None
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        stream = self._stream
        if stream is None or self._ended is None or self._ended.done():
            return
        stream.arrivals.append((time.perf_counter_ns(), data))
        if self._event_seen and not self._event_seen.done() and b"data:" in data:
            self._event_seen.set_result(stream.raw)
        # The end marker may itself be cut by the network, hence the few bytes carried over.
        self._tail = data[-7:] if len(data) >= 7 else (self._tail + data)[-7:]
        if self._tail == _END_OF_CHUNKS:
            self._ended.set_result(stream)
        elif len(stream.arrivals) == 1 and b"content-length:" in data.lower():
            self._fail(CheckError(wanted="a stream", got=data[:900]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(CheckError(wanted="the end of a stream", got=f"a lost connection ({exc})"))

    def _fail(self, error: CheckError) -> None:
        """Tell whoever waits; an error nobody waits for is not worth a warning."""
        if self._ended is None:
            return
        for future in (self._ended, self._event_seen):
            if future is not None and not future.done():
                future.set_exception(error)
                future.exception()


async def open_stream(port: int) -> Reader:
    """Connect a stream reader."""
    _, reader = await asyncio.get_running_loop().create_connection(Reader, HOST, port)
    return reader


async def stream_loop(
    port: int, request: Request, *, connections: int, seconds: float, limit: int
) -> tuple[float, list[Stream]]:
    """Keep `connections` streams open, each followed by the next, for `seconds` or `limit`.

    Returns the time taken and all streams, unchecked.
    """
    readers = [await open_stream(port) for _ in range(connections)]
    streams: list[Stream] = []
    issued = 0
    started = time.perf_counter()

    async def repeat(reader: Reader) -> None:
        nonlocal issued
        while issued < limit and time.perf_counter() - started < seconds:
            issued += 1
            streams.append(await reader.begin(request(issued - 1)))

    try:
        async with asyncio.timeout(seconds + LOOP_GRACE_SECONDS), asyncio.TaskGroup() as group:
            for reader in readers:
                group.create_task(repeat(reader))
        elapsed = time.perf_counter() - started
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        for reader in readers:
            reader.close()
    return elapsed, streams
