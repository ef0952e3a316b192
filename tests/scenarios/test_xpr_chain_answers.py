"""All that was recorded from a real node, asked for by RPC and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from dragoman.clock import SystemClock
from dragoman.extensions.xpr.chain.authority import Account
from dragoman.extensions.xpr.chain.rows import (
    AgentRow,
    JobRow,
    ScoreRow,
    UserRow,
    VoterRow,
    read_rows,
)
from dragoman.extensions.xpr.chain.rpc import ChainRpc
from dragoman.extensions.xpr.errors import ChainUnavailableError, QueryRefusedError
from tests.support.chain_double import VECTORS, ChainDouble, serving_chain

RECORDED: Final[dict[str, Any]] = {one["name"]: one for one in VECTORS["chain_rpc"]}
KINDS: Final[dict[str, tuple[type[msgspec.Struct], str]]] = {
    "agents": (AgentRow, "account"),
    "usersinfo": (UserRow, "acc"),
    "agentscores": (ScoreRow, "agent"),
    "voters": (VoterRow, "owner"),
    "jobs": (JobRow, "id"),
}
# Rows in another form, which is never asked for, and a table that is of no use here.
UNREAD: Final = {"agents-show-payer", "core-config"}
REFUSALS: Final = {
    name: one["response"]["error"]["code"] for name, one in RECORDED.items() if one["status"] != 200
}
FOUND: Final = [name for name in RECORDED if name not in REFUSALS and name not in UNREAD]


class Replay(ChainDouble):
    """A node that says again what a real one has said."""

    name = "info"

    def answer(self, path: str, query: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if path.endswith("get_info"):
            return super().answer(path, query)
        return RECORDED[self.name]["status"], RECORDED[self.name]["response"]


@pytest.fixture
def node() -> Iterator[Replay]:
    node = Replay()
    with serving_chain(node):
        yield node


async def asked(node: Replay, name: str) -> bytes:
    node.name = name
    rpc = ChainRpc((node.url,), SystemClock())
    try:
        path = RECORDED[name]["path"].removeprefix("/v1/chain/")
        return await rpc.ask(path, {})
    finally:
        await rpc.aclose()


@pytest.mark.parametrize("name", FOUND)
async def test_what_a_node_has_told_is_read(node: Replay, name: str) -> None:
    body = await asked(node, name)
    response = RECORDED[name]["response"]
    match RECORDED[name]["path"].rpartition("/")[2]:
        case "get_account":
            account = msgspec.json.decode(body, type=Account, strict=False)
            authority = account.authority("active")
            assert account.account_name == response["account_name"]
            assert authority is not None
            active = next(
                one["required_auth"]
                for one in response["permissions"]
                if one["perm_name"] == "active"
            )
            assert authority.threshold == active["threshold"]
            assert len(authority.keys) == len(active["keys"])
        case "get_table_rows":
            kind, key = KINDS[RECORDED[name]["request"]["table"]]
            rows = read_rows(body, kind)
            assert [getattr(row, key) for row in rows] == [row[key] for row in response["rows"]]
        case _:
            assert name == "info"


@pytest.mark.parametrize("name", REFUSALS)
async def test_what_a_node_has_refused_is_told(node: Replay, name: str) -> None:
    if name == "not-found":
        # A node that does not know the path may know less than another.
        with pytest.raises(ChainUnavailableError):
            await asked(node, name)
        return
    with pytest.raises(QueryRefusedError) as caught:
        await asked(node, name)
    assert caught.value.code == REFUSALS[name]
    # What the node itself says stands in it.
    assert RECORDED[name]["response"]["error"]["details"][0]["message"] in str(caught.value)
