"""Facts about accounts, asked of a server that answers as nodes do."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from dragoman.extensions.xpr.chain.chain import Chain
from dragoman.extensions.xpr.crypto.keys import PublicKey
from dragoman.extensions.xpr.errors import (
    ChainError,
    ChainUnavailableError,
    MalformedError,
    UnknownAccountError,
)
from dragoman.extensions.xpr.trust import TrustPolicy, TrustScore
from dragoman.testing.clock import FakeClock
from tests.support.chain_double import VECTORS, ChainDouble, recorded, serving_chain

KEYS = [pair["pub_legacy"] for pair in VECTORS["keys"][:4]]
ONE, TWO = (PublicKey.read(key) for key in KEYS[:2])
GET_ALICE = ("/v1/chain/get_account", "alice")
CLOCK_MS = 1_794_772_200_000
"""When the rows were recorded."""

TABLES = {
    "agentcore": {"agents": ["alice", "carol.x", "eve", "dave12345111"]},
    "eosio.proton": {"usersinfo": ["alice", "bob", "carol.x", "frank"]},
    "agentfeed": {"agentscores": ["alice", "carol.x"]},
    "eosio": {"voters": ["alice", "bob"]},
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(CLOCK_MS)


@pytest.fixture
def node(clock: FakeClock) -> Iterator[ChainDouble]:
    """A node with what was recorded."""
    double = ChainDouble(clock)
    for name in ("alice", "multi", "webby", "linked"):
        double.accounts[name] = recorded(f"account-{name}")[1]
    for code, tables in TABLES.items():
        for table, names in tables.items():
            rows = [recorded(f"{table}-{name}")[1]["rows"][0] for name in names]
            double.tables[code, table] = rows
    double.put("agentcore", "agents", **recorded("digits-key-type")[1]["rows"][0])
    jobs = [recorded(f"job-{number}")[1]["rows"][0] for number in (42, 43)]
    double.tables["agentescrow", "jobs"] = jobs
    with serving_chain(double):
        yield double


@pytest.fixture
async def chain(node: ChainDouble, clock: FakeClock) -> AsyncIterator[Chain]:
    made = Chain(node.url, clock=clock)
    yield made
    await made.aclose()


# --- who may sign ---------------------------------------------------------------------------------


async def test_the_keys_of_an_account(chain: Chain) -> None:
    alice, multi = await chain.authority("alice"), await chain.authority("multi")
    assert alice is not None
    assert multi is not None
    assert alice.signers(honours_weights=True) == (ONE,)
    assert multi.signers(honours_weights=True) == ()
    linked = await chain.authority("linked")
    assert linked is not None
    assert linked.keys == ()


async def test_another_permission_can_be_the_one(node: ChainDouble, clock: FakeClock) -> None:
    elsewhere = Chain(node.url, permission="a2a", clock=clock)
    assert await elsewhere.authority("alice") is None
    await elsewhere.aclose()


async def test_keys_are_remembered_and_asked_for_once(chain: Chain, node: ChainDouble) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(chain.authority("alice"))
    assert node.asked[GET_ALICE] == 1


async def test_a_key_that_was_changed_counts_when_somebody_shows_it(
    chain: Chain, node: ChainDouble, clock: FakeClock
) -> None:
    await chain.authority("alice")
    node.set_keys("alice", (KEYS[1], 1))
    for _ in range(5):
        still = await chain.authority("alice", is_renewed=True)
        assert still is not None
        assert still.signers(honours_weights=True) == (ONE,)
    assert node.asked[GET_ALICE] == 1
    clock.advance(10)
    for is_renewed in (True, False):
        renewed = await chain.authority("alice", is_renewed=is_renewed)
        assert renewed is not None
        assert renewed.signers(honours_weights=True) == (TWO,)
    assert node.asked[GET_ALICE] == 2


async def test_an_account_that_is_not_there_is_remembered_too(
    chain: Chain, node: ChainDouble, clock: FakeClock
) -> None:
    for _ in range(3):
        with pytest.raises(UnknownAccountError, match="'ghost' is not known"):
            await chain.authority("ghost")
    assert node.asked["/v1/chain/get_account", "ghost"] == 1
    node.set_keys("ghost", (KEYS[0], 1))
    clock.advance(30)
    assert await chain.authority("ghost") is not None


async def test_a_name_that_is_none_is_asked_of_nobody(chain: Chain, node: ChainDouble) -> None:
    for name in ("", "ALICE", "alice.", "alice/../x", "a" * 13):
        with pytest.raises(MalformedError):
            await chain.authority(name)
        with pytest.raises(MalformedError):
            await chain.agent(name)
        with pytest.raises(MalformedError):
            await chain.agents_of(name)
    assert not node.asked


async def test_an_answer_about_another_account_is_none(chain: Chain, node: ChainDouble) -> None:
    node.accounts["bob"] = node.accounts["alice"]
    with pytest.raises(ChainError, match="another account"):
        await chain.authority("bob")


async def test_an_account_that_cannot_be_read(chain: Chain, node: ChainDouble) -> None:
    node.accounts["bob"] = {"account_name": "bob", "permissions": 5}
    with pytest.raises(ChainError, match="cannot be read"):
        await chain.authority("bob")


async def test_a_chain_that_is_down(chain: Chain, node: ChainDouble) -> None:
    node.failures = [503] * 5
    with pytest.raises(ChainUnavailableError):
        await chain.authority("alice")


# --- what is known --------------------------------------------------------------------------------


async def test_agents(chain: Chain) -> None:
    alice = await chain.agent("alice")
    assert alice is not None
    assert (alice.owner, alice.capability_names) == ("bob", ("compute", "ai"))
    assert await chain.agent("nobody") is None
    assert [row.account for row in await chain.agents_of("bob")] == ["alice"]
    assert await chain.agents_of("nobody") == ()


async def test_a_name_of_digits_is_found(chain: Chain) -> None:
    digits = await chain.agent("12345")
    assert digits is not None
    assert digits.name == "Digits"


async def test_a_row_of_another_is_not_taken_for_ones_own(node: ChainDouble, chain: Chain) -> None:
    class Careless(ChainDouble):
        def answer(self, path: str, query: dict[str, object]) -> tuple[int, dict[str, object]]:
            if path == "/v1/chain/get_table_rows":
                return 200, {"rows": node.tables["agentcore", "agents"][:1]}
            return super().answer(path, query)

    with serving_chain(Careless()) as careless:
        other = Chain(careless.url)
        assert await other.agent("bob") is None
        assert await other.agents_of("eve") == ()
        await other.aclose()


async def test_jobs(chain: Chain) -> None:
    job = await chain.job(42)
    assert job is not None
    assert (job.client, job.agent, job.amount) == ("bob", "alice", 50_000_000)
    assert await chain.job(777) is None


async def test_levels(chain: Chain) -> None:
    levels = {name: await chain.kyc_level(name) for name in ("alice", "bob", "carol.x", "eve")}
    assert levels["eve"] == 0
    assert levels["carol.x"] == 1
    assert all(0 <= level <= 3 for level in levels.values())


async def test_the_score_of_a_card(chain: Chain) -> None:
    score = await chain.trust_score("alice")
    assert score is not None
    # Recorded: 86 on the card of the network's own server.
    assert score == TrustScore(kyc=score.kyc, stake=20, reputation=36, longevity=10)
    assert score.total == 86
    assert await chain.trust_score("nobody") is None
    unowned = await chain.trust_score("carol.x")
    assert unowned is not None
    assert unowned.kyc == 0


# --- what a gate needs ----------------------------------------------------------------------------


async def test_the_gate_goes_by_the_score_of_the_card(chain: Chain) -> None:
    full = await chain.trust_facts("alice", TrustPolicy(min_trust_score=1))
    partial = await chain.trust_facts("alice", TrustPolicy(min_trust_score=1, gate_score="partial"))
    assert (full.score, partial.score) == (86, partial.kyc * 10 + 10)


async def test_no_more_is_asked_than_is_needed(chain: Chain, node: ChainDouble) -> None:
    facts = await chain.trust_facts("alice", TrustPolicy(require_agent=True))
    assert (facts.kyc, facts.score) == (0, 0)
    rows = [key for key in node.asked if key[0] == "/v1/chain/get_table_rows"]
    assert rows == [("/v1/chain/get_table_rows", "alice")]
    assert node.asked[rows[0]] == 1
    assert (await chain.trust_facts("eve", TrustPolicy(min_trust_score=1))).score == 0
    assert (await chain.trust_facts("nobody", TrustPolicy(min_kyc_level=1))).agent is None


async def test_a_table_that_is_missing_is_not_taken_for_an_empty_one(
    chain: Chain, node: ChainDouble
) -> None:
    del node.tables["agentfeed", "agentscores"]
    with pytest.raises(ChainError, match="refuses"):
        await chain.trust_facts("alice", TrustPolicy(min_trust_score=1))
