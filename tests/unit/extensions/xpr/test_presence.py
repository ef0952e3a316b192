"""What the chain says of an agent, for its card."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.errors import ChainError
from dragoman.extensions.xpr.presence import IDENTITY, XprPresence, facts_of
from dragoman.extensions.xpr.trust import TrustScore
from dragoman.testing import FakeClock
from dragoman.testing.chain import FakeChain

ROW = AgentRow(
    account="notary",
    owner="alice",
    name="The Notary",
    description="Seals.",
    endpoint="https://notary.example",
    protocol="http",
    capabilities='["seal", "sign"]',
    registered_at=1_704_067_200,
    active=True,
)


class Trouble(FakeChain):
    """A chain that can be out of reach, or silent."""

    is_away = False
    is_silent = False

    async def agent(self, account: str) -> AgentRow | None:
        if self.is_silent:
            await asyncio.Event().wait()
        if self.is_away:
            raise ChainError("away")
        return await super().agent(account)


def test_a_card_says_what_the_row_and_the_score_say() -> None:
    facts = facts_of("notary", ROW, TrustScore(kyc=20, stake=12, reputation=40, longevity=10))
    assert (facts.name, facts.description, facts.tags) == ("The Notary", "Seals.", ("seal", "sign"))
    assert facts.members == {
        "xpr:account": "notary",
        "xpr:protocol": "http",
        "xpr:registeredAt": 1_704_067_200,
        "xpr:trustScore": 82,
        "xpr:kycLevel": 2,
        "xpr:owner": "alice",
    }
    assert (facts.extension.uri, facts.extension.params) == (IDENTITY, facts.members)


def test_of_an_account_that_is_no_agent_little_is_said() -> None:
    facts = facts_of("notary", None, None)
    assert (facts.name, facts.tags) == ("", ())
    assert facts.members == {
        "xpr:account": "notary",
        "xpr:protocol": "https",
        "xpr:registeredAt": 0,
    }


def test_what_is_no_account_is_refused() -> None:
    with pytest.raises(UsageError, match="'Notary'"):
        XprPresence(FakeChain(), "Notary")


async def test_what_has_changed_is_seen_within_the_minute() -> None:
    chain, clock = FakeChain(), FakeClock()
    chain.register(ROW, kyc=1, score=30)
    presence = XprPresence(chain, "notary", clock=clock)
    first = await presence.facts()
    assert (first.members["xpr:trustScore"], first.changed_ms) == (30, clock.now_ms())
    chain.register(ROW, kyc=1, score=31)
    assert await presence.facts() is first
    clock.advance(60)
    second = await presence.facts()
    assert (second.members["xpr:trustScore"], second.changed_ms) == (31, clock.now_ms())
    clock.advance(60)
    assert await presence.facts() == second


async def test_while_the_chain_is_away_the_card_stays_as_it_is() -> None:
    chain, clock = Trouble(), FakeClock()
    chain.register(ROW)
    presence = XprPresence(chain, "notary", clock=clock)
    known = await presence.facts()
    clock.advance(60)
    chain.is_away = True
    assert await presence.facts() == known
    chain.is_away = False
    chain.register(ROW, score=50)
    clock.advance(10)
    assert (await presence.facts()).members["xpr:trustScore"] == 50


async def test_before_anything_is_known_the_card_names_the_account() -> None:
    chain = Trouble()
    chain.is_away = True
    facts = await XprPresence(chain, "notary").facts()
    assert facts.members["xpr:account"] == "notary"
    assert "xpr:trustScore" not in facts.members


async def test_nobody_waits_for_long() -> None:
    chain = Trouble()
    chain.is_silent = True
    async with asyncio.timeout(10):
        assert (await XprPresence(chain, "notary").facts()).members["xpr:account"] == "notary"
