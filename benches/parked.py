"""Waking a conversation among many that wait: `python -m benches.parked [COUNT]`.

Begins conversations that ask and are put aside, and answers some of them while there are few and
while there are many. Fails if an answer takes longer among the many, or if they take memory.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from statistics import median

from dragoman import Agent, Context, Message, Part, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.tasks import TaskState
from dragoman.server.app import App
from dragoman.server.assembly import build_app
from dragoman.server.tasks.runtime import Runtime
from dragoman.service.service import Call

FEW, MANY = 100, 100_000
WARM = 5_000
TOGETHER = 200
ANSWERS = 50
MOST_RATIO = 1.3
MOST_MB = 50

agent = Agent("Conversation")
numbers = count()


@agent.skill
async def talk(ctx: Context) -> str:
    """Ask, and greet."""
    return "Hello, " + await ctx.ask("Who is there?")


async def send(app: App, name: str, task_id: str = "") -> str:
    """Send a message; return the id of the task, which has stopped."""
    parts = (Part(text="Ada"),)
    sent = Message(message_id=name, role=Role.USER, parts=parts, task_id=task_id)
    service = await app.runtime.service()
    answer = await service.send_message(SendMessageRequest(message=sent), Call())
    task = answer.task() if not isinstance(answer, Message) else None
    wanted = TaskState.COMPLETED if task_id else TaskState.INPUT_REQUIRED
    assert task is not None
    assert task.status.state is wanted, task
    return task.id


async def begin(app: App, count: int) -> list[str]:
    """Begin conversations, and wait until none of them is in memory."""
    ids: list[str] = []
    for start in range(0, count, TOGETHER):
        sends = (send(app, f"begin-{next(numbers)}") for _ in range(min(TOGETHER, count - start)))
        ids += await asyncio.gather(*sends)
        print(f"\r{len(ids)} conversations", end="", file=sys.stderr)
    assert isinstance(app.runtime, Runtime)
    while app.runtime.live_tasks:  # noqa: ASYNC110 - there is nothing to wait on
        await asyncio.sleep(0.05)
    return ids


async def answer(app: App, task_id: str) -> float:
    """Answer a conversation; return how long that takes, in milliseconds."""
    start = time.perf_counter()
    await send(app, f"answer-{task_id}", task_id)
    return (time.perf_counter() - start) * 1000


def resident_mb() -> float:
    """Return the memory this process has."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def main(total: int) -> int:
    """Measure, print, and return 1 where a bound does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = [
            build_app(agent, {"store": f"sqlite:///{folder}/{name}.db", "park_after_seconds": 0})
            for name in ("few", "many")
        ]
        async with lifetime(few), lifetime(many):
            # Caches have a fixed size; they are filled before memory is looked at.
            await begin(many, WARM)
            before = resident_mb()
            among_many = await begin(many, total - WARM)
            grown = resident_mb() - before
            among_few = await begin(few, FEW)
            # In turn, so that whatever else the machine does hits both.
            took = [
                (await answer(few, one), await answer(many, other))
                for one, other in zip(
                    among_few[:ANSWERS], among_many[:: len(among_many) // ANSWERS], strict=False
                )
            ]
    few_ms, many_ms = (median(times) for times in zip(*took, strict=True))
    ratio = many_ms / few_ms
    print(f"\nan answer among {FEW}: {few_ms:.2f} ms, among {total}: {many_ms:.2f} ms")
    print(f"ratio {ratio:.2f} (at most {MOST_RATIO})")
    print(f"memory {grown:+.1f} MB (at most {MOST_MB})")
    return int(ratio > MOST_RATIO or grown > MOST_MB)


@asynccontextmanager
async def lifetime(app: App) -> AsyncGenerator[None]:
    """Run an app without a server."""
    await app.runtime.start()
    try:
        yield
    finally:
        await app.runtime.stop()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else MANY)))
