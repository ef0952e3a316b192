import json

import pytest

from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import CardSigner
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.finding import FoundCard
from dragoman.client.discovery.trust import CardTrust, trust_of
from dragoman.client.errors import CardUntrustedError
from dragoman.dialects.v1_0.card import encode_card
from dragoman.model.cards import AgentCard
from tests.support.auth.signing_cards import EMPTIES, FULL, OLD, document_of, new_key

URL = "https://a.example/card.json"
SIGNER = CardSigner(new_key("ES256"))
TRUST = CardTrust(TrustedKeys(SIGNER.public_keys))


def found(document: bytes) -> FoundCard:
    return FoundCard(read_card(document, URL), URL, document)


def signed(card: AgentCard = FULL, **added: object) -> bytes:
    """Return a signed card of 1.0, with what somebody has added to it since."""
    return document_of({**json.loads(encode_card(SIGNER.signed(card))), **added})


@pytest.mark.requirement("R-8.4.3-3", "R-14.3-6", "R-8.4.3-5")
async def test_a_card_that_a_trusted_key_has_signed_is_trusted() -> None:
    assert (await TRUST.checked(found(signed()))).reading.card.name == "Planner"


@pytest.mark.requirement("R-8.4.3-3")
async def test_a_card_that_is_not_signed_is_not_trusted() -> None:
    with pytest.raises(CardUntrustedError, match="the card is not signed") as caught:
        await TRUST.checked(found(encode_card(FULL)))
    assert not caught.value.is_signed
    assert caught.value.place == URL


@pytest.mark.requirement("R-8.4.3-3")
@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (signed(name="Impostor"), "does not belong to the card as it is now"),
        (encode_card(CardSigner(new_key("ES256"), kid="x").signed(FULL)), "the key is not known"),
    ],
)
async def test_a_card_that_is_signed_otherwise_is_not_trusted(document: bytes, reason: str) -> None:
    with pytest.raises(CardUntrustedError, match=reason) as caught:
        await TRUST.checked(found(document))
    assert caught.value.is_signed


async def test_what_is_not_signed_has_no_say() -> None:
    # In the words of 0.3, which the reader of cards would understand.
    forged = found(signed(security=[{"mine": ["read"]}]))
    assert forged.reading.card.security_requirements
    assert not (await TRUST.checked(forged)).reading.card.security_requirements


async def test_an_old_card_is_read_as_before() -> None:
    signatures = [
        {"protected": one.protected, "signature": one.signature}
        for one in SIGNER.signatures(document_of(OLD))
    ]
    card = found(document_of({**OLD, "signatures": signatures}))
    assert await TRUST.checked(card) == card


async def test_a_stripped_signature_counts_for_who_allows_it() -> None:
    members = json.loads(encode_card(SIGNER.signed(EMPTIES)))
    # The first is made as the specification has it, the second as SDKs make them.
    members["signatures"] = members["signatures"][1:]
    card = found(document_of(members))
    with pytest.raises(CardUntrustedError, match="what is not empty"):
        await TRUST.checked(card)
    lenient = CardTrust(TRUST.keys, allow_stripped=True)
    assert (await lenient.checked(card)).reading.card.name == EMPTIES.name


def test_keys_alone_are_trust_enough() -> None:
    keys = TrustedKeys(SIGNER.public_keys)
    assert trust_of(keys) == CardTrust(keys)
    assert trust_of(TRUST) is TRUST
