"""The samples over gRPC: the same sends, and every answer decoded and checked afterwards."""

from benches import wire_grpc
from benches.load import CheckError, closed_loop
from benches.load_grpc import call_grpc, grpc_calls
from benches.meter import Meter, Outcome
from benches.metrics.samples import SEND_CONNECTIONS, SEND_SECONDS, WARM_REQUESTS
from benches.servers import Server
from benches.wire_grpc import Echo

__all__ = ("send_v0_3", "send_v1_0", "warm")

# As many calls in flight as the other bindings have, on connections shared as gRPC's clients do.
CONNECTIONS = 4
CALLS = SEND_CONNECTIONS // CONNECTIONS


async def _total(server: Server) -> int:
    """Ask the server how many tasks it holds."""
    answer = await call_grpc(server.port, wire_grpc.LIST_TASKS, "1.0", wire_grpc.list_tasks())
    return wire_grpc.total_of(answer)


async def warm(server: Server) -> None:
    """Warm the server up: ours loads gRPC with the first connection that speaks it."""
    echo = wire_grpc.echo_v1_0()
    run = await closed_loop(
        server.port,
        echo.request,
        echo.check,
        connections=CONNECTIONS,
        seconds=5.0,
        limit=WARM_REQUESTS,
        keep_bodies=True,
        caller_of=grpc_calls(echo.path, echo.version, calls=CALLS),
    )
    echo.check_all(run.bodies)


async def send_v1_0(server: Server) -> Outcome:
    """SendMessage of 1.0, 32 calls at once."""
    return await _send(server, wire_grpc.echo_v1_0())


async def send_v0_3(server: Server) -> Outcome:
    """SendMessage of 0.3, 32 calls at once."""
    return await _send(server, wire_grpc.echo_v0_3())


async def _send(server: Server, echo: Echo) -> Outcome:
    """Send echoes; every one must be finished, answered and afterwards stored."""
    before = await _total(server)
    with Meter(server) as meter:
        run = await closed_loop(
            server.port,
            echo.request,
            echo.check,
            connections=CONNECTIONS,
            seconds=SEND_SECONDS,
            keep_bodies=True,
            caller_of=grpc_calls(echo.path, echo.version, calls=CALLS),
        )
    echo.check_all(run.bodies)
    stored = await _total(server) - before
    if stored != run.count:
        raise CheckError(wanted=f"{run.count} more tasks stored", got=stored)
    return meter.outcome(
        run.count,
        per_second=run.per_second,
        per_cpu_second=meter.per_cpu_second(run.count),
        p50_ms=run.latency_ms(0.5),
    )
