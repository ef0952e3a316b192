"""Serves a chain and an agent on it; finds the agent, talks to it, and delegates a job."""

# ruff: noqa: S603 - it runs what stands beside it

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from mcp import Client, StdioServerParameters

HERE = Path(__file__).parent
PRIVATE_KEY = "5Hw18ytNAjnSerdkDYWktiDJvANc8swXfF4Sn7itpCaqdayXTBm"


def started(stack: ExitStack, *command: str, **variables: str) -> str:
    """Start a server; return the address that its first line tells."""
    server = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    stack.callback(server.communicate)
    stack.callback(server.terminate)
    assert server.stdout is not None
    address: str = re.findall(r"http://[\w.:]+", server.stdout.readline())[0]
    return address


def xpr(chain: str, *arguments: str, code: int = 0) -> dict[str, object]:
    """Run a command of alice's and return its result."""
    variables = {"XPR_RPC_ENDPOINT": chain, "XPR_ACCOUNT": "alice", "XPR_PRIVATE_KEY": PRIVATE_KEY}
    here = ["--allow", "127.0.0.1:*", "--allow-http", "--output", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "xpr", *arguments, *here],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == code, done
    result: dict[str, object] = json.loads(done.stdout)
    return result


async def as_model(chain: str) -> None:
    """Find the agent and talk to it as a model does, by MCP."""
    variables = {"XPR_RPC_ENDPOINT": chain, "XPR_ACCOUNT": "alice", "XPR_PRIVATE_KEY": PRIVATE_KEY}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "dragoman", "xpr", "mcp", "--allow", "127.0.0.1:*", "--allow-http"],
        env={**os.environ, **variables},
    )
    async with Client(server) as client:
        said = {"account": "pilot", "text": "cast off"}
        result = await client.call_tool("xpr_a2a_send_message", said)
        task = result.structured_content
        assert text_of(task) == "xpr:alice: aye to 'cast off'", result
        gone = await client.call_tool("xpr_a2a_discover", {"account": "ghost"})
        assert gone.is_error, gone


def text_of(task: dict[str, object]) -> str:
    """Return what an agent has answered."""
    found = re.search(r'"text": "(.*?)"[,}]', json.dumps(task["artifacts"]))
    assert found is not None, task
    return found[1]


with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]

with ExitStack() as stack:
    chain = started(stack, str(HERE / "chain.py"), f"http://127.0.0.1:{port}")
    serve = ("-m", "dragoman", "serve", str(HERE / "agent.py"), f"--port={port}", "--store=memory:")
    started(stack, *serve, XPR_RPC_ENDPOINT=chain, XPR_ACCOUNT="pilot")

    card = xpr(chain, "discover", "pilot")
    assert card["name"] == "The Pilot", card
    # 20 for the owner's KYC, 20 for the stake, 36 for the reviews, 10 for its age
    assert (card["xpr:trustScore"], card["xpr:kycLevel"]) == (86, 2), card

    task = xpr(chain, "send", "pilot", "come in", "--job", "7")
    assert text_of(task) == "xpr:alice, job #7: aye to 'come in'", task
    seen = xpr(chain, "get-task", "pilot", str(task["id"]))
    assert seen["status"] == task["status"], seen

    asked = xpr(chain, "delegate", "pilot", "42", "Count them.", code=1)
    assert asked["needs_confirmation"] is True, asked
    task = xpr(chain, "delegate", "pilot", "42", "Count them.", "--yes")
    assert text_of(task).startswith("xpr:alice, job #42: aye to '## Delegated job: Survey"), task

    asyncio.run(as_model(chain))

print("xpr: ok")
