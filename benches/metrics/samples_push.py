"""The samples of streams whose tasks have webhooks that nobody answers."""

import asyncio
from collections.abc import Awaitable, Callable

from benches import wire
from benches.load import call, open_stream
from benches.meter import Meter, Outcome
from benches.servers import Server, free_port

__all__ = ("CHUNKS", "OPTIONS", "streams_told_of")

CHUNKS = 150_000
"""Some seconds: dead webhooks are tried, left alone and tried again meanwhile. What the very first
attempts cost the process at once would show in a shorter stream."""

OPTIONS = ("--push-allow-http", "--push-allow-hosts=127.0.0.1:*", "--push-events=states,artifacts")
"""Every chunk is something to be told."""


def streams_told_of(webhooks: int) -> Callable[[Server], Awaitable[Outcome]]:
    """Return a sample of one long stream: chunks per second from the first made to the last read.

    Args:
        webhooks: how many its task has, each at a port of its own that nobody listens on.
    """

    async def sample(server: Server) -> Outcome:
        reader = await open_stream(server.port)
        try:
            ending = reader.begin(wire.streams(f"fan {CHUNKS}")(0))
            task_id = wire.task_id_of(await reader.first_event())
            # The agent waits a moment before the first chunk.
            for number in range(webhooks):
                url = f"http://127.0.0.1:{free_port()}/hook"
                wire.result_of(await call(server.port, wire.webhook(task_id, f"w-{number}", url)))
            with Meter(server) as meter:
                async with asyncio.timeout(60):
                    stream = await ending
        finally:
            reader.close()
        stream.check(CHUNKS)
        seconds = (stream.ended_ns - stream.stamps()[0].made_ns) / 1e9
        return meter.outcome(CHUNKS, per_second=CHUNKS / seconds)

    return sample
