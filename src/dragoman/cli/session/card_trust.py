"""Whose card it is: what its signatures show, with the keys that the user trusts."""

from __future__ import annotations

from typing import Final

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import verify_card
from dragoman.auth.outgoing.origins import origin_of
from dragoman.cli.command import Invocation
from dragoman.cli.errors import CARD_INVALID, CliError, Failure
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.session.card_source import CardDocument

__all__ = ("JWKS", "REQUIRE_SIGNATURE", "signature_of")

JWKS: Final = Option[str | None](
    name="jwks",
    metavar="FILE|URL",
    default=None,
    is_configurable=False,
    help="keys to trust for the signatures of the card",
)
REQUIRE_SIGNATURE: Final = Option[bool](
    name="require-signature",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="fail unless a trusted key has signed the card",
)


async def signature_of(invocation: Invocation, found: CardDocument) -> str:
    """Tell whether a card is verified, unverifiable, or not signed at all (absent).

    Raises:
        CliError: it is not verified, though the user requires that.
        UsageError: the keys cannot be read.
    """
    settings = invocation.settings
    verification = await verify_card(found.content, _keys(invocation, found))
    if verification.outcome == "verified":
        return f"verified {verification.kid}".rstrip()
    if settings[REQUIRE_SIGNATURE]:
        message = f"{found.place} has no signature to rely on: {verification.reason}"
        raise CliError(Failure(CARD_INVALID, message, "name the keys to trust with --jwks"))
    if verification.outcome == "unverifiable":
        invocation.output.warn(f"the signature cannot be verified: {verification.reason}")
    return verification.outcome


def _keys(invocation: Invocation, found: CardDocument) -> TrustedKeys:
    """Return the keys to trust: those that are given, and those at the origin of the card."""
    given = invocation.settings[JWKS]
    own = (origin_of(found.place),) if found.place.startswith("https://") else ()
    if given is None:
        return TrustedKeys(jku=own)
    if "://" in given:
        return TrustedKeys(jku=(*own, given))
    return TrustedKeys(invocation.surroundings.folder / given, jku=own)
