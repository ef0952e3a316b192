"""Chain: facts about accounts, from its nodes, remembered for five minutes."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from dragoman.clock import Clock, SystemClock
from dragoman.extensions.xpr.chain.authority import Account, Authority
from dragoman.extensions.xpr.chain.fresh_cache import FreshCache
from dragoman.extensions.xpr.chain.names import check_account
from dragoman.extensions.xpr.chain.rows import (
    AgentRow,
    JobRow,
    ScoreRow,
    Table,
    UserRow,
    VoterRow,
    read_rows,
)
from dragoman.extensions.xpr.chain.rpc import ACCOUNT_UNKNOWN, ChainRpc
from dragoman.extensions.xpr.errors import ChainError, QueryRefusedError, UnknownAccountError
from dragoman.extensions.xpr.trust import (
    TrustFacts,
    TrustPolicy,
    TrustScore,
    full_score,
    kyc_level,
    partial_score,
)

__all__ = ("Chain",)

Row = TypeVar("Row")

_AGENTS: Final = Table("agentcore", "agents")
_USERS: Final = Table("eosio.proton", "usersinfo")
_VOTERS: Final = Table("eosio", "voters")
_SCORES: Final = Table("agentfeed", "agentscores")
_JOBS: Final = Table("agentescrow", "jobs")

_MOST_AGENTS: Final = 100
"""Of one owner, and rows that a node gives at once."""


class Chain:
    """What the chain says of accounts.

    Every method raises MalformedError for a name that is none, before anybody is asked, and
    ChainError where the chain does not tell.
    """

    def __init__(
        self,
        *endpoints: str,
        permission: str = "active",
        allow_http: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """Take the RPC endpoints of some nodes, which are asked in turn.

        Args:
            permission: the one whose keys sign requests.
            allow_http: ask nodes on other machines without TLS.

        Raises:
            UsageError: there is no endpoint, or one cannot be used.
        """
        self._clock: Clock = clock or SystemClock()
        self._rpc = ChainRpc(endpoints, self._clock, allow_http=allow_http)
        self._permission = permission
        self._accounts = FreshCache(self._fetch_account, self._clock)
        self._agents = FreshCache(self._fetch_agent, self._clock)
        self._users = FreshCache(self._fetch_user, self._clock)
        self._voters = FreshCache(self._fetch_voter, self._clock)
        self._scores = FreshCache(self._fetch_score, self._clock)

    async def aclose(self) -> None:
        """Close the connections; what is asked next opens new ones."""
        await self._rpc.aclose()

    # --- who may sign -----------------------------------------------------------------------------

    async def authority(self, account: str, *, is_renewed: bool = False) -> Authority | None:
        """Return which keys may sign for an account, None if it does not have the permission.

        Args:
            is_renewed: somebody has shown a key that is not among them: ask anew, unless that was
                done a few seconds ago. So a key counts as soon as it was changed on the chain.

        Raises:
            UnknownAccountError: there is no such account.
        """
        name = check_account(account)
        found = await (self._accounts.renewed(name) if is_renewed else self._accounts.get(name))
        return found.authority(self._permission) if found is not None else None

    async def _fetch_account(self, name: str) -> Account:
        try:
            body = await self._rpc.ask("get_account", {"account_name": name})
            found = msgspec.json.decode(body, type=Account, strict=False)
        except QueryRefusedError as refusal:
            if refusal.code == ACCOUNT_UNKNOWN:
                raise UnknownAccountError(name) from refusal
            raise
        except (msgspec.DecodeError, RecursionError) as error:
            raise ChainError(f"the chain's account '{name}' cannot be read: {error}") from error
        if found.account_name != name:
            raise ChainError(f"the chain answers with another account than '{name}'")
        return found

    # --- what is known of an account --------------------------------------------------------------

    async def agent(self, account: str) -> AgentRow | None:
        """Return the agent that is registered for an account, None if there is none."""
        return await self._agents.get(check_account(account))

    async def kyc_level(self, account: str) -> int:
        """Return the KYC level of an account, 0 to 3."""
        return kyc_level(await self._users.get(check_account(account)))

    async def trust_score(self, account: str) -> TrustScore | None:
        """Return the full trust score of an agent, as cards show it; None if it is no agent."""
        agent = await self.agent(account)
        return None if agent is None else await self._full_score(agent)

    async def trust_facts(self, account: str, policy: TrustPolicy) -> TrustFacts:
        """Return what a policy goes by, and ask for no more than it needs."""
        agent = await self.agent(account)
        if agent is None or not agent.active:
            return TrustFacts(agent=agent)
        is_partial = policy.gate_score == "partial"
        needs_kyc = policy.min_kyc_level > 0 or (policy.min_trust_score > 0 and is_partial)
        own_kyc = await self.kyc_level(account) if needs_kyc else 0
        if policy.min_trust_score == 0:
            return TrustFacts(agent=agent, kyc=own_kyc)
        if is_partial:
            score = partial_score(agent, own_kyc=own_kyc, now_seconds=self._now_seconds())
        else:
            score = await self._full_score(agent)
        return TrustFacts(agent=agent, kyc=own_kyc, score=score.total)

    async def _full_score(self, agent: AgentRow) -> TrustScore:
        voter = await self._voters.get(agent.account)
        return full_score(
            agent,
            owner_kyc=await self.kyc_level(agent.owner) if agent.owner else 0,
            staked=voter.staked if voter is not None else 0,
            reviews=await self._scores.get(agent.account),
            now_seconds=self._now_seconds(),
        )

    # --- what changes from one moment to the next: not remembered ---------------------------------

    async def agents_of(self, owner: str) -> tuple[AgentRow, ...]:
        """Return the agents that a person owns; at most 100."""
        name = check_account(owner)
        rows = await self._rows(_AGENTS, AgentRow, name, "name", index=2, limit=_MOST_AGENTS)
        return tuple(row for row in rows if row.owner == name)

    async def job(self, job_id: int) -> JobRow | None:
        """Return a job in escrow, None if there is none of that number."""
        rows = await self._rows(_JOBS, JobRow, str(job_id), "i64")
        return next((row for row in rows if row.id == job_id), None)

    # --- rows -------------------------------------------------------------------------------------

    async def _fetch_agent(self, name: str) -> AgentRow | None:
        rows = await self._rows(_AGENTS, AgentRow, name, "name")
        return next((row for row in rows if row.account == name), None)

    async def _fetch_user(self, name: str) -> UserRow | None:
        rows = await self._rows(_USERS, UserRow, name, "name")
        return next((row for row in rows if row.acc == name), None)

    async def _fetch_voter(self, name: str) -> VoterRow | None:
        rows = await self._rows(_VOTERS, VoterRow, name, "name")
        return next((row for row in rows if row.owner == name), None)

    async def _fetch_score(self, name: str) -> ScoreRow | None:
        rows = await self._rows(_SCORES, ScoreRow, name, "name")
        return next((row for row in rows if row.agent == name), None)

    async def _rows(
        self,
        table: Table,
        kind: type[Row],
        bound: str,
        key_type: str,
        *,
        index: int = 1,
        limit: int = 1,
    ) -> tuple[Row, ...]:
        query = {
            "json": True,
            "code": table.code,
            "scope": table.code,
            "table": table.name,
            "lower_bound": bound,
            "upper_bound": bound,
            "limit": limit,
            "index_position": index,
            # Without it a node takes a name of digits alone for a number, and finds nothing.
            "key_type": key_type,
        }
        return read_rows(await self._rpc.ask("get_table_rows", query), kind)

    def _now_seconds(self) -> int:
        return self._clock.now_ms() // 1000
