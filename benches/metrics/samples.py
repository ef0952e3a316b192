"""One function per kind of sample: drive a server, check everything, return the values.

A sample is bounded in time and in count. Whatever is not as the contract says raises
`CheckError`, which voids it.
"""

import asyncio
import statistics
from collections.abc import Awaitable, Callable

from benches import wire
from benches.load import (
    Check,
    CheckError,
    Reader,
    Request,
    Run,
    Stream,
    call,
    closed_loop,
    open_stream,
    percentile,
    stream_loop,
)
from benches.meter import Meter, Outcome
from benches.servers import Server

__all__ = (
    "SEND_CONNECTIONS",
    "SEND_SECONDS",
    "SHORT_SECONDS",
    "STORED_TASKS",
    "WARM_REQUESTS",
    "chunks",
    "fan_out",
    "fill",
    "get",
    "idle",
    "list_deep",
    "list_first",
    "list_status",
    "paced",
    "send_long",
    "send_many",
    "send_on",
    "send_one",
    "sends",
    "start_up",
    "stream",
    "warm",
)

# Sized so that the slowest side answers a few hundred times and the fastest thousands of times.
SEND_SECONDS = 0.6
SEND_CONNECTIONS = 32
# Where the slow side answers a few dozen times a second.
LONG_SECONDS = 2.0
# What differs by a tenth is told apart by many short samples, close to each other.
SHORT_SECONDS = 0.3
STREAM_CONNECTIONS = 8
STREAM_CHUNKS = 100
STREAM_LIMIT = 4_000
PACED_CHUNKS, PACED_GAP_MS = 200, 2
FAN_READERS, FAN_CHUNKS = 200, 100
LONG_CHUNKS, LONG_EDGE, LONG_STREAMS = 10_000, 1_000, 3
IDLE_WARM, IDLE_STREAMS = 20, 300
STORED_TASKS = 100_000
PAGE = 50
DEEP_PAGES = 20
GET_TASKS = 64
WARM_REQUESTS = 100

# Filling is bounded in time too; at a tenth of the expected rate it still ends.
FILL_SECONDS = 240.0


async def _total(server: Server) -> int:
    """Ask the server how many tasks it holds."""
    result = wire.result_of(await call(server.port, wire.list_tasks(pageSize=1)))
    return int(result["totalSize"])


async def warm(server: Server) -> None:
    """Check one echo to the letter, warm the server up, and remember tasks to get later."""
    if server.task_ids:
        return
    request, _ = wire.echo_jsonrpc()
    one = request(0)
    text = "echo " + one[one.index(b"echo ") + 5 :][:12].decode()
    wire.check_task(wire.result_of(await call(server.port, one))["task"], text)
    request, check = wire.echo_jsonrpc()
    run = await closed_loop(
        server.port,
        request,
        check,
        connections=SEND_CONNECTIONS,
        seconds=5.0,
        limit=WARM_REQUESTS,
        keep_bodies=True,
    )
    tasks = [wire.result_of(body)["task"]["id"] for body in run.bodies[:GET_TASKS]]
    server.task_ids = [str(task) for task in tasks]


async def fill(server: Server) -> None:
    """Bring a server to `STORED_TASKS` tasks by sending; note what its memory did meanwhile."""
    await warm(server)
    missing = STORED_TASKS - await _total(server)
    if missing <= 0:
        return
    before_kb = server.rss_kb()
    request, check = wire.echo_jsonrpc()
    await closed_loop(
        server.port,
        request,
        check,
        connections=SEND_CONNECTIONS,
        seconds=FILL_SECONDS,
        limit=missing,
    )
    if await _total(server) < STORED_TASKS:
        raise CheckError(wanted=f"{STORED_TASKS} tasks", got=await _total(server))
    server.notes["fill_growth_mb"] = (server.rss_kb() - before_kb) / 1024


Wording = Callable[[], tuple[Request, Check]]
"""Makes requests of one kind, numbered anew, and the check of their answers."""


async def _send(
    server: Server,
    connections: int,
    wording: Wording,
    *,
    seconds: float = SEND_SECONDS,
) -> Outcome:
    """Send echoes to each replica; all must be finished, answered and afterwards stored."""
    before = await _total(server)
    with Meter(server) as meter:
        loops = [
            closed_loop(port, *wording(), connections=connections, seconds=seconds)
            for port in server.ports
        ]
        runs = await asyncio.gather(*loops)
    run = Run(max(run.seconds for run in runs), [ns for run in runs for ns in run.latencies_ns], [])
    stored = await _total(server) - before
    if stored != run.count:
        raise CheckError(wanted=f"{run.count} more tasks stored", got=stored)
    return meter.outcome(
        run.count,
        per_second=run.per_second,
        per_cpu_second=meter.per_cpu_second(run.count),
        p50_ms=run.latency_ms(0.5),
        p99_ms=run.latency_ms(0.99),
        p99_over_p50=run.latency_ms(0.99) / run.latency_ms(0.5),
        fill_growth_mb=server.notes.get("fill_growth_mb", 0.0),
    )


