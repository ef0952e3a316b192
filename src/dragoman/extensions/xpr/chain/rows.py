"""Rows of the network's contracts, as nodes render them.

Nodes write 64-bit integers as numbers or as decimal strings, and booleans as 0 and 1; both forms
of each are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from dragoman.extensions.xpr.errors import ChainError

__all__ = ("AgentRow", "JobRow", "ScoreRow", "Table", "UserRow", "VoterRow", "read_rows")

Row = TypeVar("Row")

_MOST_CAPABILITIES: Final = 100
"""The contract takes text of 2048 characters."""


class Table(Struct, frozen=True):
    """Where rows are: a contract, and one of its tables; the scope is the contract as well."""

    code: str
    name: str


class AgentRow(Struct, frozen=True):
    """A registered agent (``agentcore``, table ``agents``).

    Attributes:
        capabilities: an array of JSON, as text; ``capability_names`` reads it.
        registered_at: seconds since the Unix epoch; 0 is not known.
    """

    account: str
    owner: str = ""
    pending_owner: str = ""
    name: str = ""
    description: str = ""
    endpoint: str = ""
    protocol: str = ""
    capabilities: str = ""
    total_jobs: int = 0
    registered_at: int = 0
    active: bool = False
    claim_deposit: int = 0
    deposit_payer: str = ""

    @property
    def capability_names(self) -> tuple[str, ...]:
        """The capabilities, each once; none if what the agent has written is no array of text."""
        try:
            found = msgspec.json.decode(self.capabilities, type=list[str])
        except (msgspec.DecodeError, RecursionError):
            return ()
        return tuple(dict.fromkeys(name for name in found if name))[:_MOST_CAPABILITIES]


class UserRow(Struct, frozen=True):
    """What is known of a person (``eosio.proton``, table ``usersinfo``).

    Attributes:
        kyc: a list whose entries have several forms; ``trust.kyc_level`` reads it.
    """

    acc: str
    kyc: object = ()
    verified: object = 0


class VoterRow(Struct, frozen=True):
    """What an account has at stake (``eosio``, table ``voters``), in 1/10000 XPR."""

    owner: str
    staked: int = 0


class ScoreRow(Struct, frozen=True):
    """What others think of an agent (``agentfeed``, table ``agentscores``).

    Attributes:
        avg_score: 0 to 10000.
    """

    agent: str
    avg_score: int = 0
    total_weight: int = 0
    feedback_count: int = 0


class JobRow(Struct, frozen=True):
    """A job in escrow (``agentescrow``, table ``jobs``); amounts in units of 1/10000.

    Attributes:
        deliverables: an array of JSON, as text.
        state: 0 to 8: created, funded, accepted, inprogress, delivered, disputed, completed,
            refunded, arbitrated.
    """

    id: int
    client: str = ""
    agent: str = ""
    title: str = ""
    description: str = ""
    deliverables: str = ""
    amount: int = 0
    symbol: str = "XPR"
    funded_amount: int = 0
    released_amount: int = 0
    state: int = 0
    deadline: int = 0
    arbitrator: str = ""
    job_hash: str = ""
    created_at: int = 0
    updated_at: int = 0


class _Rows(Struct, frozen=True):
    rows: tuple[dict[str, object], ...]


def read_rows(body: bytes, kind: type[Row]) -> tuple[Row, ...]:
    """Read the answer of ``get_table_rows``.

    Raises:
        ChainError: it is none, or its rows are of another form.
    """
    try:
        found: tuple[Mapping[str, object], ...] = msgspec.json.decode(body, type=_Rows).rows
        return tuple(msgspec.convert(row, kind, strict=False) for row in found)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ChainError(f"the chain answers with rows that cannot be read: {error}") from error
