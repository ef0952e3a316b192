"""The samples of clients: each a process of its own, which calls a server of ours."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import Awaitable, Callable

from benches.load import CheckError
from benches.meter import Meter, Outcome
from benches.metrics import samples
from benches.servers import ROOT, Server, prepare_sdk

__all__ = ("MANY", "ONE", "calls", "prepare")

ONE, MANY = 1, 16
"""How many calls are under way at a time."""

SECONDS = 1.0


async def prepare(server: Server) -> None:
    """Warm the server up, and have the environments of the SDK."""
    await samples.warm(server)
    for environment in ("memory", "grpc"):
        await asyncio.to_thread(prepare_sdk, sys.executable, environment)


def calls(caller: str, binding: str, concurrency: int) -> Callable[[Server], Awaitable[Outcome]]:
    """Return a sample of echoes by a client (`subject` or `sdk`), the answers checked there.

    What is told as CPU time is the client's.
    """

    async def sample(server: Server) -> Outcome:
        before = _children_cpu_seconds()
        with Meter(server) as meter:
            told = await _told(server, caller, binding, concurrency)
        # The client, its start included, is none of the other processes.
        meter.load_cpu_seconds += _children_cpu_seconds() - before
        count = int(told["count"])
        outcome = meter.outcome(
            count,
            per_second=count / told["seconds"],
            per_cpu_second=count / told["cpu_seconds"],
        )
        outcome.server_cpu_us_per_op = told["cpu_seconds"] / count * 1e6
        outcome.load_share = 0.0  # It is what is measured, and may have its core for itself.
        return outcome

    return sample


async def _told(server: Server, caller: str, binding: str, concurrency: int) -> dict[str, float]:
    """Run a client to its end; it stays on the core of the load."""
    python = sys.executable
    if caller == "sdk":
        python = str(prepare_sdk(sys.executable, "grpc" if binding == "GRPC" else "memory"))
    process = await asyncio.create_subprocess_exec(
        python,
        "-m",
        f"benches.callers.{caller}",
        f"http://127.0.0.1:{server.port}",
        binding,
        str(concurrency),
        str(SECONDS),
        cwd=ROOT,
        env=os.environ | {"OTEL_INSTRUMENTATION_A2A_SDK_ENABLED": "false"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    if process.returncode:
        raise CheckError(wanted=f"calls by {caller}", got=stderr[-400:])
    return json.loads(stdout)


def _children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
