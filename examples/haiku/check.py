"""Serves the six-line agent and asks it for a haiku."""

# ruff: noqa: S310, S603 - it talks to the server it has started itself

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

AGENT = Path(__file__).with_name("agent.py")

# Port 0 is a free port; the first line of output says which.
command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port=0", "--store=memory:"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    try:
        assert server.stdout is not None
        url = re.findall(r"http://\S+", server.stdout.readline())[0]

        with urlopen(f"{url}/.well-known/agent-card.json") as response:
            card = json.load(response)
        assert [skill["id"] for skill in card["skills"]] == ["haiku"], card

        message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "autumn"}]}
        request = Request(
            f"{url}/message:send",
            data=json.dumps({"message": message}).encode(),
            headers={"Content-Type": "application/json", "A2A-Version": "1.0"},
        )
        with urlopen(request) as response:
            task = json.load(response)["task"]
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
        haiku = task["artifacts"][0]["parts"][0]["text"]
        assert haiku.startswith("autumn"), haiku
        assert len(haiku.splitlines()) == 3, haiku
    finally:
        server.terminate()

print("haiku: ok")
