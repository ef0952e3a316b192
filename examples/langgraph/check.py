"""Books a train with a graph that is killed while it waits for an answer."""

# ruff: noqa: S603 - it talks to the server it has started itself

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dragoman import TaskState, connect

AGENT = Path(__file__).with_name("agent.py")


@contextmanager
def serving(store: str) -> Generator[str]:
    """Start the agent, and kill it in the end."""
    command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port=0"]
    environment = {**os.environ, "DRAGOMAN_STORE": store}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            yield re.findall(r"http://\S+", server.stdout.readline())[0]
        finally:
            server.kill()


async def ask(url: str) -> str:
    async with connect(url) as agent:
        told = [str(event) async for event in agent.stream("Rome", context_id="trip")]
        assert "[working] Looking for trains to Rome" in told, told
        assert told[-1] == "[input required] Window or aisle?", told
        (task,) = [each async for each in agent.tasks()]
        return task.task_id


async def answer(url: str, task_id: str) -> None:
    async with connect(url) as agent:
        done = await agent.task(task_id, "trip").send("window")
        assert done.state is TaskState.COMPLETED, done
        assert done.text == "Rome, 9:00, window", done


with tempfile.TemporaryDirectory() as folder:
    store = f"sqlite:///{folder}/trains.db"
    with serving(store) as url:
        waiting = asyncio.run(ask(url))
    with serving(store) as url:
        asyncio.run(answer(url, waiting))

print("langgraph: ok")
