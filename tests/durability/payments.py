"""A payment service: takes each key once, and remembers how often it was asked."""

from __future__ import annotations

import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

__all__ = ("Payments",)


class Payments:
    """Serves on the loopback while it is entered.

    Attributes:
        paid: the price of each payment, by key.
        attempts: how often each key was sent.
    """

    def __init__(self) -> None:
        self.paid: dict[str, int] = {}
        self.attempts: Counter[str] = Counter()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Payments:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _pay(self, order: dict[str, Any]) -> bytes:
        key = order["key"]
        self.attempts[key] += 1
        self.paid.setdefault(key, order["price"])
        return json.dumps({"receipt": f"R-{order['price']}"}).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        pay = self._pay

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = pay(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                del format, args

        return Handler
