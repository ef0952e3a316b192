"""Samples of signed requests, and of the same requests unsigned, each driven alike."""

from benches import wire, wire_signed
from benches.load import Check, CheckError, Request, closed_loop
from benches.meter import Meter, Outcome
from benches.metrics.samples import SEND_CONNECTIONS, WARM_REQUESTS
from benches.servers import Server

__all__ = ("prepare", "send")

# What the faster of both does in a third of a second: the clock of CPU time ticks every 10 ms.
REQUESTS = 1500
LONGEST_SECONDS = 20.0


def _wording(server: Server, count: int) -> tuple[Request, Check]:
    return wire_signed.echo(count) if server.spec.guard == "signed" else wire.echo_jsonrpc()


async def prepare(server: Server) -> None:
    """Warm the server up."""
    request, check = _wording(server, WARM_REQUESTS)
    await closed_loop(
        server.port,
        request,
        check,
        connections=SEND_CONNECTIONS,
        seconds=5.0,
        limit=WARM_REQUESTS,
    )


async def send(server: Server) -> Outcome:
    """Send echoes on 32 connections; every one must be finished and answered."""
    request, check = _wording(server, REQUESTS)
    with Meter(server) as meter:
        run = await closed_loop(
            server.port,
            request,
            check,
            connections=SEND_CONNECTIONS,
            seconds=LONGEST_SECONDS,
            limit=REQUESTS,
        )
    if run.count != REQUESTS:
        raise CheckError(wanted=f"{REQUESTS} answers", got=run.count)
    return meter.outcome(
        run.count,
        per_second=run.per_second,
        per_cpu_second=meter.per_cpu_second(run.count),
        p50_ms=run.latency_ms(0.5),
    )
