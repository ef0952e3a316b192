"""The samples of a server whose spans go to a collector.

A sample lasts until the collector has all of its spans: what they cost to write and to send is part
of it, and one that is lost voids it.
"""

import asyncio

from benches import wire
from benches.load import HOST, CheckError, call, closed_loop
from benches.meter import Meter, Outcome
from benches.metrics.samples import SEND_CONNECTIONS, SHORT_SECONDS
from benches.servers import Server

__all__ = ("send",)

SPANS_PER_SEND = 2
POLL_SECONDS = 0.1
# Spans wait for others up to a second before they are sent.
QUIET_SECONDS = 1.5
PATIENCE_SECONDS = 10.0

_ASK = b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % HOST.encode()


async def send(server: Server) -> Outcome:
    """SendMessage on 32 connections, in a short sample; both spans of each must arrive."""
    request, check = wire.echo_jsonrpc()
    before = await _settled(server)
    with Meter(server) as meter:
        run = await closed_loop(
            server.port, request, check, connections=SEND_CONNECTIONS, seconds=SHORT_SECONDS
        )
        arrived = await _arrived(server, before + SPANS_PER_SEND * run.count)
    if arrived != before + SPANS_PER_SEND * run.count:
        wanted = f"{SPANS_PER_SEND * run.count} spans at the collector"
        raise CheckError(wanted=wanted, got=arrived - before)
    return meter.outcome(
        run.count, per_second=run.per_second, per_cpu_second=meter.per_cpu_second(run.count)
    )


async def _count(server: Server) -> int:
    return int(await call(server.collector_port, _ASK))


async def _settled(server: Server) -> int:
    """Return how many spans there are, once those of the warming up have come."""
    if "is_settled" not in server.notes:
        await asyncio.sleep(QUIET_SECONDS)
        server.notes["is_settled"] = 1.0
    return await _count(server)


async def _arrived(server: Server, wanted: int) -> int:
    """Wait for spans, but not for ever; return how many there are."""
    for _ in range(round(PATIENCE_SECONDS / POLL_SECONDS)):
        if (found := await _count(server)) >= wanted:
            return found
        await asyncio.sleep(POLL_SECONDS)
    return await _count(server)