async def send_many(server: Server) -> Outcome:
    """SendMessage on 32 connections to each replica."""
    return await _send(server, SEND_CONNECTIONS, wire.echo_jsonrpc)


async def send_on(server: Server, connections: int) -> Outcome:
    """SendMessage on so many connections to each replica."""
    return await _send(server, connections, wire.echo_jsonrpc)


async def send_long(server: Server) -> Outcome:
    """SendMessage on 32 connections to each replica, for longer."""
    return await _send(server, SEND_CONNECTIONS, wire.echo_jsonrpc, seconds=LONG_SECONDS)


async def send_one(server: Server) -> Outcome:
    """SendMessage on one connection."""
    return await _send(server, 1, wire.echo_jsonrpc)


def sends(wording: Wording) -> Callable[[Server], Awaitable[Outcome]]:
    """Return a short sample of SendMessage on 32 connections in the given words."""

    async def sample(server: Server) -> Outcome:
        return await _send(server, SEND_CONNECTIONS, wording, seconds=SHORT_SECONDS)

    return sample


async def get(server: Server) -> Outcome:
    """GetTask of finished tasks on 32 connections."""
    request, check = wire.get_tasks(server.task_ids)
    with Meter(server) as meter:
        run = await closed_loop(
            server.port, request, check, connections=SEND_CONNECTIONS, seconds=SEND_SECONDS
        )
    return meter.outcome(run.count, per_second=run.per_second, p50_ms=run.latency_ms(0.5))


async def stream(server: Server) -> Outcome:
    """Streams of 100 chunks, 8 at a time: events per second and the wait for the first."""
    request = wire.streams(f"stream {STREAM_CHUNKS}")
    with Meter(server) as meter:
        seconds, streams = await stream_loop(
            server.port,
            request,
            connections=STREAM_CONNECTIONS,
            seconds=SEND_SECONDS,
            limit=STREAM_LIMIT,
        )
    for one in streams:
        one.check(STREAM_CHUNKS)
    first_ms = [(one.first_event_ns() - one.sent_ns) / 1e6 for one in streams]
    events = len(streams) * STREAM_CHUNKS
    return meter.outcome(events, per_second=events / seconds, first_ms=percentile(first_ms, 0.5))


async def paced(server: Server) -> Outcome:
    """One stream, a chunk every 2 ms: how long a chunk is on its way."""
    one, meter = await _one_stream(server, f"stream {PACED_CHUNKS} {PACED_GAP_MS}")
    one.check(PACED_CHUNKS)
    latencies = [(stamp.arrived_ns - stamp.made_ns) / 1e6 for stamp in one.stamps()]
    return meter.outcome(
        PACED_CHUNKS, p50_ms=percentile(latencies, 0.5), p99_ms=percentile(latencies, 0.99)
    )


async def chunks(server: Server) -> Outcome:
    """10,000 chunks on one artifact, and whether the last cost more than the first.

    A fast side sends a few such streams. Of the costs of a chunk at either end the least counts:
    the ends last milliseconds, and anything else on the machine can only lengthen them.
    """
    request = wire.streams(f"stream {LONG_CHUNKS}")
    with Meter(server) as meter:
        _, streams = await stream_loop(
            server.port, request, connections=1, seconds=SEND_SECONDS, limit=LONG_STREAMS
        )
    for one in streams:
        one.check(LONG_CHUNKS)
    ends = [_ends(one) for one in streams]
    first, last = min(first for first, _ in ends), min(last for _, last in ends)
    return meter.outcome(
        LONG_CHUNKS * len(streams),
        seconds=statistics.median((one.ended_ns - one.sent_ns) / 1e9 for one in streams),
        last_over_first=last / first if first else 1.0,
    )


def _ends(one: Stream) -> tuple[float, float]:
    """Return the time per chunk over the first and over the last 1,000 chunks.

    Chunks arrive many at a time, so each end is measured from one arrival to another and divided
    by the chunks between them. A stream that arrives in one piece has no such ends: zeros.
    """
    arrivals: dict[int, int] = {}
    for stamp in one.stamps():
        arrivals[stamp.arrived_ns] = stamp.index + 1
    marks = list(arrivals.items())
    return _cost(marks), _cost([(-at, -count) for at, count in reversed(marks)])


def _cost(marks: list[tuple[int, int]]) -> float:
    """Return the time per chunk from the first mark to the first one `LONG_EDGE` chunks on."""
    start_ns, start = marks[0]
    for at_ns, count in marks:
        if count - start >= LONG_EDGE:
            return (at_ns - start_ns) / (count - start)
    return 0.0


