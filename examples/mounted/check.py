"""Serves the application and finds the agent under its prefix, and only there."""

# ruff: noqa: S310, S603 - it talks to the server it has started itself

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

FOLDER = str(Path(__file__).parent)

command = [sys.executable, "-m", "uvicorn", "app:app", "--app-dir", FOLDER, "--port=0"]
command += ["--no-access-log"]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    try:
        assert server.stderr is not None
        url = next(
            found[0] for line in server.stderr if (found := re.findall(r"http://[\d.:]+", line))
        )

        with urlopen(f"{url}/") as response:
            assert response.read() == b"The agent is at /agent\n"

        with urlopen(f"{url}/agent/.well-known/agent-card.json") as response:
            card = json.load(response)
        addresses = {each["protocolBinding"]: each["url"] for each in card["supportedInterfaces"]}
        assert addresses == {"JSONRPC": f"{url}/agent/", "HTTP+JSON": f"{url}/agent"}, addresses

        message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        request = Request(
            addresses["JSONRPC"],
            data=json.dumps(call).encode(),
            headers={"Content-Type": "application/json", "A2A-Version": "1.0"},
        )
        with urlopen(request) as response:
            task = json.load(response)["result"]["task"]
        assert task["artifacts"][0]["parts"] == [{"text": "hello"}], task

        with urlopen(f"{addresses['HTTP+JSON']}/tasks/{task['id']}") as response:
            assert json.load(response)["id"] == task["id"]
    finally:
        server.terminate()

print("mounted: ok")
