"""FakeChain: what a chain says of accounts, for tests of agents whose callers sign requests."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.chain.rows import AgentRow, JobRow
from dragoman.extensions.xpr.crypto.keys import PublicKey
from dragoman.extensions.xpr.errors import UnknownAccountError
from dragoman.extensions.xpr.trust import TrustFacts, TrustPolicy, TrustScore

__all__ = ("FakeChain",)


class FakeChain:
    """Accounts in the hands of a test: ``XprAuth(FakeChain({"alice": "EOS…"}))``.

    Nothing is remembered: what a test changes counts at once.
    """

    def __init__(self, keys: Mapping[str, str] | None = None) -> None:
        """Take accounts of registered agents, each with the one key that may sign for it.

        Raises:
            MalformedError: a key is none.
        """
        self._authorities: dict[str, Authority] = {}
        self._facts: dict[str, TrustFacts] = {}
        self._jobs: dict[int, JobRow] = {}
        for account, key in (keys or {}).items():
            self.set_keys(account, key)
            self.register(AgentRow(account=account, active=True))

    def set_keys(self, account: str, *keys: str, threshold: int = 1) -> None:
        """Give an account other keys than it had, each of weight 1."""
        read = tuple((PublicKey.read(key), 1) for key in keys)
        self._authorities[account] = Authority(threshold, read)

    def register(self, agent: AgentRow, *, kyc: int = 0, score: int = 0) -> None:
        """Make an account an agent, with the KYC level and the trust score that it has."""
        self._facts[agent.account] = TrustFacts(agent=agent, kyc=kyc, score=score)

    async def authority(self, account: str, *, is_renewed: bool = False) -> Authority | None:
        """Return which keys may sign for an account."""
        del is_renewed
        if account not in self._authorities:
            raise UnknownAccountError(account)
        return self._authorities[account]

    async def trust_facts(self, account: str, policy: TrustPolicy) -> TrustFacts:
        """Return what a policy goes by."""
        del policy
        return self._facts.get(account, TrustFacts(agent=None))

    def post(self, job: JobRow) -> None:
        """Put a job into escrow."""
        self._jobs[job.id] = job

    async def agent(self, account: str) -> AgentRow | None:
        """Return the agent that is registered for an account."""
        return self._facts[account].agent if account in self._facts else None

    async def trust_score(self, account: str) -> TrustScore | None:
        """Return the score of an agent: what its KYC level gives, and the rest as reputation."""
        if account not in self._facts:
            return None
        facts = self._facts[account]
        points = min(10 * facts.kyc, facts.score)
        return TrustScore(kyc=points, reputation=facts.score - points)

    async def job(self, job_id: int) -> JobRow | None:
        """Return a job in escrow."""
        return self._jobs.get(job_id)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""