async def _one_stream(server: Server, text: str) -> tuple[Stream, Meter]:
    reader = await open_stream(server.port)
    try:
        with Meter(server) as meter:
            async with asyncio.timeout(60):
                one = await reader.begin(wire.streams(text)(0))
    finally:
        reader.close()
    return one, meter


async def fan_out(server: Server) -> Outcome:
    """One task, 200 readers, 100 events: deliveries from the first event made to the last read."""
    readers = [await open_stream(server.port) for _ in range(FAN_READERS)]
    try:
        endings = [readers[0].begin(wire.streams(f"fan {FAN_CHUNKS}")(0))]
        task_id = wire.task_id_of(await readers[0].first_event())
        endings += [reader.begin(wire.subscribe(task_id)) for reader in readers[1:]]
        for reader in readers[1:]:
            await reader.first_event()
        with Meter(server) as meter:
            async with asyncio.timeout(60):
                streams = [await ending for ending in endings]
    finally:
        for reader in readers:
            reader.close()
    for one in streams:
        one.check(FAN_CHUNKS)
    made_ns = streams[0].stamps()[0].made_ns
    seconds = (max(one.ended_ns for one in streams) - made_ns) / 1e9
    deliveries = FAN_READERS * FAN_CHUNKS
    return meter.outcome(deliveries, per_second=deliveries / seconds)


async def idle(server: Server) -> Outcome:
    """Memory per open stream that has nothing to say; wants a fresh server."""
    readers: list[Reader] = []
    try:
        await _hold(server, readers, IDLE_WARM)
        before_kb = server.rss_kb()
        with Meter(server) as meter:
            await _hold(server, readers, IDLE_STREAMS)
        after_kb = server.rss_kb()
        await _check_cancel(server, readers[-1])
    finally:
        for reader in readers:
            reader.close()
    return meter.outcome(IDLE_STREAMS, kb_per_stream=(after_kb - before_kb) / IDLE_STREAMS)


async def _hold(server: Server, readers: list[Reader], count: int) -> None:
    """Open `count` more streams on tasks that stay working, and let them settle."""
    request = wire.streams("hold")
    for number in range(count):
        reader = await open_stream(server.port)
        readers.append(reader)
        reader.begin(request(number))
        await reader.first_event()
    await asyncio.sleep(0.2)


async def _check_cancel(server: Server, reader: Reader) -> None:
    """Cancel one held task: the answer and the end of its stream must say so."""
    task_id = wire.task_id_of(reader.received())
    answer = wire.result_of(await call(server.port, wire.cancel(task_id)))
    if answer["status"]["state"] != "TASK_STATE_CANCELED":
        raise CheckError(wanted="a cancelled task", got=answer)
    async with asyncio.timeout(10):
        ended = await reader.ended()
    if b"TASK_STATE_CANCELED" not in ended.raw:
        raise CheckError(wanted="a cancelled task at the end", got=ended.raw[-400:])


async def start_up(server: Server) -> Outcome:
    """Time from process start to the first answer, and memory then; wants a fresh server."""
    with Meter(server) as meter:
        request, check = wire.echo_jsonrpc()
        await closed_loop(server.port, request, check, connections=1, seconds=5.0, limit=1)
    return meter.outcome(1, start_seconds=server.start_seconds, rss_mb=server.rss_kb() / 1024)


async def list_first(server: Server) -> Outcome:
    """ListTasks, first page."""
    return await _list(server, {})


async def list_status(server: Server) -> Outcome:
    """ListTasks, first page of one state."""
    return await _list(server, {"status": "TASK_STATE_COMPLETED"})


async def list_deep(server: Server) -> Outcome:
    """ListTasks, twenty pages down."""
    token = ""
    for _ in range(DEEP_PAGES):
        request = wire.list_tasks(pageSize=PAGE, **({"pageToken": token} if token else {}))
        token = wire.result_of(await call(server.port, request))["nextPageToken"]
    return await _list(server, {"pageToken": token})


async def _list(server: Server, params: dict[str, object]) -> Outcome:
    request = wire.list_tasks(pageSize=PAGE, **params)
    with Meter(server) as meter:
        run = await closed_loop(
            server.port,
            lambda _: request,
            lambda _, answer: b'"tasks"' in answer,
            connections=1,
            seconds=SEND_SECONDS / 2,
            limit=200,
            keep_bodies=True,
        )
    for body in run.bodies:
        page = wire.result_of(body)
        if len(page["tasks"]) != PAGE or page["totalSize"] < STORED_TASKS:
            raise CheckError(wanted=f"a page of {PAGE}", got=body[-400:])
    return meter.outcome(run.count, p50_ms=run.latency_ms(0.5))
