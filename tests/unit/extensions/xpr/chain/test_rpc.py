"""Nodes that are up, down, behind, or talk nonsense; each is a real server."""

from collections.abc import Iterator
from contextlib import ExitStack

import msgspec
import pytest

from dragoman.clock import SystemClock
from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.rpc import ACCOUNT_UNKNOWN, ChainRpc
from dragoman.extensions.xpr.errors import ChainUnavailableError, QueryRefusedError
from tests.support.chain_double import ChainDouble, recorded, serving_chain
from tests.support.serving import free_port

ALICE = {"account_name": "alice"}
GET_ALICE = ("/v1/chain/get_account", "alice")


@pytest.fixture
def nodes() -> Iterator[tuple[ChainDouble, ChainDouble]]:
    """Two nodes that know alice."""
    with ExitStack() as stack:
        found = [stack.enter_context(serving_chain()) for _ in range(2)]
        for node in found:
            node.accounts["alice"] = recorded("account-alice")[1]
        yield found[0], found[1]


def rpc_of(*urls: str) -> ChainRpc:
    return ChainRpc(urls, SystemClock())


async def account_name(rpc: ChainRpc) -> str:
    try:
        return msgspec.json.decode(await rpc.ask("get_account", ALICE))["account_name"]
    finally:
        await rpc.aclose()


async def test_a_node_that_answers_is_asked_again(nodes: tuple[ChainDouble, ChainDouble]) -> None:
    first, second = nodes
    rpc = rpc_of(first.url, second.url + "/")
    for _ in range(3):
        assert await account_name(rpc) == "alice"
    assert (first.asked[GET_ALICE], second.asked[GET_ALICE]) == (3, 0)
    # Its newest block is looked at every half minute, and not for each question.
    assert first.asked["/v1/chain/get_info", ""] == 1


@pytest.mark.parametrize("status", [0, 404, 429, 500, 502, 503])
async def test_a_node_that_fails_is_left_for_the_next(
    nodes: tuple[ChainDouble, ChainDouble], status: int
) -> None:
    first, second = nodes
    rpc = rpc_of(first.url, second.url)
    assert await account_name(rpc) == "alice"
    first.failures = [status]
    assert await account_name(rpc) == "alice"
    assert second.asked[GET_ALICE] == 1
    # The one that has answered stays the first.
    assert await account_name(rpc) == "alice"
    assert second.asked[GET_ALICE] == 2


async def test_a_node_that_is_not_there_is_left_for_the_next(
    nodes: tuple[ChainDouble, ChainDouble],
) -> None:
    rpc = rpc_of(f"http://127.0.0.1:{free_port()}", nodes[1].url)
    assert await account_name(rpc) == "alice"


async def test_a_node_that_is_behind_is_left_for_the_next(
    nodes: tuple[ChainDouble, ChainDouble],
) -> None:
    first, second = nodes
    first.lag_ms = 40_000
    assert await account_name(rpc_of(first.url, second.url)) == "alice"
    assert first.asked[GET_ALICE] == 0
    second.lag_ms = 40_000
    with pytest.raises(ChainUnavailableError, match=r"behind.*behind"):
        await account_name(rpc_of(first.url, second.url))


async def test_when_none_answers_all_are_named(nodes: tuple[ChainDouble, ChainDouble]) -> None:
    for node in nodes:
        node.failures = [503] * 4
    with pytest.raises(ChainUnavailableError) as caught:
        await account_name(rpc_of(*(node.url for node in nodes)))
    assert [node.url.removeprefix("http://") in str(caught.value) for node in nodes] == [True, True]


async def test_what_every_node_would_say_is_an_answer(
    nodes: tuple[ChainDouble, ChainDouble],
) -> None:
    first, second = nodes
    rpc = rpc_of(first.url, second.url)
    with pytest.raises(QueryRefusedError) as caught:
        await rpc.ask("get_account", {"account_name": "nobody"})
    assert caught.value.code == ACCOUNT_UNKNOWN
    query = {"code": "agentcore", "scope": "agentcore", "table": "nosuchtable"}
    with pytest.raises(QueryRefusedError, match="not specified in the ABI"):
        await rpc.ask("get_table_rows", query)
    assert not second.asked
    await rpc.aclose()


async def test_older_nodes_say_it_in_their_own_way() -> None:
    class OldNode(ChainDouble):
        def answer(self, path: str, query: dict[str, object]) -> tuple[int, dict[str, object]]:
            if path != "/v1/chain/get_account":
                return super().answer(path, query)
            details = [{"message": "unknown key (boost::tuples::tuple<bool, …>): (0 nobody)"}]
            problem = {"code": 0, "name": "exception", "what": "unspecified", "details": details}
            return 500, {"code": 500, "message": "Internal Service Error", "error": problem}

    with serving_chain(OldNode()) as node:
        rpc = rpc_of(node.url)
        with pytest.raises(QueryRefusedError) as caught:
            await rpc.ask("get_account", ALICE)
        await rpc.aclose()
    assert caught.value.code == ACCOUNT_UNKNOWN


async def test_a_node_that_does_not_tell_its_newest_block_is_none() -> None:
    class Mute(ChainDouble):
        def answer(self, path: str, query: dict[str, object]) -> tuple[int, dict[str, object]]:
            return 200, {"head_block_time": "yesterday"}

    with serving_chain(Mute()) as node, pytest.raises(ChainUnavailableError, match="newest block"):
        await account_name(rpc_of(node.url))


@pytest.mark.parametrize("url", ["http://node.example", "ftp://node.example", "node.example", ""])
def test_a_chain_is_asked_by_https(url: str) -> None:
    with pytest.raises(UsageError):
        rpc_of(url)


def test_http_can_be_allowed() -> None:
    ChainRpc(("http://node.example:8888", "https://[2001:db8::1]"), SystemClock(), allow_http=True)


def test_there_must_be_a_node() -> None:
    with pytest.raises(UsageError, match="no RPC endpoint"):
        rpc_of()
