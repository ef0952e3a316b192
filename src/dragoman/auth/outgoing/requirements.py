"""Choosing credentials: which of a card's alternatives can be met with those there are.

Pure: a token is got when the first request needs it. A card of any version has been read into the
model before. R-7.3-1: what schemes there are is learnt from the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import (
    NOTHING,
    ApiKey,
    Attachment,
    Credentials,
    OriginBound,
    origin_bound,
)
from dragoman.auth.outgoing.errors import MissingCredentialsError
from dragoman.auth.outgoing.origins import is_confidential, origin_of
from dragoman.auth.outgoing.schemes import UnfitError, describe, fit, fits_all
from dragoman.model.cards import AgentCard
from dragoman.model.security import SecurityRequirement

__all__ = ("Choice", "Held", "choose", "signs_bodies")

Held: TypeAlias = Credentials | Sequence[Credentials] | Mapping[str, Credentials]
"""What a user has: one, several, or several by the names that the card gives to its schemes."""

_Alternative: TypeAlias = dict[str, tuple[str, ...]]
"""Schemes by name, each with the scopes it needs; all apply together."""


class Choice(Struct, frozen=True):
    """What goes along with every request to one origin; itself ``Credentials``.

    Attributes:
        schemes: the names of the card's schemes that are met, in the card's order.
        left_out: why something that the user has is not sent, though nobody has asked for it.
    """

    credentials: tuple[OriginBound, ...] = ()
    schemes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def certificate(self) -> ClientCertificate | None:
        """Return what to connect with, if the choice asks for mutual TLS."""
        return next((one for one in self.credentials if isinstance(one, ClientCertificate)), None)

    async def attach(self, origin: str, *, is_retry: bool = False) -> Attachment:
        """Return all of it together; see ``Credentials.attach``."""
        found = NOTHING
        for credential in self.credentials:
            found = found.joined(await credential.attach(origin, is_retry=is_retry))
        return found


class _Candidate(NamedTuple):
    """A credential that the user has; ``scheme`` is the only one it is meant for, if any."""

    credential: OriginBound
    scheme: str = ""


class _Place(NamedTuple):
    """Where the requests go, and where the agent is that the user has named."""

    target: str
    own: str


def choose(
    card: AgentCard, held: Held, *, origin: str, own_origin: str = "", skill_id: str = ""
) -> Choice:
    """Choose the first alternative of a card that can be met.

    A card that requires nothing gets what the user has all the same: there are agents that do not
    say what they want.

    Args:
        origin: where the requests go, as the chosen interface of the card says.
        own_origin: the agent's, as the user has named it; empty if the user has given the card
            itself, which then speaks for the user.
        skill_id: the skill that is called, if it is known; it may require more than its card.

    Raises:
        MissingCredentialsError: there is none; says what each of them lacks.
    """
    target = origin_of(origin)
    place = _Place(target, origin_of(own_origin) if own_origin else target)
    candidates = _candidates(held)
    alternatives = _alternatives(card, skill_id)
    if not alternatives:
        return _unasked(card, candidates, place)
    findings: list[str] = []
    # What asks for nothing is met by everybody, and comes last: credentials are there to be used.
    for alternative in sorted(alternatives, key=lambda one: not one):
        free, found, missing = candidates, list[OriginBound](), list[str]()
        for name, scopes in alternative.items():
            try:
                taken, fitted = _meet(card, name, scopes, free, place)
            except UnfitError as error:
                missing.append(f"{name!r} ({error})")
                continue
            found.append(fitted)
            # Two schemes with a key each want two keys. There is but one Authorization header.
            if isinstance(fitted, ApiKey):
                free = tuple(one for one in free if one is not taken)
        if not missing:
            return Choice(tuple(found), tuple(alternative))
        findings.append(" and ".join(missing))
    raise MissingCredentialsError(tuple(findings))


def signs_bodies(held: Held) -> bool:
    """Tell whether all that a user has signs bodies, so that JSON-RPC alone is of use."""
    found = _candidates(held)
    return bool(found) and all(one.credential.signs_bodies for one in found)


def _candidates(held: Held) -> tuple[_Candidate, ...]:
    if isinstance(held, Credentials):
        return (_Candidate(origin_bound(held)),)
    if isinstance(held, Sequence):
        return tuple(_Candidate(origin_bound(one)) for one in held)
    return tuple(_Candidate(origin_bound(one), name) for name, one in held.items())


def _alternatives(card: AgentCard, skill_id: str) -> list[_Alternative]:
    """Return what may be met: one of the card's, together with one of the skill's if it has any."""
    of_card = [_read(one) for one in card.security_requirements]
    skill = next((skill for skill in card.skills if skill.id == skill_id), None)
    of_skill = [_read(one) for one in skill.security_requirements] if skill else []
    if not of_card or not of_skill:
        return of_card or of_skill
    return [_together(*pair) for pair in product(of_card, of_skill)]


def _read(requirement: SecurityRequirement) -> _Alternative:
    return {name: scopes.list for name, scopes in requirement.schemes.items()}


def _together(one: _Alternative, other: _Alternative) -> _Alternative:
    return {
        name: tuple(dict.fromkeys((*one.get(name, ()), *other.get(name, ()))))
        for name in {**one, **other}
    }


def _meet(
    card: AgentCard,
    name: str,
    scopes: tuple[str, ...],
    candidates: tuple[_Candidate, ...],
    place: _Place,
) -> tuple[_Candidate, OriginBound]:
    """Return what meets one scheme, and as what it travels.

    Raises:
        UnfitError: nothing does; says what would, and why what comes near does not.
    """
    scheme = card.security_schemes.get(name)
    reasons = [describe(scheme)]
    # What is meant for this very scheme comes first, what stands for anything comes last.
    fitting = [one for one in candidates if one.scheme in ("", name)]
    for one in sorted(fitting, key=lambda one: (not one.scheme, fits_all(one.credential))):
        try:
            fitted = fit(one.credential, scheme, scopes, place.own)
            if fitted is not None:
                return one, _placed(fitted, place)
        except UnfitError as error:
            reasons.append(str(error))
    raise UnfitError("; ".join(reasons))


def _unasked(card: AgentCard, candidates: tuple[_Candidate, ...], place: _Place) -> Choice:
    """Return everything that may be sent there, each by the scheme that the card has for it."""
    found: list[OriginBound] = []
    left_out: list[str] = []
    for credential, wanted in candidates:
        names = [name for name in card.security_schemes if wanted in ("", name)]
        try:
            fits = (fit(credential, card.security_schemes[name], (), place.own) for name in names)
            fitted = next((one for one in fits if one is not None), credential)
            found.append(_placed(fitted, place))
        except UnfitError as error:
            left_out.append(str(error))
    return Choice(tuple(found), left_out=tuple(left_out))


def _placed(credential: OriginBound, place: _Place) -> OriginBound:
    """Return the credential for the origin that the requests go to.

    Raises:
        UnfitError: it is for another one, or would be read on the way.
    """
    kind, bound = type(credential).__name__, credential.bound_to(place.own)
    advice = f"give it for_origin={place.target!r} if it is meant for that"
    if bound.for_origin != place.target:
        raise UnfitError(
            f"the {kind} is for {bound.for_origin}, and requests go to {place.target}: {advice}"
        )
    if not credential.for_origin and not is_confidential(place.target):
        raise UnfitError(f"the {kind} would go to {place.target} for all to read: {advice}")
    return bound
