"""A chain of two accounts and one job, as its nodes answer; for trying things out.

python chain.py http://127.0.0.1:8000     where the agent called pilot is

It prints its own address. The real one is asked at addresses such as https://proton.eosusa.io.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dragoman.clock import SystemClock
from dragoman.model import format_timestamp

# Of 5Hw18ytNAjnSerdkDYWktiDJvANc8swXfF4Sn7itpCaqdayXTBm, published and good for nothing else.
KEYS = {"alice": "EOS5PyhHyqNC2GYhCYxrrGzBvweCVpMkofq8ha65TJ5Vmzu9MgSu8"}


def tables(endpoint: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table."""
    pilot: dict[str, Any] = {
        "account": "pilot",
        "owner": "alice",
        "name": "The Pilot",
        "endpoint": endpoint,
        "protocol": "https",
        "capabilities": '["harbours"]',
        "registered_at": 1704067200,
        "active": 1,
    }
    job: dict[str, Any] = {
        "id": 42,
        "title": "Survey of boats",
        "amount": "50000000",
        "symbol": "XPR",
    }
    return {
        # Only registered agents are served.
        "agents": [pilot, {"account": "alice", "active": 1}],
        "usersinfo": [{"acc": "alice", "verified": 1, "kyc": [{"kyc_level": "metal:2"}]}],
        "voters": [{"owner": "pilot", "staked": "100000000000"}],
        "agentscores": [{"agent": "pilot", "avg_score": 9000, "total_weight": 20}],
        "jobs": [job],
    }


class Node(BaseHTTPRequestHandler):
    """Answers the three questions that are asked."""

    rows = tables(sys.argv[1] if len(sys.argv) > 1 else "")

    def do_POST(self) -> None:
        """Answer one."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        status, answer = self.answer(self.path.rpartition("/")[2], asked)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, question: str, asked: dict[str, str]) -> tuple[int, dict[str, object]]:
        """Return a status and what there is to say."""
        if question == "get_info":
            now = format_timestamp(SystemClock().now_ms())
            return 200, {"head_block_time": now.removesuffix("Z")}
        if question == "get_account" and asked["account_name"] in KEYS:
            name = asked["account_name"]
            keys = [{"key": KEYS[name], "weight": 1}]
            active = {"perm_name": "active", "required_auth": {"threshold": 1, "keys": keys}}
            return 200, {"account_name": name, "permissions": [active]}
        if question == "get_table_rows":
            rows = self.rows[asked["table"]]
            found = [row for row in rows if asked["lower_bound"] == str(next(iter(row.values())))]
            return 200, {"rows": found, "more": False, "next_key": ""}
        error = {"code": 3060002, "what": "unknown", "details": [{"message": "unknown key"}]}
        return 400, {"code": 400, "message": "Bad Request", "error": error}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Node)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
