"""Serves the demo agent, and leads one task through four versions and three bindings."""

# ruff: noqa: S310, S603 - it talks to the server it has started itself

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

HERE = Path(__file__).parent
AGENT = HERE.with_name("desk") / "agent.py"
FOLLOW = [sys.executable, str(HERE / "grpc_call.py")]


def post(url: str, method: str, params: object, **headers: str) -> dict[str, object]:
    """Make a JSON-RPC call and return its result."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = Request(
        url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **headers},
    )
    with urlopen(request) as response:
        result: dict[str, object] = json.load(response)["result"]
        return result


# Port 0 is a free port; the first line of output says which.
command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port=0", "--store=memory:"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    try:
        assert server.stdout is not None
        url = re.findall(r"http://\S+", server.stdout.readline())[0]

        # 0.1: the client names the task.
        message = {"role": "user", "parts": [{"type": "text", "text": "convert"}]}
        made = post(url, "tasks/send", {"id": "trip-1", "message": message})
        assert made["id"] == "trip-1", made

        # 0.3, HTTP+JSON
        with urlopen(f"{url}/v1/tasks/trip-1") as response:
            read = json.load(response)
        assert read["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", read

        # 1.0, gRPC: the task as it is, then what happens to it.
        method = "lf.a2a.v1.A2AService/SubscribeToTask"
        arguments = [*FOLLOW, url, method, '{"id": "trip-1"}']
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as follower:
            assert follower.stdout is not None
            task = json.loads(follower.stdout.readline())["task"]
            assert task["id"] == read["id"], task

            # 0.2
            ended = post(url, "tasks/cancel", {"id": "trip-1"}, **{"A2A-Version": "0.2"})
            assert ended["kind"] == "task", ended
            update = json.loads(follower.stdout.readline())["statusUpdate"]
            assert update["status"]["state"] == "TASK_STATE_CANCELED", update
            assert follower.wait() == 0
    finally:
        server.terminate()

print("versions: ok")
