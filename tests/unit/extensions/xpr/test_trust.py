"""Levels and scores, as the network's own formulas have given them."""

from typing import Any

import pytest

from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.rows import AgentRow, ScoreRow, UserRow
from dragoman.extensions.xpr.trust import (
    TrustFacts,
    TrustPolicy,
    TrustScore,
    full_score,
    kyc_level,
    partial_score,
    rating_of,
    refusal_of,
)
from tests.support.chain_double import VECTORS

NOW = 1_800_000_000
# Where ours differs: a level is not negative, and true is as good as 1.
OURS = {"negative": 0, "verified as boolean true": 1}
AGENT = AgentRow(account="alice", owner="bob", active=True, registered_at=NOW - 86_400)


@pytest.mark.parametrize("case", VECTORS["kyc"], ids=lambda case: case["note"])
def test_kyc_levels(case: dict[str, Any]) -> None:
    info = case["usersinfo"]
    row = None if info is None else UserRow(acc="a", **info)
    assert kyc_level(row) == OURS.get(case["note"], case["gate_kyc_level"])


@pytest.mark.parametrize(
    "kyc", [[True], [2.5], [{}], [[3]], "3", {"kyc_level": "3"}, ["9" * 5000], [{"kyc_level": []}]]
)
def test_what_tells_of_no_level(kyc: object) -> None:
    assert kyc_level(UserRow(acc="a", kyc=kyc)) == 0


@pytest.mark.parametrize("case", VECTORS["trust"], ids=lambda case: str(case["expect"]["total"]))
def test_full_scores(case: dict[str, Any]) -> None:
    agent = AgentRow(account="a", registered_at=NOW - case["age_seconds"])
    reviews = ScoreRow("a", avg_score=case["avg_score"], total_weight=case["total_weight"])
    score = full_score(
        agent,
        owner_kyc=case["kyc_level"],
        staked=case["staked"],
        reviews=reviews,
        now_seconds=NOW,
    )
    assert score == TrustScore(**case["expect"]["breakdown"])
    assert (score.total, score.rating) == (case["expect"]["total"], case["expect"]["rating"])


@pytest.mark.parametrize(("total", "rating"), VECTORS["ratings"])
def test_ratings(total: int, rating: str) -> None:
    assert rating_of(total) == rating


def test_nothing_counts_below_zero_and_an_unknown_age_not_at_all() -> None:
    future = AgentRow(account="a", registered_at=NOW + 10**9)
    unknown = AgentRow(account="a", registered_at=0)
    worst = ScoreRow("a", avg_score=-5000, total_weight=5)
    for agent in (future, unknown):
        score = full_score(agent, owner_kyc=-1, staked=-(10**9), reviews=worst, now_seconds=NOW)
        assert score == TrustScore()
        assert partial_score(agent, own_kyc=-1, now_seconds=NOW) == TrustScore()


def test_the_partial_score_never_gets_beyond_40() -> None:
    old = AgentRow(account="a", registered_at=1)
    assert partial_score(old, own_kyc=3, now_seconds=NOW).total == 40
    assert full_score(old, owner_kyc=3, staked=10**12, reviews=None, now_seconds=NOW).total == 60


# --- who is let in --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "refusal"),
    [
        (TrustFacts(agent=None, kyc=3, score=99), "Account 'alice' is not a registered agent"),
        (
            TrustFacts(agent=AgentRow(account="alice"), kyc=3, score=99),
            "Agent 'alice' is not active",
        ),
        (TrustFacts(agent=AGENT, kyc=1, score=99), "KYC level 1 below minimum 2"),
        (TrustFacts(agent=AGENT, kyc=2, score=49), "Trust score 49 below minimum 50"),
        (TrustFacts(agent=AGENT, kyc=2, score=50), None),
    ],
)
def test_the_first_thing_that_is_missing_is_told(facts: TrustFacts, refusal: str | None) -> None:
    policy = TrustPolicy(min_kyc_level=2, min_trust_score=50)
    assert refusal_of(policy, "alice", facts) == refusal


@pytest.mark.parametrize(
    ("policy", "asks"),
    [
        (TrustPolicy(), True),
        (TrustPolicy(require_agent=False), False),
        (TrustPolicy(require_agent=False, min_kyc_level=1), True),
        (TrustPolicy(require_agent=False, min_trust_score=1), True),
    ],
)
def test_the_chain_is_asked_where_there_is_something_to_ask(
    policy: TrustPolicy, *, asks: bool
) -> None:
    assert policy.asks is asks


@pytest.mark.parametrize("level", [4, -1])
def test_a_level_that_nobody_could_have_is_refused_at_once(level: int) -> None:
    with pytest.raises(UsageError, match="min_kyc_level"):
        TrustPolicy(min_kyc_level=level)


@pytest.mark.parametrize("score", [101, -1])
def test_a_score_that_nobody_could_have_is_refused_at_once(score: int) -> None:
    with pytest.raises(UsageError, match="min_trust_score"):
        TrustPolicy(min_trust_score=score)
