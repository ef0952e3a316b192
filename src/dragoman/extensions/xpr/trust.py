"""Trust: what the chain's facts about an account amount to, and whether that is enough. Pure.

Where the real network's gate and its cards disagree, this is what is done here: the gate goes by
the same full score of 0 to 100 that cards show. The network's own gate counts KYC and age alone, so
that nobody there ever gets beyond 40; ``gate_score="partial"`` has it that way.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.rows import AgentRow, ScoreRow, UserRow
from dragoman.model.base import is_array, is_object

__all__ = (
    "GateScore",
    "TrustFacts",
    "TrustPolicy",
    "TrustScore",
    "full_score",
    "kyc_level",
    "partial_score",
    "rating_of",
    "refusal_of",
)

GateScore: TypeAlias = Literal["full", "partial"]
Rating: TypeAlias = Literal["verified", "high", "medium", "low", "untrusted"]

MOST_KYC_LEVEL: Final = 3
_MOST_SCORE: Final = 100
_MONTH_SECONDS: Final = 2_592_000
_MOST_DIGITS: Final = 18
"""Of a number in a row that anybody may have written."""

_RATINGS: Final[tuple[tuple[int, Rating], ...]] = (
    (80, "verified"),
    (60, "high"),
    (40, "medium"),
    (20, "low"),
)
_WHOLE: Final = re.compile(rf"\s*([+-]?[0-9]{{1,{_MOST_DIGITS}}})\s*")


class TrustScore(Struct, frozen=True, kw_only=True):
    """How far an agent is trusted; each part has a cap of its own.

    Attributes:
        kyc: at most 30.
        stake: at most 20.
        reputation: at most 40.
        longevity: at most 10.
    """

    kyc: int = 0
    stake: int = 0
    reputation: int = 0
    longevity: int = 0

    @property
    def total(self) -> int:
        """The sum, 0 to 100."""
        return self.kyc + self.stake + self.reputation + self.longevity

    @property
    def rating(self) -> Rating:
        """The sum in words."""
        return rating_of(self.total)


class TrustFacts(Struct, frozen=True, kw_only=True):
    """What the gate goes by.

    Attributes:
        agent: the row of the calling account, None if it is no registered agent.
        kyc: the level of the calling account itself.
        score: of the agent, as the policy counts it.
    """

    agent: AgentRow | None
    kyc: int = 0
    score: int = 0


class TrustPolicy(Struct, frozen=True, kw_only=True):
    """What is asked of callers, beyond a good signature.

    Attributes:
        require_agent: the account must be a registered, active agent, as the network's documents
            say. It is asked anyway as soon as one of the levels below is.
        min_kyc_level: of the caller's own account, 0 to 3; 0 asks for none.
        min_trust_score: 0 to 100; 0 asks for none.
        gate_score: how the score is counted: ``full`` as on cards, ``partial`` as the network's own
            servers do, which never gets beyond 40.
    """

    require_agent: bool = True
    min_kyc_level: int = 0
    min_trust_score: int = 0
    gate_score: GateScore = "full"

    def __post_init__(self) -> None:
        """Refuse what nobody could ever meet."""
        if not 0 <= self.min_kyc_level <= MOST_KYC_LEVEL:
            raise UsageError(f"min_kyc_level is {self.min_kyc_level}: it goes from 0 to 3")
        if not 0 <= self.min_trust_score <= _MOST_SCORE:
            raise UsageError(f"min_trust_score is {self.min_trust_score}: it goes from 0 to 100")

    @property
    def asks(self) -> bool:
        """Tell whether there is anything to ask the chain."""
        return self.require_agent or self.min_kyc_level > 0 or self.min_trust_score > 0


def refusal_of(policy: TrustPolicy, account: str, facts: TrustFacts) -> str | None:
    """Return why a caller is not trusted enough, None if it is."""
    if facts.agent is None:
        return f"Account '{account}' is not a registered agent"
    if not facts.agent.active:
        return f"Agent '{account}' is not active"
    if facts.kyc < policy.min_kyc_level:
        return f"KYC level {facts.kyc} below minimum {policy.min_kyc_level}"
    if facts.score < policy.min_trust_score:
        return f"Trust score {facts.score} below minimum {policy.min_trust_score}"
    return None


# --- the score ------------------------------------------------------------------------------------


def full_score(
    agent: AgentRow, *, owner_kyc: int, staked: int, reviews: ScoreRow | None, now_seconds: int
) -> TrustScore:
    """Return the score that cards show.

    Args:
        owner_kyc: the KYC level of the agent's owner, 0 without one.
        staked: by the agent's own account, in 1/10000 XPR.
        reviews: None if there are none.
    """
    average = reviews.avg_score if reviews is not None and reviews.total_weight > 0 else 0
    return TrustScore(
        kyc=_within(10 * owner_kyc, 30),
        stake=_within(staked // 10_000 // 500, 20),
        reputation=_within(average * 40 // 10_000, 40),
        longevity=_longevity(agent, now_seconds),
    )


def partial_score(agent: AgentRow, *, own_kyc: int, now_seconds: int) -> TrustScore:
    """Return the score by which the network's own servers let callers in; at most 40."""
    return TrustScore(kyc=_within(10 * own_kyc, 30), longevity=_longevity(agent, now_seconds))


def rating_of(total: int) -> Rating:
    """Say a score in words."""
    for least, rating in _RATINGS:
        if total >= least:
            return rating
    return "untrusted"


def _longevity(agent: AgentRow, now_seconds: int) -> int:
    # 0 is not known, and not 1970.
    if agent.registered_at <= 0:
        return 0
    return _within((now_seconds - agent.registered_at) // _MONTH_SECONDS, 10)


def _within(points: int, most: int) -> int:
    return max(0, min(points, most))


# --- KYC ------------------------------------------------------------------------------------------


def kyc_level(row: UserRow | None) -> int:
    """Return the KYC level of an account, 0 to 3: the highest that any of its providers vouches."""
    if row is None:
        return 0
    # A node can say anything; what is no list tells of no level.
    entries = row.kyc if is_array(row.kyc) else ()
    candidates = [level for entry in entries for level in _levels(entry)]
    level = _within(max(candidates, default=0), MOST_KYC_LEVEL)
    # A boolean is how some chains for tests render what nodes write as 0 and 1.
    is_verified = row.verified in (1, True, "1")
    return level or int(is_verified)


def _levels(entry: object) -> list[int]:
    if is_object(entry):
        stated = entry.get("kyc_level")
        return _claimed(stated) if isinstance(stated, str) else _levels(stated)
    if isinstance(entry, str):
        number = _whole(entry)
        return [] if number is None else [number]
    return [entry] if isinstance(entry, int) and not isinstance(entry, bool) else []


def _claimed(text: str) -> list[int]:
    """Return the levels in a list of claims (``provider:2`` or ``provider:address``).

    Claims without any number count by how many they are: three make a level.
    """
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    found = [_level_in(piece) for piece in pieces]
    numbers = [number for number in found if number is not None]
    if numbers or not pieces:
        return numbers
    return [min(MOST_KYC_LEVEL, (len(pieces) + 2) // 3)]


def _level_in(piece: str) -> int | None:
    _, colon, last = piece.rpartition(":")
    if colon:
        return _whole(last)
    leading = _WHOLE.match(piece)
    return int(leading[1]) if leading else None


def _whole(text: str) -> int | None:
    match = _WHOLE.fullmatch(text)
    return int(match[1]) if match else None
