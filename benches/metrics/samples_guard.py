"""The samples of a guarded server: the same sends, by callers who show who they are."""

import itertools
from functools import cache

from benches import credentials, wire
from benches.load import Check, CheckError, Request, call, closed_loop
from benches.meter import Meter, Outcome
from benches.metrics.samples import SEND_CONNECTIONS, SHORT_SECONDS, WARM_REQUESTS
from benches.servers import Server

__all__ = ("send", "verify", "warm")

# So many that the clock of CPU time, which ticks every 10 ms, tells them apart.
NEW_TOKENS = 800

# Stands for a header until there is one.
_GAP = b"X-Gap: 1\r\n"

_names = itertools.count(1)


@cache
def _shown(guard: str) -> bytes:
    """Return what callers of a server show: always the same, so it has been seen before."""
    headers = {"": lambda: b"", "keyed": credentials.key_header}
    return headers.get(guard, lambda: credentials.token_header("seen"))()


async def warm(server: Server) -> None:
    """Warm the server up, and have it see what callers are going to show."""
    request, check = wire.echo_jsonrpc(_shown(server.spec.guard))
    await closed_loop(
        server.port,
        request,
        check,
        connections=SEND_CONNECTIONS,
        seconds=5.0,
        limit=WARM_REQUESTS,
    )


async def send(server: Server) -> Outcome:
    """SendMessage on 32 connections, in a short sample; every one must be stored afterwards."""
    header = _shown(server.spec.guard)
    request, check = wire.echo_jsonrpc(header)
    before = await _total(server, header)
    with Meter(server) as meter:
        run = await closed_loop(
            server.port, request, check, connections=SEND_CONNECTIONS, seconds=SHORT_SECONDS
        )
    stored = await _total(server, header) - before
    if stored != run.count:
        raise CheckError(wanted=f"{run.count} more tasks stored", got=stored)
    return meter.outcome(
        run.count, per_cpu_second=meter.per_cpu_second(run.count), per_second=run.per_second
    )


async def verify(server: Server) -> Outcome:
    """What a token costs that was never shown before, on top of one that was."""
    template, check = wire.echo_jsonrpc(_GAP)
    headers = [credentials.token_header(f"new-{next(_names)}") for _ in range(NEW_TOKENS)]
    seen = await _cpu_us(server, wire.echo_jsonrpc(_shown(server.spec.guard)))
    with Meter(server) as meter:
        await _send_all(
            server, lambda number: template(number).replace(_GAP, headers[number]), check
        )
    new_us = 1e6 / meter.per_cpu_second(NEW_TOKENS)
    return meter.outcome(NEW_TOKENS, verify_us=new_us - seen)


async def _cpu_us(server: Server, wording: tuple[Request, Check]) -> float:
    with Meter(server) as meter:
        await _send_all(server, *wording)
    return 1e6 / meter.per_cpu_second(NEW_TOKENS)


async def _send_all(server: Server, request: Request, check: Check) -> None:
    """Send exactly as many as there are new tokens."""
    run = await closed_loop(
        server.port,
        request,
        check,
        connections=SEND_CONNECTIONS,
        seconds=60.0,
        limit=NEW_TOKENS,
    )
    if run.count != NEW_TOKENS:
        raise CheckError(wanted=f"{NEW_TOKENS} answers", got=run.count)


async def _total(server: Server, header: bytes) -> int:
    request = wire.showing(header, wire.list_tasks(pageSize=1))
    return int(wire.result_of(await call(server.port, request))["totalSize"])
