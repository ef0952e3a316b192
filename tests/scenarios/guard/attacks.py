"""What is tried on a guarded agent, on what, and what must come of it.

``MATRIX`` is what ``test_attacks`` makes, cell by cell, and what the documentation counts.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from tests.scenarios.guarding import LINES, PUSH, SENDS, TASK_OPERATIONS, Line, Verdict

__all__ = ("BAD_TOKENS", "MATRIX", "SCHEMES", "Attack", "Cell", "Scheme", "verdict_on")


class Scheme(Enum):
    """How the agent has its callers show who they are."""

    KEY = "API key"
    JWT = "bearer JWT"


SCHEMES: Final = tuple(Scheme)


class Attack(Enum):
    """What is wrong with a call."""

    NO_CREDENTIALS = "no credentials"
    WRONG_CREDENTIALS = "a key nobody has; a token that a stranger has signed"
    EXPIRED = "a token that has expired"
    NOT_YET_VALID = "a token that is not valid yet"
    WRONG_AUDIENCE = "a token for another audience"
    WRONG_ISSUER = "a token of another issuer"
    UNSIGNED = "`alg: none`, without a signature"
    NONE_BUT_SIGNED = "`alg: none`, with the signature of a good token"
    KEY_CONFUSION = "`HS256` with the issuer's public RSA key as the secret"
    KEY_OF_ITS_OWN = "signed with a key that the token itself brings (`jwk`)"
    OTHER_OWNER = "another owner's task"
    OTHER_TENANT = "another tenant"
    NOT_PERMITTED = "scope or permission missing"

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """Where it can be tried."""
        return (Scheme.JWT,) if self in _TOKENS_ALONE else SCHEMES

    @property
    def is_at_the_door(self) -> bool:
        """Tell whether nobody knows who calls."""
        return self in (Attack.NO_CREDENTIALS, Attack.WRONG_CREDENTIALS, *_TOKENS_ALONE)


_TOKENS_ALONE: Final = (
    Attack.EXPIRED,
    Attack.NOT_YET_VALID,
    Attack.WRONG_AUDIENCE,
    Attack.WRONG_ISSUER,
    Attack.UNSIGNED,
    Attack.NONE_BUT_SIGNED,
    Attack.KEY_CONFUSION,
    Attack.KEY_OF_ITS_OWN,
)
BAD_TOKENS: Final = (Attack.WRONG_CREDENTIALS, *_TOKENS_ALONE)
"""Attacks with a token that looks like one."""


def verdict_on(operation: str, attack: Attack, *, makes_own_ids: bool = False) -> Verdict:
    """Return what an attack must come to.

    Args:
        makes_own_ids: whether clients make up the ids of tasks (0.1): one that is not a task of
            theirs is the name of a new one.
    """
    if attack.is_at_the_door:
        return Verdict.UNAUTHENTICATED
    if attack is Attack.OTHER_TENANT:
        return Verdict.UNKNOWN_TENANT
    if attack is Attack.NOT_PERMITTED:
        return Verdict.DENIED
    is_of_task = operation in TASK_OPERATIONS or operation in PUSH
    if not is_of_task or (makes_own_ids and operation in SENDS):
        return Verdict.ITS_OWN
    return Verdict.NOT_FOUND


class Cell(NamedTuple):
    """One attack on one operation."""

    scheme: Scheme
    line: Line
    operation: str
    attack: Attack

    @property
    def name(self) -> str:
        """Tell cells apart."""
        return f"{self.scheme.name}-{self.line.name}-{self.operation}-{self.attack.name}"

    @property
    def attacker(self) -> str:
        """Who makes it, if it needs a name: Bob has no scopes, and Carol may only send."""
        if self.attack is Attack.OTHER_TENANT:
            return "dan"
        is_forbidden = self.attack is Attack.NOT_PERMITTED and self.operation not in SENDS
        return "carol" if is_forbidden else "bob"

    @property
    def verdict(self) -> Verdict:
        """What must come of it."""
        return verdict_on(self.operation, self.attack, makes_own_ids=self.line.version == "0.1")


MATRIX: Final = tuple(
    Cell(scheme, line, operation, attack)
    for attack in Attack
    for scheme in attack.schemes
    for line in LINES
    for operation in line.operations
)
