"""How long an event takes to a reader at its own replica and at another.

python -m benches.elsewhere --store postgres://… --bus nats://…

Starts two replicas. A task streams stamped chunks at one of them, and is read at both at once: the
ratio of the two delays is what it costs to be elsewhere. Without --bus the database carries hints.
"""

import argparse
import asyncio
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles

import httpx2
import uvloop

AGENT = Path(__file__).with_name("agents") / "subject.py"
CHUNKS = 300
GAP_MS = 10
STAMP = re.compile(rb"#(\d{6})@(\d{18});")


@asynccontextmanager
async def replica(*options: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """Run a replica and give a client of it."""
    command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220 - once
    try:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        found = re.search(r"http://\S+", line)
        assert found is not None, f"the replica does not start: {line}"
        headers = {"A2A-Version": "1.0"}
        async with httpx2.AsyncClient(
            base_url=found[0], headers=headers, timeout=30, trust_env=False
        ) as http:
            yield http
    finally:
        process.terminate()
        process.wait()


async def read(response: httpx2.Response, delays_ms: list[float]) -> AsyncGenerator[bytes]:
    """Yield what comes of a stream, and note how old each chunk is."""
    async for data in response.aiter_bytes():
        now = time.perf_counter_ns()
        delays_ms += [(now - int(stamp)) / 1e6 for _, stamp in STAMP.findall(data)]
        yield data


async def read_elsewhere(http: httpx2.AsyncClient, task_id: str) -> list[float]:
    delays_ms: list[float] = []
    async with http.stream("GET", f"/tasks/{task_id}:subscribe") as response:
        assert response.status_code == 200, await response.aread()
        async for data in read(response, delays_ms):
            # What had happened before comes in one piece, and is as old as it is.
            if data.startswith(b"id:") and b'"task"' in data[:200]:
                delays_ms.clear()
    return delays_ms


async def sample(here: httpx2.AsyncClient, there: httpx2.AsyncClient) -> tuple[float, float]:
    """Return the median delay at the replica that holds a task, and at the other, in ms."""
    text = f"stream {CHUNKS} {GAP_MS}"
    message = {
        "messageId": f"m-{time.time_ns()}",
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    }
    near_ms: list[float] = []
    far: asyncio.Task[list[float]] | None = None
    async with (
        asyncio.TaskGroup() as group,
        here.stream("POST", "/message:stream", json={"message": message}) as response,
    ):
        async for data in read(response, near_ms):
            if far is None:
                found = re.search(rb'"task":\{"id":"([^"]+)"', data)
                assert found is not None
                far = group.create_task(read_elsewhere(there, found[1].decode()))
    assert far is not None
    assert len(near_ms) == CHUNKS
    far_ms = far.result()
    assert len(far_ms) > CHUNKS * 0.8, f"only {len(far_ms)} chunks came at the other"
    return median(near_ms), median(far_ms)


async def measure(options: tuple[str, ...], rounds: int) -> list[tuple[float, float]]:
    async with replica(*options) as one, replica(*options) as two:
        pairs = [(one, two), (two, one)] * ((rounds + 1) // 2)
        return [await sample(*pair) for pair in pairs[:rounds]]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benches.elsewhere",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", required=True)
    parser.add_argument("--bus", default="")
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    bus = ("--bus", given.bus) if given.bus else ()
    samples = uvloop.run(measure(("--store", given.store, *bus), given.rounds))
    ratios = [far / near for near, far in samples]
    low, _, high = quantiles(ratios, n=4)
    near, far = (median(side) for side in zip(*samples, strict=True))
    print(
        f"here {near:.2f} ms, elsewhere {far:.2f} ms: {median(ratios):.2f}x ({low:.2f}-{high:.2f})"
    )


if __name__ == "__main__":
    main()
