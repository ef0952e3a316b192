"""ChainRpc: questions to the nodes of a chain, of which some may be down or behind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dragoman.auth.outgoing.origins import is_confidential
from dragoman.clock import Clock
from dragoman.egress import Answer, Egress, EgressError, EgressPolicy, read_allowed
from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.fresh_cache import FreshCache
from dragoman.extensions.xpr.errors import ChainError, ChainUnavailableError, QueryRefusedError

__all__ = ("ACCOUNT_UNKNOWN", "ChainRpc")

ACCOUNT_UNKNOWN: Final = 3_060_002
"""What nodes say of an account, or of a contract, that there is not."""

_REFUSALS: Final = frozenset(
    {
        ACCOUNT_UNKNOWN,
        3_060_003,  # no such table
        3_010_000,  # a bound that is neither a number nor a name
        3_010_001,  # a name that is none
        3_200_006,  # a request that cannot be read
    }
)
"""What every node would say; of anything else the next one is asked."""

_NODE_SECONDS: Final = 5.0
_TOTAL_SECONDS: Final = 15.0
_HEAD_SECONDS: Final = 30.0
"""How old the newest block of a node may be, and how often it is looked at."""

_MOST_BYTES: Final = 512 * 1024
"""An account has some 2 KiB, one with a hundred permissions 50."""

_MOST_CONNECTIONS: Final = 16
_OLD_UNKNOWN: Final = "unknown key"
"""How nodes before Leap begin to say that there is no such account, under a number for anything."""


class _Detail(Struct, frozen=True):
    message: str = ""


class _Problem(Struct, frozen=True):
    code: int = 0
    what: str = ""
    details: tuple[_Detail, ...] = ()

    @property
    def message(self) -> str:
        return self.details[0].message if self.details else self.what


class _Refusal(Struct, frozen=True):
    error: _Problem


class _Info(Struct, frozen=True):
    head_block_time: str


class ChainRpc:
    """Asks the nodes in turn, beginning with the one that has answered last.

    A node is passed over if it does not answer in time, knows nothing of the question's path, or
    is behind: its newest block is more than 30 seconds old.
    """

    def __init__(
        self, endpoints: tuple[str, ...], clock: Clock, *, allow_http: bool = False
    ) -> None:
        """Take the URLs of the nodes.

        Args:
            allow_http: ask nodes on other machines without TLS. Who is on the way then says whose
                keys are whose.

        Raises:
            UsageError: there is none, or one cannot be used.
        """
        if not endpoints:
            raise UsageError("there is no RPC endpoint: who is asked about the chain?")
        self._endpoints: Final = tuple(url.rstrip("/") for url in endpoints)
        for url in self._endpoints:
            if not is_confidential(url) and not allow_http:
                raise UsageError(
                    f"{url!r}: a chain is asked by https, or on this machine; allow_http=True lifts"
                    " that"
                )
        self._policy = _policy_for(self._endpoints)
        self._clock = clock
        self._first = 0
        self._egress: Egress | None = None
        self._heads = FreshCache(self._check_head, clock, kept_seconds=_HEAD_SECONDS)

    async def ask(self, path: str, query: Mapping[str, object]) -> bytes:
        """Return what the first node answers that can.

        Raises:
            QueryRefusedError: the question is not taken.
            ChainUnavailableError: no node can tell now.
        """
        findings: list[str] = []
        try:
            async with asyncio.timeout(_TOTAL_SECONDS):
                for turn in range(len(self._endpoints)):
                    index = (self._first + turn) % len(self._endpoints)
                    try:
                        await self._heads.get(self._endpoints[index])
                        found = await self._ask_one(self._endpoints[index], path, query)
                    except ChainUnavailableError as problem:
                        findings += problem.findings
                        continue
                    self._first = index
                    return found
        except TimeoutError:
            findings.append(f"{_TOTAL_SECONDS:g} seconds are over")
        raise ChainUnavailableError(tuple(findings))

    async def aclose(self) -> None:
        """Close the connections; the next question opens new ones."""
        egress, self._egress = self._egress, None
        if egress is not None:
            await egress.aclose()

    async def _ask_one(self, endpoint: str, path: str, query: Mapping[str, object]) -> bytes:
        host = urlsplit(endpoint).netloc
        if self._egress is None:
            self._egress = Egress(self._policy, max_connections=_MOST_CONNECTIONS)
        try:
            answer = await self._egress.ask(
                "POST",
                f"{endpoint}/v1/chain/{path}",
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                body=msgspec.json.encode(query),
            )
        except EgressError as problem:
            raise ChainUnavailableError((str(problem),)) from problem
        if answer.status == 200 and answer.is_whole:
            return answer.body
        refusal = _refusal_in(answer)
        if refusal is not None:
            raise refusal
        raise ChainUnavailableError((f"{host} answers with HTTP status {answer.status}",))

    async def _check_head(self, endpoint: str) -> bool:
        """Return True for a node that is up to date; raises ChainUnavailableError for another."""
        host = urlsplit(endpoint).netloc
        body = await self._ask_one(endpoint, "get_info", {})
        try:
            stated = msgspec.json.decode(body, type=_Info).head_block_time
            made = datetime.fromisoformat(stated)
        except (ValueError, RecursionError):
            raise ChainUnavailableError((f"{host} does not tell its newest block",)) from None
        # Nodes write UTC without saying so.
        made_seconds = (made if made.tzinfo else made.replace(tzinfo=UTC)).timestamp()
        if self._clock.now_ms() / 1000 - made_seconds > _HEAD_SECONDS:
            raise ChainUnavailableError((f"{host} is behind: its newest block is of {stated}",))
        return True


def _policy_for(endpoints: tuple[str, ...]) -> EgressPolicy:
    """Allow these nodes, wherever they are, and nothing else."""
    places = [urlsplit(url) for url in endpoints]
    hosts = [(f"[{p.hostname}]" if ":" in (p.hostname or "") else p.hostname, p) for p in places]
    return EgressPolicy(
        allow_http=any(place.scheme == "http" for place in places),
        allowed=tuple(
            read_allowed(f"{host}:{place.port}" if place.port else str(host))
            for host, place in hosts
        ),
        only_allowed=True,
        connect_seconds=_NODE_SECONDS,
        total_seconds=_NODE_SECONDS,
        max_answer_bytes=_MOST_BYTES,
    )


def _refusal_in(answer: Answer) -> ChainError | None:
    """Return what an answer says that every node would say, None if it says nothing of the kind."""
    try:
        problem = msgspec.json.decode(answer.body, type=_Refusal).error
    except (msgspec.DecodeError, RecursionError):
        return None
    if problem.message.startswith(_OLD_UNKNOWN):
        return QueryRefusedError(ACCOUNT_UNKNOWN, problem.message)
    return QueryRefusedError(problem.code, problem.message) if problem.code in _REFUSALS else None
