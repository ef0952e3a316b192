"""A chain of a test's own making: an HTTP server that answers as nodes do.

What it says is what was recorded from a real node (``tests/vectors/xpr``), as far as a test does
not change it. ``tests/support/chain_node.py`` has the real thing.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, TypeAlias

from dragoman.clock import Clock, SystemClock
from dragoman.extensions.xpr.trust import TrustPolicy

__all__ = ("ANYONE", "VECTORS", "ChainDouble", "recorded", "serving_chain")

Json: TypeAlias = dict[str, Any]

ANYONE: Final = TrustPolicy(require_agent=False)
"""A signature is enough, whatever the chain has registered."""

VECTORS: Final[Json] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "xpr" / "vectors.json").read_text()
)
_LETTERS: Final = ".12345abcdefghijklmnopqrstuvwxyz"
_SECONDARY: Final = {("agents", 2): "owner", ("jobs", 2): "client", ("jobs", 3): "agent"}
_KEYS: Final = {
    "agents": "account",
    "usersinfo": "acc",
    "voters": "owner",
    "agentscores": "agent",
    "jobs": "id",
}


class ChainDouble:
    """Accounts and tables, and how the node behaves.

    Attributes:
        asked: how often each path was asked for each account or bound.
        failures: statuses to answer with instead, one for each request; 0 drops the connection.
        lag_ms: how old the newest block is.
        gate: nobody is answered while it is not set.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.accounts: dict[str, Json] = {}
        self.tables: dict[tuple[str, str], list[Json]] = {}
        self.asked: Counter[tuple[str, str]] = Counter()
        self.failures: list[int] = []
        self.lag_ms = 0
        self.url = ""
        self.gate = threading.Event()
        self.gate.set()

    def set_keys(self, account: str, *keys: tuple[str, int], threshold: int = 1) -> None:
        """Give an account an active permission with these keys and weights."""
        listed = [{"key": key, "weight": weight} for key, weight in keys]
        required = {"threshold": threshold, "keys": listed, "accounts": [], "waits": []}
        permission = {"perm_name": "active", "parent": "owner", "required_auth": required}
        self.accounts[account] = {"account_name": account, "permissions": [permission]}

    def put(self, code: str, table: str, **row: object) -> None:
        """Put a row into a table."""
        self.tables.setdefault((code, table), []).append(row)

    def answer(self, path: str, query: Json) -> tuple[int, Json]:
        """Return the status and the body for a question."""
        self.asked[path, str(query.get("account_name", query.get("lower_bound", "")))] += 1
        match path:
            case "/v1/chain/get_info":
                head = _time(self._clock.now_ms() - self.lag_ms)
                return 200, {"head_block_time": head.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]}
            case "/v1/chain/get_account":
                name = query["account_name"]
                if name in self.accounts:
                    return 200, self.accounts[name]
                return recorded("account-unknown")
            case "/v1/chain/get_table_rows":
                return self._rows(query)
            case _:
                return recorded("not-found")

    def _rows(self, query: Json) -> tuple[int, Json]:
        table = (query["code"], query["table"])
        if table not in self.tables:
            return recorded("unknown-table")
        position = query.get("index_position", 1)
        field = _KEYS[query["table"]] if position == 1 else _SECONDARY[query["table"], position]
        is_name = query.get("key_type") == "name"
        low, high = (_bound(query[end], is_name=is_name) for end in ("lower_bound", "upper_bound"))
        rows = self.tables[table] if query["scope"] == query["code"] else []
        found = [row for row in rows if low <= _key(row[field]) <= high]
        return 200, {"rows": found[: query["limit"]], "more": False, "next_key": ""}


def _bound(bound: str, *, is_name: bool) -> int:
    """Return the number that a bound stands for; digits are a number unless they are a name."""
    if bound.isdecimal() and not is_name:
        return int(bound)
    return _key(bound)


def recorded(name: str) -> tuple[int, Json]:
    """Return what the real node has answered."""
    found = next(one for one in VECTORS["chain_rpc"] if one["name"] == name)
    return found["status"], found["response"]


def _key(value: str | int) -> int:
    if isinstance(value, int):
        return value
    number = 0
    for place in range(12):
        number = number << 5 | (_LETTERS.index(value[place]) if place < len(value) else 0)
    return number << 4


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    chain: ChainDouble

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.chain.gate.wait(10)
        if self.chain.failures:
            status = self.chain.failures.pop(0)
            if not status:
                self.close_connection = True
                return
            self._reply(status, {"message": "out of order"})
            return
        self._reply(*self.chain.answer(self.path, json.loads(body)))

    def _reply(self, status: int, answer: Json) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
        """Say nothing."""


@contextmanager
def serving_chain(chain: ChainDouble | None = None) -> Generator[ChainDouble]:
    """Serve a chain on a free port of the loopback; ``url`` tells where."""
    chain = chain or ChainDouble()
    handler = type("Handler", (_Handler,), {"chain": chain})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    chain.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield chain
    finally:
        chain.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
