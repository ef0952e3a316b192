"""Sends a pot to be fired and goes away; the webhook is down at first, and hears of it anyway.

Then a notification of somebody else is refused: the agent signs its own.
"""

# ruff: noqa: S310, S603 - it talks to the servers it has started itself

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

FOLDER = Path(__file__).parent
TOKEN = "let-me-in"  # noqa: S105 - of an example


def call(url: str, body: object, **headers: str) -> Any:
    """Post JSON, and return the JSON of the answer."""
    request = Request(
        url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "A2A-Version": "1.0", **headers},
    )
    with urlopen(request) as response:
        return json.load(response)


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """Return what a server says of where it is."""
    assert process.stdout is not None
    return next(found[1] for line in process.stdout if (found := re.search(pattern, line)))


def main() -> None:
    """Play the whole story."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    hook = f"http://127.0.0.1:{port}/"
    with TemporaryDirectory() as folder:
        news = Path(folder, "news.txt")
        serve = [sys.executable, "-m", "dragoman", "serve", str(FOLDER / "agent.py"), "--port=0"]
        # On one machine: by http, and to an inner address.
        serve += ["--push-allow-http", "--push-allow-hosts=127.0.0.1:*"]
        serve += [f"--store=sqlite:///{folder}/tasks.db"]
        agent = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        started = [agent]
        try:
            kiln = wait_for(agent, r"served at (http://[\d.:]+)")

            message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "a vase"}]}
            wanted = {"url": hook, "token": TOKEN}
            answer = call(
                f"{kiln}/message:send",
                {
                    "message": message,
                    "configuration": {
                        "returnImmediately": True,
                        "taskPushNotificationConfig": wanted,
                    },
                },
            )
            task = answer["task"]["id"]

            # Nobody listens yet. The agent tries, and tries again.
            listed = [sys.executable, "-m", "dragoman", "push", "list", "-o", "json"]
            listed += [f"--store=sqlite:///{folder}/tasks.db"]
            while True:
                found = json.loads(subprocess.check_output(listed))["webhooks"][0]
                if found["attempts"]:
                    break
                time.sleep(0.1)
            assert TOKEN not in json.dumps(found), found

            listen = [sys.executable, "-m", "uvicorn", "hook:app", f"--app-dir={FOLDER}"]
            environment = {**os.environ, "KILN": kiln, "HOOK": hook, "NEWS": str(news)}
            started.append(
                subprocess.Popen([*listen, f"--port={port}"], env=environment, text=True)
            )
            until = time.monotonic() + 30
            while not news.exists() or "COMPLETED" not in news.read_text():
                assert time.monotonic() < until, "nothing arrives"
                time.sleep(0.1)
            assert news.read_text().split() == ["SUBMITTED", "WORKING", "COMPLETED"]

            # Whoever has got hold of the token cannot sign.
            told = {"taskId": task, "contextId": "c", "status": {"state": "TASK_STATE_FAILED"}}
            status = 0
            try:
                call(hook, {"statusUpdate": told}, **{"X-A2A-Notification-Token": TOKEN})
            except HTTPError as refused:
                status = refused.code
            assert status == 401, "a stranger was believed"
        finally:
            for process in started:
                process.terminate()
                process.wait(10)
    print("webhooks: ok")


main()
