"""Serves Desk and tries every skill, over JSON-RPC, HTTP+JSON and both kinds of stream."""

# ruff: noqa: S310, S603 - it talks to the server it has started itself

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

Json = dict[str, Any]

AGENT = Path(__file__).with_name("agent.py")
SCORES = b"name,score\nAda,3\nAlan,5\n"
numbers = count(1)


class Desk:
    """What a caller does; nothing but HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url

    def request(self, path: str, body: Json | None = None, after: str = "") -> Request:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        if after:
            headers["Last-Event-ID"] = after
        return Request(self.url + path, data=data, headers=headers)

    def call(self, path: str, body: Json | None = None) -> Json:
        with urlopen(self.request(path, body)) as response:
            answer: Json = json.load(response)
            return answer

    def send(self, *parts: Json, **members: object) -> Json:
        """Send a message and return the task (or the message) that comes back."""
        result: Json
        (result,) = self.call("/message:send", message(*parts, **members)).values()
        return result

    def stream(self, path: str, body: Json | None = None, after: str = "") -> Iterator[Json]:
        """Follow a stream, from after an event if one is named; each has its number as ``id``."""
        number = ""
        with urlopen(self.request(path, body, after)) as response:
            for line in response:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    number = value
                if name == "data":
                    yield {"id": number, **json.loads(value)}


def message(*parts: Json, **members: object) -> Json:
    own = {"messageId": f"m-{next(numbers)}", "role": "ROLE_USER", "parts": parts}
    return {"message": own | members}


def file(name: str, content: bytes) -> Json:
    return {"raw": base64.b64encode(content).decode(), "filename": name}


def state_of(task: Json) -> str:
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def said(task: Json) -> str:
    return str(task["status"]["message"]["parts"][0]["text"])


def result_of(task: Json) -> Json:
    assert state_of(task) == "COMPLETED", task
    part: Json = task["artifacts"][0]["parts"][0]
    return part


def check_values(desk: Desk) -> None:
    counted = result_of(desk.send({"text": "Is it? It is."}))["data"]
    assert counted["words"] == 4, counted
    assert result_of(desk.send({"text": "convert 5 km to miles"}))["text"] == "5 km is 3.10686 mi"
    boiling = {"value": 100, "source": "C", "target": "F"}
    assert result_of(desk.send({"data": boiling}))["text"] == "100 C is 212 F"
    table = result_of(desk.send(file("scores.csv", SCORES)))
    assert json.loads(base64.b64decode(table["raw"]))[1] == {"name": "Alan", "score": "5"}, table
    digest = result_of(desk.send(file("scores.bin", SCORES)))["data"]
    assert digest["sha256"].startswith("7f4f3e"), digest


def check_other_endings(desk: Desk) -> None:
    help_text = desk.send({"text": "help"})["parts"][0]["text"]
    assert "convert: Convert" in help_text, help_text
    mixed = desk.send({"text": "convert 5 km to kg"})
    assert (state_of(mixed), said(mixed)[:2]) == ("REJECTED", "km"), mixed
    ragged = desk.send(file("scores.csv", SCORES + b"Grace\n"))
    assert said(ragged) == "Line 4 has 1 cells; the header has 2.", ragged
    failed = desk.send({"text": "please"}, metadata={"skillId": "fail"})
    assert state_of(failed) == "FAILED", failed
    assert "broken" not in json.dumps(failed), failed
    try:
        desk.send({"text": "please"}, metadata={"skillId": "nothing"})
        status = 200
    except HTTPError as error:
        status = error.code
    assert status == 400, "an unknown skill was accepted"


def check_questions(desk: Desk) -> None:
    task = desk.send({"text": "convert"})
    assert state_of(task) == "INPUT_REQUIRED", task
    form = task["status"]["message"]["parts"][1]["data"]["schema"]
    assert form["required"] == ["value", "source"], form
    task = desk.send({"data": {"value": 20, "source": "C"}}, taskId=task["id"])
    assert said(task) == "Convert 20 C to what?", task
    task = desk.send({"text": "parsecs"}, taskId=task["id"])
    assert state_of(task) == "INPUT_REQUIRED", task
    task = desk.send({"text": "F"}, taskId=task["id"])
    assert result_of(task)["text"] == "20 C is 68 F", task


def check_streams(desk: Desk) -> None:
    events = list(desk.stream("/message:stream", message({"text": "report A night. It rained."})))
    steps = [said(e["statusUpdate"]) for e in events if "message" in str(e.get("statusUpdate"))]
    assert steps == [
        "Section 1 of 3: Size",
        "Section 2 of 3: Outline",
        "Section 3 of 3: Frequent words",
    ], steps
    chunks = [e["artifactUpdate"] for e in events if "artifactUpdate" in e]
    streamed = "".join(chunk["artifact"]["parts"][0]["text"] for chunk in chunks)
    task_id = events[0]["task"]["id"]
    assert streamed == result_of(desk.call(f"/tasks/{task_id}"))["text"], streamed
    # A reader who lost the connection after event 3 goes on with event 4, though the task is over.
    rest = list(desk.stream(f"/tasks/{task_id}:subscribe", after="3"))
    assert rest[1:] == events[3:], rest


def check_canceling(desk: Desk) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}
    stream = desk.stream("/", {**call, "params": message({"text": "count down from 1000"})})
    task_id = next(stream)["result"]["task"]["id"]
    next(stream)
    canceled = desk.call(f"/tasks/{task_id}:cancel", {})
    assert state_of(canceled) == "CANCELED", canceled
    *_, last = stream
    assert state_of(last["result"]["statusUpdate"]) == "CANCELED", last
    listed = desk.call("/tasks?status=TASK_STATE_CANCELED")
    assert [task["id"] for task in listed["tasks"]] == [task_id], listed


command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port=0", "--store=memory:"]
environment = {**os.environ, "DESK_SECOND": "0.05"}
with subprocess.Popen(
    command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
) as server:
    try:
        assert server.stdout is not None
        desk = Desk(re.findall(r"http://\S+", server.stdout.readline())[0])
        check_values(desk)
        check_other_endings(desk)
        check_questions(desk)
        check_streams(desk)
        check_canceling(desk)
    finally:
        server.terminate()
        log = server.communicate()[1]

assert "canceled with" in log, log  # the cleanup hook
assert "RuntimeError: something is broken" in log, log  # the failure, for the operator alone
print("desk: ok")
