"""Combining authenticators: which of them are enough, for the card and for the server alike.

What the card says (``schemes``, ``requirements``) and what is enforced (``authenticate``) come from
the same alternatives, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, runtime_checkable

from dragoman.auth.incoming.authenticator import (
    Authenticator,
    Evidence,
    KnowsAccounts,
    Principal,
    SignsBodies,
)
from dragoman.errors import (
    A2AError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
    UsageError,
)
from dragoman.model.security import SecurityRequirement, SecurityScheme, StringList

__all__ = ("AllOf", "Alternative", "Combination", "Scoped")


@runtime_checkable
class Keeps(Protocol):
    """An authenticator with something to write before the server stops."""

    async def flush(self) -> None:
        """Write it."""
        ...


class Scoped:
    """An authenticator that lets in only who was granted some scopes; itself an authenticator.

    The card's requirement lists the scopes, so clients know what to ask a token for.
    """

    def __init__(self, authenticator: Authenticator, *scopes: str) -> None:
        """Name the scopes; all of them are needed.

        Raises:
            UsageError: none is named.
        """
        if not scopes:
            raise UsageError("Scoped needs at least one scope")
        self._inner = authenticator
        self.scopes = scopes

    @property
    def name(self) -> str:
        """The name of the scheme in the card."""
        return self._inner.name

    @property
    def scheme(self) -> SecurityScheme:
        """What the card says of it."""
        return self._inner.scheme

    @property
    def challenge(self) -> str:
        """What a caller is told who has shown nothing."""
        return self._inner.challenge

    @property
    def signs_bodies(self) -> bool:
        """Whether callers sign bodies."""
        return _signs_bodies(self._inner)

    @property
    def is_optional(self) -> bool:
        """Whether requests that are not signed are let in; nobody has no scopes."""
        return False

    @property
    def owner_prefix(self) -> str:
        """What stands before the account of those who sign, "" if they have none."""
        return self._inner.owner_prefix if isinstance(self._inner, KnowsAccounts) else ""

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return who calls; see ``Authenticator.authenticate``.

        Raises:
            PermissionDeniedError: the caller is known, and lacks a scope.
        """
        found = await self._inner.authenticate(evidence)
        if found is not None and not found.scopes.issuperset(self.scopes):
            raise PermissionDeniedError.for_want_of(set(self.scopes) - found.scopes)
        return found

    async def flush(self) -> None:
        """Have the authenticator write what it keeps."""
        if isinstance(self._inner, Keeps):
            await self._inner.flush()


class AllOf:
    """One alternative of several authenticators, all of which are needed.

    The first one says whose the caller's records are. Scopes are united; the tenants are those that
    all of them allow.
    """

    def __init__(self, *members: Authenticator) -> None:
        """Take the members.

        Raises:
            UsageError: there are fewer than two, or two that the card calls alike.
        """
        if len(members) < 2 or len({member.name for member in members}) < len(members):
            raise UsageError("AllOf needs two or more authenticators, each with its own name")
        self.members = members


Alternative: TypeAlias = Authenticator | AllOf

_Verdict: TypeAlias = Principal | A2AError | None

_REFUSALS: Final = (UnauthenticatedError, PermissionDeniedError, UnavailableError)
"""What an authenticator raises."""


