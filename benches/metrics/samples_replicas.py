"""The samples of two replicas: what both carry, and how long an event takes between them."""

import asyncio
import statistics
from collections.abc import Sequence

from benches import wire
from benches.load import CheckError, Stamp, Stream, open_stream
from benches.meter import Meter, Outcome
from benches.metrics import samples
from benches.servers import Server, roaming

__all__ = ("elsewhere", "here", "send_spread", "warm")

CONNECTIONS = 256
"""To each replica: who has few callers has no need of a second."""

CHUNKS, GAP_MS = 100, 25
"""Some seconds, so that whoever looks now and then looks several times, at a pace that the SDK can
keep up with on PostgreSQL."""

LEAST = 0.8
"""The share of chunks that a reader must have seen come."""


async def warm(server: Server) -> None:
    """Warm up every replica."""
    for each in (server, *server.others):
        await samples.warm(each)


async def send_spread(server: Server) -> Outcome:
    """SendMessage to all replicas at once, each on a core, beside all that they need."""
    with roaming(server):
        return await samples.send_on(server, CONNECTIONS)


async def here(server: Server) -> Outcome:
    """Return how long chunks take to a second reader at the replica that makes them."""
    return await _sample(server, reader_port=server.port)


async def elsewhere(server: Server) -> Outcome:
    """Return how long chunks take to a reader at another replica."""
    return await _sample(server, reader_port=server.others[0].port)


async def _sample(server: Server, *, reader_port: int) -> Outcome:
    sender, reader = await open_stream(server.port), await open_stream(reader_port)
    try:
        with Meter(server) as meter:
            async with asyncio.timeout(60):
                sent = sender.begin(wire.streams(f"stream {CHUNKS} {GAP_MS}")(0))
                task_id = wire.task_id_of(await sender.first_event())
                read = reader.begin(wire.subscribe(task_id))
                (await sent).check(CHUNKS)
                stream = await read
    finally:
        sender.close()
        reader.close()
    delays_ms = [(stamp.arrived_ns - stamp.made_ns) / 1e6 for stamp in _seen_coming(stream)]
    return meter.outcome(len(delays_ms), p50_ms=statistics.median(delays_ms), max_ms=max(delays_ms))


def _seen_coming(stream: Stream) -> Sequence[Stamp]:
    """Return the chunks made since the reader asked; check that they came, once and in order."""
    if b"TASK_STATE_COMPLETED" not in stream.raw[stream.raw.rindex(b"data:") :]:
        raise CheckError(wanted="a completed task at the end", got=stream.raw[-400:])
    # What had been made before comes in one piece, and is as old as it is.
    stamps = [stamp for stamp in stream.stamps() if stamp.made_ns > stream.sent_ns]
    indexes = [stamp.index for stamp in stamps]
    if indexes != list(range(CHUNKS - len(stamps), CHUNKS)) or len(stamps) < LEAST * CHUNKS:
        raise CheckError(wanted=f"most of {CHUNKS} chunks in order", got=indexes)
    return stamps
