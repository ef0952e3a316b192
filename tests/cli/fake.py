"""An agent that does as it is told, over JSON-RPC and HTTP+JSON, and remembers what it was asked.

For what a real agent does not do: cut its streams, refuse by order, show broken cards.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

__all__ = (
    "Asked",
    "FakeAgent",
    "Frames",
    "Refusal",
    "asking_for",
    "card",
    "fake_agent",
    "task",
)

CARD_PATH = "/.well-known/agent-card.json"


class Asked(NamedTuple):
    """A request: the operation, or the verb and the path; what came with it, and when."""

    method: str
    headers: dict[str, str]
    params: Any
    at: float


class Refusal(NamedTuple):
    """An error to answer with."""

    code: int
    message: str
    status: int = 200
    reason: str = ""


class Frames(NamedTuple):
    """A stream to answer with; ``is_cut`` ends it in the middle of a frame."""

    events: list[Any]
    is_cut: bool = False


Answer = Callable[[Any], object]


class FakeAgent:
    """What it answers by operation, what its card says, and what it was asked."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers: dict[str, Answer] = dict(answers)
        self.asked: list[Asked] = []
        self.url = ""
        self.card: object = None
        self.card_status = 200
        self.card_headers: dict[str, str] = {}

    def calls(self, method: str) -> list[Asked]:
        """The requests for one operation."""
        return [each for each in self.asked if each.method == method]


def card(url: str, **members: object) -> dict[str, Any]:
    """Return a card with one interface of JSON-RPC."""
    return {
        "name": "Fake",
        "description": "Does as it is told.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "Does.", "tags": ["t"]}],
        **members,
    }


def task(state: str = "COMPLETED", task_id: str = "t-1", **members: object) -> dict[str, Any]:
    """Return a task."""
    return {
        "id": task_id,
        "contextId": "c-1",
        "status": {"state": f"TASK_STATE_{state}"},
        **members,
    }


def asking_for(scheme: Mapping[str, object]) -> dict[str, Any]:
    """Return the members of a card that requires one security scheme."""
    return {
        "securitySchemes": {"main": scheme},
        "securityRequirements": [{"schemes": {"main": {"list": []}}}],
    }


@contextmanager
def fake_agent(**answers: Answer) -> Generator[FakeAgent]:
    """Serve a fake agent on a free port; its card can be changed at any time."""
    agent = FakeAgent(answers)

    class Handler(_Handler):
        fake = agent

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    agent.url = f"http://127.0.0.1:{server.server_port}"
    agent.card = card(agent.url)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeAgent
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
        """Say nothing."""

    def do_GET(self) -> None:
        """Show the card, or answer an operation of HTTP+JSON."""
        path = self.path.partition("?")[0]
        if path == CARD_PATH:
            self._remember("card", None)
            body = self.fake.card
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self._send(self.fake.card_status, content, **self.fake.card_headers)
        else:
            self._answer_rest(None)

    def do_POST(self) -> None:
        """Answer an operation."""
        content = self.rfile.read(int(self.headers.get("content-length", "0")))
        value = json.loads(content) if content else None
        if self.path == "/":
            self._answer_rpc(value)
        else:
            self._answer_rest(value)

    def do_DELETE(self) -> None:
        """Answer an operation of HTTP+JSON."""
        self._answer_rest(None)

    def _remember(self, method: str, params: object) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.fake.asked.append(Asked(method, headers, params, time.monotonic()))

    def _answer_rpc(self, envelope: Any) -> None:
        method, params = envelope["method"], envelope.get("params")
        self._remember(method, params)
        answer = self.fake.answers.get(method, _unknown)(params)
        head = {"jsonrpc": "2.0", "id": envelope["id"]}
        match answer:
            case Refusal():
                error = {"code": answer.code, "message": answer.message, "data": _info(answer)}
                self._send(answer.status, json.dumps({**head, "error": error}).encode())
            case Frames():
                self._stream([{**head, "result": event} for event in answer.events], answer.is_cut)
            case _:
                self._send(200, json.dumps({**head, "result": answer}).encode())

    def _answer_rest(self, body: object) -> None:
        method = f"{self.command} {self.path.partition('?')[0]}"
        self._remember(method, body)
        answer = self.fake.answers.get(method, _unknown)(body)
        match answer:
            case Refusal():
                error = {
                    "code": answer.status,
                    "message": answer.message,
                    "details": _info(answer),
                }
                self._send(answer.status, json.dumps({"error": error}).encode())
            case Frames():
                self._stream(answer.events, answer.is_cut)
            case _:
                self._send(200, json.dumps(answer).encode())

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: list[Any], is_cut: bool) -> None:  # noqa: FBT001 - of a value
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self._chunk(f"data: {json.dumps(event)}\n\n".encode())
        if is_cut:
            self.wfile.write(b"100\r\ndata: {")
            self.close_connection = True
        else:
            self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()


def _unknown(params: object) -> Refusal:
    del params
    return Refusal(-32601, "Method not found", 404, "METHOD_NOT_FOUND")


def _info(refusal: Refusal) -> list[dict[str, str]]:
    if not refusal.reason:
        return []
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return [{"@type": kind, "reason": refusal.reason, "domain": "a2a-protocol.org"}]
