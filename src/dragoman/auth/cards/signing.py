"""Signatures of cards, verified and made (1.0 reference, 8.4; 0.x reference, 4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.cards.forms import WEAK_FORMS, CardForm, Payload, payloads_of
from dragoman.auth.cards.jws import ALGORITHMS, BadSignatureError, is_signed_with, read_jws, sign
from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.shared.key_sets import Key, NoKeyError, read_key
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import UsageError
from dragoman.model.base import is_array
from dragoman.model.cards import AgentCard, AgentCardSignature

__all__ = ("CardSigner", "Verification", "verify_card")

_MOST_SIGNATURES: Final = 16
"""How many are looked at. A card has up to three for each key, and two keys while they change."""

_ALGORITHMS: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
"""What a key signs with when nobody says otherwise, by its curve."""


class Verification(Struct, frozen=True, kw_only=True):
    """What is known about who a card is from.

    Attributes:
        outcome: ``verified``: a trusted key has signed it. ``unverifiable``: it is signed, but by
            nobody who is trusted, or not as it is now. ``absent``: it is not signed.
        kid: the name of the key.
        form: what the signature covers; see ``dragoman.auth.cards.forms``.
        reason: why it is not verified.
    """

    outcome: Literal["verified", "unverifiable", "absent"]
    kid: str = ""
    form: CardForm | None = None
    reason: str = ""

    @property
    def is_weak(self) -> bool:
        """Tell whether the signature leaves out what is empty in the card."""
        return self.form in WEAK_FORMS


async def verify_card(
    document: bytes, keys: TrustedKeys, *, allow_stripped: bool = False
) -> Verification:
    """Look for a signature of this card that a trusted key has made; one is enough.

    Args:
        document: the card as it was received.
        allow_stripped: also trust a card of 1.0 of which only the ``stripped`` form is signed,
            which is what SDKs do to cards with something empty in them (Q-13).

    Raises:
        JSONParseError, InvalidParamsError: it is not a JSON object.
    """
    signatures = _signatures_in(document)
    if not signatures:
        return Verification(outcome="absent", reason="the card is not signed")
    payloads = payloads_of(document)
    found: list[Verification] = []
    reasons: list[str] = []
    # R-8.4.3-7: several are there while keys are changed, or for verifiers that read differently.
    for index, signature in enumerate(signatures[:_MOST_SIGNATURES]):
        try:
            found.append(await _verified(signature, payloads, keys, allow_stripped=allow_stripped))
        except (BadSignatureError, NoKeyError) as error:
            reasons.append(f"signatures[{index}]: {error}")
    # R-8.4.3-3. One that covers everything counts for more than one that does not.
    return min(
        found,
        key=lambda one: one.is_weak,
        default=Verification(outcome="unverifiable", reason="; ".join(reasons)),
    )


def _signatures_in(document: bytes) -> list[object]:
    found = Fields(read_json(document)).get("signatures")
    return found if is_array(found) else []


async def _verified(
    signature: object, payloads: tuple[Payload, ...], keys: TrustedKeys, *, allow_stripped: bool
) -> Verification:
    try:
        jws = read_jws(msgspec.convert(signature, AgentCardSignature))
    except msgspec.ValidationError:
        raise BadSignatureError("it lacks protected or signature") from None
    for key in await keys.find(jws.kid, jws.jku):
        for form, content in payloads:
            if not is_signed_with(jws, content, key):
                continue
            if form == "stripped" and not allow_stripped:
                raise BadSignatureError("it holds for what is not empty in the card, and no more")
            return Verification(outcome="verified", kid=jws.kid, form=form)
    raise BadSignatureError("it does not belong to the card as it is now, or to the key")


class CardSigner:
    """Signs cards with one private key."""

    def __init__(
        self,
        key: Mapping[str, object] | str | Path,
        *,
        kid: str = "",
        algorithm: str = "",
        jku: str = "",
    ) -> None:
        """Take a private key, as JWK or as a file that holds it as JWK or in PEM form.

        Args:
            kid: the name of the key; without it, the key's own, or its thumbprint (RFC 7638).
            algorithm: one of ES256, ES384, ES512, RS256 to RS512, PS256 to PS512 and EdDSA;
                without it, what the key is made for.
            jku: where verifiers can get the public key, as ``public_keys`` has it.

        Raises:
            UsageError: the key cannot be read, or not be used to sign.
        """
        self._key = _private_key(key)
        self._algorithm = algorithm or self._key.alg or _algorithm_for(self._key)
        self._kid = kid or self._key.kid or self._key.thumbprint()
        self._jku = jku
        if self._algorithm not in ALGORITHMS:
            raise UsageError(f"cards are not signed with {self._algorithm!r}")
        try:
            self._sign(b"{}")
        except (JoseError, AssertionError) as error:
            raise UsageError(f"the key cannot sign with {self._algorithm}: {error}") from None

    @property
    def public_keys(self) -> dict[str, list[dict[str, object]]]:
        """Return what verifiers need: a key set (JWKS) with the public key alone."""
        public = self._key.as_dict(private=False, kid=self._kid, alg=self._algorithm, use="sig")
        return {"keys": [dict(public)]}

    def signed(self, card: AgentCard) -> AgentCard:
        """Return the card of 1.0 with our signatures after those it has."""
        return replace(card, signatures=(*card.signatures, *self.signatures(encode_card(card))))

    def signatures(self, document: bytes) -> tuple[AgentCardSignature, ...]:
        """Return the signatures of a card, as it is published.

        A card of 1.0 is signed as the specification has it, and once more wherever SDKs would
        read it otherwise (Q-13). An older card, for which there is no rule, is signed as a whole,
        and in the way of the Python SDK of 0.3.

        Raises:
            JSONParseError, InvalidParamsError: it is not a JSON object.
            UsageError: no signature could ever be verified: it holds what no form can carry.
        """
        payloads = payloads_of(document)
        has_rule = any(one.form == "canonical" for one in payloads)
        chosen = [one for one in payloads if not has_rule or one.form != "whole"]
        if not any(one.form not in WEAK_FORMS for one in chosen):
            raise UsageError("the card has a number or a character that RFC 8785 cannot write")
        return tuple(self._sign(one.content) for one in chosen)

    def _sign(self, payload: bytes) -> AgentCardSignature:
        return sign(payload, self._key, self._algorithm, kid=self._kid, jku=self._jku)


def _private_key(given: Mapping[str, object] | str | Path) -> Key:
    try:
        return read_key(given if isinstance(given, Mapping) else _read_file(given))
    except NoKeyError as error:
        raise UsageError(f"cards cannot be signed with this: {error}") from None


def _read_file(path: str | Path) -> Mapping[str, object]:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(data, type=dict[str, object])
    for kind in (ECKey, RSAKey, OKPKey):
        try:
            return kind.import_key(data).as_dict(private=True)
        except (JoseError, ValueError, TypeError):
            continue
    raise UsageError(f"{path} holds no private key (JWK, or PEM that is not encrypted)")


def _algorithm_for(key: Key) -> str:
    return "RS256" if isinstance(key, RSAKey) else _ALGORITHMS.get(key.curve_name, "")
