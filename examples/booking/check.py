"""Books a train while the agent is killed between the questions, and pays for it once."""

# ruff: noqa: S310, S603 - it talks to the servers it has started itself

import json
import os
import re
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

AGENT = Path(__file__).with_name("agent.py")

paid: dict[str, int] = {}


class Payments(BaseHTTPRequestHandler):
    """Takes each key once, however often it comes."""

    def do_POST(self) -> None:
        """Pay."""
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        paid.setdefault(order["key"], order["price"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"receipt": "R-%d"}' % (list(paid).index(order["key"]) + 1))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


payments = HTTPServer(("127.0.0.1", 0), Payments)
Thread(target=payments.serve_forever, daemon=True).start()
os.environ["PAYMENTS_URL"] = f"http://127.0.0.1:{payments.server_port}"


def send(store: str, part: dict[str, Any], task_id: str = "") -> dict[str, Any]:
    """Start the agent, send it a message, and kill it when it has answered."""
    command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port=0", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = re.findall(r"http://\S+", server.stdout.readline())[0]
            message = {"messageId": f"m-{part}", "role": "ROLE_USER", "parts": [part]}
            request = Request(
                f"{url}/message:send",
                data=json.dumps({"message": message | {"taskId": task_id}}).encode(),
                headers={"Content-Type": "application/json", "A2A-Version": "1.0"},
            )
            with urlopen(request) as response:
                task: dict[str, Any] = json.load(response)["task"]
                return task
        finally:
            server.kill()


with tempfile.TemporaryDirectory() as folder:
    store = f"--store=sqlite:///{folder}/booking.db"
    task = send(store, {"text": "I need a train"})
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task
    route = {"data": {"origin": "Ulm", "destination": "Bonn"}}
    task = send(store, route, task["id"])
    assert "Ulm-Bonn 9:00" in task["status"]["message"]["parts"][0]["text"], task
    task = send(store, {"text": "Ulm-Bonn 9:00"}, task["id"])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
    assert task["artifacts"][0]["parts"][0]["text"] == "Ulm-Bonn 9:00, receipt R-1", task
    assert list(paid.values()) == [90], paid

print("booking: ok")
