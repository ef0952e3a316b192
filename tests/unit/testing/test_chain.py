"""The chain that tests of agents go by."""

import pytest

from dragoman.extensions.xpr.chain.rows import AgentRow, JobRow
from dragoman.extensions.xpr.errors import MalformedError, UnknownAccountError
from dragoman.extensions.xpr.trust import TrustPolicy
from dragoman.testing.chain import FakeChain
from tests.support.chain_double import VECTORS

KEYS = [pair["pub"] for pair in VECTORS["keys"][:2]]


async def test_keys_count_at_once() -> None:
    chain = FakeChain({"alice": KEYS[0]})
    for keys, threshold in ((KEYS[:1], 1), (KEYS[1:], 1), (KEYS, 2)):
        chain.set_keys("alice", *keys, threshold=threshold)
        found = await chain.authority("alice")
        assert found is not None
        assert [key.text for key, _ in found.keys] == keys
        assert found.threshold == threshold
    with pytest.raises(UnknownAccountError):
        await chain.authority("bob", is_renewed=True)
    with pytest.raises(MalformedError):
        FakeChain({"alice": "x"})
    await chain.aclose()


async def test_agents_are_what_they_were_registered_as() -> None:
    chain, policy = FakeChain(), TrustPolicy(require_agent=True)
    assert (await chain.trust_facts("alice", policy)).agent is None
    row = AgentRow(account="alice", active=True)
    chain.register(row, kyc=2, score=70)
    facts = await chain.trust_facts("alice", policy)
    assert (facts.agent, facts.kyc, facts.score) == (row, 2, 70)
    assert await chain.agent("alice") == row
    score = await chain.trust_score("alice")
    assert score is not None
    assert (score.total, score.kyc) == (70, 20)
    assert await chain.agent("bob") is await chain.trust_score("bob") is None


async def test_jobs_are_those_that_were_posted() -> None:
    chain = FakeChain()
    chain.post(JobRow(id=42))
    assert await chain.job(42) == JobRow(id=42)
    assert await chain.job(7) is None
