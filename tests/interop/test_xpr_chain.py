"""What a real node of a chain says, and what we make of it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator

import pytest

from dragoman import Agent, Context, connect
from dragoman.adapters.xpr_tools import XprTools
from dragoman.clock import SystemClock
from dragoman.egress import EgressPolicy
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from dragoman.extensions.xpr import (
    Chain,
    TrustPolicy,
    TrustScore,
    UnknownAccountError,
    XprAuth,
    XprPresence,
    XprSigner,
)
from dragoman.extensions.xpr.chain.rpc import ChainRpc
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.errors import QueryRefusedError
from dragoman.testing.clock import FakeClock
from tests.interop.environments import UnreachableError
from tests.support.chain_double import ANYONE, VECTORS
from tests.support.chain_node import TABLES, ChainNode, running_node
from tests.support.chain_packing import integer, name
from tests.support.serving import serving

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("interop-chain"),
    # The first test may have to install the node.
    pytest.mark.timeout(600),
]

ONE, TWO, THREE = (PrivateKey.read(pair["wif"]) for pair in VECTORS["keys"][:3])
R1 = PrivateKey.read(VECTORS["keys"][-1]["pvt"])
MONTHS_AGO = SystemClock().now_ms() // 1000 - 4 * 2_592_000
LARGE = 99_999_999_999_999


@pytest.fixture(scope="module")
def node() -> Iterator[ChainNode]:
    """A chain with people, agents and jobs."""
    try:
        with running_node() as found:
            _furnish(found)
            yield found
    except UnreachableError as error:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def _furnish(node: ChainNode) -> None:
    for contract in TABLES:
        node.deploy(contract)
    node.add_account("alice", [(ONE.public, 1)])
    node.add_account("webby", [(R1.public, 1)])
    node.add_account("12345", [(TWO.public, 1)])
    node.add_account("multi", [(ONE.public, 1), (TWO.public, 1), (THREE.public, 2)], threshold=2)
    node.add_account("linked", [], link="alice")
    for account in ("alice", "12345"):
        node.put(
            *("agentcore", "agents", name(account)),
            account=account,
            owner="bob",
            name="Ünï",
            capabilities='["compute"]',
            registered_at=MONTHS_AGO,
            active=True,
        )
    node.put("eosio.proton", "usersinfo", name("alice"), acc="alice", verified=True)
    node.put(
        *("agentfeed", "agentscores", name("alice")),
        agent="alice",
        avg_score=9100,
        total_weight=20,
    )
    node.put("eosio", "voters", name("alice"), owner="alice", staked=LARGE)
    node.put("agentescrow", "jobs", integer(42, 8), id=42, client="bob", amount=LARGE, symbol="XPR")


@pytest.fixture
async def chain(node: ChainNode) -> AsyncIterator[Chain]:
    found = Chain(node.url)
    yield found
    await found.aclose()


async def test_keys_of_both_curves_with_their_weights(chain: Chain) -> None:
    found = {account: await chain.authority(account) for account in ("alice", "webby", "multi")}
    signers = {
        account: authority.signers(honours_weights=True)
        for account, authority in found.items()
        if authority is not None
    }
    assert signers == {
        "alice": (ONE.public,),
        "webby": (R1.public,),
        "multi": (THREE.public,),
    }
    linked = await chain.authority("linked")
    assert linked is not None
    assert linked.keys == ()


async def test_what_is_not_there(chain: Chain) -> None:
    with pytest.raises(UnknownAccountError):
        await chain.authority("ghost")
    assert await chain.agent("ghost") is None
    assert await chain.job(43) is None


async def test_rows(chain: Chain) -> None:
    for account in ("alice", "12345"):
        agent = await chain.agent(account)
        assert agent is not None
        assert (agent.account, agent.name, agent.active) == (account, "Ünï", True)
        assert (agent.registered_at, agent.capability_names) == (MONTHS_AGO, ("compute",))
    job = await chain.job(42)
    assert job is not None
    assert (job.client, job.amount) == ("bob", LARGE)
    assert await chain.kyc_level("alice") == 1


async def test_the_trust_score(chain: Chain) -> None:
    # Her owner is not known; four months of a month each have gone by.
    expected = TrustScore(kyc=0, stake=20, reputation=36, longevity=4)
    assert await chain.trust_score("alice") == expected
    assert await chain.trust_score("12345") == TrustScore(longevity=4)
    assert await chain.trust_score("webby") is None


async def test_a_contract_that_the_chain_does_not_have_is_an_error(node: ChainNode) -> None:
    rpc = ChainRpc((node.url,), SystemClock())
    query = {"json": True, "code": "agentcore", "scope": "agentcore", "table": "plugins"}
    with pytest.raises(QueryRefusedError, match="not specified in the ABI"):
        await rpc.ask("get_table_rows", query)
    await rpc.aclose()


def notary(auth: XprAuth) -> Agent:
    agent = Agent("Notary", "Says who asks.", auth=[auth])

    @agent.skill
    async def whoami(ctx: Context) -> str:
        """Say who asks."""
        return str(ctx.user)

    return agent


async def who(url: str, account: str, key: PrivateKey) -> str:
    async with connect(url, auth=XprSigner(account, key)) as agent:
        return (await agent.send("hello")).text


async def test_callers_are_who_the_chain_says(node: ChainNode) -> None:
    auth = XprAuth(Chain(node.url), trust=TrustPolicy(require_agent=True, min_kyc_level=1))
    async with serving(notary(XprAuth(Chain(node.url), trust=ANYONE))) as place:
        for account, key in (("alice", ONE), ("webby", R1), ("12345", TWO), ("multi", THREE)):
            assert await who(place.url, account, key) == f"xpr:{account}"
        for account, key in (("alice", TWO), ("multi", ONE), ("linked", ONE), ("ghost", ONE)):
            with pytest.raises(UnauthenticatedError):
                await who(place.url, account, key)
    async with serving(notary(auth)) as place:
        assert await who(place.url, "alice", ONE) == "xpr:alice"
        with pytest.raises(PermissionDeniedError, match="is not a registered agent"):
            await who(place.url, "webby", R1)
        with pytest.raises(PermissionDeniedError, match="KYC level 0 below minimum 1"):
            await who(place.url, "12345", TWO)


async def test_a_key_that_is_changed_on_the_chain_works_within_seconds(node: ChainNode) -> None:
    node.add_account("rotating", [(ONE.public, 1)])
    clock = FakeClock(SystemClock().now_ms())
    chain = Chain(node.url, clock=clock)
    first = await chain.authority("rotating")
    node.change_keys("rotating", [(TWO.public, 1)], signed_by=ONE)
    assert await chain.authority("rotating", is_renewed=True) == first
    clock.advance(10)
    renewed = await chain.authority("rotating", is_renewed=True)
    assert renewed is not None
    assert renewed.signers(honours_weights=True) == (TWO.public,)
    await chain.aclose()


async def test_an_agent_is_found_on_the_chain_and_has_a_job_delegated(
    node: ChainNode, chain: Chain
) -> None:
    own = Chain(node.url)
    agent = Agent("Pilot", auth=[XprAuth(own, trust=ANYONE)], presence=XprPresence(own, "pilot"))

    @agent.skill
    async def pilot(text: str, ctx: Context) -> str:
        """Do what is asked."""
        return f"{ctx.user} #{ctx.metadata['xpr:jobId']} {text.splitlines()[0]}"

    async with serving(agent) as place:
        node.add_account("pilot", [(THREE.public, 1)])
        node.put(
            *("agentcore", "agents", name("pilot")),
            account="pilot",
            owner="alice",
            name="The Pilot",
            endpoint=place.url,
            capabilities='["harbours"]',
            registered_at=MONTHS_AGO,
            active=True,
        )
        policy = EgressPolicy.of("127.0.0.1:*", allow_http=True)
        tools = XprTools(chain, XprSigner("alice", ONE), policy=policy)
        card = await tools.discover("pilot")
        done = await tools.delegate_job("pilot", 42, "Count them.", confirmed=True)
    assert (card["name"], card["xpr:account"], card["xpr:owner"]) == (
        "The Pilot",
        "pilot",
        "alice",
    )
    # The owner's KYC level is 1, and four months have gone by.
    assert (card["xpr:trustScore"], card["xpr:kycLevel"]) == (14, 1)
    assert "xpr:alice #42 ## Delegated job: " in json.dumps(done["artifacts"])
