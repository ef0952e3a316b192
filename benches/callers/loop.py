"""The loop that both clients are driven by; see `benches/README.md`.

python -m benches.callers.NAME URL BINDING CONCURRENCY SECONDS

sends echoes for so many seconds, so many at a time, and prints one JSON object: how many were
answered, in how many seconds, and how much CPU time the client took for it.
"""

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager

__all__ = ("Echo", "measure")

# Enough for connections to be open and everything that is made once to be made.
WARM_CALLS = 64

Echo = Callable[[str], Awaitable[str]]
"""Sends a text and returns the text of the answer."""


def measure(connect: Callable[[str, str], AbstractAsyncContextManager[Echo]]) -> None:
    """Read the command line, do the calls with `connect(url, binding)`, and print the result."""
    url, binding, concurrency, seconds = sys.argv[1:]
    sys.stdout.write(
        json.dumps(asyncio.run(_run(connect(url, binding), int(concurrency), float(seconds))))
    )


async def _run(
    connecting: AbstractAsyncContextManager[Echo], concurrency: int, seconds: float
) -> dict[str, float]:
    async with connecting as echo:
        await _call(echo, concurrency, _numbers(WARM_CALLS, float("inf")))
        gc.collect()
        gc.disable()
        started, cpu = time.perf_counter(), _cpu_seconds()
        count = await _call(echo, concurrency, _numbers(10**9, started + seconds))
        return {
            "count": count,
            "seconds": time.perf_counter() - started,
            "cpu_seconds": _cpu_seconds() - cpu,
        }


def _numbers(limit: int, deadline: float) -> Iterator[int]:
    number = 0
    while number < limit and time.perf_counter() < deadline:
        yield number
        number += 1


async def _call(echo: Echo, concurrency: int, numbers: Iterator[int]) -> int:
    """Call until the numbers run out; return how many calls there were."""
    count = 0

    async def caller() -> None:
        nonlocal count
        for number in numbers:
            text = f"echo {number:08d}"
            answer = await echo(text)
            if answer != text:
                raise SystemExit(f"sent {text!r}, was answered {answer!r}")
            count += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(caller())
    return count


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
