"""A whole agent over JSON-RPC in one file, which does right until it is told to do wrong.

For the checker of agents: what it finds in a broken one is judged against this one unbroken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event, Thread
from typing import Any, NamedTuple

__all__ = ("MiniAgent", "Raw", "Refused", "Stream", "mini_agent")

CARD_PATH = "/.well-known/agent-card.json"
WHOLE = {"streaming": True, "pushNotifications": True, "extendedAgentCard": True}


class Raw(NamedTuple):
    """A reply of HTTP as it is, without an envelope."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


class Stream(NamedTuple):
    """Events to answer with; ``is_endless`` holds the stream open after them."""

    events: list[Any]
    is_endless: bool = False


class Refused(Exception):  # noqa: N818 - what the agent says, not what goes wrong here
    """An error to answer with."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(code)
        self.code = code
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
        self.data = [{**info, "domain": "a2a-protocol.org"}] if reason else []


NOT_FOUND = Refused(-32001, "TASK_NOT_FOUND")
ENDED = Refused(-32004, "UNSUPPORTED_OPERATION")


class MiniAgent:
    """What it keeps, what it was asked, and where it does wrong.

    Attributes:
        wrong: what to answer to a method instead.
    """

    def __init__(self) -> None:
        self.url = ""
        self.card: Any = None
        self.card_reply: Raw | None = None
        self.wrong: dict[str, Callable[[Any], object]] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.configs: dict[tuple[str, str], dict[str, Any]] = {}
        self.credentials: set[str] = set()
        self.is_over = Event()
        self._ids = count(1)
        self._methods: dict[str, Callable[[Any], object]] = {
            "SendMessage": self._send_message,
            "SendStreamingMessage": self._send_streaming_message,
            "GetTask": self._get_task,
            "ListTasks": self._list_tasks,
            "SubscribeToTask": self._subscribe_to_task,
            "CancelTask": self._cancel_task,
            "CreateTaskPushNotificationConfig": self._create_config,
            "GetTaskPushNotificationConfig": self._get_config,
            "ListTaskPushNotificationConfigs": self._list_configs,
            "DeleteTaskPushNotificationConfig": self._delete_config,
            "GetExtendedAgentCard": self._get_extended_agent_card,
        }

    def answer(self, method: str, params: Any, version: str) -> object:
        """Carry out a method."""
        if version != "1.0":
            raise Refused(-32009, "VERSION_NOT_SUPPORTED")
        carry_out = self.wrong.get(method) or self._methods.get(method)
        if carry_out is None:
            raise Refused(-32601)
        return carry_out(params)

    def task(self, state: str = "COMPLETED") -> dict[str, Any]:
        """Make a task."""
        number = next(self._ids)
        made: dict[str, Any] = {
            "id": f"t-{number}",
            "contextId": f"c-{number}",
            "status": {"state": f"TASK_STATE_{state}", "timestamp": "2026-01-01T00:00:00.000Z"},
        }
        self.tasks[made["id"]] = made
        return made

    def running(self) -> list[str]:
        """Return the ids of the tasks that are still at work."""
        return [key for key, task in self.tasks.items() if "WORKING" in task["status"]["state"]]

    def _find(self, task_id: str) -> dict[str, Any]:
        if task_id not in self.tasks:
            raise NOT_FOUND
        return self.tasks[task_id]

    def _send_message(self, params: Any) -> object:
        message = params["message"]
        if not message["parts"]:
            raise Refused(-32602)
        if "taskId" in message:
            self._find(message["taskId"])
            raise ENDED
        returns_at_once = params.get("configuration", {}).get("returnImmediately")
        return {"task": self.task("WORKING" if returns_at_once else "COMPLETED")}

    def _send_streaming_message(self, params: Any) -> object:
        del params
        task = self.task("WORKING")
        first = {"task": {**task}}
        task["status"] = {"state": "TASK_STATE_COMPLETED"}
        event = {"taskId": task["id"], "contextId": task["contextId"], "status": task["status"]}
        return Stream([first, {"statusUpdate": event}])

    def _get_task(self, params: Any) -> object:
        return self._find(params["id"])

    def _list_tasks(self, params: Any) -> object:
        size = params.get("pageSize", 50)
        if size > 100:
            raise Refused(-32602)
        context = params.get("contextId")
        found = [task for task in self.tasks.values() if context in (None, task["contextId"])]
        start = int(params.get("pageToken") or 0)
        page = found[start : start + size]
        token = str(start + size) if start + size < len(found) else ""
        return {
            "tasks": page,
            "nextPageToken": token,
            "pageSize": size,
            "totalSize": len(found),
        }

    def _subscribe_to_task(self, params: Any) -> object:
        task = self._find(params["id"])
        if "WORKING" not in task["status"]["state"]:
            raise ENDED
        return Stream([{"task": task}], is_endless=True)

    def _cancel_task(self, params: Any) -> object:
        task = self._find(params["id"])
        if "WORKING" not in task["status"]["state"]:
            raise Refused(-32002, "TASK_NOT_CANCELABLE")
        task["status"] = {"state": "TASK_STATE_CANCELED"}
        return task

    def _create_config(self, params: Any) -> object:
        self.configs[params["taskId"], params["id"]] = params
        return params

    def _get_config(self, params: Any) -> object:
        return self.configs[params["taskId"], params["id"]]

    def _list_configs(self, params: Any) -> object:
        found = [kept for (task, _), kept in self.configs.items() if task == params["taskId"]]
        return {"configs": found}

    def _delete_config(self, params: Any) -> object:
        self.configs.pop((params["taskId"], params["id"]), None)
        return {}

    def _get_extended_agent_card(self, params: Any) -> object:
        del params
        return self.card


@contextmanager
def mini_agent(**capabilities: bool) -> Generator[MiniAgent]:
    """Serve one on a free port, with all capabilities unless some are named."""
    agent = MiniAgent()

    class Handler(_Handler):
        mini = agent

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    agent.url = f"http://127.0.0.1:{server.server_port}"
    agent.card = {
        "name": "Mini",
        "description": "Does right, or wrong.",
        "version": "1.2.3",
        "supportedInterfaces": [
            {"url": f"{agent.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": capabilities or WHOLE,
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "Does.", "tags": ["t"]}],
    }
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        agent.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    mini: MiniAgent
    protocol_version = "HTTP/1.1"
    # Head and body go out together, and not one after the other has been acknowledged.
    wbufsize = -1

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
        """Say nothing."""

    def do_GET(self) -> None:
        """Show the card; other places are empty."""
        if self.path != CARD_PATH:
            self._send(Raw(b"there is nothing here", 404, "text/plain"))
            return
        card = Raw(json.dumps(self.mini.card).encode())
        self._send(self.mini.card_reply or card, ETag='"1"', Cache_Control="max-age=60")

    def do_POST(self) -> None:
        """Answer a call."""
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path != "/rpc":
            self._send(Raw(b"there is nothing here", 404, "text/plain"))
            return
        self.mini.credentials.add(self.headers.get("authorization", ""))
        try:
            call = json.loads(body)
        except ValueError:
            self._send_error(None, Refused(-32700))
            return
        try:
            version = self.headers.get("a2a-version", "")
            answer = self.mini.answer(call["method"], call["params"], version)
        except Refused as refused:
            self._send_error(call["id"], refused)
            return
        match answer:
            case Raw():
                self._send(answer)
            case Stream():
                self._stream(call["id"], answer)
            case _:
                self._send(Raw(_envelope(call["id"], result=answer)))

    def _send_error(self, call_id: object, refused: Refused) -> None:
        error = {"code": refused.code, "message": "No.", "data": refused.data}
        self._send(Raw(_envelope(call_id, error=error)))

    def _send(self, reply: Raw, **headers: str) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(reply.body)

    def _stream(self, call_id: object, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        for event in stream.events:
            self.wfile.write(b"data: %b\n\n" % _envelope(call_id, result=event))
        self.wfile.flush()
        while stream.is_endless and not self.mini.is_over.wait(0.05):
            try:
                self.wfile.write(b": still here\n\n")
                self.wfile.flush()
            except OSError:
                return


def _envelope(call_id: object, **member: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": call_id, **member}).encode()