class Combination:
    """Alternatives, any of which is enough.

    Attributes:
        schemes: ``securitySchemes`` of the card.
        requirements: ``securityRequirements`` of the card, in the order of the alternatives.
        challenges: what ``WWW-Authenticate`` tells a caller who has shown nothing.
        needs_body: whether every alternative has a member whose callers sign bodies, so that the
            agent can be called by JSON-RPC alone.
        account_prefixes: of members whose callers are accounts, what stands before an account in
            the name of an owner.
    """

    def __init__(self, alternatives: Alternative | Sequence[Alternative]) -> None:
        """Take one alternative, or several.

        Raises:
            UsageError: there is none, or two schemes that differ have one name.
        """
        several = alternatives if isinstance(alternatives, Sequence) else (alternatives,)
        if not several:
            raise UsageError("there is no authenticator: leave auth out to have none")
        self._alternatives = tuple(
            one.members if isinstance(one, AllOf) else (one,) for one in several
        )
        members = [member for each in self._alternatives for member in each]
        # The same one may be part of several alternatives; it is asked once for each request.
        self._members = tuple({id(member): member for member in members}.values())
        self.schemes: Final = _schemes(self._members)
        self.requirements: Final = _requirements(self._alternatives)
        self.needs_body: Final = all(any(map(_signs_bodies, each)) for each in self._alternatives)
        self.account_prefixes: Final = tuple(
            member.owner_prefix
            for member in self._members
            if isinstance(member, KnowsAccounts) and member.owner_prefix
        )
        told = dict.fromkeys(member.challenge for member in self._members)
        self.challenges: Final = tuple(challenge for challenge in told if challenge)

    async def authenticate(self, evidence: Evidence) -> Principal:
        """Return who calls, by the first alternative that is shown completely and is good.

        An alternative that is not good does not spoil another that is: two issuers of tokens look
        at the same header, and each refuses those of the other.

        Raises:
            UnauthenticatedError: none is. It has the challenges.
            PermissionDeniedError: the caller is known, and lacks a scope that the card asks for.
            UnavailableError: none is, but one could not be checked.
        """
        if len(self._members) == 1:
            # What most agents have, without any book-keeping.
            only = self._members[0]
            problem: A2AError | None = None
            try:
                found = await only.authenticate(evidence)
            except _REFUSALS as error:
                found, problem = None, error
            if found is not None:
                return found
            raise self._refusal({id(only): problem})
        verdicts: dict[int, _Verdict] = {}
        for members in self._alternatives:
            principals: list[Principal] = []
            for member in members:
                verdict = await self._ask(member, evidence, verdicts)
                if not isinstance(verdict, Principal):
                    break
                principals.append(verdict)
            else:
                return _united(principals)
        raise self._refusal(verdicts)

    async def flush(self) -> None:
        """Have the authenticators write what they keep; for a server that stops."""
        for member in self._members:
            if isinstance(member, Keeps):
                await member.flush()

    async def _ask(
        self, member: Authenticator, evidence: Evidence, verdicts: dict[int, _Verdict]
    ) -> _Verdict:
        if id(member) not in verdicts:
            verdicts[id(member)] = await _verdict(member, evidence)
        return verdicts[id(member)]

    def _refusal(self, verdicts: Mapping[int, _Verdict]) -> A2AError:
        errors = [verdict for verdict in verdicts.values() if isinstance(verdict, A2AError)]
        for kind in (UnavailableError, PermissionDeniedError):
            for error in errors:
                if isinstance(error, kind):
                    return error
        told: dict[str, None] = {}
        for member in self._members:
            verdict = verdicts.get(id(member))
            own = verdict.challenges if isinstance(verdict, UnauthenticatedError) else ()
            told.update(dict.fromkeys(own or (member.challenge,)))
        refusal = UnauthenticatedError(
            errors[0].message if errors else None,
            challenges=tuple(challenge for challenge in told if challenge),
        )
        # The reason, for the log; it does not reach the peer. None where nothing was shown.
        refusal.__cause__ = (errors[0].__cause__ or errors[0]) if errors else None
        return refusal


async def _verdict(member: Authenticator, evidence: Evidence) -> _Verdict:
    try:
        return await member.authenticate(evidence)
    except _REFUSALS as error:
        return error


def _united(found: Sequence[Principal]) -> Principal:
    if len(found) == 1:
        return found[0]
    limited = [one.tenants for one in found if one.tenants is not None]
    ends = [one.expires_ms for one in found if one.expires_ms]
    return Principal(
        owner=found[0].owner,
        scopes=frozenset[str]().union(*(one.scopes for one in found)),
        tenants=limited[0].intersection(*limited) if limited else None,
        expires_ms=min(ends, default=0),
    )


def _schemes(members: Iterable[Authenticator]) -> dict[str, SecurityScheme]:
    schemes: dict[str, SecurityScheme] = {}
    for member in members:
        if schemes.setdefault(member.name, member.scheme) != member.scheme:
            raise UsageError(f"two security schemes are called {member.name!r}: give one a name")
    return schemes


def _signs_bodies(member: Authenticator) -> bool:
    return isinstance(member, SignsBodies) and member.signs_bodies


def _is_optional(member: Authenticator) -> bool:
    return isinstance(member, SignsBodies) and member.is_optional


def _requirements(
    alternatives: Sequence[Sequence[Authenticator]],
) -> tuple[SecurityRequirement, ...]:
    found: list[SecurityRequirement] = []
    for members in alternatives:
        schemes = {member.name: StringList(list=_scopes(member)) for member in members}
        requirement = SecurityRequirement(schemes=schemes)
        # Two issuers of the same kind of token are one alternative to who reads the card.
        if requirement not in found:
            found.append(requirement)
    if any(len(members) == 1 and _is_optional(members[0]) for members in alternatives):
        # One that asks for nothing is how a card says that it does not insist.
        found.append(SecurityRequirement())
    return tuple(found)


def _scopes(member: Authenticator) -> tuple[str, ...]:
    return member.scopes if isinstance(member, Scoped) else ()
