"""Plans a trip with three agents, of which the one in the middle dies, and looks at the trace.

With FLIGHTS_URL in the environment that agent is called instead of our own.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from dragoman import connect
from dragoman.model import TaskState

HERE = Path(__file__).parent
TRACE = "0af7651916cd43dd8448eb211c80319c"
HEADERS = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}


def serve(running: ExitStack, name: str, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """Start an agent of this folder, and return its process and its address."""
    store = f"sqlite:///{os.environ['STORES']}/{name}.db"
    command = [sys.executable, "-m", "dragoman", "serve", f"{name}.py", "--store", store]
    server = running.enter_context(
        subprocess.Popen(  # noqa: S603 - our own agents
            [*command, "--port", str(port)], cwd=HERE, stdout=subprocess.PIPE, text=True
        )
    )
    running.callback(server.kill)
    assert server.stdout is not None
    return server, re.findall(r"http://[^\s/]+", server.stdout.readline())[0]


def free_day(month: str) -> str:
    """Return a day on which the user has time: a tool of the caller's."""
    return f"the 4th of {month}"


async def plan(running: ExitStack) -> str:
    """Plan a trip, and answer what is asked, although the agent in the middle dies meanwhile."""
    travel, url = serve(running, "travel")
    async with connect(url, tools=[free_day], headers=HEADERS) as agent:
        asked = await agent.send("Rome")
    # Hotels has asked Travel, and Travel us.
    assert asked.state is TaskState.INPUT_REQUIRED, asked
    assert asked.text.startswith("How many stars in Rome?"), asked
    travel.kill()
    travel.wait()
    serve(running, "travel", port=int(url.rpartition(":")[2]))
    async with connect(url, tools=[free_day], headers=HEADERS) as agent:
        done = await agent.task(asked.task_id, asked.context_id).send("4")
        assert done.state is TaskState.COMPLETED, done
        return done.text


def check_trace() -> None:
    """Look at the spans: one trace, in which everything has its place."""
    spans = [json.loads(line) for line in Path(os.environ["SPANS"]).read_text().splitlines()]
    ours = [span for span in spans if span["trace"] == int(TRACE, 16)]
    names = {span["id"]: span["name"] for span in ours}
    parents = {span["name"]: names.get(span["parent"], "") for span in ours}
    assert parents["execute_tool free_day"] == "invoke_agent trip", parents
    assert parents["invoke_agent Hotels"] == "invoke_agent trip", parents
    assert parents["invoke_agent Flights"] == "invoke_agent trip", parents
    asked_hotels = [
        names.get(span["parent"]) for span in ours if span["name"] == "a2a.SendStreamingMessage"
    ]
    assert "invoke_agent Hotels" in asked_hotels, parents
    assert parents["invoke_agent hotel"] == "a2a.SendStreamingMessage", parents


with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
    os.environ |= {"STORES": folder, "SPANS": f"{folder}/spans.jsonl"}
    Path(os.environ["SPANS"]).touch()
    if "FLIGHTS_URL" not in os.environ:
        os.environ["FLIGHTS_URL"] = serve(running, "flights")[1]
    os.environ["HOTELS_URL"] = serve(running, "hotels")[1]
    text = asyncio.run(plan(running))
    assert text == "echo Rome on the 4th of May, 4 stars in Rome", text
    check_trace()
print("travel: ok")
